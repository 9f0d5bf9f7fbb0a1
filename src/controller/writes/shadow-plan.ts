/** What a shadow (`shadow.ts`) tells at the end of a sync. */
import type { ControllerName } from '../options.ts';
import type { Problem } from '../../core/problem.ts';
import type { PlannedWrite } from '../../shard/protocol.ts';

/** The end of a shadow's sync: everything that one controller would write now for a service. */
export interface ShadowPlan {
  readonly controller: ControllerName;
  readonly namespace: string;
  readonly service: string;
  /**
   * In the order in which they would be sent; empty = what is stored is right. From a thread, bodies are views into the
   * shard's reply.
   */
  readonly writes: readonly PlannedWrite[];
  /** Problems that have come up since the last plan of the service, by any controller. */
  readonly problems: readonly Problem[];
  /** Why there is no plan; null = there is one. */
  readonly failure: string | null;
  /** Monotonic ms of the earliest change of a pod that the plan covers; -1 = none. */
  readonly changedAtMs: number;
}

/** The part of a `ShadowPlan` that a sync gathers. */
export type Shadow = Pick<ShadowPlan, 'controller' | 'namespace' | 'service' | 'changedAtMs'> & {
  readonly writes: PlannedWrite[];
  readonly problems: Problem[];
};
