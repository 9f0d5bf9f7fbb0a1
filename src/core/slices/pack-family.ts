import { compactFamily } from './compact.ts';
import { type FamilySlices, type PortGroup, settleGroup, type SliceEntry } from './family-slices.ts';
import { compareEntries } from './leftovers.ts';
import { draftNewSlices } from './new-slices.ts';
import { fillGroup, refreshGroup } from './pack-group.ts';
import type { DerivedService } from './service-slices.ts';
import { newDraft, type SliceDraft } from './slice-draft.ts';
import { sliceLabelsAreRight } from './slice-labels.ts';
import { isPlaceholder } from './slice-object.ts';
import { NO_SLICE_PORTS } from './slice-ports.ts';
import { fewItems } from '../../lib/few.ts';

/** The plan for the slices of one family, without hints. */
export interface PackedFamily {
  /** New slices. Some of them overwrite a recycled slice. */
  readonly created: readonly SliceDraft[];
  readonly updated: SliceDraft[];
  readonly deletes: readonly SliceEntry[];
  readonly added: number;
  readonly removed: number;
}

/**
 * Packs a family. Looks only at dirty slices and pods, and takes the marks off those that are right
 * (docs/spec/endpointslice.md "Packing", "The placeholder").
 */
export function packFamily(service: DerivedService, family: FamilySlices): PackedFamily {
  const labelsAreRight = ({ stored }: SliceEntry): boolean =>
    sliceLabelsAreRight(stored.object.metadata.labels, service.spec.labels);
  const groups = [...fewItems(family.dirtyGroups)].sort((a, b) => (a.key < b.key ? -1 : 1));
  const packings = groups.filter(({ pods }) => pods > 0).map((group) => refreshGroup(family, group, labelsAreRight));
  const recyclable = new Set(
    [...packings.flatMap(({ emptied }) => emptied), ...groups.filter(({ pods }) => pods === 0).flatMap(entriesOf)].sort(
      compareEntries,
    ),
  );
  const ofEarlierService = [...fewItems(family.ofEarlierService)].sort(compareEntries);
  const keepsNone = recyclable.size === family.owned;
  const leftovers = packings.map((packing) => ({
    group: packing.group,
    leftovers: fillGroup(family, packing, recyclable),
  }));
  let created = draftNewSlices(family, leftovers, recyclable);
  if (created.length === 0 && keepsNone) {
    const [first = null] = recyclable;
    const placeholder = [...recyclable].find(({ stored }) => isPlaceholder(stored.object, service.labels));
    const kept = placeholder ?? first;
    if (kept !== null) recyclable.delete(kept);
    if (placeholder === undefined) created = [newDraft(NO_SLICE_PORTS, [], kept)];
  }
  for (const group of groups) settleGroup(family, group);
  if (created.length + ofEarlierService.length + recyclable.size === 0 && family.dirtyGroups === null) {
    const compaction = compactFamily(family);
    if (compaction !== null) return { created, ...compaction, added: 0, removed: 0 };
  }
  return {
    created,
    updated: packings.flatMap(({ updates }) => updates),
    deletes: [...ofEarlierService, ...recyclable],
    added: packings.reduce((sum, { pods }) => sum + pods.length, 0),
    removed: packings.reduce((sum, { removed }) => sum + removed, 0),
  };
}

function entriesOf({ entries }: PortGroup): SliceEntry[] {
  return [...fewItems(entries)];
}
