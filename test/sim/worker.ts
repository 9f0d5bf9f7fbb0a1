/** A thread that plays the seeds that it is given. */
import { parentPort } from 'node:worker_threads';
import { play } from './play.ts';
import { report } from './report.ts';
import { makeStory } from './story.ts';

export interface SeedResult {
  readonly seed: number;
  /** To be printed; null = nothing was wrong. */
  readonly failure: string | null;
}

parentPort!.on('message', (seed: number) => {
  const story = makeStory(seed);
  const { wrong } = play(story);
  const result: SeedResult = { seed, failure: wrong === null ? null : report(story, wrong) };
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort!.postMessage(result);
});
