/** The mirrored slices of one service in a planner: what the server holds of them, and writes under way. */
import { type MirrorFacts, planMirror } from '../core/mirroring/plan.ts';
import type { Problem } from '../core/problem.ts';
import { appliedSlice, type SliceWrite } from '../core/slices/slice-write.ts';
import type { Endpoints, EndpointSlice } from '../kube/types.ts';
import { assert } from '../lib/assert.ts';
import { type Ack, type Observed, OUTPUT_MIRROR, type PlannedWrite, type PlannerConfig } from './protocol.ts';
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

const NOTHING_MIRRORED: MirrorFacts = {
  endpoints: 0,
  slices: 0,
  slicesDesired: 0,
  added: 0,
  updated: 0,
  removed: 0,
  skipped: 0,
};

export interface MirrorOutput {
  /** By name, without managedFields. */
  readonly stored: Map<string, EndpointSlice>;
  readonly marks: SliceMarks;
  /** Planned and not acked. */
  readonly pending: Map<number, SliceWrite>;
}

export function createMirrorOutput(): MirrorOutput {
  return { stored: new Map(), marks: createSliceMarks(), pending: new Map() };
}

export function forgetMirrored(output: MirrorOutput): void {
  output.stored.clear();
  clearSliceMarks(output.marks);
}

export function takeObservedMirrored(output: MirrorOutput, key: string, observed: Observed, problems: Problem[]): void {
  const { name } = observed;
  const news = newsOfSlice(output.marks, key, observed, problems);
  if (news === null) output.stored.delete(name);
  else output.stored.set(name, news);
}

export function takeMirrorAck(output: MirrorOutput, write: SliceWrite, ack: Ack): void {
  const { stored, marks, pending } = output;
  const { name, object } = write;
  pending.delete(ack.write);
  const known = stored.get(name) ?? null;
  if (!markAck(marks, write, known, ack)) return;
  if (object === null) stored.delete(name);
  else stored.set(name, appliedSlice(object, ack));
}

export interface MirrorPlan {
  readonly writes: readonly PlannedWrite[];
  readonly facts: MirrorFacts;
  readonly problems: readonly Problem[];
}

/**
 * @param zones by node
 * @param endpoints null = there is nothing to mirror: what was mirrored is deleted
 */
export function planMirrorOutput(
  output: MirrorOutput,
  config: PlannerConfig,
  zones: ReadonlyMap<string, string>,
  endpoints: Endpoints | null,
  suffix: () => string,
  nextId: () => number,
): MirrorPlan {
  const { marks, pending } = output;
  assert(pending.size === 0, `mirror write ${[...pending.keys()].join()} is not acked`);
  assert(!areUncertain(marks), 'asked to plan before the outcome of the last mirror writes was observed');
  const stored = [...output.stored.values()];
  const { writes, facts, problems } =
    endpoints === null
      ? { writes: deletesOf(stored), facts: NOTHING_MIRRORED, problems: [] }
      : planMirror({
          endpoints,
          stored,
          config: { endpointsPerSubsetMax: config.mirrorEndpointsPerSubsetMax, all: config.mirrorAll },
          zones: config.mirrorZones ? zones : null,
          suffix: () => nextSuffix(marks, suffix),
        });
  const before = (name: string): EndpointSlice | undefined => output.stored.get(name);
  return { writes: encodeSliceWrites(OUTPUT_MIRROR, writes, before, pending, nextId), facts, problems };
}

/** Of all but those that are being deleted already. As upstream's clean-up, it counts no endpoint as removed. */
function deletesOf(stored: readonly EndpointSlice[]): SliceWrite[] {
  const writes: SliceWrite[] = [];
  for (const { metadata } of stored) {
    if (metadata.deletionTimestamp !== undefined) continue;
    const { name = '', uid = '', resourceVersion = '' } = metadata;
    writes.push({ verb: 'delete', name, uid, resourceVersion, phase: 1, object: null });
  }
  return writes;
}
