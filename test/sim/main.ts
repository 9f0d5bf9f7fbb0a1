/**
 * `npm run sim -- --seeds=10000`: plays stories on two threads. A seed that fails is shrunk, and its shortest story printed
 * with the command that plays it again.
 */
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { play } from './play.ts';
import { report } from './report.ts';
import { makeStory, type Story } from './story.ts';
import type { SeedResult } from './worker.ts';

const USAGE = `npm run sim -- [--seeds=N | --minutes=M] [--from=N]   plays seeds, by default 1000; exit status 1 if one fails
npm run sim -- --seed=N                            plays one seed, and shrinks it if it fails
npm run sim -- --story=JSON                        plays a story as it is printed for a seed that fails
By default --seeds begin with 1, and --minutes with a number that each day has for itself.`;

const THREADS = 2;
const FAILURES_MAX = 5;
const PROGRESS_MS = 10_000;
const DAY_MS = 86_400_000;
const SEEDS_OF_A_DAY = 20_000;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string' },
    minutes: { type: 'string' },
    from: { type: 'string' },
    seed: { type: 'string' },
    story: { type: 'string' },
    help: { type: 'boolean' },
  },
});

if (values.help === true) console.log(USAGE);
else if (values.story !== undefined) playOne(JSON.parse(values.story) as Story);
else if (values.seed !== undefined) playOne(makeStory(count('seed', values.seed)));
else await playMany();

function count(flag: string, text: string): number {
  const value = Number(text);
  if (!(value >= 0)) throw new Error(`--${flag}: a number was expected, not ${JSON.stringify(text)}\n${USAGE}`);
  return value;
}

function playOne(story: Story): void {
  const { wrong, told, writes } = play(story);
  console.log(told.join('\n'));
  if (wrong === null) {
    console.log(`seed ${story.seed}: nothing is wrong, ${writes} writes`);
    return;
  }
  console.log(report(story, wrong));
  process.exitCode = 1;
}

async function playMany(): Promise<void> {
  const startMs = performance.now();
  const untilMs = values.minutes === undefined ? Infinity : startMs + count('minutes', values.minutes) * 60_000;
  const ofToday = Math.floor(Date.now() / DAY_MS) * SEEDS_OF_A_DAY;
  const from = values.from === undefined ? (values.minutes === undefined ? 1 : ofToday) : count('from', values.from);
  const seeds =
    values.seeds === undefined ? (values.minutes === undefined ? 1000 : Infinity) : count('seeds', values.seeds);
  let next = from;
  let done = 0;
  let failed = 0;
  const said = (): string => `${done} seeds from ${from}, ${failed} failed, ${seconds(performance.now() - startMs)} s`;
  const progress = setInterval(() => console.log(said()), PROGRESS_MS);
  const threads = Array.from({ length: THREADS }, () => {
    const worker = new Worker(new URL('worker.ts', import.meta.url));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const give = (): void => {
      const isOver = next >= from + seeds || performance.now() >= untilMs || failed >= FAILURES_MAX;
      if (isOver) {
        void worker.terminate().then(() => resolve());
        return;
      }
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      worker.postMessage(next++);
    };
    worker.on('message', ({ failure }: SeedResult) => {
      done++;
      if (failure !== null) {
        failed++;
        console.log(failure);
      }
      give();
    });
    worker.on('error', reject);
    give();
    return promise;
  });
  await Promise.all(threads);
  clearInterval(progress);
  console.log(said());
  if (failed > 0) process.exitCode = 1;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(0);
}
