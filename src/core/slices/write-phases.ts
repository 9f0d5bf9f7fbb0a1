import type { EndpointSlice } from '../../kube/types.ts';
import type { SliceWrite } from './slice-write.ts';

/** What a write makes of a slice: null before a create, null after a delete. */
export interface SliceChange {
  readonly before: EndpointSlice | null;
  readonly after: EndpointSlice | null;
}

/** The changes as writes, in their order. */
export function sliceWrites(changes: readonly SliceChange[]): SliceWrite[] {
  const phases = writePhases(changes);
  return changes.map(({ before, after }, i) => ({
    verb: before === null ? 'create' : after === null ? 'delete' : 'update',
    name: (after ?? before)?.metadata.name ?? '',
    uid: before?.metadata.uid ?? '',
    resourceVersion: before?.metadata.resourceVersion ?? '',
    phase: phases[i]!,
    object: after,
  }));
}

/**
 * Which writes of one plan go first, side by side, and which only when those have succeeded. So an address that moves
 * between slices is in the new one before it leaves the old one (docs/spec/endpointslice.md "Writing", upstream
 * #93908). First go creates, and updates that drop no address which another write adds. Two updates that exchange
 * addresses are both second: no order can help there.
 */
export function writePhases(changes: readonly SliceChange[]): readonly (1 | 2)[] {
  // Nearly always no other write can add what this one drops.
  if (changes.length === 1) return [changes[0]!.after === null ? 2 : 1];
  const added = new Set<string>();
  for (const { before, after } of changes) for (const address of missing(after, before)) added.add(address);
  return changes.map(({ before, after }) => {
    if (before === null) return 1;
    if (after === null) return 2;
    return missing(before, after).some((address) => added.has(address)) ? 2 : 1;
  });
}

/** The addresses that are in the one slice and not in the other. */
function missing(slice: EndpointSlice | null, other: EndpointSlice | null): string[] {
  const there = new Set<string>();
  for (const endpoint of other?.endpoints ?? []) for (const address of endpoint.addresses) there.add(address);
  const found: string[] = [];
  for (const endpoint of slice?.endpoints ?? []) {
    for (const address of endpoint.addresses) if (!there.has(address)) found.push(address);
  }
  return found;
}
