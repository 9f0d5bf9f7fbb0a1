import { Worker } from 'node:worker_threads';
import { workerEntry } from '../../node/worker-entry.ts';
import type { Answer } from '../../tune/answer.ts';
import type { TuneInput } from '../../tune/tune.ts';

/**
 * Finds the answer on a thread of its own. It takes minutes, and this thread has to hear signals meanwhile.
 * @param progress called with the number of looks at a setting so far
 */
export function answerOf(input: TuneInput, progress: (looks: number) => void): Promise<Answer> {
  const worker = new Worker(workerEntry('tune'), { workerData: input });
  return new Promise((resolve, reject) => {
    worker.on('message', (said: number | Answer) => (typeof said === 'number' ? progress(said) : resolve(said)));
    worker.once('error', reject);
  });
}
