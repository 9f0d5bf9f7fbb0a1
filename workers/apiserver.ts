/** The embedded API server on a thread of its own. */
import { parentPort, workerData } from 'node:worker_threads';
import { createApiServer } from '../src/apiserver/server.ts';
import { createPrng, nextFloat } from '../src/lib/prng.ts';
import { serveApi } from '../src/node/apiserver-http.ts';
import type { ApiServerThreadOptions, ApiServerThreadReady } from '../src/node/apiserver-thread.ts';
import { createFaultGate } from '../src/node/fault-gate.ts';
import { YAML_FORMAT } from '../src/node/yaml.ts';

const {
  seed,
  watchList = true,
  faults = [],
  faultAdmin = false,
  serviceClusterIPRanges,
  ...http
} = workerData as ApiServerThreadOptions;
const prng = createPrng(seed);
// Faults draw from a generator of their own, so that they do not change which names and uids the server gives.
const faultPrng = createPrng(seed + 1);
const gate = createFaultGate(faults, faultAdmin, () => nextFloat(faultPrng));
const api = createApiServer({
  random: () => nextFloat(prng),
  startWallMs: Date.now(),
  watchList,
  yaml: YAML_FORMAT,
  ...(serviceClusterIPRanges === undefined ? {} : { serviceClusterIPRanges }),
});
const served = await serveApi(api, gate === null ? http : { ...http, faults: gate });
const ready: ApiServerThreadReady = { url: served.url, port: served.port };
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
parentPort!.postMessage(ready);
parentPort!.once('message', () => void served.close());
