/** A story as requests to an API server: what has to be there at its start, and what each of its changes asks for. */
import type { KubeObject } from '../../src/kube/types.ts';
import { CLUSTER_EPOCH_SECONDS, readinessConditions } from '../../src/workload/objects.ts';
import { create, createRequests, patchStatus, remove, type WorkloadRequest } from '../../src/workload/request.ts';
import { FAMILIES } from '../../src/core/slices/slice-families.ts';
import type { Published, Story, StoryService } from '../../src/twin/story.ts';

const NODE = 'node-1';
const GRACE_SECONDS = 30;

/** A node, namespaces, Services, and the pods that are published at the start, in an order in which they can be created. */
export function* storyRequests(story: Story): Generator<WorkloadRequest, void, void> {
  yield create({ apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } });
  for (let i = 0; i < story.namespaces.length; i++) {
    yield create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespaceNamed(i) } });
  }
  for (const [i, service] of story.services.entries()) yield create(serviceObject(i, service));
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

/** By which a change of the place is measured: the pod's address of the family that its Service names first. */
export function addressOf(story: Story, place: number): string {
  const { primary = 0 } = story.services[story.places[place]!.service]!;
  return addressesOf(place)[primary]!;
}

/**
 * Of the pod of a place, by family. All of a family are of one length: the controller sends the smaller of two slices first,
 * and the queue model knows no more of their size than how many endpoints they have.
 */
function addressesOf(place: number): readonly [string, string] {
  const octet = (by: number): number => 100 + (Math.floor(place / by) % 100);
  const group = (by: number): number => 1000 + (Math.floor(place / by) % 1000);
  return [`10.${octet(10_000)}.${octet(100)}.${octet(1)}`, `fd00::${group(1000)}:${group(1)}`];
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
  const podIPs = addressesOf(place).map((ip) => ({ ip }));
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...podOf(story, place), labels: { app: serviceNamed(story.places[place]!.service) } },
    spec: {
      nodeName: NODE,
      containers: [{ name: 'main', image: 'main:1', ports: [{ name: 'http', containerPort: 8080 }] }],
    },
    status: { phase: 'Running', podIP: podIPs[0]!.ip, podIPs, conditions: readinessConditions(isReady, seconds) },
  };
}

function serviceObject(service: number, { namespace, families, primary = 0 }: StoryService): KubeObject {
  const name = serviceNamed(service);
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: namespaceNamed(namespace) },
    spec: {
      selector: { app: name },
      ports: [{ name: 'http', port: 80, targetPort: 'http' }],
      ipFamilyPolicy: families > 1 ? 'RequireDualStack' : 'SingleStack',
      ipFamilies: [FAMILIES[primary]!, ...FAMILIES.toSpliced(primary, 1)].slice(0, families),
    },
  };
}

function namespaceNamed(i: number): string {
  return `ns-${i}`;
}

function serviceNamed(i: number): string {
  return `s-${i}`;
}
