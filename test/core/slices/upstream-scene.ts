/** Our slices and upstream's on one world: who plans what, on which server. */
import type { Member } from '../../../src/core/member.ts';
import type { CpuShares } from '../../../src/core/slices/cpu-shares.ts';
import { ackSlice, planSlices, type SlicesPlan } from '../../../src/core/slices/plan.ts';
import {
  applySlicesPod,
  createServiceSlices,
  observeSlice,
  type ServiceSlices,
  setSlicesSpec,
  slicePodNames,
} from '../../../src/core/slices/service-slices.ts';
import type { SliceWrite } from '../../../src/core/slices/slice-write.ts';
import { labelsGet } from '../../../src/kube/labels.ts';
import { ZONE_LABEL } from '../../../src/kube/names.ts';
import type { EndpointSlice } from '../../../src/kube/types.ts';
import { createPrng } from '../../../src/lib/prng.ts';
import { deepFreeze } from '../../support/deep-freeze.ts';
import { type Change, type ForeignEdit, startWorld, type World } from './service-changes.ts';
import { createSliceServer, putSlice, serveSliceRequest, type SliceServer } from '../../support/slice-server.ts';
import {
  copyUpstream,
  createUpstream,
  isSelected,
  type Upstream,
  upstreamNodes,
  type UpstreamSync,
  upstreamSync,
  upstreamTriggerTime,
} from '../../support/upstream-slices.ts';

const KEY = 'ns/web';

export interface Scene {
  readonly world: World;
  readonly server: SliceServer;
  readonly upstream: Upstream;
  readonly slices: ServiceSlices;
}

/** `asUpstream` = its placeholders are compared as it does; else as they should be. */
export function startScene(maxEndpointsPerSlice: number, asUpstream = false): Scene {
  return {
    world: startWorld(),
    server: createSliceServer(),
    upstream: createUpstream(maxEndpointsPerSlice, !asUpstream),
    slices: createServiceSlices({
      maxEndpointsPerSlice,
      tolerateUnreadyEndpointsAnnotation: false,
      compactSlices: false,
    }),
  };
}

/** Tells ours what changed: pods by the record or by what is known of their node. */
function tell(slices: ServiceSlices, world: World): void {
  setSlicesSpec(slices, world.service);
  const members = new Map<string, Member>();
  for (const pod of world.pods.values()) {
    if (!isSelected(world.service, pod)) continue;
    const node = world.nodes.get(pod.nodeName);
    members.set(pod.name, { pod, zone: node === undefined ? null : (labelsGet(node.labels, ZONE_LABEL) ?? '') });
  }
  for (const name of slicePodNames(slices)) if (!members.has(name)) applySlicesPod(slices, name, null);
  for (const [name, member] of members) applySlicesPod(slices, name, deepFreeze(member));
}

function sharesOf(upstream: Upstream): CpuShares | null {
  if (upstream.shares === null) return null;
  const zones = [...upstream.shares].map(([zone, share]) => ({ zone, share }));
  return { version: 1, zones: zones.toSorted((a, b) => (a.zone < b.zone ? -1 : 1)) };
}

export function ourPlan(scene: Scene): readonly SliceWrite[] {
  return ourWholePlan(scene).writes;
}

export function ourWholePlan({ slices, upstream, world, server }: Scene): SlicesPlan {
  const selected = [...world.pods.values()].filter((pod) => isSelected(world.service, pod));
  const triggerTime = upstreamTriggerTime(copyUpstream(upstream), KEY, world.service, selected);
  let drawn = 0;
  const suffix = (): string => `${server.version}-${drawn++}`;
  return planSlices(slices, { triggerTime, shares: sharesOf(upstream), suffix });
}

/** The server takes our writes, and we hear of it. */
export function apply(scene: Scene, writes: readonly SliceWrite[]): void {
  applySome(scene, writes, -1);
}

/** Only the writes whose bit is set come to be; of the others the server will have none. */
export function applySome({ slices, server }: Scene, writes: readonly SliceWrite[], bits: number): void {
  for (const [i, write] of writes.entries()) {
    if (((bits >> i) & 1) === 0) {
      ackSlice(slices, write, { result: i % 2 === 0 ? 'refused' : 'not-sent', uid: '', resourceVersion: '' });
      continue;
    }
    const { uid = '', resourceVersion = '' } = serveSliceRequest(server, write)?.metadata ?? {};
    ackSlice(slices, write, { result: 'applied', uid, resourceVersion });
  }
}

/** Ours, knowing nothing but the world and what that server holds. */
export function newcomer(scene: Scene, server: SliceServer): Scene {
  const slices = createServiceSlices(scene.slices.config);
  for (const [name, slice] of server.slices) observeSlice(slices, name, slice);
  tell(slices, scene.world);
  return { ...scene, server, slices };
}

/** `seed` null = slices by name, everything else as it comes. */
export function theirSync({ world, upstream }: Scene, server: SliceServer, seed: number | null): UpstreamSync {
  const { service, pods, nodes } = world;
  const slices = byName(server);
  const state = copyUpstream(upstream);
  return upstreamSync(
    state,
    { service, pods: [...pods.values()], nodes: [...nodes.values()], slices },
    KEY,
    seed === null ? null : createPrng(seed),
  );
}

export function advance({ world, upstream }: Scene): void {
  const selected = [...world.pods.values()].filter((pod) => isSelected(world.service, pod));
  upstreamTriggerTime(upstream, KEY, world.service, selected);
}

export function play(scene: Scene, changes: readonly Change[]): void {
  for (const change of changes) change(scene.world);
  upstreamNodes(scene.upstream, [...scene.world.nodes.values()]);
  deepFreeze(scene.world.service);
  tell(scene.slices, scene.world);
}

/** Another writer changes a slice, and we hear of it. */
export function editSlice({ server, slices }: Scene, { at, edit }: ForeignEdit): void {
  const slice = byName(server)[at];
  if (slice === undefined) return;
  const edited = edit(slice);
  if (edited === null) {
    server.slices.delete(slice.metadata.name!);
    observeSlice(slices, slice.metadata.name!, null);
  } else {
    const stored = putSlice(server, deepFreeze(edited));
    observeSlice(slices, stored.metadata.name!, stored);
  }
}

function byName({ slices }: SliceServer): EndpointSlice[] {
  return [...slices.values()].toSorted((a, b) => (a.metadata.name! < b.metadata.name! ? -1 : 1));
}
