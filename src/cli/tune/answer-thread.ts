import { Worker } from 'node:worker_threads';
import { plural } from '../../lib/figures.ts';
import { workerEntry } from '../../node/worker-entry.ts';
import type { Answer } from '../../tune/answer.ts';
import type { TuneInput } from '../../tune/tune.ts';
import type { Run } from '../../twin/run.ts';
import { isChange } from '../../twin/story.ts';
import { StartError } from '../usage.ts';

/**
 * Finds the answer on a thread of its own. It takes minutes, and this thread has to hear signals meanwhile.
 * @param progress called with what has been done so far
 * @throws StartError when it takes more memory than a thread may have
 */
export function answerOf(input: TuneInput, progress: (done: string) => void): Promise<Answer> {
  const worker = new Worker(workerEntry('tune'), { workerData: input });
  return new Promise((resolve, reject) => {
    worker.on('message', (said: string | Answer) => (typeof said === 'string' ? progress(said) : resolve(said)));
    worker.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? outOfMemory(input.run, error) : error),
    );
  });
}

function outOfMemory(run: Run, cause: Error): StartError {
  const mend = 'record a shorter time, or let Node.js have more memory: NODE_OPTIONS=--max-old-space-size=MEBIBYTES';
  return new StartError(`out of memory: ${sizeText(run)}; ${mend}`, { cause });
}

/** What time and memory grow with. Events that concern no Service take little time, and as much memory. */
export function sizeText({ story, controller }: Run): string {
  const changes = story.changes.filter((change) => isChange(change, controller)).length;
  return `${story.name} has ${plural(changes, 'change')} among ${plural(story.changes.length, 'event')}`;
}
