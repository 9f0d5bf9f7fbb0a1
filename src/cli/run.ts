/** `endpointd run`: the controller as a command. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import process from 'node:process';
import { getHeapStatistics } from 'node:v8';
import { createLoop, type Loop } from '../controller/loop.ts';
import { createMetricStore, gauge, readMetric, type MetricStore } from '../metrics/store.ts';
import { watchCertificate } from '../node/client-certificate.ts';
import { createClock } from '../node/clock.ts';
import { endNow, looksUpNames } from '../node/end-process.ts';
import { createLog, type Log } from '../node/log.ts';
import { createRandom } from '../node/random.ts';
import { createRestClientObserver } from '../node/rest-client-metrics.ts';
import { onStopSignals } from '../node/signals.ts';
import { createTransport } from '../node/transport.ts';
import { userAgent, version } from '../node/version.ts';
import { parseRunFlags, type RunOptions } from './flags/flags.ts';
import { startPreflight } from './rights/preflight.ts';
import { credentialsOf } from './api-connection.ts';
import { startServing, type Serving } from './run-serving.ts';
import { shardsFactory } from './shards.ts';
import { openTrace } from './live/trace-file.ts';
import { DEFINITIONS } from '../controller/definitions/definitions.ts';
import type { ControllerName } from '../controller/options.ts';

/**
 * How long a stop may take. The loop ends a drain after ten seconds; the rest is for the trace, threads, sockets and all
 * that may hang.
 */
const STOP_MS_MAX = 15_000;
/** How long the last lines wait for the reader of the log. */
const FLUSH_MS_MAX = 1000;

type Closer = () => void | Promise<void>;

/** `endpointd run`: the controller, until a signal stops it. Returns the exit status. */
export async function run(args: readonly string[]): Promise<number> {
  const options = parseRunFlags(args, (text) => process.stdout.write(text));
  const metrics = createMetricStore();
  const log = startLog(options, metrics);
  tellOfProcess(metrics);

  const { election, trace: tracePath } = options;
  const credentials = credentialsOf(options);
  const access = await credentials.read('refresh');
  const createShards = await shardsFactory(options);
  const clock = createClock();

  const closers: Closer[] = [];
  let onStopped = (): void => undefined;
  const stopped = new Promise<void>((resolve) => (onStopped = resolve));
  const trace = await openTrace(tracePath, options.traceForMs, clock, () => loop.state.journal, log);
  const loop: Loop = createLoop({
    ...(trace === null ? {} : { onStep: trace.onStep }),
    options: options.controller,
    leadership: election === null ? null : { ...election, identity: `${hostname()}_${randomUUID()}` },
    clock,
    random: createRandom(),
    transport(deliver) {
      const { read: readAccess, refreshMs } = credentials;
      const { maxWritesInFlight } = options.controller;
      const observeAccess = watchCertificate({ metrics, log: log.write, wallMs: () => clock.wallMs() });
      const observe = createRestClientObserver(metrics);
      const more = { userAgent: userAgent(), clock, log: log.write, observe, observeAccess };
      const transport = createTransport({ access, readAccess, refreshMs, maxWritesInFlight, ...more }, deliver);
      closers.push(() => transport.close());
      return transport;
    },
    shards(deliver) {
      const shards = createShards(deliver, metrics);
      closers.push(() => shards.close());
      return shards;
    },
    host: new URL(access.origin).host,
    log: log.write,
    sourceOf: log.sourceOf,
    metrics,
    onStopped: () => onStopped(),
  });
  const preflight = startPreflight({ options, credentials, log, loop, metrics });
  closers.push(() => preflight.end());
  const observed = { ...loop, readiness: () => preflight.readiness() };
  const serving = await startServing({ options, loop: observed, metrics, log, clock, credentials });
  logStart(log, options, access.origin, serving);
  loop.start();

  const asked = Promise.withResolvers<string>();
  const off = onStopSignals(asked.resolve, endNow);
  const signal = await asked.promise;
  log.write({
    level: 'info',
    v: 0,
    message: 'Stopping: nothing more is planned, writes are drained',
    fields: { signal },
  });
  // The trace comes first: it is most needed where something else hangs.
  const ends = [() => trace?.finish(), () => clock.close(), ...closers, () => serving.close()];
  const { drained, closed } = await stop(loop, stopped, ends);
  log.write({ level: 'info', v: 0, message: drained ? 'Stopped' : 'Stopped without draining all writes', fields: {} });
  const flushed = await log.flush(FLUSH_MS_MAX);
  off();
  const status = drained ? 0 : 1;
  // Node's thread pool reads files and resolves names. Both may hang.
  const idle = closed && flushed && !credentials.reading() && !looksUpNames();
  return idle ? status : endNow(status);
}

function tellOfProcess(metrics: MetricStore): void {
  gauge(metrics, 'endpointd_build_info', { version: version(), node: process.version }).set(1);
  gauge(metrics, 'endpointd_heap_limit_bytes').set(getHeapStatistics().heap_size_limit);
}

/** Opens the log. Its last lines are written however the process ends. */
function startLog(options: RunOptions, metrics: MetricStore): Log {
  const log = createLog({ verbosity: options.v, format: options.loggingFormat, destination: 2 });
  readMetric(metrics, 'endpointd_log_dropped_lines_total', {}, log.droppedLines);
  readMetric(metrics, 'endpointd_log_write_errors_total', {}, log.writeErrors);
  // The log is flushed before Node prints the stack.
  process.once('uncaughtExceptionMonitor', () => log.flushNow(FLUSH_MS_MAX));
  process.once('exit', () => log.flushNow(0));
  return log;
}

interface Stopped {
  drained: boolean;
  closed: boolean;
}

/** Drains, then closes one thing after the other. Returns how far it has come in time. */
async function stop(loop: Loop, drained: Promise<void>, closers: readonly Closer[]): Promise<Stopped> {
  const done: Stopped = { drained: false, closed: false };
  async function all(): Promise<void> {
    loop.stop();
    await drained;
    done.drained = true;
    for (const close of closers) await close();
    done.closed = true;
  }
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, STOP_MS_MAX)));
  await Promise.race([all(), late]);
  clearTimeout(timer);
  return done;
}

/** Logs once which flags of a kube-controller-manager command line have no effect. */
function logIgnored(log: Log, { ignoredFlags }: RunOptions): void {
  if (ignoredFlags.length === 0) return;
  const message = 'Flags of kube-controller-manager that have no meaning here are ignored';
  log.write({ level: 'warning', v: 0, message, fields: { flags: ignoredFlags.join(',') } });
}

function logStart(log: Log, options: RunOptions, server: string, serving: Serving): void {
  const fields = {
    version: version(),
    node: process.version,
    pid: process.pid,
    server,
    controllers: enabledNames(options).join(','),
    shards: options.shards,
    lease: options.election === null ? 'none' : `${options.election.namespace}/${options.election.name}`,
    https: serving.secure ?? 'off',
    http: serving.plain ?? 'off',
  };
  log.write({ level: 'info', v: 0, message: 'Starting endpointd', fields });
  logIgnored(log, options);
}

/** Names of the enabled controllers, as in metrics and log lines. */
function enabledNames({ controller }: RunOptions): ControllerName[] {
  return Object.values(DEFINITIONS)
    .filter(({ kind }) => controller[kind])
    .map(({ name }) => name);
}
