import type { Endpoint, Endpoints, EndpointSlice, IpFamily, ObjectMeta, SlicePort } from '../../kube/types.ts';
import { assert } from '../../lib/assert.ts';
import type { Problem } from '../problem.ts';
import { drawSliceName } from '../slices/slice-name.ts';
import type { SliceWrite } from '../slices/slice-write.ts';
import { sliceWrites } from '../slices/write-phases.ts';
import { type DesiredGroup, desiredGroups, groupKey } from './desired.ts';
import { hasMetadata, type MirroredMetadata, mirroredMetadata, withMetadata } from './metadata.ts';
import { type PackedGroup, packGroup } from './pack-group.ts';
import { mirrorProblems } from './problems.ts';
import { recycle } from './recycle.ts';

export interface MirrorConfig {
  /** `--mirroring-max-endpoints-per-subset` */
  readonly endpointsPerSubsetMax: number;
  /**
   * Whether addresses above that limit go into further slices, of at most that many endpoints each, instead of being
   * left out.
   */
  readonly all: boolean;
}

export interface MirrorInput {
  /** The object that the server holds, without managedFields. */
  readonly endpoints: Endpoints;
  /** All mirrored slices of that name that the server holds, in any order. */
  readonly stored: readonly EndpointSlice[];
  readonly config: MirrorConfig;
  /** By node, for nodes that have a zone; null = mirrored endpoints get no zone, as upstream. */
  readonly zones: ReadonlyMap<string, string> | null;
  /** Draws 5 characters for the name of a new slice. */
  readonly suffix: () => string;
}

export interface MirrorPlan {
  /** Creates, updates, deletes. Objects share parts with the input: they must not be changed. */
  readonly writes: readonly SliceWrite[];
  readonly facts: MirrorFacts;
  readonly problems: readonly Problem[];
}

/** What a plan of mirrored slices says beside its writes (docs/spec/endpointslice.md "Mirroring", "Metrics"). */
export interface MirrorFacts {
  /** Endpoints that there should be, over all subsets and families. */
  readonly endpoints: number;
  /** Slices after the writes of this plan, and the fewest that would do. */
  readonly slices: number;
  readonly slicesDesired: number;
  /**
   * How many endpoints this plan adds, updates and removes. As with upstream, stored slices whose ports are not wanted
   * any more do not count, nor do surplus slices.
   */
  readonly added: number;
  readonly updated: number;
  readonly removed: number;
  /** Addresses that are left out: invalid, or above the limit. */
  readonly skipped: number;
  /** The nodes of the endpoints, whether they exist or not; absent unless endpoints get zones. */
  readonly nodes?: readonly string[];
}

/**
 * Plans the writes after which the slices say what the Endpoints say (docs/spec/endpointslice.md "Mirroring: content",
 * "Mirroring: writing"). The caller has decided that the Endpoints are to be mirrored. A slice that is being deleted
 * counts as absent (upstream #108779). If one slice is to hold a group and several are stored, one that is right is
 * kept, else the first by name.
 */
export function planMirror(input: MirrorInput): MirrorPlan {
  const { endpoints, config, zones } = input;
  const { endpointsPerSubsetMax: max } = config;
  assert(max >= 1, 'a slice can hold an endpoint');
  const metadata = mirroredMetadata(endpoints);
  const outdated = (slice: EndpointSlice): boolean => !hasMetadata(slice, metadata);
  const desired = desiredGroups(endpoints.subsets ?? [], config.all ? Infinity : max, zones);
  const storedByGroup = groupStored(input.stored);

  const updates: Change[] = [];
  const creates: Content[] = [];
  const deletable: EndpointSlice[] = [];
  const facts = { endpoints: 0, slices: 0, slicesDesired: 0, added: 0, updated: 0, removed: 0 };
  for (const [key, group] of desired.groups) {
    const stored = storedByGroup.get(key) ?? [];
    storedByGroup.delete(key);
    const pack = (slices: readonly EndpointSlice[]): PackedGroup => packGroup(group.endpoints, slices, max, outdated);
    const severalSlices = config.all || group.endpoints.size > max;
    const usable = severalSlices || group.endpoints.size === 0 ? stored : keptOne(stored, pack);
    const packed = pack(usable);
    const content = (held: readonly Endpoint[]): Content => ({
      addressType: group.family,
      ports: group.ports,
      endpoints: held,
    });
    for (const kept of packed.kept) {
      if (kept.changed) updates.push({ slice: kept.slice, content: content(kept.endpoints) });
    }
    creates.push(...packed.created.map(content));
    deletable.push(...packed.dropped, ...stored.filter((slice) => !usable.includes(slice)));
    facts.endpoints += group.endpoints.size;
    facts.slices += packed.kept.length;
    facts.slicesDesired += Math.ceil(group.endpoints.size / max);
    facts.added += packed.added;
    facts.updated += packed.updated;
    facts.removed += packed.removed;
  }
  for (const slices of storedByGroup.values()) deletable.push(...slices);

  const recycled = recycle(creates, deletable.sort(compareNames));
  const reused = new Set(recycled);
  const inserts: Change[] = [];
  creates.forEach((content, i) => {
    const slice = recycled[i]!;
    if (slice !== null) updates.push({ slice, content });
    // Endpoints that are being deleted get no new slice, because it would be deleted with them.
    else if (endpoints.metadata.deletionTimestamp === undefined) inserts.push({ slice: null, content });
    else return;
    facts.slices++;
  });
  const deletes = deletable.filter((slice) => !reused.has(slice)).map((slice): Change => ({ slice, content: null }));
  return {
    writes: toWrites([...inserts, ...updates, ...deletes], input, metadata),
    facts: {
      ...facts,
      skipped: desired.skipped,
      ...(zones === null ? {} : { nodes: nodesOf(desired.groups.values()) }),
    },
    problems: mirrorProblems(endpoints, desired, max),
  };
}

function nodesOf(groups: Iterable<DesiredGroup>): string[] {
  const nodes = new Set<string>();
  for (const { endpoints } of groups) {
    for (const { nodeName } of endpoints.values()) if (nodeName !== undefined) nodes.add(nodeName);
  }
  return [...nodes];
}

/** The slice that is kept where one slice is to hold a whole group: the first that needs no write, else the first. */
function keptOne(
  stored: readonly EndpointSlice[],
  pack: (slices: readonly EndpointSlice[]) => PackedGroup,
): readonly EndpointSlice[] {
  const right = stored.length < 2 ? -1 : stored.findIndex((slice) => needsNothing(pack([slice])));
  return right < 0 ? stored.slice(0, 1) : [stored[right]!];
}

function needsNothing({ kept, dropped, created }: PackedGroup): boolean {
  return created.length === 0 && dropped.length === 0 && kept.every(({ changed }) => !changed);
}

interface Content {
  readonly addressType: IpFamily;
  readonly ports: readonly SlicePort[];
  readonly endpoints: readonly Endpoint[];
}

/** What becomes of a stored slice. `slice` null = the slice is new; `content` null = the slice is deleted. */
interface Change {
  readonly slice: EndpointSlice | null;
  readonly content: Content | null;
}

/** By `groupKey`, each list by name. */
function groupStored(stored: readonly EndpointSlice[]): Map<string, EndpointSlice[]> {
  const groups = new Map<string, EndpointSlice[]>();
  for (const slice of stored.toSorted(compareNames)) {
    if (slice.metadata.deletionTimestamp !== undefined) continue;
    const key = groupKey(slice.addressType, slice.ports);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [slice]);
    else group.push(slice);
  }
  return groups;
}

function compareNames(a: EndpointSlice, b: EndpointSlice): number {
  return nameOf(a) < nameOf(b) ? -1 : 1;
}

function nameOf(slice: EndpointSlice): string {
  return slice.metadata.name ?? '';
}

function toWrites(changes: readonly Change[], input: MirrorInput, wanted: MirroredMetadata): SliceWrite[] {
  const { name = '', namespace = '' } = input.endpoints.metadata;
  const names = new Set(input.stored.map(nameOf));
  const newMetadata = (): ObjectMeta => {
    const drawn = drawSliceName(name, input.suffix, (taken) => names.has(taken));
    names.add(drawn.name);
    return { ...drawn, namespace };
  };
  return sliceWrites(
    changes.map(({ slice, content }) => {
      if (content === null) return { before: slice, after: null };
      const metadata = withMetadata(slice?.metadata ?? newMetadata(), wanted);
      return {
        before: slice,
        after: { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', metadata, ...content },
      };
    }),
  );
}
