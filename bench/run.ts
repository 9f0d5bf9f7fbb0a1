/** The menu of benches: `npm run bench` and `npm run bench -- NAME`. BENCH_SIZE=tiny makes each small. */
import type { Size } from './support/micro-bench.ts';

const MENU: Readonly<Record<string, { what: string; run: (size: Size, rest: readonly string[]) => Promise<void> }>> = {
  micro: {
    what: 'one operation each, microseconds (the default; a part of a name chooses)',
    run: async (size, [filter]) => (await import('./micro.ts')).runMicroBenches(size, filter),
  },
  cluster: {
    what: 'from nothing to right on the embedded API server: inline, 1 and 2 threads (--results keeps its table and mark, --json=FILE writes them)',
    run: async (size, rest) => (await import('./cluster/run.ts')).runClusterBench(size, rest),
  },
  peers: {
    what: 'endpointd beside kube-controller-manager, scenario by scenario, in pairs (--help lists the flags)',
    run: async (size, rest) => (await import('./peers/run.ts')).runPeersBench(rest, size === 'tiny'),
  },
  growth: {
    what: 'the cost of a change while pods, services, their sizes or nodes grow to a million (--help lists the flags)',
    run: async (size, rest) => (await import('./growth/run.ts')).runGrowthBench(rest, size === 'tiny'),
  },
  sweep: {
    what: 'syncs x batch period x QPS of both controllers; results are kept (--help lists the flags)',
    run: async (size, rest) => (await import('./sweep/run.ts')).runSweepBench(rest, size === 'tiny'),
  },
  coalescing: {
    what: 'what settings that collect changes save in writes, and what that costs in time (--help lists the flags)',
    run: async (size, rest) => (await import('./coalescing/run.ts')).runCoalescingBench(rest, size === 'tiny'),
  },
  results: {
    what: 'bench/RESULTS.md, its page and its pictures anew; adds the runs of a file that peers --json has written',
    run: async (_, rest) => (await import('./peers/kept-results.ts')).writeResultsOf(rest),
  },
  apiserver: {
    what: 'the cost of a request to the embedded API server, beside the real one (--embedded-only: alone)',
    run: async (size, rest) => (await import('./apiserver/run.ts')).runApiServerBench(size, rest),
  },
  'object-size': {
    what: 'latency and CPU of a write at kube-apiserver by the size of the object (--embedded-only: at the embedded one)',
    run: async (size, rest) => (await import('./apiserver/object-size.ts')).runObjectSizeBench(size, rest),
  },
  'server-memory': {
    what: 'bytes of the embedded API server for each of 100,000 pods',
    run: async (size) => (await import('./apiserver/memory.ts')).runServerMemoryBench(size),
  },
  advise: {
    what: 'how often the advice is right, on 40 drawn scenarios (--seed=N: the first; --controller=endpointd: of endpointd; --without-qps: as from metrics alone; --real: 12 of real processes, with --seed=N at other rates)',
    run: async (size, rest) => (await import('./advise/run.ts')).runAdviseBench(size, rest),
  },
  search: {
    what: 'how near the search of tune comes to the best of all settings, and in how many runs, beside random search (--help lists the flags)',
    run: async (size, rest) => (await import('./search/run.ts')).runSearchBench(size, rest),
  },
  cells: {
    what: 'the queue model of tune beside real processes, cell by cell (--help lists the flags)',
    run: async (_, rest) => (await import('./cells/run.ts')).runCellsBench(rest),
  },
  transfer: {
    what: 'tune predicts another setting from a recording, and that setting is set for real (--help lists the flags)',
    run: async (_, rest) => (await import('./transfer/run.ts')).runTransferBench(rest),
  },
  'watch-bytes': {
    what: 'bytes to watchers of Endpoints and slices, by encoding, beside what tune predicts (--help tells of the flags)',
    run: async (size, rest) => (await import('./cells/watch-bytes.ts')).runWatchBytesBench(size, rest),
  },
  recording: {
    what: 'bytes and CPU of a recording, and a million pseudonyms',
    run: async (size) => (await import('./recording/run.ts')).runRecordingBench(size),
  },
  threads: {
    what: 'the planners alone, inline and on threads: the cost of a batch, and how far threads can help (--results keeps tables and marks, --json=FILE writes them)',
    run: async (size, rest) => (await import('./threads/run.ts')).runThreadsBench(size, rest),
  },
  account: {
    what: 'the CPU of a start from nothing, of a flip and of a restart, by thread, phase and part, in a new process and a warm one (--server=kube: with TLS; --results keeps its tables, --json=FILE writes them)',
    run: async (size, rest) => (await import('./account/run.ts')).runAccountBench(size, rest),
  },
  startup: {
    what: 'CPU and memory of a start, until the first list request (--results keeps its table and marks, --json=FILE writes them)',
    run: async (size, rest) => (await import('./startup/run.ts')).runStartupBench(size, rest),
  },
  writer: {
    what: "the sender's cost of a small PUT: the transport, a writer of our own, node:http2, bare sockets (--results keeps its table and marks, --json=FILE writes them)",
    run: async (size, rest) => (await import('./writer/run.ts')).runWriterBench(size, rest),
  },
  memory: {
    what: 'bytes of the main thread for each pod',
    run: async (size) => (await import('./memory/run.ts')).runMemoryBench(size),
  },
};

const [choice = 'micro', ...rest] = process.argv.slice(2);
const size: Size = process.env['BENCH_SIZE'] === 'tiny' ? 'tiny' : 'full';
const entry = MENU[choice];
const list = Object.entries(MENU).map(([name, { what }]) => `  ${name.padEnd(14)}${what}`);
if (choice === '--help') console.log(`npm run bench -- NAME [flags]\n${list.join('\n')}`);
else if (entry === undefined) {
  console.error(`unknown bench ${JSON.stringify(choice)}; there are\n${list.join('\n')}`);
  process.exitCode = 2;
} else if (rest.includes('--help') && !entry.what.includes('--help')) {
  // It has few flags, and no help of its own.
  console.log(`npm run bench -- ${choice} [flags]\n${entry.what}`);
} else {
  await entry.run(size, rest);
}
