/** Hints by CPU shares: events when they come and go, and which services a change of the nodes concerns. */
import type { Now } from '../event.ts';
import type { EventReasonName } from '../reports/event-reasons.ts';
import type { ControllerState } from '../state.ts';
import { addWork } from '../queues/workqueue.ts';
import type { Sync, Unit } from './service-state.ts';
import { currentShares } from '../../core/node-table.ts';
import type { CpuShares } from '../../core/slices/cpu-shares.ts';
import type { SlicesFacts } from '../../core/slices/facts.ts';
import { overloaded } from '../../core/slices/zone-shares.ts';

/**
 * The CPU shares of the zones have changed. Services whose hints would overload a zone are planned again
 * (docs/spec/endpointslice.md "Overloaded services"); and while there are shares, those that want hints and have none
 * (D14): any change of the shares may be what lets each zone have its minimum.
 */
export function recheckHints(state: ControllerState, now: Now): void {
  const shares = currentShares(state.nodes);
  if (shares === state.shares) return;
  state.shares = shares;
  const { hinted, unhinted } = state.sums;
  for (const unit of hinted) if (isOverloaded(unit, shares)) plan(unit, now);
  if (shares !== null) for (const unit of unhinted) plan(unit, now);
}

/** The shares may have changed between the making of the plan and its answer, which first tells that the unit cares. */
export function recheckHintsOf({ shares, sums }: ControllerState, unit: Unit, sync: Sync, now: Now): void {
  if (shares === sync.shares) return;
  const { hinted, unhinted } = sums;
  const overloads = hinted.has(unit) && isOverloaded(unit, shares);
  if (overloads || (unhinted.has(unit) && shares !== null)) plan(unit, now);
}

function isOverloaded(unit: Unit, shares: CpuShares | null): boolean {
  const { families } = unit.facts as SlicesFacts;
  return families.some(({ hints }) => hints !== null && overloaded(hints, shares));
}

function plan({ controller, item }: Unit, now: Now): void {
  if (controller.running) addWork(controller.queue, item, 'fresh', now.nowMs);
}

export interface HintEvent {
  readonly reason: Extract<EventReasonName, 'TopologyAwareHintsEnabled' | 'TopologyAwareHintsDisabled'>;
  /** As `EVENT_REASONS` wants it. */
  readonly detail: string;
}

/**
 * What there is to tell of hints that came or went, for each address family on its own and only when it changes
 * (docs/spec/endpointslice.md "Assignment", "Failure and switching off", "Known defects" D14 and D15).
 */
export function hintEvents(before: SlicesFacts | undefined, after: SlicesFacts): HintEvent[] {
  const events: HintEvent[] = [];
  for (const is of after.families) {
    const was = before?.families.find(({ family }) => family === is.family);
    const had = was !== undefined && was.hints !== null;
    const failure = after.topology ? is.hintsFailure : 'Topology Aware Hints has been disabled';
    if (is.hints !== null) {
      if (!had) events.push({ reason: 'TopologyAwareHintsEnabled', detail: is.family });
    } else if (had || (after.topology && failure !== '' && failure !== was?.hintsFailure)) {
      events.push({ reason: 'TopologyAwareHintsDisabled', detail: `${failure}, addressType: ${is.family}` });
    }
  }
  return events;
}
