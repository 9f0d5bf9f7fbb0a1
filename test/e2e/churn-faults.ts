/** What happens to endpointd, its API server and the way between them while everything changes. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { BACKOFFS } from '../../src/controller/queues/backoff.ts';
import { classify } from '../../src/controller/writes/write-outcome.ts';
import type { Cluster } from '../../src/testbed/kube-cluster.ts';
import { startEndpointd, type Endpointd, type EndpointdOptions } from './endpointd.ts';
import type { FaultProxy } from './fault-proxy.ts';
import { startHostileClients } from './hostile-clients.ts';
import { type Answer, PROXY_FAULTS, type ProxyFault } from './proxy-faults.ts';
import { until } from './world.ts';

/** The processes that a fault may strike. */
export interface Field {
  readonly cluster: Cluster;
  readonly proxy: FaultProxy;
  /** The one that runs now. */
  endpointd: Endpointd;
}

export interface ChurnFault {
  readonly name: string;
  /** Begins with the changes of a round, which go on until it has ended. */
  readonly strike: (field: Field, roundMs: number) => Promise<void>;
  /** All has to be right so many milliseconds after the round. */
  readonly rightMsMax: number;
}

/** At this level each answered write is a line, so that the faults of the log meet lines. */
const FLAGS = ['--kube-api-qps=500', '--kube-api-burst=500', '--shards=1', '-v=4'];
/** What a pipe holds on Linux. The process itself has to hold what comes beyond. */
const PIPE_BYTES = 65_536;
/** The lines of so many writes are more than that: each has over 200 bytes. */
const PIPE_WRITES = 400;
const TERM_MS_MAX = 12_000;
/** endpointd has noticed a silent stream after 150 s; the rest is for what has changed meanwhile. */
const SILENCE_RIGHT_MS_MAX = 200_000;
/** Less than the minute that Endpoints without a Service wait where nothing has looked them up. */
const RIGHT_MS_MAX = 45_000;
/**
 * After failures of class `server`. Each change of a Service that backs off is a try at once, and each try that fails makes
 * the next wait longer: a Service whose pods change all the time has the longest wait before it when the fault is over.
 */
const SERVER_RIGHT_MS_MAX = BACKOFFS.server.capMs + 30_000;

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
    const writes = async (): Promise<number> => (await endpointd.metrics()).sum('endpointd_writes_total');
    const before = await writes();
    const { size } = statSync(endpointd.logPath);
    endpointd.logReader!.pause();
    await sleep(roundMs);
    await until(async () => (await writes()) >= before + PIPE_WRITES);
    const resumedMs = Date.now();
    endpointd.logReader!.resume();
    const held = async (): Promise<string[]> =>
      linesBefore(resumedMs, (await readFile(endpointd.logPath)).subarray(size));
    await until(async () => Buffer.byteLength((await held()).join('')) > PIPE_BYTES);
  }),
  fault('hostile clients are at the metrics port', async ({ endpointd }, roundMs) => {
    const end = startHostileClients(endpointd.address);
    await sleep(roundMs);
    end();
  }),
  ...PROXY_FAULTS.map((met) => ({
    name: met.name,
    strike: ({ proxy }: Field, roundMs: number) => meet(proxy, met, roundMs, !isLate(met)),
    rightMsMax: rightMsMax(met),
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

/** The whole lines of a log that were made before. */
function linesBefore(ms: number, log: Buffer): string[] {
  const lines = log.toString().split('\n').slice(0, -1);
  return lines.filter((line) => (JSON.parse(line) as { readonly ts: number }).ts < ms);
}

function fault(name: string, strike: ChurnFault['strike']): ChurnFault {
  return { name, strike, rightMsMax: RIGHT_MS_MAX };
}

/** Late answers come by themselves. If they were cut after a round, endpointd would reach no time limit of its own. */
function isLate({ at, does }: ProxyFault): boolean {
  return at === 'reply' && typeof does === 'object';
}

function rightMsMax(met: ProxyFault): number {
  // Noise may look like the beginning of a long frame, and nobody cuts such a stream.
  if (met.at === 'stream') return met.does === 'garble' ? SILENCE_RIGHT_MS_MAX : RIGHT_MS_MAX;
  const { does } = met;
  const isServer = does === 'garble' || (typeof does === 'object' && 'status' in does && isOfServer(does));
  return isServer ? SERVER_RIGHT_MS_MAX : RIGHT_MS_MAX;
}

/** Whether a write with this answer is a failure of class `server`. Of others a Service waits a while, whatever changes. */
function isOfServer({ status, contentType, body }: Answer): boolean {
  const response = { type: 'response', id: 0, retryAfterSeconds: -1, priorityLevel: '' } as const;
  return classify({ ...response, status, contentType, body: Buffer.from(body) }).failure.class === 'server';
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
