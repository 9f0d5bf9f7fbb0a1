/** A story as requests to an API server: what has to be there at its start, and what each of its changes asks for. */
import type { KubeObject } from '../../src/kube/types.ts';
import { CLUSTER_EPOCH_SECONDS, readinessConditions } from '../../src/workload/objects.ts';
import { create, createRequests, patchStatus, remove, type WorkloadRequest } from '../../src/workload/request.ts';
import type { Published, Story } from '../../src/twin/story.ts';

const NODE = 'node-1';
const GRACE_SECONDS = 30;

/** A node, namespaces, Services, and the pods that are published at the start, in an order in which they can be created. */
export function* storyRequests(story: Story): Generator<WorkloadRequest, void, void> {
  yield create({ apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } });
  for (let i = 0; i < story.namespaces.length; i++) {
    yield create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespaceNamed(i) } });
  }
  for (const [i, { namespace }] of story.services.entries()) yield create(serviceObject(i, namespace));
  for (const [i, { start }] of story.places.entries()) {
    if (start.slices !== 0) yield* createRequests(podObject(story, i, start.isReady, CLUSTER_EPOCH_SECONDS));
  }
}

/** What brings a place of the story about; `exists`: its pod is there. */
export function placeRequests(
  story: Story,
  place: number,
  wanted: Published,
  exists: boolean,
  seconds: number,
): readonly WorkloadRequest[] {
  const { namespace, name } = podOf(story, place);
  const isTerminating = wanted.slices !== 0 && wanted.endpoints === 0;
  if (wanted.slices === 0 && exists) return [remove('Pod', namespace, name, 0)];
  if (isTerminating) return [remove('Pod', namespace, name, GRACE_SECONDS)];
  const pod = podObject(story, place, wanted.isReady, seconds);
  if (wanted.slices === 0) return createRequests(pod).slice(0, 1);
  if (!exists) return createRequests(pod);
  return [patchStatus('Pod', namespace, name, pod['status'] as object)];
}

/**
 * The address of the pod of a place. All are of one length: the controller sends the smaller of two slices first, and the
 * queue model knows no more of their size than how many endpoints they have.
 */
export function addressOf(place: number): string {
  const octet = (by: number): number => 100 + (Math.floor(place / by) % 100);
  return `10.${octet(10_000)}.${octet(100)}.${octet(1)}`;
}

/** Of the pod of a place. */
export function podOf(story: Story, place: number): { readonly namespace: string; readonly name: string } {
  const { namespace } = story.services[story.places[place]!.service]!;
  return { namespace: namespaceNamed(namespace), name: `${POD_PREFIX}${String(place).padStart(6, '0')}` };
}

/** Of the name of its pod. */
export function placeOf(pod: string): number {
  return Number(pod.slice(POD_PREFIX.length));
}

const POD_PREFIX = 'p-';

function podObject(story: Story, place: number, isReady: boolean, seconds: number): KubeObject {
  const ip = addressOf(place);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...podOf(story, place), labels: { app: serviceNamed(story.places[place]!.service) } },
    spec: {
      nodeName: NODE,
      containers: [{ name: 'main', image: 'main:1', ports: [{ name: 'http', containerPort: 8080 }] }],
    },
    status: { phase: 'Running', podIP: ip, podIPs: [{ ip }], conditions: readinessConditions(isReady, seconds) },
  };
}

function serviceObject(service: number, namespace: number): KubeObject {
  const name = serviceNamed(service);
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: namespaceNamed(namespace) },
    spec: { selector: { app: name }, ports: [{ name: 'http', port: 80, targetPort: 'http' }] },
  };
}

function namespaceNamed(i: number): string {
  return `ns-${i}`;
}

function serviceNamed(i: number): string {
  return `s-${i}`;
}
