/**
 * `endpointd run` as often as its parent wishes, in one process: what the second time saves is what a process pays once.
 * Arguments: the module with `run`, and the flags. Orders of the parent: `run` and `stop`, and `profile` and `profiled` around
 * what a profile is wanted of; each order but `run` is answered. Plain JavaScript that imports nothing of the repository but
 * the program, so that stripping of types is in no figure.
 */
import { Session } from 'node:inspector/promises';
import { PerformanceObserver, constants } from 'node:perf_hooks';

const SAMPLING_MICROS = 500;
const KINDS = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'young',
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'all',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'steps of all',
};

const [program, ...flags] = process.argv.slice(2);
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

const session = new Session();
let running = Promise.resolve(0);

const ORDERS = {
  run() {
    collections = {};
    running = run(flags);
  },
  async profile() {
    session.connect();
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: SAMPLING_MICROS });
    await session.post('Profiler.start');
    process.send('profiling');
  },
  async profiled() {
    const { profile } = await session.post('Profiler.stop');
    await session.post('Profiler.disable');
    session.disconnect();
    process.send(profile);
  },
  async stop() {
    process.kill(process.pid, 'SIGTERM');
    await running;
    process.send(collections);
  },
};

process.on('message', (order) => void ORDERS[order]());
process.send('loaded');
