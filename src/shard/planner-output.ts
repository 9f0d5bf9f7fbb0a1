import type { Member } from '../core/member.ts';
import type { Problem } from '../core/problem.ts';
import type { CpuShares } from '../core/slices/cpu-shares.ts';
import type { ServiceRecord } from '../kube/types.ts';
import type { Ack, Observed, PlannedWrite, PlannerConfig } from './protocol.ts';
import type { Stored } from './stored-endpoints.ts';

/**
 * What a planner does for one output. `State` is what it keeps of the output for each service. `Facts` is what a plan
 * says beside its writes. An error that is thrown fails this output of this service alone.
 */
export interface PlannerOutput<State, Facts> {
  /** The state of a service of which nothing has been told yet. */
  create(config: PlannerConfig): State;
  /** How the output follows the Service and its pods, change by change; null = its plans need no pods. */
  readonly pods: PodsFollower<State> | null;
  /**
   * How it keeps the slices that it writes; null = it writes the Endpoints object, which the planner keeps for the
   * service.
   */
  readonly slices: SlicesHolder<State> | null;
  /** Whether its plans need the Endpoints object: it writes that object, or reads it. */
  readonly needsEndpoints: boolean;
  /** Ids of writes that were planned and have no ack. */
  pendingWrites(state: State): Iterable<number>;
  isPending(state: State, write: number): boolean;
  /** Takes the ack of a write. */
  acknowledge(state: State, ack: Ack, endpoints: Stored): void;
  /** Called only when no write is without an ack, and the Endpoints object is known if it is needed. */
  plan(state: State, input: PlanInput): OutputPlan<Facts>;
}

export interface PodsFollower<State> {
  setSpec(state: State, spec: ServiceRecord, config: PlannerConfig): void;
  podNames(state: State): Iterable<string>;
  /** `member` null = the pod is gone. Called after `setSpec`. */
  setPod(state: State, name: string, member: Member | null): void;
  /** Takes the problems that have come up since the last call and need no plan. */
  takeProblems(state: State): readonly Problem[];
}

export interface SlicesHolder<State> {
  /** All slices were listed: those that are not observed next do not exist. */
  forget(state: State): void;
  /** Takes the content of a slice. `key`: of the service. Problems of reading it are added to `problems`. */
  observe(state: State, key: string, observed: Observed, problems: Problem[]): void;
}

export interface PlanInput {
  readonly config: PlannerConfig;
  readonly spec: ServiceRecord;
  readonly endpoints: Stored;
  /** The newest shares that a batch has told; null = there are none. */
  readonly shares: CpuShares | null;
  /** Zones by node. Nodes without a zone are missing. Empty unless mirrored endpoints have zones. */
  readonly zones: ReadonlyMap<string, string>;
  /** Draws the random end of a new slice's name. */
  readonly suffix: () => string;
  readonly nextId: () => number;
}

export interface OutputPlan<Facts> {
  readonly writes: readonly PlannedWrite[];
  /** As `Plan.isWhole`. */
  readonly isWhole: boolean;
  readonly facts: Facts;
  readonly problems: readonly Problem[];
}
