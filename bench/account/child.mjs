/**
 * Runs `endpointd run` in one process as often as its parent wishes. The saving of the second run is the cost that a
 * process pays once. Arguments: the module that exports `run`, and the flags. Orders of the parent: `run` and `stop`, and
 * `profile` and `profiled` at the begin and the end of a profile. Each order but `run` is answered. This is plain JavaScript
 * that imports only the program of the repository, so no figure includes the stripping of types.
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
