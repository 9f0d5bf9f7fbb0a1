/** One service's slices, and a server that holds them: plans are carried out, or not, as a test says. */
import assert from 'node:assert/strict';
import type { Member } from '../../../src/core/member.ts';
import { ackSlice, planSlices, type SlicesPlan } from '../../../src/core/slices/plan.ts';
import {
  applySlicesPod,
  createServiceSlices,
  observeSlice,
  type ServiceSlices,
  setSlicesSpec,
  type SlicesConfig,
} from '../../../src/core/slices/service-slices.ts';
import type { CpuShares } from '../../../src/core/slices/cpu-shares.ts';
import type { WriteAck, SliceWrite } from '../../../src/core/slices/slice-write.ts';
import type { Endpoint, EndpointSlice, PodRecord, ServiceRecord, SlicePort } from '../../../src/kube/types.ts';
import { deepFreeze } from '../../support/deep-freeze.ts';
import { makePod, makeService } from '../../support/records.ts';
import { countWrites, sliceSizes } from '../../support/slice-content.ts';

export interface SlicesWorld {
  service: ServiceRecord;
  readonly slices: ServiceSlices;
  /** By name. */
  readonly server: Map<string, EndpointSlice>;
  revision: number;
  shares: CpuShares | null;
}

export interface WorldOptions {
  readonly service?: ServiceRecord;
  readonly pods?: readonly PodRecord[];
  /** What the server holds at first. */
  readonly stored?: readonly EndpointSlice[];
  readonly max?: number;
  readonly config?: Partial<SlicesConfig>;
}

export function createSlicesWorld(options: WorldOptions = {}): SlicesWorld {
  const { service = makeService(), pods = [], stored = [], max = 100, config } = options;
  const slices = createServiceSlices({
    maxEndpointsPerSlice: max,
    tolerateUnreadyEndpointsAnnotation: false,
    compactSlices: false,
    ...config,
  });
  const world: SlicesWorld = { service, slices, server: new Map(), revision: 100, shares: null };
  setService(world, service);
  for (const slice of stored) putSlice(world, slice);
  for (const pod of pods) putPod(world, pod);
  return world;
}

export function setService(world: SlicesWorld, service: ServiceRecord): void {
  world.service = deepFreeze(service);
  setSlicesSpec(world.slices, service);
}

/** @param zone of its node; null = the node is unknown */
export function putPod(world: SlicesWorld, pod: PodRecord, zone: string | null = ''): void {
  const member: Member = deepFreeze({ pod, zone });
  applySlicesPod(world.slices, pod.name, member);
}

export function removePod(world: SlicesWorld, name: string): void {
  applySlicesPod(world.slices, name, null);
}

/** Somebody else writes, and it is seen. */
export function putSlice(world: SlicesWorld, slice: EndpointSlice): void {
  const object = { ...slice, metadata: { ...slice.metadata, resourceVersion: String(++world.revision) } };
  world.server.set(object.metadata.name!, deepFreeze(object));
  observeSlice(world.slices, object.metadata.name!, object);
}

export function removeSlice(world: SlicesWorld, name: string): void {
  world.server.delete(name);
  observeSlice(world.slices, name, null);
}

/** Everything planned is frozen: whoever changes it throws. */
export function plan(world: SlicesWorld, triggerTime = 0, suffix = counterSuffix()): SlicesPlan {
  return deepFreeze(planSlices(world.slices, { triggerTime, shares: world.shares, suffix }));
}

/** Suffixes `00000`, `00001` and so on. */
export function counterSuffix(): () => string {
  let next = 0;
  return () => String(next++).padStart(5, '0');
}

/** What a server does with a write, and says. */
export function carryOut(world: SlicesWorld, write: SliceWrite): WriteAck {
  const held = world.server.get(write.name);
  if (write.verb === 'create') assert.equal(held, undefined, `${write.name} is new`);
  else {
    assert.equal(held?.metadata.uid, write.uid, `uid of ${write.name}`);
    assert.equal(held?.metadata.resourceVersion, write.resourceVersion, `resourceVersion of ${write.name}`);
  }
  if (write.object === null) {
    world.server.delete(write.name);
    return { result: 'applied', uid: '', resourceVersion: '' };
  }
  const uid = held?.metadata.uid ?? `uid-${write.name}-${++world.revision}`;
  const resourceVersion = String(++world.revision);
  const metadata = { ...write.object.metadata, uid, resourceVersion };
  world.server.set(write.name, deepFreeze({ ...write.object, metadata }));
  return { result: 'applied', uid, resourceVersion };
}

/** Plans and carries all of it out. */
export function sync(world: SlicesWorld, triggerTime = 0): SlicesPlan {
  const planned = plan(world, triggerTime, worldSuffix(world));
  for (const write of planned.writes) ackSlice(world.slices, write, carryOut(world, write));
  return planned;
}

function worldSuffix(world: SlicesWorld): () => string {
  return () => String(++world.revision).padStart(5, '0');
}

/** Such as `1 create, 2 update`. */
export function verbs({ writes }: Pick<SlicesPlan, 'writes'>): string {
  return countWrites(writes);
}

/** Numbers of endpoints on the server, the largest first. */
export function sizes(world: SlicesWorld): number[] {
  return sliceSizes(world.server.values());
}

/** Pods `p000`, `p001` and so on, at 10.0.0.0, 10.0.0.1 and so on. */
export function manyPods(count: number, from = 0, fields: Parameters<typeof makePod>[1] = {}): PodRecord[] {
  return Array.from({ length: count }, (_, i) => {
    const n = from + i;
    return makePod(`p${String(n).padStart(3, '0')}`, { podIPs: [`10.0.${n >> 8}.${n & 255}`], ...fields });
  });
}

/** As the controller writes it for a ready pod of one address on a node without zone. */
export function endpointOf(pod: PodRecord, fields: Partial<Endpoint> = {}): Endpoint {
  return {
    addresses: [pod.podIP],
    conditions: { ready: pod.ready, serving: pod.ready, terminating: pod.deleting },
    targetRef: { kind: 'Pod', namespace: pod.namespace, name: pod.name, uid: pod.uid },
    nodeName: pod.nodeName,
    ...fields,
  };
}

export const HTTP: readonly SlicePort[] = [{ name: '', protocol: 'TCP', port: 8080 }];

/** A slice of service `web`, as the controller has written it. */
export function slice(
  name: string,
  endpoints: readonly Endpoint[] | null,
  fields: Omit<Partial<EndpointSlice>, 'metadata'> & { readonly metadata?: EndpointSlice['metadata'] } = {},
): EndpointSlice {
  const { metadata, ...others } = fields;
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    addressType: 'IPv4',
    endpoints,
    ports: HTTP,
    ...others,
    metadata: {
      name,
      generateName: 'web-',
      namespace: 'ns',
      uid: `uid-${name}`,
      resourceVersion: '1',
      labels: sliceLabelsOf('web'),
      ownerReferences: [ownedBy('uid-web')],
      ...metadata,
    },
  };
}

export function ownedBy(uid: string): NonNullable<EndpointSlice['metadata']['ownerReferences']>[number] {
  return { apiVersion: 'v1', kind: 'Service', name: 'web', uid, controller: true, blockOwnerDeletion: true };
}

export function sliceLabelsOf(service: string, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    ...more,
    'kubernetes.io/service-name': service,
    'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
  };
}
