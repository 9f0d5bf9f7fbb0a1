import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { request, WebSocket } from 'undici';
import { startChild, type Child } from '../../src/testbed/child.ts';
import type { Cluster } from '../../src/testbed/kube-cluster.ts';
import { readMetrics, type Metrics } from './metrics.ts';
import { BIN } from '../support/installed.ts';

/** `endpointd run` as an operator starts it: a process of its own. */
export interface Endpointd {
  readonly child: Child;
  readonly logPath: string;
  /** Who writes the log to its file; null = endpointd itself. */
  readonly logReader: Child | null;
  /** Host and port of its metrics. */
  readonly address: string;
  metrics(): Promise<Metrics>;
  /** Nothing waits to be synced, and no sync runs; delayed ones do not count. What only a standby plans is no work. */
  idle(): Promise<boolean>;
  /** Resolves when /readyz says yes. */
  ready(): Promise<void>;
  /** SIGKILL. */
  kill9(): Promise<void>;
  /** SIGTERM; gives the exit status and how long it took. */
  term(): Promise<{ status: number; tookMs: number }>;
  /** Ends as many worker threads from within, as a fault of theirs would. */
  killWorkers(count: number): Promise<void>;
}

const READY_MS_MAX = 120_000;
const POLL_MS = 20;
const WORKERS_MS_MAX = 60_000;
const LOG_CHARS_SHOWN = 4000;

let started = 0;

export interface EndpointdOptions {
  /** True: the log goes through a FIFO, to a reader that can be stopped. Default false. */
  readonly logFifo?: boolean;
  /** False: as soon as it serves its metrics, ready or not. Default true. */
  readonly untilReady?: boolean;
  /** Variables beside those of this process. Default none. */
  readonly env?: Readonly<Record<string, string>>;
}

/** @throws Error with the end of its log when it does not become ready */
export async function startEndpointd(
  cluster: Pick<Cluster, 'directory' | 'kubeconfigPath'>,
  flags: readonly string[] = [],
  { logFifo = false, untilReady = true, env = {} }: EndpointdOptions = {},
): Promise<Endpointd> {
  const logPath = join(cluster.directory, `endpointd-${started++}.log`);
  const fifoPath = `${logPath}.fifo`;
  let logReader: Child | null = null;
  if (logFifo) {
    execFileSync('mkfifo', [fifoPath]);
    logReader = await startChild('/bin/cat', [fifoPath], logPath);
  }
  const child = await startChild(
    process.execPath,
    [
      '--inspect=127.0.0.1:0',
      BIN,
      'run',
      `--kubeconfig=${cluster.kubeconfigPath}`,
      '--secure-port=0',
      '--metrics-bind-address=127.0.0.1:0',
      '--logging-format=json',
      // A Lease that a killed one holds would make the next one wait.
      '--leader-elect=false',
      ...flags,
    ],
    logFifo ? fifoPath : logPath,
    env,
  );
  const address = await foundInLog(/"http":"([^"]+)"/);

  async function foundInLog(pattern: RegExp): Promise<string> {
    const untilMs = Date.now() + READY_MS_MAX;
    for (;;) {
      const text = await readFile(logPath, 'utf8');
      const match = pattern.exec(text);
      if (match !== null) return match[1]!;
      if (!child.running || Date.now() > untilMs) throw await failure('does not start');
      await sleep(POLL_MS);
    }
  }

  async function failure(what: string): Promise<Error> {
    const text = await readFile(logPath, 'utf8');
    return new Error(`endpointd ${what}; its log ends:\n${text.slice(-LOG_CHARS_SHOWN)}`);
  }

  async function get(path: string): Promise<{ status: number; text: string }> {
    const response = await request(`http://${address}${path}`);
    return { status: response.statusCode, text: await response.body.text() };
  }

  async function ready(): Promise<void> {
    const untilMs = Date.now() + READY_MS_MAX;
    for (;;) {
      const { status, text } = await get('/readyz');
      if (status === 200) return;
      if (!child.running || Date.now() > untilMs) throw await failure(`is not ready (${text})`);
      await sleep(POLL_MS);
    }
  }

  const metrics = async (): Promise<Metrics> => readMetrics((await get('/metrics')).text);

  const endpointd: Endpointd = {
    child,
    logPath,
    logReader,
    address,
    metrics,
    async idle() {
      const now = await metrics();
      return now.sum('workqueue_depth') === 0 && now.sum('workqueue_unfinished_work_seconds') === 0;
    },
    ready,
    kill9: () => child.kill('SIGKILL'),
    async term() {
      const fromMs = Date.now();
      await child.kill('SIGTERM');
      return { status: await child.ended, tookMs: Date.now() - fromMs };
    },
    killWorkers: async (count) => endWorkers(await foundInLog(/Debugger listening on (\S+)/), count),
  };
  if (untilReady) await ready();
  return endpointd;
}

interface InspectorMessage {
  readonly method?: string;
  readonly params?: { readonly sessionId: string };
}

/**
 * A thread cannot be killed from outside of its process, and the product has no door for it; the debugger of Node is one
 * that every process has. Resolves when as many have ended.
 */
async function endWorkers(inspectorUrl: string, count: number): Promise<void> {
  const socket = new WebSocket(inspectorUrl);
  let sent = 0;
  const send = (method: string, params: object): void => socket.send(JSON.stringify({ id: ++sent, method, params }));
  const victims = new Set<string>();
  let ended = 0;
  const all = new Promise<void>((resolve, reject) => {
    const timer = setTimeout(reject, WORKERS_MS_MAX, new Error(`${ended} of ${count} worker threads have ended`));
    socket.addEventListener('error', () => reject(new Error(`no debugger at ${inspectorUrl}`)));
    socket.addEventListener('open', () => send('NodeWorker.enable', { waitForDebuggerOnStart: false }));
    socket.addEventListener('message', ({ data }) => {
      const { method, params } = JSON.parse(String(data)) as InspectorMessage;
      if (params === undefined) return;
      const { sessionId } = params;
      if (method === 'NodeWorker.attachedToWorker' && victims.size < count) {
        victims.add(sessionId);
        const message = { id: 1, method: 'Runtime.evaluate', params: { expression: 'process.exit(1)' } };
        send('NodeWorker.sendMessageToWorker', { sessionId, message: JSON.stringify(message) });
      }
      if (method === 'NodeWorker.detachedFromWorker' && victims.has(sessionId) && ++ended === count) {
        clearTimeout(timer);
        resolve();
      }
    });
  });
  try {
    await all;
  } finally {
    socket.close();
  }
}
