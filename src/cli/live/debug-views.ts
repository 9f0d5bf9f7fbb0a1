/** The debug view for many who ask: what is dear in it is made at most once a second, as /metrics is. */
import type { Now } from '../../controller/event.ts';
import { debugChanges, debugSummary, type DebugView } from '../../controller/reports/debug-view.ts';
import type { ControllerState } from '../../controller/state.ts';
import { shared } from '../../node/shared.ts';

const KEPT_MS = 1000;

/** The arguments are those of `debugChanges`, which are made for each who asks. */
export function debugViews(
  state: () => ControllerState,
  now: () => Now,
): (service: string, changesMax: number | undefined) => Promise<DebugView> {
  const summary = shared(KEPT_MS, () => Promise.resolve(debugSummary(state(), now())));
  return async (service, changesMax) => ({
    ...(await summary()),
    changes: debugChanges(state(), service, changesMax),
  });
}
