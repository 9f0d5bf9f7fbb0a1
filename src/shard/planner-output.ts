import type { Member } from '../core/member.ts';
import type { Problem } from '../core/problem.ts';
import type { CpuShares } from '../core/slices/cpu-shares.ts';
import type { ServiceRecord } from '../kube/types.ts';
import type { Ack, Observed, PlannedWrite, PlannerConfig } from './protocol.ts';
import type { Stored } from './stored-endpoints.ts';

/**
 * What a planner does for one output. `State` is what it keeps of the output for each service. `Facts` is what a plan
 * says beside its writes. What is thrown fails this output of this service alone.
 */
export interface PlannerOutput<State, Facts> {
  /** The state of a service of which nothing has been told yet. */
  create(config: PlannerConfig): State;
  /**
   * How the output follows the Service and its pods, change by change; null = its plans need no pods, and it keeps
   * none.
   */
  readonly pods: PodsFollower<State> | null;
  /**
   * What the output holds of the slices that it writes; null = it writes the Endpoints object, which the service keeps.
   */
  readonly slices: SlicesHolder<State> | null;
  /** Its plans need the Endpoints object, either as what they write or as what they read. */
  readonly needsEndpoints: boolean;
  /** Planned and not acked. */
  pendingWrites(state: State): Iterable<number>;
  isPending(state: State, write: number): boolean;
  /** Of a pending write. */
  acknowledge(state: State, ack: Ack, endpoints: Stored): void;
  /** Nothing is pending, and the Endpoints object can be read if it is needed. */
  plan(state: State, input: PlanInput): OutputPlan<Facts>;
}

export interface PodsFollower<State> {
  setSpec(state: State, spec: ServiceRecord, config: PlannerConfig): void;
  podNames(state: State): Iterable<string>;
  /** `member` null = it is gone. After `setSpec`. */
  setPod(state: State, name: string, member: Member | null): void;
  /** Problems that arose since they were taken last, and that do not wait for a plan. */
  takeProblems(state: State): readonly Problem[];
}

export interface SlicesHolder<State> {
  /** All slices were listed: what is not observed next does not exist. */
  forget(state: State): void;
  /** `key`: of the service. Problems of reading it are added to `problems`. */
  observe(state: State, key: string, observed: Observed, problems: Problem[]): void;
}

export interface PlanInput {
  readonly config: PlannerConfig;
  readonly spec: ServiceRecord;
  readonly endpoints: Stored;
  /** The newest that came with a batch; null = there are none. */
  readonly shares: CpuShares | null;
  /** By node, of those that have one; empty unless mirrored endpoints have zones. */
  readonly zones: ReadonlyMap<string, string>;
  /** Draws the random end of a new slice's name. */
  readonly suffix: () => string;
  readonly nextId: () => number;
}

export interface OutputPlan<Facts> {
  readonly writes: readonly PlannedWrite[];
  readonly facts: Facts;
  readonly problems: readonly Problem[];
}
