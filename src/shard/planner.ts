/**
 * A shard's planner: what it knows of its services, and what has to be written. Bytes in, bytes out, with state, and
 * deterministic: it runs unchanged in a thread, on the main thread and in the simulator.
 *
 * Its state is a cache, never a truth: a full snapshot and the observed objects rebuild all of it.
 */
import { applyPod, createMembership, memberNames, setSpec, takeProblems } from '../core/endpoints/membership.ts';
import type { Member } from '../core/member.ts';
import type { Problem } from '../core/problem.ts';
import type { CpuShares } from '../core/slices/cpu-shares.ts';
import { applySlicesPod, setSlicesSpec, slicePodNames } from '../core/slices/service-slices.ts';
import { createTriggerTimes, notePodTime } from '../core/trigger-time.ts';
import type { ServiceRecord } from '../kube/types.ts';
import { assert } from '../lib/assert.ts';
import { createPrng } from '../lib/prng.ts';
import { CodecError, decodeBatch, encodeReply } from './codec.ts';
import { type EndpointsOutput, planEndpointsOutput, takeEndpointsAck } from './endpoints-output.ts';
import {
  createMirrorOutput,
  forgetMirrored,
  type MirrorOutput,
  planMirrorOutput,
  takeMirrorAck,
  takeObservedMirrored,
} from './mirror-output.ts';
import {
  type Ack,
  type Batch,
  type BatchEntry,
  type Observed,
  OUTPUT_ENDPOINTS,
  OUTPUT_MIRROR,
  OUTPUT_SLICES,
  type PlannedWrite,
  type PlannerConfig,
  type ServiceFacts,
  type ServiceResult,
} from './protocol.ts';
import {
  createSlicesOutput,
  forgetSlices,
  planSlicesOutput,
  type SlicesOutput,
  takeObservedSlice,
  takeSliceAck,
} from './slices-output.ts';
import { createStored, storeObserved, type Stored } from './stored-endpoints.ts';
import { drawSuffix } from './suffix.ts';

export interface Planner {
  readonly config: PlannerConfig;
  readonly services: Map<string, ServiceState>;
  /** The newest that came with a batch. */
  shares: CpuShares | null;
  /** By node, of those that have one; empty unless mirrored endpoints have zones. */
  readonly zones: Map<string, string>;
  writesPlanned: number;
}

/** Of the outputs that are not enabled nothing is kept. */
interface ServiceState {
  readonly key: string;
  /** null = no snapshot came yet, only objects. */
  inputs: Inputs | null;
  /** The Endpoints object: our own, or what is mirrored. */
  readonly stored: Stored;
  readonly slices: SlicesOutput | null;
  /** null also until there is something to mirror. */
  mirror: MirrorOutput | null;
}

interface Inputs {
  /** As the main thread counts. */
  version: number;
  spec: ServiceRecord;
  readonly endpoints: EndpointsOutput | null;
}

/** What the services of one batch share while it is worked on. */
interface Work {
  readonly planner: Planner;
  /** The random end of a new slice's name. */
  readonly suffix: () => string;
  readonly nextId: () => number;
}

/** What came out for one entry so far. */
interface Outcome {
  outputs: number;
  readonly writes: PlannedWrite[];
  readonly facts: { -readonly [K in keyof ServiceFacts]: ServiceFacts[K] };
  readonly problems: Problem[];
}

export function createPlanner(config: PlannerConfig): Planner {
  return { config, services: new Map(), shares: null, zones: new Map(), writesPlanned: 0 };
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
  if (batch.shares !== undefined) planner.shares = batch.shares;
  for (const { node, zone } of batch.zones ?? []) {
    if (zone === '') planner.zones.delete(node);
    else planner.zones.set(node, zone);
  }
  const work = startWork(planner, batch.seed);
  return encodeReply({ error: null, results: batch.entries.map((entry) => planService(work, entry)) });
}

function startWork(planner: Planner, seed: number): Work {
  const prng = createPrng(seed);
  return { planner, suffix: () => drawSuffix(prng), nextId: () => ++planner.writesPlanned };
}

function planService(work: Work, entry: BatchEntry): ServiceResult {
  const { service } = entry;
  try {
    return takeEntry(work, entry);
  } catch (error) {
    work.planner.services.delete(service);
    const message = error instanceof Error ? error.message : String(error);
    return { service, ...createOutcome(), needFull: false, error: `${service}: ${message}` };
  }
}

function takeEntry(work: Work, entry: BatchEntry): ServiceResult {
  const { service, outputs } = entry;
  const { services, config } = work.planner;
  const outcome = createOutcome();
  if (entry.spec === null) {
    services.delete(service);
    return { service, ...outcome, needFull: false, error: null };
  }
  assert((outputs & ~config.outputs) === 0, `outputs ${outputs} of ${config.outputs} asked for`);
  const state = stateOf(work.planner, service);
  for (const ack of entry.acks) takeAck(state, ack);
  forget(state, entry.relisted);
  for (const observed of entry.observed) takeObserved(state, observed, config, outcome.problems);
  const current = takeInputs(state, entry, config);
  if (state.inputs?.endpoints != null) addAll(outcome.problems, takeProblems(state.inputs.endpoints.membership));
  if (current && state.inputs !== null) {
    // Slices go first: kube-proxy follows them.
    if ((outputs & OUTPUT_SLICES) !== 0) planSlicesOf(work, state, state.inputs, outcome);
    if ((outputs & OUTPUT_MIRROR) !== 0) planMirrorOf(work, state, state.inputs, outcome);
    if ((outputs & OUTPUT_ENDPOINTS) !== 0) planEndpointsOf(work, state, state.inputs, outcome);
  }
  return { service, ...outcome, needFull: !current, error: null };
}

function createOutcome(): Outcome {
  return {
    outputs: 0,
    writes: [],
    facts: { endpoints: undefined, slices: undefined, mirror: undefined },
    problems: [],
  };
}

function stateOf(planner: Planner, service: string): ServiceState {
  let state = planner.services.get(service);
  if (state === undefined) {
    const { config } = planner;
    state = {
      key: service,
      inputs: null,
      stored: createStored(),
      slices: (config.outputs & OUTPUT_SLICES) === 0 ? null : createSlicesOutput(config),
      mirror: null,
    };
    planner.services.set(service, state);
  }
  return state;
}

function takeAck({ inputs, slices, mirror }: ServiceState, ack: Ack): void {
  // The state that the write was planned from was dropped in the meantime.
  if (inputs === null) return;
  const { endpoints } = inputs;
  const slice = slices?.pending.get(ack.write);
  const mirrored = mirror?.pending.get(ack.write);
  if (endpoints?.pending?.write === ack.write) takeEndpointsAck(endpoints, ack);
  else if (slices !== null && slice !== undefined) takeSliceAck(slices, slice, ack);
  else if (mirror !== null && mirrored !== undefined) takeMirrorAck(mirror, mirrored, ack);
  else
    assert(false, `ack of write ${ack.write}, pending is ${pendingIds({ inputs, slices, mirror }).join() || 'none'}`);
}

function pendingIds({ inputs, slices, mirror }: Pick<ServiceState, 'inputs' | 'slices' | 'mirror'>): number[] {
  const endpoints = inputs?.endpoints?.pending;
  return [
    ...(endpoints == null ? [] : [endpoints.write]),
    ...(slices?.pending.keys() ?? []),
    ...(mirror?.pending.keys() ?? []),
  ];
}

function forget(state: ServiceState, relisted: number): void {
  if ((relisted & OUTPUT_ENDPOINTS) !== 0) Object.assign(state.stored, createStored());
  if ((relisted & OUTPUT_SLICES) !== 0 && state.slices !== null) forgetSlices(state.slices);
  if ((relisted & OUTPUT_MIRROR) !== 0 && state.mirror !== null) forgetMirrored(state.mirror);
}

function takeObserved(state: ServiceState, observed: Observed, config: PlannerConfig, problems: Problem[]): void {
  const { key, stored, slices } = state;
  const { output } = observed;
  assert(isRead(output, config), `output ${output} is not planned here`);
  if (output === OUTPUT_SLICES) takeObservedSlice(slices!, key, observed, problems);
  else if (output === OUTPUT_MIRROR) {
    state.mirror ??= createMirrorOutput();
    takeObservedMirrored(state.mirror, key, observed, problems);
  } else storeObserved(stored, key, observed, problems);
}

/** Mirroring reads the Endpoints, too. */
function isRead(output: number, config: PlannerConfig): boolean {
  const outputs = output === OUTPUT_ENDPOINTS ? OUTPUT_ENDPOINTS | OUTPUT_MIRROR : output;
  return (outputs & config.outputs) !== 0;
}

/** Returns false when the planner has not what the entry builds on; then nothing was taken. */
function takeInputs(state: ServiceState, entry: BatchEntry, config: PlannerConfig): boolean {
  if (entry.base === 0 && entry.spec != null) {
    takeSnapshot(state, entry, entry.spec, config);
    return true;
  }
  const changed = entry.spec !== undefined || entry.upserts.length > 0 || entry.removals.length > 0;
  if (entry.outputs === 0 && !changed) return true;
  const { inputs } = state;
  if (inputs === null || inputs.version !== entry.base) return false;
  if (entry.spec != null) takeSpec(state, inputs, entry.spec);
  for (const name of entry.removals) takePod(state, inputs, name, null);
  for (const member of entry.upserts) takePod(state, inputs, member.pod.name, member);
  inputs.version = entry.version;
  return true;
}

/** Over what is known already a snapshot is taken as a difference: what did not change stays identical. */
function takeSnapshot(state: ServiceState, entry: BatchEntry, spec: ServiceRecord, config: PlannerConfig): void {
  const pending = pendingIds(state);
  assert(pending.length === 0, `snapshot while write ${pending.join()} is not acked`);
  assert(entry.version > 0, 'a snapshot has a version above 0');
  let { inputs } = state;
  if (inputs === null) {
    inputs = { version: entry.version, spec, endpoints: createEndpointsOutput(state, spec, config) };
    state.inputs = inputs;
    if (state.slices !== null) setSlicesSpec(state.slices.slices, spec);
  } else {
    inputs.version = entry.version;
    takeSpec(state, inputs, spec);
    const names = new Set(entry.upserts.map((member) => member.pod.name));
    for (const name of podNames(state, inputs)) if (!names.has(name)) takePod(state, inputs, name, null);
  }
  for (const member of entry.upserts) takePod(state, inputs, member.pod.name, member);
}

function createEndpointsOutput(
  { stored }: ServiceState,
  spec: ServiceRecord,
  config: PlannerConfig,
): EndpointsOutput | null {
  if ((config.outputs & OUTPUT_ENDPOINTS) === 0) return null;
  return { membership: createMembership(spec, config), times: createTriggerTimes(), stored, pending: null };
}

function takeSpec({ slices }: ServiceState, inputs: Inputs, spec: ServiceRecord): void {
  inputs.spec = spec;
  if (inputs.endpoints !== null) setSpec(inputs.endpoints.membership, spec);
  if (slices !== null) setSlicesSpec(slices.slices, spec);
}

/** Mirroring alone needs no pods, and keeps none. */
function podNames({ slices }: ServiceState, { endpoints }: Inputs): Iterable<string> {
  if (endpoints !== null) return memberNames(endpoints.membership);
  return slices === null ? [] : slicePodNames(slices.slices);
}

/** `member` null = it is gone. */
function takePod({ slices }: ServiceState, { endpoints }: Inputs, name: string, member: Member | null): void {
  const pod = member?.pod ?? null;
  const readyTime = pod?.readyTime ?? 0;
  if (endpoints !== null) {
    const before = applyPod(endpoints.membership, name, pod);
    notePodTime(endpoints.times, name, before?.readyTime ?? 0, readyTime);
  }
  if (slices !== null) {
    const before = applySlicesPod(slices.slices, name, member);
    notePodTime(slices.times, name, before?.readyTime ?? 0, readyTime);
  }
}

function planSlicesOf({ planner, suffix, nextId }: Work, state: ServiceState, inputs: Inputs, outcome: Outcome): void {
  const { writes, facts, problems } = planSlicesOutput(state.slices!, inputs.spec, planner.shares, suffix, nextId);
  outcome.outputs |= OUTPUT_SLICES;
  outcome.facts.slices = facts;
  addAll(outcome.writes, writes);
  addAll(outcome.problems, problems);
}

function planMirrorOf(work: Work, state: ServiceState, { spec }: Inputs, outcome: Outcome): void {
  const { stored } = state;
  if (stored.unreadable !== null) {
    outcome.problems.push(stored.unreadable);
    return;
  }
  // A service with a selector has slices of its own (docs/spec/endpointslice.md "Mirroring: sync").
  const source = spec.selector === null ? stored.object : null;
  // One that we wrote ourselves has no namespace.
  const endpoints = source && { ...source, metadata: { ...source.metadata, namespace: spec.namespace } };
  const { planner, suffix, nextId } = work;
  state.mirror ??= createMirrorOutput();
  const { writes, facts, problems } = planMirrorOutput(
    state.mirror,
    planner.config,
    planner.zones,
    endpoints,
    suffix,
    nextId,
  );
  outcome.outputs |= OUTPUT_MIRROR;
  outcome.facts.mirror = facts;
  addAll(outcome.writes, writes);
  addAll(outcome.problems, problems);
}

function planEndpointsOf({ nextId }: Work, { stored }: ServiceState, inputs: Inputs, outcome: Outcome): void {
  if (stored.unreadable !== null) {
    outcome.problems.push(stored.unreadable);
    return;
  }
  const { write, facts, problems } = planEndpointsOutput(inputs.endpoints!, nextId);
  outcome.outputs |= OUTPUT_ENDPOINTS;
  outcome.facts.endpoints = facts;
  if (write !== null) outcome.writes.push(write);
  addAll(outcome.problems, problems);
}

/** Not by `push(...list)`, for the arguments of a call are limited. */
function addAll<T>(list: T[], more: readonly T[]): void {
  for (const item of more) list.push(item);
}
