/**
 * A shard's planner: what it knows of its services, and what has to be written. Bytes in, bytes out, with state, and
 * deterministic: it runs unchanged in a thread, on the main thread and in the simulator.
 *
 * Its state is a cache, never a truth: a full snapshot and the observed objects rebuild all of it.
 */
import {
  applyPod,
  createMembership,
  memberNames,
  type Membership,
  setSpec,
  subsetsOf,
  takeProblems,
} from '../core/endpoints/membership.ts';
import { planEndpoints } from '../core/endpoints/plan.ts';
import type { Problem } from '../core/problem.ts';
import {
  commitTriggerTime,
  createTriggerTimes,
  notePodTime,
  revertTriggerTime,
  takeTriggerTime,
  type TriggerTimes,
} from '../core/trigger-time.ts';
import { encodeObject } from '../kube/codec.ts';
import { splitKey } from '../kube/key.ts';
import type { Endpoints, PodRecord, ServiceRecord } from '../kube/types.ts';
import { assert } from '../lib/assert.ts';
import { CodecError, decodeBatch, encodeReply } from './codec.ts';
import {
  OUTPUT_ENDPOINTS,
  type Ack,
  type Batch,
  type BatchEntry,
  type PlannedWrite,
  type PlannerConfig,
  type ServiceResult,
} from './protocol.ts';
import { createStored, storeApplied, storeObserved, storeSettled, storeUnknown, type Stored } from './stored.ts';

export interface Planner {
  readonly config: PlannerConfig;
  readonly services: Map<string, ServiceState>;
  writesPlanned: number;
}

interface ServiceState {
  readonly key: string;
  /** null = no snapshot came yet, only objects. */
  inputs: Inputs | null;
  readonly stored: Stored;
  /** Planned and not acked. */
  pending: { readonly write: number; readonly object: Endpoints } | null;
}

interface Inputs {
  /** As the main thread counts. */
  version: number;
  readonly membership: Membership;
  readonly times: TriggerTimes;
}

export function createPlanner(config: PlannerConfig): Planner {
  return { config, services: new Map(), writesPlanned: 0 };
}

/**
 * Works on an encoded `Batch` and returns an encoded `PlanReply` in a buffer of its own. Bytes that are no batch change
 * nothing and are answered with an error; so is a service whose planning throws, whose state is dropped.
 */
export function plan(planner: Planner, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  let batch: Batch;
  try {
    batch = decodeBatch(bytes);
  } catch (error) {
    if (!(error instanceof CodecError)) throw error;
    return encodeReply({ error: error.message, results: [] });
  }
  return encodeReply({ error: null, results: batch.entries.map((entry) => planService(planner, entry)) });
}

function planService(planner: Planner, entry: BatchEntry): ServiceResult {
  try {
    return takeEntry(planner, entry);
  } catch (error) {
    planner.services.delete(entry.service);
    const message = error instanceof Error ? error.message : String(error);
    return { ...nothingPlanned(entry), error: `${entry.service}: ${message}` };
  }
}

function takeEntry(planner: Planner, entry: BatchEntry): ServiceResult {
  if (entry.spec === null) {
    planner.services.delete(entry.service);
    return nothingPlanned(entry);
  }
  const state = stateOf(planner, entry);
  const problems: Problem[] = [];
  for (const ack of entry.acks) takeAck(state, ack);
  for (const observed of entry.observed) {
    assert(observed.output === OUTPUT_ENDPOINTS, `output ${observed.output} is not planned here`);
    storeObserved(state.stored, state.key, observed, problems);
  }
  const current = takeInputs(planner, state, entry);
  if ((entry.outputs & OUTPUT_ENDPOINTS) === 0 || !current) {
    if (state.inputs !== null) problems.push(...takeProblems(state.inputs.membership));
    return { ...nothingPlanned(entry), needFull: !current, problems };
  }
  return planEndpointsOf(planner, state, entry, problems);
}

function stateOf(planner: Planner, entry: BatchEntry): ServiceState {
  let state = planner.services.get(entry.service);
  if (state === undefined) {
    state = { key: entry.service, inputs: null, stored: createStored(), pending: null };
    planner.services.set(entry.service, state);
  }
  return state;
}

function takeAck(state: ServiceState, ack: Ack): void {
  const { inputs, pending, stored } = state;
  // The state that the write was planned from was dropped in the meantime.
  if (inputs === null) return;
  assert(pending?.write === ack.write, `ack of write ${ack.write}, pending is ${pending?.write ?? 'none'}`);
  state.pending = null;
  if (ack.result === 'applied') {
    storeApplied(stored, pending.object, ack.uid, ack.resourceVersion);
    commitTriggerTime(inputs.times);
    return;
  }
  revertTriggerTime(inputs.times);
  if (ack.result === 'unknown') storeUnknown(stored);
}

/** Returns false when the planner has not what the entry builds on; then nothing was taken. */
function takeInputs(planner: Planner, state: ServiceState, entry: BatchEntry): boolean {
  if (entry.base === 0 && entry.spec !== undefined && entry.spec !== null) {
    takeSnapshot(planner, state, entry, entry.spec);
    return true;
  }
  const changed = entry.spec !== undefined || entry.upserts.length > 0 || entry.removals.length > 0;
  if (entry.outputs === 0 && !changed) return true;
  const { inputs } = state;
  if (inputs === null || inputs.version !== entry.base) return false;
  if (entry.spec != null) setSpec(inputs.membership, entry.spec);
  for (const name of entry.removals) takePod(inputs, name, null);
  for (const pod of entry.upserts) takePod(inputs, pod.name, pod);
  inputs.version = entry.version;
  return true;
}

/** Over what is known already a snapshot is taken as a difference: what did not change stays identical. */
function takeSnapshot(planner: Planner, state: ServiceState, entry: BatchEntry, spec: ServiceRecord): void {
  assert(state.pending === null, `snapshot while write ${state.pending?.write} is not acked`);
  assert(entry.version > 0, 'a snapshot has a version above 0');
  let { inputs } = state;
  if (inputs === null) {
    const membership = createMembership(spec, planner.config);
    inputs = { version: entry.version, membership, times: createTriggerTimes() };
    state.inputs = inputs;
  } else {
    inputs.version = entry.version;
    setSpec(inputs.membership, spec);
    const names = new Set(entry.upserts.map((pod) => pod.name));
    for (const name of memberNames(inputs.membership)) if (!names.has(name)) takePod(inputs, name, null);
  }
  for (const pod of entry.upserts) takePod(inputs, pod.name, pod);
}

function takePod(inputs: Inputs, name: string, pod: PodRecord | null): void {
  const before = applyPod(inputs.membership, name, pod);
  notePodTime(inputs.times, name, before?.readyTime ?? 0, pod?.readyTime ?? 0);
}

function planEndpointsOf(planner: Planner, state: ServiceState, entry: BatchEntry, problems: Problem[]): ServiceResult {
  assert(state.pending === null, `write ${state.pending?.write} is not acked`);
  const { stored } = state;
  const { membership, times } = state.inputs!;
  problems.push(...takeProblems(membership));
  if (stored.unreadable !== null) {
    problems.push(stored.unreadable);
    return { ...nothingPlanned(entry), problems };
  }
  assert(!stored.uncertain, 'asked to plan before the outcome of the last write was observed');

  const subsets = subsetsOf(membership);
  const triggerTime = takeTriggerTime(times, membership.spec.creationTime);
  const planned = planEndpoints({
    service: membership.spec,
    subsets,
    stored: stored.object,
    planned: stored.planned,
    triggerTime,
  });
  problems.push(...planned.problems);
  const facts = { ready: planned.ready, notReady: planned.notReady, truncated: planned.truncated };
  const writes: PlannedWrite[] = [];
  if (planned.verb === 'none' || planned.object === null) {
    commitTriggerTime(times);
    if (planned.ready + planned.notReady > 0 && planned.truncated === 0) storeSettled(stored, subsets);
  } else {
    const write = {
      id: ++planner.writesPlanned,
      output: OUTPUT_ENDPOINTS,
      verb: planned.verb,
      name: splitKey(state.key).name,
      uid: stored.object?.metadata.uid ?? '',
      resourceVersion: stored.object?.metadata.resourceVersion ?? '',
      phase: 1,
      body: encodeObject(planned.object),
    } as const;
    state.pending = { write: write.id, object: planned.object };
    writes.push(write);
  }
  return { ...nothingPlanned(entry), outputs: OUTPUT_ENDPOINTS, writes, facts, problems };
}

function nothingPlanned(entry: BatchEntry): ServiceResult {
  return {
    service: entry.service,
    outputs: 0,
    needFull: false,
    writes: [],
    facts: undefined,
    problems: [],
    error: null,
  };
}
