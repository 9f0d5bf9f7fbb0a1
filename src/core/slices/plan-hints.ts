import type { ServiceRecord } from '../../kube/types.ts';
import type { CpuShares } from './cpu-shares.ts';
import type { FamilySlices, SliceEntry } from './family-slices.ts';
import { compareEntries } from './leftovers.ts';
import type { PackedFamily } from './pack-family.ts';
import type { SliceDraft } from './slice-draft.ts';
import type { HintSlices, StoredSlice } from './slice-state.ts';
import { allotHints, type HintResult, stripHints } from './topology-hints.ts';
import { distributeTraffic, hintsMode } from './traffic-distribution.ts';
import { fewItems } from '../../lib/few.ts';

const NO_HINTS: HintResult = { touched: [], hints: null, failure: '' };

/**
 * Puts the hints that the Service asks for into the drafts, and finds the other slices whose hints are not right. If no
 * hints are wanted and none exist, no slice is looked at. Else each slice is judged by its summary.
 */
export function planHints(
  spec: ServiceRecord,
  family: FamilySlices,
  { created, updated, deletes }: PackedFamily,
  shares: CpuShares | null,
): HintResult {
  const mode = hintsMode(spec);
  if (mode === 'none' && family.hinted === 0) return NO_HINTS;
  const slices: HintSlices = { created, updated, unchanged: unchangedSlices(family, created, updated, deletes) };
  if (mode === 'Auto') return allotHints(slices, shares);
  return mode === 'none' ? stripHints(slices) : distributeTraffic(slices, mode);
}

function unchangedSlices(
  family: FamilySlices,
  created: readonly SliceDraft[],
  updated: readonly SliceDraft[],
  deletes: readonly SliceEntry[],
): StoredSlice[] {
  const written = new Set<SliceEntry>(deletes);
  for (const { entry } of created) if (entry !== null) written.add(entry);
  for (const { entry } of updated) written.add(entry!);
  const unchanged: SliceEntry[] = [];
  for (const group of family.groups.values()) {
    for (const entry of fewItems(group.entries)) if (!written.has(entry)) unchanged.push(entry);
  }
  return unchanged.sort(compareEntries).map(({ stored }) => stored);
}
