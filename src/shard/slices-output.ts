/** The EndpointSlices of one service in a planner: the service's view of its pods, trigger times, and writes under way. */
import type { Problem } from '../core/problem.ts';
import type { CpuShares } from '../core/slices/cpu-shares.ts';
import type { SlicesFacts } from '../core/slices/facts.ts';
import { ackSlice, planSlices } from '../core/slices/plan.ts';
import {
  createServiceSlices,
  forgetStoredSlices,
  observeSlice,
  type ServiceSlices,
  storedSlice,
} from '../core/slices/service-slices.ts';
import type { SliceWrite } from '../core/slices/slice-write.ts';
import {
  commitTriggerTime,
  createTriggerTimes,
  revertTriggerTime,
  takeTriggerTime,
  type TriggerTimes,
} from '../core/trigger-time.ts';
import type { EndpointSlice, ServiceRecord } from '../kube/types.ts';
import { assert } from '../lib/assert.ts';
import { type Ack, type Observed, OUTPUT_SLICES, type PlannedWrite, type PlannerConfig } from './protocol.ts';
import { encodeSliceWrites } from './slice-writes.ts';
import {
  areUncertain,
  clearSliceMarks,
  createSliceMarks,
  markAck,
  newsOfSlice,
  nextSuffix,
  type SliceMarks,
} from './stored-slices.ts';

export interface SlicesOutput {
  readonly slices: ServiceSlices;
  readonly times: TriggerTimes;
  readonly marks: SliceMarks;
  /** Planned and not acked. */
  readonly pending: Map<number, SliceWrite>;
}

export function createSlicesOutput(config: PlannerConfig): SlicesOutput {
  return {
    slices: createServiceSlices(config),
    times: createTriggerTimes(),
    marks: createSliceMarks(),
    pending: new Map(),
  };
}

export function forgetSlices(output: SlicesOutput): void {
  forgetStoredSlices(output.slices);
  clearSliceMarks(output.marks);
}

export function takeObservedSlice(output: SlicesOutput, key: string, observed: Observed, problems: Problem[]): void {
  observeSlice(output.slices, observed.name, newsOfSlice(output.marks, key, observed, problems));
}

/** The trigger time counts as told when all writes of its plan were applied. */
export function takeSliceAck(output: SlicesOutput, write: SliceWrite, ack: Ack): void {
  const { slices, times, marks, pending } = output;
  pending.delete(ack.write);
  markAck(marks, write, storedSlice(slices, write.name) ?? null, ack);
  ackSlice(slices, write, { result: ack.result, uid: ack.uid, resourceVersion: ack.resourceVersion });
  if (ack.result !== 'applied') revertTriggerTime(times);
  else if (pending.size === 0) commitTriggerTime(times);
}

export interface SlicesPlan {
  readonly writes: readonly PlannedWrite[];
  readonly facts: SlicesFacts;
  readonly problems: readonly Problem[];
}

export function planSlicesOutput(
  output: SlicesOutput,
  spec: ServiceRecord,
  shares: CpuShares | null,
  suffix: () => string,
  nextId: () => number,
): SlicesPlan {
  const { slices, times, marks, pending } = output;
  assert(pending.size === 0, `slice write ${[...pending.keys()].join()} is not acked`);
  assert(!areUncertain(marks), 'asked to plan before the outcome of the last slice writes was observed');
  const triggerTime = takeTriggerTime(times, spec.creationTime);
  const { writes, facts, problems } = planSlices(slices, {
    triggerTime,
    shares,
    suffix: () => nextSuffix(marks, suffix),
  });
  if (writes.length === 0) commitTriggerTime(times);
  const before = (name: string): EndpointSlice | undefined => storedSlice(slices, name);
  return { writes: encodeSliceWrites(OUTPUT_SLICES, writes, before, pending, nextId), facts, problems };
}
