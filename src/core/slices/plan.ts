/**
 * Which writes a service needs so that the server holds the right slices (docs/spec/endpointslice.md "Which pods
 * count", "Writing", "New slices").
 */
import { assert } from '../../lib/assert.ts';
import type { ServiceRecord } from '../../kube/types.ts';
import type { Problem } from '../problem.ts';
import { selectsPods } from '../selects-pods.ts';
import type { CpuShares } from './cpu-shares.ts';
import type { FamilyFacts, SlicesFacts } from './facts.ts';
import type { FamilySlices } from './family-slices.ts';
import { compareEntries } from './leftovers.ts';
import { packFamily } from './pack-family.ts';
import { planHints } from './plan-hints.ts';
import {
  observeSlice,
  type ServiceSlices,
  type DerivedService,
  storedSlice,
  takeSlicesProblems,
} from './service-slices.ts';
import { changedDraft } from './slice-draft.ts';
import { drawSliceName, type SliceName } from './slice-name.ts';
import { changedObject, createdObject, recycledObject, type SliceObjectInput } from './slice-object.ts';
import { appliedSlice, changesStored, type WriteAck, type SliceWrite } from './slice-write.ts';
import { hintsMode } from './traffic-distribution.ts';
import { type SliceChange, sliceWrites } from './write-phases.ts';
import { fewItems, fewSize } from '../../lib/few.ts';

export interface SlicesPlanInput {
  /** Seconds since the epoch for the annotation of slices that are written; 0 = none. */
  readonly triggerTime: number;
  /** The CPU shares for hints; null = there are none. */
  readonly shares: CpuShares | null;
  /** Draws 5 characters of the API server's alphabet for names. */
  readonly suffix: () => string;
}

export interface SlicesPlan {
  /** Not by phase: whoever sends them sorts them. */
  readonly writes: readonly SliceWrite[];
  readonly facts: SlicesFacts;
  /** Problems that have come up since the last plan. */
  readonly problems: readonly Problem[];
}

/**
 * Plans from the present state. Stored slices change only by `ackSlice` or `observeSlice`, so what was not written is
 * planned again.
 */
export function planSlices(s: ServiceSlices, input: SlicesPlanInput): SlicesPlan {
  const { service } = s;
  assert(service !== null, 'the service is known when its slices are planned');
  const { spec } = service;
  const problems = takeSlicesProblems(s);
  if (!selectsPods(spec)) {
    const facts = { families: [], topology: false, trafficDistribution: '', waitingForNode: 0 };
    return { writes: [], facts, problems };
  }
  const mode = hintsMode(spec);
  const names = new Set<string>();
  const plans = s.families.map((family) => planFamily(s, service, family, input, names));
  const unwanted = [...fewItems(s.unwanted)].sort(compareEntries);
  const deletes = sliceWrites(unwanted.map(({ stored }) => ({ before: stored.object, after: null })));
  return {
    writes: [...plans.flatMap(({ writes }) => writes), ...deletes],
    facts: {
      families: plans.map(({ facts }) => facts),
      topology: mode === 'Auto',
      trafficDistribution: mode === 'Auto' || mode === 'none' ? '' : mode,
      waitingForNode: s.waitingForNode,
      ...(s.config.compactSlices ? { fragmented: plans.some(({ fragmented }) => fragmented) } : {}),
    },
    problems,
  };
}

/** Takes the outcome of a write. The caller calls it once for each write of a plan, before the next plan. */
export function ackSlice(s: ServiceSlices, write: SliceWrite, ack: WriteAck): void {
  const { name, object } = write;
  if (!changesStored(write, storedSlice(s, name) ?? null, ack)) return;
  observeSlice(s, name, object === null ? null : appliedSlice(object, ack));
}

interface FamilyPlan {
  readonly writes: readonly SliceWrite[];
  /** Whether there are slices to merge, or may be: a new slice may stand beside an empty one. */
  readonly fragmented: boolean;
  readonly facts: FamilyFacts;
}

/** @param names names of slices that this plan creates; grows */
function planFamily(
  s: ServiceSlices,
  service: DerivedService,
  family: FamilySlices,
  input: SlicesPlanInput,
  names: Set<string>,
): FamilyPlan {
  const packed = packFamily(service, family);
  const { created, updated, deletes } = packed;
  const hints = planHints(service.spec, family, packed, input.shares);
  for (const { stored, endpoints } of hints.touched) {
    const entry = s.stored.get(stored.object.metadata.name!);
    assert(entry !== undefined, 'hints touch stored slices');
    updated.push(changedDraft(entry, [...endpoints], 'hints'));
  }

  const { spec, labels } = service;
  const { triggerTime, suffix } = input;
  const objects: SliceObjectInput = { spec, labels, family: family.family, triggerTime };
  const changes: SliceChange[] = [];
  let creates = 0;
  for (const draft of [...created, ...updated]) {
    if (draft.entry !== null) {
      const before = draft.entry.stored.object;
      const after = (draft.kind === 'new' ? recycledObject : changedObject)(objects, draft, before);
      changes.push({ before, after });
    } else if (!spec.deleting) {
      creates++;
      changes.push({ before: null, after: createdObject(objects, draft, drawName(s, spec, suffix, names)) });
    }
  }
  for (const { stored } of deletes) changes.push({ before: stored.object, after: null });
  return {
    writes: sliceWrites(changes),
    fragmented: family.fragmented !== null && family.fragmented.size + created.length > 0,
    facts: {
      family: family.family,
      endpoints: family.endpoints,
      slices: family.owned + fewSize(family.ofEarlierService) + creates - deletes.length,
      slicesDesired: Math.max(1, family.fewest),
      added: packed.added,
      removed: packed.removed,
      writes: created.length + updated.length + deletes.length,
      hints: hints.hints,
      hintsFailure: hints.failure,
    },
  };
}

function drawName(s: ServiceSlices, spec: ServiceRecord, suffix: () => string, names: Set<string>): SliceName {
  const name = drawSliceName(spec.name, suffix, (drawn) => s.stored.has(drawn) || names.has(drawn));
  names.add(name.name);
  return name;
}
