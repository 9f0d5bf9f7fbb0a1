/** The EndpointSlices of one service in a planner: its pods, their trigger times, and the writes without an ack. */
import type { SlicesFacts } from '../core/slices/facts.ts';
import { ackSlice, planSlices } from '../core/slices/plan.ts';
import {
  applySlicesPod,
  createServiceSlices,
  forgetStoredSlices,
  observeSlice,
  type ServiceSlices,
  setSlicesSpec,
  slicePodNames,
  storedSlice,
} from '../core/slices/service-slices.ts';
import type { SliceWrite } from '../core/slices/slice-write.ts';
import {
  commitTriggerTime,
  createTriggerTimes,
  notePodTime,
  revertTriggerTime,
  takeTriggerTime,
  type TriggerTimes,
} from '../core/trigger-time.ts';
import type { EndpointSlice } from '../kube/types.ts';
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

export interface SlicesState {
  readonly slices: ServiceSlices;
  readonly times: TriggerTimes;
  readonly marks: SliceMarks;
  /** Writes that were planned and have no ack; null = none, which saves the memory of a map for each service. */
  pending: Map<number, SliceWrite> | null;
  /** Whether the last plan was whole. If not, the next one tells its trigger time again. */
  isWhole: boolean;
}

export const slicesOutput: PlannerOutput<SlicesState, SlicesFacts> = {
  create: (config) => ({
    slices: createServiceSlices(config),
    times: createTriggerTimes(),
    marks: createSliceMarks(),
    pending: null,
    isWhole: true,
  }),
  pods: {
    setSpec: ({ slices }, spec) => setSlicesSpec(slices, spec),
    podNames: ({ slices }) => slicePodNames(slices),
    setPod({ slices, times }, name, member) {
      const before = applySlicesPod(slices, name, member);
      notePodTime(times, name, before?.readyTime ?? 0, member?.pod.readyTime ?? 0);
    },
    // Problems of slices come with their plan.
    takeProblems: () => [],
  },
  slices: {
    forget({ slices, marks }) {
      forgetStoredSlices(slices);
      clearSliceMarks(marks);
    },
    observe({ slices, marks }, key, observed, problems) {
      observeSlice(slices, observed.name, readObserved(marks, key, observed, problems));
    },
  },
  needsEndpoints: false,
  pendingWrites: ({ pending }) => pending?.keys() ?? [],
  isPending: ({ pending }, write) => pending?.has(write) === true,
  acknowledge,
  plan,
};

/** Takes the ack of a write. The trigger time counts as told when all writes of its plan were applied. */
function acknowledge(state: SlicesState, ack: Ack): void {
  const { slices, times, marks, pending } = state;
  const write = pending?.get(ack.write);
  assert(pending !== null && write !== undefined, 'an ack belongs to a write');
  pending.delete(ack.write);
  if (pending.size === 0) state.pending = null;
  markAck(marks, write, ack);
  ackSlice(slices, write, ack);
  if (ack.result !== 'applied') revertTriggerTime(times);
  else if (state.pending === null && !state.isWhole) revertTriggerTime(times);
  else if (state.pending === null) commitTriggerTime(times);
}

function plan(state: SlicesState, input: PlanInput): OutputPlan<SlicesFacts> {
  const { slices, times, marks } = state;
  const { spec, shares, suffix, nextId } = input;
  assert(state.pending === null, `slice write ${[...(state.pending?.keys() ?? [])].join()} is not acked`);
  assert(!areUncertain(marks), 'asked to plan before the outcome of the last slice writes was observed');
  const triggerTime = takeTriggerTime(times, spec.creationTime);
  const { writes, facts, problems } = planSlices(slices, {
    triggerTime,
    shares,
    suffix: () => nextSuffix(marks, suffix),
  });
  if (writes.length === 0) commitTriggerTime(times);
  const before = (name: string): EndpointSlice | undefined => storedSlice(slices, name);
  const pending = new Map<number, SliceWrite>();
  const encoded = encodeSliceWrites(writes, before, pending, nextId);
  if (pending.size > 0) state.pending = pending;
  state.isWhole = encoded.isWhole;
  return { ...encoded, facts, problems };
}
