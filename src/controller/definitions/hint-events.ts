/** Events when hints by CPU shares come and go. */
import type { EventReasonName } from '../reports/event-reasons.ts';
import type { SlicesFacts } from '../../core/slices/facts.ts';

export interface HintEvent {
  readonly reason: Extract<EventReasonName, 'TopologyAwareHintsEnabled' | 'TopologyAwareHintsDisabled'>;
  /** In the form that `EVENT_REASONS` expects. */
  readonly detail: string;
}

/**
 * The Event objects for hints that came or went. Each address family has its own, and only a change is told
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
