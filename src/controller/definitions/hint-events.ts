/** Events when hints by CPU shares come and go. */
import type { PlannedEvent } from './definition.ts';
import type { SlicesFacts } from '../../core/slices/facts.ts';

/**
 * The Event objects for hints that came or went. Each address family has its own, and only a change is told
 * (docs/spec/endpointslice.md "Assignment", "Failure and switching off", "Known defects" D14 and D15).
 */
export function hintEvents(before: SlicesFacts | undefined, after: SlicesFacts): PlannedEvent[] {
  const events: PlannedEvent[] = [];
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
