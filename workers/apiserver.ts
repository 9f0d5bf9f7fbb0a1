/** The embedded API server on a thread of its own. */
import { parentPort, workerData } from 'node:worker_threads';
import { createApiServer } from '../src/apiserver/server.ts';
import { createPrng, nextFloat } from '../src/lib/prng.ts';
import { serveApi } from '../src/node/apiserver-http.ts';
import type { ApiServerThreadOptions, ApiServerThreadReady } from '../src/node/apiserver-thread.ts';
import { YAML_FORMAT } from '../src/node/yaml.ts';

const { seed, watchList = true, ...http } = workerData as ApiServerThreadOptions;
const prng = createPrng(seed);
const api = createApiServer({ random: () => nextFloat(prng), startWallMs: Date.now(), watchList, yaml: YAML_FORMAT });
const served = await serveApi(api, http);
const ready: ApiServerThreadReady = { url: served.url, port: served.port };
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
parentPort!.postMessage(ready);
parentPort!.once('message', () => void served.close());
