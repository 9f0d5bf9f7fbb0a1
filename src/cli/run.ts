import process from 'node:process';
import type { ControllerName } from '../controller/controllers.ts';
import type { Event } from '../controller/event.ts';
import { createLoop, type Loop } from '../controller/loop.ts';
import { plannerConfigOf } from '../controller/planner-config.ts';
import { createMetricStore, gauge, readSeries, type MetricStore } from '../metrics/store.ts';
import { createClock } from '../node/clock.ts';
import { createCredentials, SERVICE_ACCOUNT_DIRECTORY } from '../node/credentials.ts';
import { startHttp, type Health, type HealthPath, type HttpServer } from '../node/http.ts';
import { createLog, type Log } from '../node/log.ts';
import type { MetricsRegistry } from '../node/metrics-registry.ts';
import { createRandom } from '../node/random.ts';
import { createRestClientObserver } from '../node/rest-client-metrics.ts';
import { onStopSignals } from '../node/signals.ts';
import { createTransport } from '../node/transport.ts';
import { userAgent, version } from '../node/version.ts';
import type { Shards } from '../ports/shards.ts';
import { parseRunFlags, type RunOptions } from './flags.ts';
import { starting } from './usage.ts';

/** The loop ends a drain by itself after ten seconds; this is for the case that it does not. */
const STOP_MS_MAX = 15_000;

type ClosableShards = Shards & { close(): void | Promise<void> };

/** `endpointd run`: the controller until a signal stops it. Gives the exit status. */
export async function run(args: readonly string[]): Promise<number> {
  const options = parseRunFlags(args, (text) => process.stdout.write(text));
  const log = createLog({ verbosity: options.verbosity, format: options.loggingFormat, destination: 2 });
  const metrics = createMetricStore();
  gauge(metrics, 'endpointd_build_info', { version: version(), node: process.version }).set(1);

  const { env } = process;
  const { kubeconfig, master } = options;
  const credentials = createCredentials({
    kubeconfig,
    master,
    env,
    serviceAccountDirectory: SERVICE_ACCOUNT_DIRECTORY,
  });
  const access = await credentials.read('refresh');
  const createShards = await shardsFactory(options);
  const clock = createClock();

  const closers: (() => void | Promise<void>)[] = [];
  let onStopped = (): void => undefined;
  const stopped = new Promise<void>((resolve) => (onStopped = resolve));
  const loop = createLoop({
    options: options.controller,
    clock,
    random: createRandom(),
    transport(deliver) {
      const transport = createTransport(
        {
          access,
          readAccess: credentials.read,
          refreshMs: credentials.refreshMs,
          userAgent: userAgent(),
          writesInFlightMax: options.controller.writesInFlightMax,
          log: log.write,
          observe: createRestClientObserver(metrics),
        },
        deliver,
      );
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
    metrics,
    onStopped: () => onStopped(),
  });
  const http = await serveObservation(options, loop, metrics, log, () => clock.nowMs());
  logStart(log, options, access.origin, http);
  loop.start();

  const signal = await firstSignal(log);
  log.write({ level: 'info', v: 0, message: 'stopping: planning nothing more, draining writes', fields: { signal } });
  loop.stop();
  const drained = await inTime(stopped);
  clock.close();
  for (const close of [...closers, () => http?.close()]) await close();
  log.write({ level: 'info', v: 0, message: drained ? 'stopped' : 'stopped without draining all writes', fields: {} });
  log.flush();
  return drained ? 0 : 1;
}

/** Piscina and msgpackr are loaded before the loop starts; the threads themselves start beside the first lists. */
async function shardsFactory(
  options: RunOptions,
): Promise<(deliver: (event: Event) => void, metrics: MetricStore) => ClosableShards> {
  const config = plannerConfigOf(options.controller);
  if (options.shards === 0) {
    const { createInlineShards } = await import('../node/inline-shards.ts');
    return (deliver) => createInlineShards(config, deliver);
  }
  const { createThreadShards } = await import('../node/thread-shards.ts');
  const threads = { count: options.shards, heapLimitMb: options.shardHeapLimitMb, config };
  return (deliver, metrics) => {
    const shards = createThreadShards(threads, deliver);
    readSeries(metrics, 'endpointd_shard_heap_bytes', () =>
      Array.from({ length: shards.count }, (_, shard) => ({
        labels: { shard: String(shard) },
        value: shards.facts(shard).heapBytes,
      })),
    );
    return shards;
  };
}

async function serveObservation(
  options: RunOptions,
  loop: Loop,
  store: MetricStore,
  log: Log,
  nowMs: () => number,
): Promise<HttpServer | null> {
  if (options.metricsAddress === null) return null;
  // Loaded when somebody asks: it costs 60 ms of CPU and 19 MB that the first lists should not wait for.
  let registry: Promise<MetricsRegistry> | undefined;
  const load = async (): Promise<MetricsRegistry> =>
    (await import('../node/metrics-registry.ts')).createRegistry(store, nowMs);
  const { host, port } = options.metricsAddress;
  const server = startHttp({
    host,
    port,
    metrics: async () => {
      registry ??= load();
      const loaded = await registry;
      return { contentType: loaded.contentType, body: await loaded.text() };
    },
    health: (path) => healthOf(path, loop),
    onAcceptError: ({ message }) => {
      log.write({
        level: 'warning',
        v: 0,
        message: 'metrics port: no connection accepted',
        fields: { error: message },
      });
    },
  });
  return await starting(`serve --metrics-bind-address=${host}:${port}`, server);
}

/** A process that answers is alive; only readiness depends on watches, for a restart would not bring them back. */
function healthOf(path: HealthPath, loop: Loop): Health {
  const checks = [{ name: 'ping', ok: true, message: '' }, ...(path === 'readyz' ? loop.readiness() : [])];
  return { ok: checks.every((check) => check.ok), checks };
}

/** The first SIGTERM or SIGINT; a second one ends the process at once. */
function firstSignal(log: Log): Promise<string> {
  return new Promise((resolve) => {
    onStopSignals(resolve, (status) => {
      log.flush();
      process.exit(status);
    });
  });
}

/** False when it took too long. */
async function inTime(stopped: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => (timer = setTimeout(resolve, STOP_MS_MAX, false)));
  const drained = await Promise.race([stopped.then(() => true), late]);
  clearTimeout(timer);
  return drained;
}

function logStart(log: Log, options: RunOptions, server: string, http: HttpServer | null): void {
  const fields = {
    version: version(),
    node: process.version,
    pid: process.pid,
    server,
    controllers: enabledNames(options).join(','),
    shards: options.shards,
    metrics: http?.address ?? 'off',
  };
  log.write({ level: 'info', v: 0, message: 'endpointd starts', fields });
}

/** As metrics and log lines name them. */
function enabledNames({ controller }: RunOptions): ControllerName[] {
  const { endpoints, slices, mirroring } = controller;
  const all = { endpoints, endpointslice: slices, 'endpointslice-mirroring': mirroring };
  return (Object.keys(all) as ControllerName[]).filter((name) => all[name]);
}
