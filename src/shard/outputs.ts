/** The outputs of a planner in one table, and what can be done to any of them: one output of one service at a time. */
import type { Member } from '../core/member.ts';
import type { Problem } from '../core/problem.ts';
import type { ServiceRecord } from '../kube/types.ts';
import { assert } from '../lib/assert.ts';
import { endpointsOutput, type EndpointsState } from './endpoints-output.ts';
import { mirrorOutput, type MirrorState } from './mirror-output.ts';
import type { PlanInput, PlannerOutput } from './planner-output.ts';
import type { Ack, Observed, OutputFacts, OutputKind, Plan, PlannerConfig } from './protocol.ts';
import { slicesOutput, type SlicesState } from './slices-output.ts';
import type { Stored } from './stored-endpoints.ts';

interface OutputStates {
  readonly slices: SlicesState;
  readonly mirror: MirrorState;
  readonly endpoints: EndpointsState;
}

export const OUTPUTS: { readonly [K in OutputKind]: PlannerOutput<OutputStates[K], OutputFacts[K]> } = {
  slices: slicesOutput,
  mirror: mirrorOutput,
  endpoints: endpointsOutput,
};

/**
 * What is kept of each output of one service; null = nothing has been told of that output yet, or it is not enabled.
 */
export type ServiceOutputs<K extends OutputKind = OutputKind> = { [P in K]: OutputStates[P] | null };

export function createServiceOutputs(): ServiceOutputs {
  return { slices: null, mirror: null, endpoints: null };
}

export function isPending<K extends OutputKind>(outputs: ServiceOutputs<K>, kind: K, write: number): boolean {
  const state = outputs[kind];
  return state !== null && OUTPUTS[kind].isPending(state, write);
}

/** Ids of the output's writes that were planned and not acked. */
export function pendingWrites<K extends OutputKind>(outputs: ServiceOutputs<K>, kind: K): readonly number[] {
  const state = outputs[kind];
  return state === null ? [] : [...OUTPUTS[kind].pendingWrites(state)];
}

/** Of a pending write. */
export function acknowledge<K extends OutputKind>(outputs: ServiceOutputs<K>, kind: K, ack: Ack, stored: Stored): void {
  const state = outputs[kind];
  assert(state !== null, 'what is pending was planned');
  OUTPUTS[kind].acknowledge(state, ack, stored);
}

/** All its slices were listed. */
export function forgetSlices<K extends OutputKind>(outputs: ServiceOutputs<K>, kind: K): void {
  const state = outputs[kind];
  if (state !== null) OUTPUTS[kind].slices?.forget(state);
}

/** `key`: of the service. Problems of reading the slice are added to `problems`. */
export function observeSlice<K extends OutputKind>(
  outputs: ServiceOutputs<K>,
  kind: K,
  config: PlannerConfig,
  key: string,
  observed: Observed,
  problems: Problem[],
): void {
  OUTPUTS[kind].slices?.observe(stateOf(outputs, kind, config), key, observed, problems);
}

/** What is new of a Service and its pods. */
export interface InputChange {
  /** undefined = it has not changed. */
  readonly spec: ServiceRecord | undefined;
  /** New or changed. */
  readonly upserts: readonly Member[];
  /** Names of pods that are gone. */
  readonly removals: readonly string[];
  /** Names of all pods that there are; null = pods that are not mentioned are unchanged. */
  readonly names: ReadonlySet<string> | null;
}

export function followPods<K extends OutputKind>(
  outputs: ServiceOutputs<K>,
  kind: K,
  config: PlannerConfig,
  { spec, upserts, removals, names }: InputChange,
): void {
  const { pods } = OUTPUTS[kind];
  if (pods === null) return;
  const state = stateOf(outputs, kind, config);
  if (spec !== undefined) pods.setSpec(state, spec, config);
  if (names !== null) for (const name of pods.podNames(state)) if (!names.has(name)) pods.setPod(state, name, null);
  for (const name of removals) pods.setPod(state, name, null);
  for (const member of upserts) pods.setPod(state, member.pod.name, member);
}

/** Problems that arose since they were taken last, and that do not wait for a plan. */
export function takeProblems<K extends OutputKind>(outputs: ServiceOutputs<K>, kind: K): readonly Problem[] {
  const state = outputs[kind];
  return (state !== null && OUTPUTS[kind].pods?.takeProblems(state)) || [];
}

/** Problems of the plan are added to `problems`. */
export function planOutput<K extends OutputKind>(
  outputs: ServiceOutputs<K>,
  kind: K,
  input: PlanInput,
  problems: Problem[],
): Plan<K> {
  const planned = OUTPUTS[kind].plan(stateOf(outputs, kind, input.config), input);
  for (const problem of planned.problems) problems.push(problem);
  return { facts: { kind, ...planned.facts }, writes: planned.writes };
}

function stateOf<K extends OutputKind>(outputs: ServiceOutputs<K>, kind: K, config: PlannerConfig): OutputStates[K] {
  const known = outputs[kind];
  if (known !== null) return known;
  const created = OUTPUTS[kind].create(config);
  outputs[kind] = created;
  return created;
}
