/**
 * Merges slices of a port group that has shrunk, a few with each plan, where the operator asks for it
 * (docs/spec/endpointslice.md "Known defects", D17). Merging waits until all endpoints of the group fit in half of its
 * slices, so that the next pods do not split what was merged. It is part of a plan only if that plan has nothing else
 * to write for the family, so no change ever waits for it.
 */
import type { FamilySlices, PortGroup, SliceEntry } from './family-slices.ts';
import { compareEntries } from './leftovers.ts';
import { endpointsOf } from './pack-group.ts';
import { changedDraft, type SliceDraft } from './slice-draft.ts';
import { assert } from '../../lib/assert.ts';
import { fewItems } from '../../lib/few.ts';

/** Writes of one family in one plan: one slice takes all endpoints of the others, which are deleted. */
const WRITES_MAX = 4;

export interface Compaction {
  readonly updated: SliceDraft[];
  readonly deletes: readonly SliceEntry[];
}

/** The first step for one of the fragmented groups; null = there are none. Nothing may be dirty. */
export function compactFamily(family: FamilySlices): Compaction | null {
  let first: PortGroup | null = null;
  for (const group of family.fragmented ?? []) if (first === null || group.key < first.key) first = group;
  return first === null ? null : compactGroup(family, first);
}

function compactGroup(family: FamilySlices, group: PortGroup): Compaction {
  const entries = [...fewItems(group.entries)].sort((a, b) => sizeOf(a) - sizeOf(b) || compareEntries(a, b));
  // The endpoints of the two emptiest slices fit in one, because those of all slices fit in half of the slices.
  const host = entries.findLast(
    (entry, i) => i > 0 && sizeOf(entry) + sizeOf(entries[0]!) <= family.maxEndpointsPerSlice,
  );
  assert(host !== undefined, 'a group that is to be compacted can be');
  let size = sizeOf(host);
  const deletes: SliceEntry[] = [];
  const endpoints = [...(host.stored.object.endpoints ?? [])];
  for (const entry of entries) {
    if (entry === host) continue;
    size += sizeOf(entry);
    if (size > family.maxEndpointsPerSlice || deletes.length === WRITES_MAX - 1) break;
    deletes.push(entry);
    for (const endpoint of endpointsOf(group, podsIn(entry))) endpoints.push(endpoint);
  }
  const grows = endpoints.length > sizeOf(host);
  return { updated: grows ? [changedDraft(host, endpoints, 'changed')] : [], deletes };
}

function sizeOf({ stored }: SliceEntry): number {
  return stored.object.endpoints?.length ?? 0;
}

function podsIn({ stored }: SliceEntry): string[] {
  return (stored.object.endpoints ?? []).map(({ targetRef }) => targetRef?.name ?? '');
}
