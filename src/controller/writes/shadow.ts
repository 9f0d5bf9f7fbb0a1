/**
 * A shadow follows the server and plans as ever, but writes no Endpoints and no slices. Its writes enter the write queue as
 * ever. When the turn of one comes, `flushWrites` withdraws it instead of sending it, and it becomes part of the
 * `ShadowPlan`. The planner learns that it was not sent, so the next plan of the service again holds everything that would
 * be written. Of Services no Event object is sent either; a standby still asks for its Lease, and sends the Event objects
 * about that. A change by another writer starts no fight: it is simply what is stored.
 */
import type { Sync, Unit } from '../caches/service-state.ts';
import { fateOfObjects, isWanted } from '../caches/unit.ts';
import { UNPLANNED } from '../../shard/protocol.ts';
import type { Shadow } from './shadow-plan.ts';
import type { QueuedWrite } from './writes.ts';

interface MayBeShadow {
  readonly isShadow: boolean;
}

/** What the unit's sync is to gather, as it begins; null = its writes are sent. */
export function shadowOf({ isShadow }: MayBeShadow, { controller, service, changedAtMs }: Unit): Shadow | null {
  if (!isShadow) return null;
  const { namespace, name } = service;
  return { controller: controller.name, namespace, service: name, changedAtMs, writes: [], problems: [] };
}

/** Whether a write that waits is not to be sent: nothing of its sync is, or it is not wanted any more. */
export function isMoot(state: MayBeShadow, queued: QueuedWrite): boolean {
  return isUnsent(state, queued.unit.sync) || hasLostReason(queued);
}

/** Whether this process is a shadow, or was one when the sync began: a sync that has told a write sends none. */
function isUnsent({ isShadow }: MayBeShadow, sync: Sync | null): boolean {
  return isShadow || sync?.shadow != null;
}

/**
 * Whether a write that waits has lost its reason. A planned one is of a Service that is not to be planned any more: what
 * has changed the Service has queued the unit. A delete is of objects that are planned again, or are to stay.
 */
function hasLostReason({ unit, write }: QueuedWrite): boolean {
  return write.id === UNPLANNED ? isWanted(unit) || fateOfObjects(unit) === 'stay' : !isWanted(unit);
}

/** Tells a write that is withdrawn, if its sync is a shadow's. */
export function tellWithdrawn(queued: QueuedWrite): void {
  if (!hasLostReason(queued)) queued.unit.sync?.shadow?.writes.push(queued.write);
}
