/**
 * As a shadow the machine follows the server and plans as ever, but writes nothing. At the door of the write queue each
 * write is told instead of sent. The planner learns that it was not sent, so the next plan of the service is again what
 * would be written then. No event leaves either. What others write is no fight: it is what is stored.
 */
import type { ControllerName } from '../options.ts';
import type { Problem } from '../../core/problem.ts';
import type { PlannedWrite } from '../../shard/protocol.ts';

/** The id of writes that no planner has planned, so none waits for their ack: what nobody wants is deleted. */
export const UNPLANNED = 0;

/** The end of a sync of a shadow: all that one controller would now write for a service. */
export interface ShadowPlan {
  readonly controller: ControllerName;
  readonly namespace: string;
  readonly service: string;
  /** In the order in which they would be sent; none = what is stored is right. Bodies are views into a shard's reply. */
  readonly writes: readonly PlannedWrite[];
  /** Problems that arose since the service's last plan, of whichever controller. */
  readonly problems: readonly Problem[];
  /** Why there is no plan; null = there is one. */
  readonly failure: string | null;
  /** Monotonic ms of the earliest change of a pod that the plan follows; -1 = none. */
  readonly changedAtMs: number;
}

/** What a sync gathers for its `ShadowPlan`. */
export type Shadow = Pick<ShadowPlan, 'controller' | 'namespace' | 'service' | 'changedAtMs'> & {
  readonly writes: PlannedWrite[];
  readonly problems: Problem[];
};
