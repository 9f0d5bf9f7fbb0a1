/** The mirrored slices of one service in a planner: those that the server holds, and the writes without an ack. */
import { type MirrorFacts, planMirror } from '../core/mirroring/plan.ts';
import { type Problem, problemsEqual } from '../core/problem.ts';
import { appliedSlice, changesStored, type SliceWrite } from '../core/slices/slice-write.ts';
import type { Endpoints, EndpointSlice } from '../kube/types.ts';
import { assert } from '../lib/assert.ts';
import type { OutputPlan, PlanInput, PlannerOutput } from './planner-output.ts';
import type { Ack } from './protocol.ts';
import { encodeSliceWrites } from './slice-writes.ts';
import {
  areUncertain,
  clearSliceMarks,
  createSliceMarks,
  markAck,
  readObserved,
  nextSuffix,
  type SliceMarks,
} from './stored-slices.ts';

const NOTHING_MIRRORED: MirrorFacts = {
  endpoints: 0,
  slices: 0,
  slicesDesired: 0,
  added: 0,
  updated: 0,
  removed: 0,
  skipped: 0,
};

export interface MirrorState {
  /** By name, without managedFields. */
  readonly stored: Map<string, EndpointSlice>;
  readonly marks: SliceMarks;
  /** Writes that were planned and have no ack. */
  readonly pending: Map<number, SliceWrite>;
  /** Those of the last plan, which the next one does not tell again. */
  problems: readonly Problem[];
}

export const mirrorOutput: PlannerOutput<MirrorState, MirrorFacts> = {
  create: () => ({ stored: new Map(), marks: createSliceMarks(), pending: new Map(), problems: [] }),
  pods: null,
  slices: {
    forget({ stored, marks }) {
      stored.clear();
      clearSliceMarks(marks);
    },
    observe({ stored, marks }, key, observed, problems) {
      const { name } = observed;
      const slice = readObserved(marks, key, observed, problems);
      if (slice === null) stored.delete(name);
      else stored.set(name, slice);
    },
  },
  needsEndpoints: true,
  pendingWrites: ({ pending }) => pending.keys(),
  isPending: ({ pending }, write) => pending.has(write),
  acknowledge,
  plan,
};

function acknowledge({ stored, marks, pending }: MirrorState, ack: Ack): void {
  const write = pending.get(ack.write);
  assert(write !== undefined, 'an ack belongs to a write');
  const { name, object } = write;
  pending.delete(ack.write);
  markAck(marks, write, ack);
  if (!changesStored(write, stored.get(name) ?? null, ack)) return;
  if (object === null) stored.delete(name);
  else stored.set(name, appliedSlice(object, ack));
}

function plan(state: MirrorState, input: PlanInput): OutputPlan<MirrorFacts> {
  const { marks, pending } = state;
  const { config, zones, suffix, nextId } = input;
  assert(pending.size === 0, `mirror write ${[...pending.keys()].join()} is not acked`);
  assert(!areUncertain(marks), 'asked to plan before the outcome of the last mirror writes was observed');
  const stored = [...state.stored.values()];
  const endpoints = mirroredOf(input);
  const { writes, facts, problems } =
    endpoints === null
      ? { writes: deletesOf(stored), facts: NOTHING_MIRRORED, problems: [] }
      : planMirror({
          endpoints,
          stored,
          config: { endpointsPerSubsetMax: config.mirroringMaxEndpointsPerSubset, all: config.mirroringAllEndpoints },
          zones: config.mirroringZones ? zones : null,
          suffix: () => nextSuffix(marks, suffix),
        });
  const before = (name: string): EndpointSlice | undefined => state.stored.get(name);
  const newProblems = problems.filter((problem) => !state.problems.some((told) => problemsEqual(told, problem)));
  state.problems = problems;
  return { ...encodeSliceWrites(writes, before, pending, nextId), facts, problems: newProblems };
}

/** The Endpoints that are mirrored; null = there is nothing to mirror, so all mirrored slices are deleted. */
function mirroredOf({ spec, endpoints: { object } }: PlanInput): Endpoints | null {
  // A service with a selector has slices of its own (docs/spec/endpointslice.md "Mirroring: sync").
  if (spec.selector !== null || object === null) return null;
  // Endpoints that we wrote ourselves have no namespace.
  return { ...object, metadata: { ...object.metadata, namespace: spec.namespace } };
}

/**
 * Deletes all slices except those that are being deleted already. Like upstream's clean-up it counts no endpoint as
 * removed.
 */
function deletesOf(stored: readonly EndpointSlice[]): SliceWrite[] {
  const writes: SliceWrite[] = [];
  for (const { metadata, addressType } of stored) {
    if (metadata.deletionTimestamp !== undefined) continue;
    const { name = '', uid = '', resourceVersion = '' } = metadata;
    writes.push({
      verb: 'delete',
      name,
      uid,
      resourceVersion,
      phase: 1,
      waits: false,
      family: addressType,
      object: null,
    });
  }
  return writes;
}
