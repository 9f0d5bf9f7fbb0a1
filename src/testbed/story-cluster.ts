/**
 * A story as objects of a cluster, and its changes as requests, so that it can be played on an API server. Each place
 * is a pod of its own that one Service selects. Services have one address family.
 */
import type { KubeObject } from '../kube/types.ts';
import type { PlaceChange, Published, Story, StoryChange } from '../twin/story.ts';
import { create, patch, patchStatus, remove, type WorkloadRequest } from '../workload/request.ts';

type State = 'absent' | 'pending' | 'unready' | 'ready' | 'terminating' | 'over';

/** One request. It follows the requests before it for the same object. */
export interface StoryRequest {
  readonly request: WorkloadRequest;
  /**
   * The state of an address that the Service's objects will show after the request; null = the request changes none.
   */
  readonly shows: { readonly service: string; readonly address: string; readonly ready: boolean } | null;
  /** The key of the object. Requests of one object keep their order. */
  readonly object: string;
}

export interface StoryCluster {
  readonly story: Story;
  /** The pod of each place. */
  readonly pods: { state: State; generation: number }[];
  /** The number of changes of annotations, so that each change is a new value. */
  touches: number;
}

const NODES = 10;
const GRACE_SECONDS = 3600;
const READY_AT = '2026-01-01T00:00:00Z';

export function createStoryCluster(story: Story): StoryCluster {
  return { story, pods: story.places.map(() => ({ state: 'absent', generation: 0 })), touches: 0 };
}

/**
 * The requests for everything but pods of places: namespaces, nodes, Services, and in each namespace pods that no Service
 * selects.
 */
export function fixedObjectRequests({ story }: StoryCluster): WorkloadRequest[] {
  const namespaces = story.namespaces.map((_, i) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespaceName(i) },
  }));
  const nodes = Array.from({ length: NODES }, (_, i) => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: nodeName(i) },
  }));
  const services = story.services.map(({ namespace }, i) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: namespaceName(namespace), name: serviceName(i) },
    spec: { selector: { service: serviceName(i) }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
  }));
  const bystanders = story.namespaces.flatMap((_, i) =>
    Array.from({ length: bystandersOf(i) }, (_one, n) => podObject(namespaceName(i), bystanderName(n), {}, n)),
  );
  return [...namespaces, ...nodes, ...services, ...bystanders].map(create).concat(probeObjectRequests());
}

/** The Service and pod by which one sees that a controller runs. */
const PROBE = { namespace: 'probe', name: 'probe', address: '10.127.0.1' };

function probeObjectRequests(): WorkloadRequest[] {
  const { namespace, name } = PROBE;
  const spec = { selector: { service: name }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] };
  return [
    create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }),
    create({ apiVersion: 'v1', kind: 'Service', metadata: { namespace, name }, spec }),
    create(podObject(namespace, name, { service: name }, 0)),
  ];
}

export function probeRequest(ready: boolean): StoryRequest {
  const { namespace, name, address } = PROBE;
  return {
    request: patchStatus('Pod', namespace, name, statusOf(address, ready)),
    shows: { service: `${namespace}/${name}`, address, ready },
    object: `${namespace}/${name}`,
  };
}

/** The requests that bring every pod to the start of the story, whatever its state is. */
export function startRequests(cluster: StoryCluster): StoryRequest[] {
  return cluster.story.places.flatMap(({ start }, place) => {
    const pod = cluster.pods[place]!;
    const wanted = stateOf(start);
    if (pod.state === wanted) return [];
    const isFlip = wanted !== null && (pod.state === 'unready' || pod.state === 'ready');
    const isThere = pod.state !== 'absent' && pod.state !== 'over';
    const requests = isThere && !isFlip ? end(cluster, place) : [];
    if (pod.state === 'over') pod.state = 'absent';
    if (wanted === 'terminating') requests.push(...become(cluster, place, 'unready'));
    if (wanted !== null) requests.push(...become(cluster, place, wanted));
    return requests;
  });
}

/** The requests of one change, in order. */
export function changeRequests(cluster: StoryCluster, change: StoryChange): StoryRequest[] {
  const { kind, namespace, places, service, events = 1 } = change;
  const requests = places.flatMap((placed) => take(cluster, placed));
  if (kind === 'service') {
    const { namespace: own } = cluster.story.services[service]!;
    requests.push(touch(cluster, 'Service', namespaceName(own), serviceName(service)));
  }
  if (requests.length > 0) return requests;
  return Array.from({ length: events }, () => {
    const name = bystanderName(cluster.touches % bystandersOf(namespace));
    return touch(cluster, 'Pod', namespaceName(namespace), name);
  });
}

function take(cluster: StoryCluster, { place, wanted, stays }: PlaceChange): StoryRequest[] {
  const pod = cluster.pods[place]!;
  const state = stateOf(wanted);
  if (pod.state === 'over') return [];
  // A pod that waits for its node and its address changes meanwhile.
  const isPending = pod.state === 'absent' || (pod.state === 'pending' && stays === true);
  if (state === null) return isPending ? become(cluster, place, 'pending') : end(cluster, place);
  // A terminating pod does not come back, and a pod that is gone cannot terminate.
  if (pod.state === 'terminating' || (state === 'terminating' && pod.state === 'absent')) return [];
  return become(cluster, place, state);
}

/** null = the place is not published: it has no pod, or the pod has no address. */
function stateOf({ endpoints, slices, isReady }: Published): Exclude<State, 'absent' | 'over'> | null {
  if (slices === 0) return null;
  if (isReady) return 'ready';
  return endpoints === 0 ? 'terminating' : 'unready';
}

function become(cluster: StoryCluster, place: number, state: Exclude<State, 'absent' | 'over'>): StoryRequest[] {
  const pod = cluster.pods[place]!;
  const { namespace, name, service, address } = namesOf(cluster, place);
  const storyRequest = (request: WorkloadRequest, ready: boolean | null): StoryRequest => ({
    request,
    shows: ready === null ? null : { service: `${namespace}/${service}`, address, ready },
    object: `${namespace}/${name}`,
  });
  if (pod.state === state) return [touch(cluster, 'Pod', namespace, name)];
  const wasReady = pod.state === 'ready';
  const requests: StoryRequest[] = [];
  if (pod.state === 'absent') {
    const made = podObject(namespace, name, { service }, place);
    requests.push(storyRequest(create(made), null));
  }
  pod.state = state;
  if (state === 'pending') return requests;
  if (state === 'terminating') {
    return [...requests, storyRequest(remove('Pod', namespace, name, GRACE_SECONDS), wasReady ? false : null)];
  }
  const isReady = state === 'ready';
  const status = patchStatus('Pod', namespace, name, statusOf(address, isReady));
  return [...requests, storyRequest(status, isReady === wasReady ? null : isReady)];
}

/** Deletes the pod at once. The place's next pod has another name. */
function end(cluster: StoryCluster, place: number): StoryRequest[] {
  const pod = cluster.pods[place]!;
  const { namespace, name, service, address } = namesOf(cluster, place);
  const wasReady = pod.state === 'ready';
  pod.state = 'over';
  pod.generation++;
  const shows = wasReady ? { service: `${namespace}/${service}`, address, ready: false } : null;
  return [{ request: remove('Pod', namespace, name, 0), shows, object: `${namespace}/${name}` }];
}

/** Changes an annotation of the object, which publishes nothing. */
function touch(cluster: StoryCluster, kind: 'Pod' | 'Service', namespace: string, name: string): StoryRequest {
  const metadata = { annotations: { 'replay.endpointd/touched': String(cluster.touches++) } };
  return { request: patch(kind, namespace, name, { metadata }), shows: null, object: `${namespace}/${name}` };
}

/**
 * The first namespace has all events of a recording that no controller reads. One pod could not take hundreds of them a
 * second, one after the other.
 */
function bystandersOf(namespace: number): number {
  return namespace === 0 ? 64 : 1;
}

function bystanderName(number: number): string {
  return `bystander-${number}`;
}

function namesOf(
  { story, pods }: StoryCluster,
  place: number,
): { readonly namespace: string; readonly name: string; readonly service: string; readonly address: string } {
  const { service } = story.places[place]!;
  return {
    namespace: namespaceName(story.services[service]!.namespace),
    name: `pod-${place}-${pods[place]!.generation}`,
    service: serviceName(service),
    address: `10.${64 + (place >> 16)}.${(place >> 8) & 255}.${place & 255}`,
  };
}

function podObject(
  namespace: string,
  name: string,
  labels: Readonly<Record<string, string>>,
  number: number,
): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name, labels },
    spec: { nodeName: nodeName(number % NODES), containers: [{ name: 'main', image: 'none' }] },
  };
}

function statusOf(address: string, isReady: boolean): object {
  const status = isReady ? 'True' : 'False';
  return {
    phase: 'Running',
    podIP: address,
    podIPs: [{ ip: address }],
    conditions: [{ type: 'Ready', status, lastTransitionTime: READY_AT }],
  };
}

function namespaceName(number: number): string {
  return `ns-${number}`;
}

function serviceName(number: number): string {
  return `service-${number}`;
}

function nodeName(number: number): string {
  return `node-${number}`;
}
