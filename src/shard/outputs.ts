/** The outputs of a planner in one table, and each thing that can be done to one output of one service. */
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
 * What the planner keeps of each output of one service; null = nothing was told of the output, or it is not enabled.
 */
export type ServiceOutputs<K extends OutputKind = OutputKind> = { [P in K]: OutputStates[P] | null };

export function createServiceOutputs(): ServiceOutputs {
  return { slices: null, mirror: null, endpoints: null };
}

export function isPending<K extends OutputKind>(outputs: ServiceOutputs<K>, kind: K, write: number): boolean {
  const state = outputs[kind];
  return state !== null && OUTPUTS[kind].isPending(state, write);
}

/** Ids of the writes of the output that were planned and have no ack. */
export function pendingWrites<K extends OutputKind>(outputs: ServiceOutputs<K>, kind: K): readonly number[] {
  const state = outputs[kind];
  return state === null ? [] : [...OUTPUTS[kind].pendingWrites(state)];
}

/** Takes the ack of a write. */
export function acknowledge<K extends OutputKind>(outputs: ServiceOutputs<K>, kind: K, ack: Ack, stored: Stored): void {
  const state = outputs[kind];
  assert(state !== null, 'what is pending was planned');
  OUTPUTS[kind].acknowledge(state, ack, stored);
}

/** Forgets all slices, because they were listed and come next. */
export function forgetSlices<K extends OutputKind>(outputs: ServiceOutputs<K>, kind: K): void {
  const state = outputs[kind];
  if (state !== null) OUTPUTS[kind].slices?.forget(state);
}

/** Takes the content of a slice. `key`: of the service. Problems of reading the slice are added to `problems`. */
export function takeSlice<K extends OutputKind>(
  outputs: ServiceOutputs<K>,
  kind: K,
  config: PlannerConfig,
  key: string,
  observed: Observed,
  problems: Problem[],
): void {
  OUTPUTS[kind].slices?.observe(stateOf(outputs, kind, config), key, observed, problems);
}

/** A change of a Service and its pods. */
export interface InputChange {
  /** undefined = the Service has not changed. */
  readonly spec: ServiceRecord | undefined;
  /** Pods that are new or changed. */
  readonly upserts: readonly Member[];
  /** Names of pods that are gone. */
  readonly removals: readonly string[];
  /** Names of all pods; null = a pod that is not mentioned has not changed. */
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

/** Takes the problems that have come up since the last call and need no plan. */
export function takeProblems<K extends OutputKind>(outputs: ServiceOutputs<K>, kind: K): readonly Problem[] {
  const state = outputs[kind];
  return (state !== null && OUTPUTS[kind].pods?.takeProblems(state)) || [];
}

/** Plans the output. Problems of the plan are added to `problems`. */
export function planOutput<K extends OutputKind>(
  outputs: ServiceOutputs<K>,
  kind: K,
  input: PlanInput,
  problems: Problem[],
): Plan<K> {
  const planned = OUTPUTS[kind].plan(stateOf(outputs, kind, input.config), input);
  for (const problem of planned.problems) problems.push(problem);
  return { facts: { kind, ...planned.facts }, writes: planned.writes, isWhole: planned.isWhole };
}

function stateOf<K extends OutputKind>(outputs: ServiceOutputs<K>, kind: K, config: PlannerConfig): OutputStates[K] {
  const known = outputs[kind];
  if (known !== null) return known;
  const created = OUTPUTS[kind].create(config);
  outputs[kind] = created;
  return created;
}
