/** What writes cost kube-apiserver. */
import { writesOf } from './figures.ts';
import { type Ledger, type Output, OUTPUTS } from './ledger.ts';

/**
 * Milliseconds of its CPU, without etcd: of a write, and of each watcher that is sent it. Measured with small objects and 0, 4
 * and 32 watchers of one API server on two cores (`npm run bench -- apiserver`).
 */
const WRITE_MS = 1.02;
const WATCHER_MS = 0.0055;

/** CPU of all API servers for the writes of a run, milliseconds. @param watchers of each output */
export function apiServerMs(ledger: Ledger, watchers: Readonly<Record<Output, number>>): number {
  return OUTPUTS.reduce(
    (sum, output) => sum + writesOf(ledger, [output]) * (WRITE_MS + WATCHER_MS * watchers[output]),
    0,
  );
}
