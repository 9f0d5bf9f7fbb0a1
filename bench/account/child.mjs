/**
 * `endpointd run` as often as its parent wishes, in one process: what the second time saves is what a process pays once.
 * Arguments: the module with `run`, whether a profile is wanted, and the flags. Plain JavaScript that imports nothing of the
 * repository but the program, so that stripping of types is in no figure.
 */
import { Session } from 'node:inspector/promises';
import { PerformanceObserver, constants } from 'node:perf_hooks';

const SAMPLING_MICROS = 500;
const KINDS = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'young',
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'all',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'steps of all',
};

const [program, withProfile, ...flags] = process.argv.slice(2);
const { run } = await import(program);

let collections = {};
const observer = new PerformanceObserver((list) => {
  for (const { duration, detail } of list.getEntries()) {
    const sum = (collections[KINDS[detail.kind] ?? 'other'] ??= { count: 0, ms: 0 });
    sum.count++;
    sum.ms += duration;
  }
});
observer.observe({ entryTypes: ['gc'] });

const session = withProfile === 'true' ? new Session() : null;
session?.connect();
await session?.post('Profiler.enable');
await session?.post('Profiler.setSamplingInterval', { interval: SAMPLING_MICROS });

let running = Promise.resolve(0);

async function start() {
  collections = {};
  await session?.post('Profiler.start');
  running = run(flags);
}

async function stop() {
  const stopped = await session?.post('Profiler.stop');
  process.kill(process.pid, 'SIGTERM');
  await running;
  process.send({ collections, profile: stopped?.profile ?? null });
}

process.on('message', (order) => void (order === 'start' ? start() : stop()));
process.send('loaded');
