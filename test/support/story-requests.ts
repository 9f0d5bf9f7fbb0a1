/** A story as requests to an API server: what has to be there at its start, and what each of its changes asks for. */
import type { KubeObject } from '../../src/kube/types.ts';
import { CLUSTER_EPOCH_SECONDS, readinessConditions } from '../../src/workload/objects.ts';
import { create, createRequests, patchStatus, remove, type WorkloadRequest } from '../../src/workload/request.ts';
import { FAMILIES } from '../../src/core/slices/slice-families.ts';
import type { Published, Story, StoryChange, StoryService } from '../../src/twin/story.ts';

/**
 * A story whose Services may share pods: place i is of pod i % `pods`, and Service i selects the pods of Service i % `apps`.
 */
export interface PodStory extends Story {
  readonly pods: number;
  readonly apps: number;
}

/** Each Service has the pods of its places for itself. */
export function ownPods(story: Story): PodStory {
  return { ...story, pods: story.places.length, apps: story.services.length };
}

/** Beside each Service is another one that selects the same pods, as those of a StatefulSet often have. */
export function sharedPods(story: Story): PodStory {
  const { services, places, changes } = story;
  const [apps, pods] = [services.length, places.length];
  return {
    ...story,
    pods,
    apps,
    services: [...services, ...services],
    places: [...places, ...places.map(({ service, start }) => ({ service: service + apps, start }))],
    changes: changes.map((change): StoryChange =>
      Object.assign({}, change, {
        places: change.places.flatMap((placed) => [placed, { ...placed, place: placed.place + pods }]),
      }),
    ),
  };
}

const NODE = 'node-1';
const GRACE_SECONDS = 30;

/** A node, namespaces, Services, and the pods that are published at the start, in an order in which they can be created. */
export function* storyRequests(story: PodStory): Generator<WorkloadRequest, void, void> {
  yield create({ apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } });
  for (let i = 0; i < story.namespaces.length; i++) {
    yield create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespaceNamed(i) } });
  }
  for (const [i, service] of story.services.entries()) yield create(serviceObject(story, i, service));
  for (const [i, { start }] of story.places.slice(0, story.pods).entries()) {
    if (start.slices !== 0) yield* createRequests(podObject(story, i, start.isReady, CLUSTER_EPOCH_SECONDS));
  }
}

/** What brings a place of the story about; `exists`: its pod is there. */
export function placeRequests(
  story: PodStory,
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

/** By which a change of the place is measured: the pod's address of the family that its Service names first. */
export function addressOf(story: PodStory, place: number): string {
  const { primary = 0 } = story.services[story.places[place]!.service]!;
  return addressesOf(place % story.pods)[primary]!;
}

/**
 * Of a pod, by family. All of a family are of one length: the controller sends the smaller of two slices first,
 * and the queue model knows no more of their size than how many endpoints they have.
 */
function addressesOf(pod: number): readonly [string, string] {
  const octet = (by: number): number => 100 + (Math.floor(pod / by) % 100);
  const group = (by: number): number => 1000 + (Math.floor(pod / by) % 1000);
  return [`10.${octet(10_000)}.${octet(100)}.${octet(1)}`, `fd00::${group(1000)}:${group(1)}`];
}

/** Of the pod of a place. */
function podOf(story: PodStory, place: number): { readonly namespace: string; readonly name: string } {
  const { namespace } = story.services[story.places[place]!.service]!;
  const pod = place % story.pods;
  return { namespace: namespaceNamed(namespace), name: `${POD_PREFIX}${String(pod).padStart(6, '0')}` };
}

/** The place of a pod in a Service that selects it. @param pod its name */
export function placeOf({ apps, pods }: PodStory, service: number, pod: string): number {
  return Number(pod.slice(POD_PREFIX.length)) + Math.floor(service / apps) * pods;
}

const POD_PREFIX = 'p-';

function podObject(story: PodStory, place: number, isReady: boolean, seconds: number): KubeObject {
  const { service } = story.places[place]!;
  const { families } = story.services[service]!;
  const podIPs = addressesOf(place % story.pods)
    .map((ip) => ({ ip }))
    .slice(0, families);
  const app = serviceNamed(service % story.apps);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...podOf(story, place), labels: { app } },
    spec: {
      nodeName: NODE,
      containers: [{ name: 'main', image: 'main:1', ports: [{ name: 'http', containerPort: 8080 }] }],
    },
    status: { phase: 'Running', podIP: podIPs[0]!.ip, podIPs, conditions: readinessConditions(isReady, seconds) },
  };
}

function serviceObject(
  { apps }: PodStory,
  service: number,
  { namespace, families, primary = 0 }: StoryService,
): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: serviceNamed(service), namespace: namespaceNamed(namespace) },
    spec: {
      selector: { app: serviceNamed(service % apps) },
      ports: [{ name: 'http', port: 80, targetPort: 'http' }],
      ...(families > 1 ? { ipFamilyPolicy: 'RequireDualStack', ipFamilies: inOrder(primary) } : {}),
    },
  };
}

function inOrder(primary: number): readonly string[] {
  return primary === 0 ? FAMILIES : FAMILIES.toReversed();
}

function namespaceNamed(i: number): string {
  return `ns-${i}`;
}

/** The order of the names is that of the numbers: Services are listed in it, so those of a pod are queued in it. */
function serviceNamed(i: number): string {
  return `s-${String(i).padStart(4, '0')}`;
}
