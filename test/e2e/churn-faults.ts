/** What happens to endpointd, its API server and the way between them while everything changes. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../../src/testbed/kube-cluster.ts';
import { startEndpointd, type Endpointd, type EndpointdOptions } from './endpointd.ts';
import type { FaultProxy } from './fault-proxy.ts';
import { startHostileClients } from './hostile-clients.ts';
import { PROXY_FAULTS, type ProxyFault } from './proxy-faults.ts';

/** The processes that a fault may strike. */
export interface Field {
  readonly cluster: Cluster;
  readonly proxy: FaultProxy;
  /** The one that runs now. */
  endpointd: Endpointd;
}

export interface ChurnFault {
  readonly name: string;
  /** Begins with the changes of a round, and takes about as long as they do. */
  readonly strike: (field: Field, roundMs: number) => Promise<void>;
  /** All has to be right so many milliseconds after the round. */
  readonly rightMsMax: number;
}

/** At this level each answered write is a line, so that the faults of the log meet lines. */
const FLAGS = ['--kube-api-qps=500', '--kube-api-burst=500', '--shards=1', '-v=4'];
/** What a pipe holds on Linux. The process itself has to hold what comes beyond. */
const PIPE_BYTES = 65_536;
/** In so long a reader that goes on gets what was held. */
const LOG_FLUSH_MS = 1000;
const TERM_MS_MAX = 12_000;
/** endpointd has noticed a silent stream after 150 s; the rest is for what has changed meanwhile. */
const SILENCE_RIGHT_MS_MAX = 200_000;
/** Less than the minute that Endpoints without a Service wait where nothing has looked them up. */
const RIGHT_MS_MAX = 45_000;

/** It reaches the API server through the proxy. */
export function startBehindProxy(
  { cluster, proxy }: Pick<Field, 'cluster' | 'proxy'>,
  options: EndpointdOptions = {},
): Promise<Endpointd> {
  const { directory } = cluster;
  return startEndpointd({ directory, kubeconfigPath: proxy.kubeconfigPath }, FLAGS, options);
}

/** Deaths of the process come first: what must not grow is the one that is left. */
export const DEATHS: readonly ChurnFault[] = [
  fault('the disk of the log is full', async ({ endpointd }, roundMs) => {
    const errors = async (): Promise<number> => (await endpointd.metrics()).sum('endpointd_log_write_errors_total');
    const before = await errors();
    const { size } = statSync(endpointd.logPath);
    limitFileSize(endpointd.child.pid, String(size));
    await sleep(roundMs);
    limitFileSize(endpointd.child.pid, 'unlimited');
    assert.ok((await errors()) > before, 'no write of the log has met it');
  }),
  fault('endpointd is killed', async (field) => {
    await field.endpointd.kill9();
    field.endpointd = await startBehindProxy(field);
  }),
  fault('endpointd is ended', async (field) => {
    const { status, tookMs } = await field.endpointd.term();
    assert.equal(status, 0);
    assert.ok(tookMs < TERM_MS_MAX, `took ${tookMs} ms`);
    field.endpointd = await startBehindProxy(field, { logFifo: true });
  }),
];

export const FAULTS: readonly ChurnFault[] = [
  fault('nothing', () => Promise.resolve()),
  fault('the API server is killed', async ({ cluster }) => {
    await cluster.killApiserver();
    await cluster.startApiserver();
  }),
  fault('a worker thread ends', ({ endpointd }) => endpointd.killWorkers(1)),
  fault('etcd is killed', async ({ cluster }) => {
    await cluster.killEtcd();
    await cluster.startEtcd();
  }),
  fault('endpointd stands still', async ({ endpointd }, roundMs) => {
    endpointd.child.pause();
    await sleep(roundMs);
    endpointd.child.resume();
  }),
  fault('the API server stands still', ({ cluster }, roundMs) => cluster.freezeApiserver(roundMs)),
  fault('etcd stands still', ({ cluster }, roundMs) => cluster.freezeEtcd(roundMs)),
  fault('nobody reads the log', async ({ endpointd }, roundMs) => {
    const { size } = statSync(endpointd.logPath);
    endpointd.logReader!.pause();
    await sleep(roundMs);
    endpointd.logReader!.resume();
    await sleep(LOG_FLUSH_MS);
    const bytes = statSync(endpointd.logPath).size - size;
    assert.ok(bytes > PIPE_BYTES, `the log has filled no pipe: ${bytes} bytes`);
  }),
  fault('hostile clients are at the metrics port', async ({ endpointd }, roundMs) => {
    const end = startHostileClients(endpointd.address);
    await sleep(roundMs);
    end();
  }),
  ...PROXY_FAULTS.map((met) => ({
    name: met.name,
    strike: ({ proxy }: Field, roundMs: number) => meet(proxy, met, roundMs, true),
    // Noise may look like the beginning of a long frame, and nobody cuts such a stream.
    rightMsMax: met.does === 'garble' && met.at === 'stream' ? SILENCE_RIGHT_MS_MAX : RIGHT_MS_MAX,
  })),
];

/** Where the way does not come back, endpointd has to notice it itself. They take minutes each. */
export const LONG_FAULTS: readonly ChurnFault[] = PROXY_FAULTS.filter(
  ({ does }) => does === 'stall' || does === 'trickle' || does === 'endless-frame',
).map((met) => ({
  name: `${met.name}, and nobody cuts them`,
  strike: ({ proxy }, roundMs) => meet(proxy, met, roundMs, false),
  rightMsMax: SILENCE_RIGHT_MS_MAX,
}));

function fault(name: string, strike: ChurnFault['strike']): ChurnFault {
  return { name, strike, rightMsMax: RIGHT_MS_MAX };
}

async function meet(proxy: FaultProxy, met: ProxyFault, roundMs: number, heals: boolean): Promise<void> {
  proxy.setFault(met);
  await sleep(roundMs);
  const { struck } = proxy;
  if (heals) proxy.heal();
  else proxy.setFault(null);
  assert.ok(struck > 0, `${met.name}: no exchange met it`);
}

/** Writes to files beyond that size fail for the process, as on a full disk. */
function limitFileSize(pid: number, bytes: string): void {
  execFileSync('prlimit', [`--pid=${pid}`, `--fsize=${bytes}:unlimited`]);
}
