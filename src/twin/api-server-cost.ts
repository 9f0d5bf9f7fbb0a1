/** What writes cost kube-apiserver. */
import { type Ledger, type Output, OUTPUTS } from './ledger.ts';

/**
 * Milliseconds of its CPU, without etcd: of the write of an object without endpoints, and of each endpoint. Measured with
 * single writes 10 ms apart on one API server on two cores (`npm run bench -- object-size`, 2026-11-25).
 */
const WRITE_MS = 1.4;
const ENDPOINT_MS: Readonly<Record<Output, number>> = { endpoints: 0.007, slices: 0.028 };
/** The same of each watcher that is sent the object, and of each 1,000 bytes that it is sent. */
const WATCHER_MS = 0.01;
const WATCHER_KB_MS = 0.0009;

/** CPU of all API servers for the writes of a run, milliseconds. @param watchers of each output, who ask for protobuf */
export function apiServerMs({ writes, sizes }: Ledger, watchers: Readonly<Record<Output, number>>): number {
  return OUTPUTS.reduce((sum, output) => {
    const { base, each } = sizes[output].protobuf;
    const watched = watchers[output];
    const writeMs = WRITE_MS + watched * (WATCHER_MS + (WATCHER_KB_MS * base) / 1000);
    const endpointMs = ENDPOINT_MS[output] + (watched * WATCHER_KB_MS * each) / 1000;
    return writes[output].reduce((all, { endpoints }) => all + writeMs + endpointMs * endpoints, sum);
  }, 0);
}
