/** The answer of `endpointd tune` on a thread of its own: what has been done so far, then the answer. */
import { parentPort, workerData } from 'node:worker_threads';
import { tune, type TuneInput } from '../src/tune/tune.ts';

function say(said: unknown): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort!.postMessage(said);
}

say(tune(workerData as TuneInput, say));
