/**
 * Scenarios for `endpointd advise`, and the right advice for each. They are drawn without regard to any rule. The right
 * advice is found by trying: the simulation gets plenty of one resource, and the resource that shortens the delay is
 * the bottleneck.
 */
import type { Settings } from '../../src/advise/observation.ts';
import { createPrng, nextFloat, nextInt, type Prng } from '../../src/lib/prng.ts';
import { simulate, type ControllerName, type ControllerSettings, type Load, type Look } from './simulate.ts';

/** `pods`: the workers of the pod queue, of kube-controller-manager alone. `places`: writes in flight, of endpointd. */
type Resource = 'tokens' | 'syncs' | 'cpu' | 'pods' | 'places';
/** The bottleneck of one controller. */
type Truth = Resource | 'none';

/** A look at `/metrics`. */
interface Scrape {
  readonly atSeconds: number;
  readonly text: string;
}

export interface Drawn {
  readonly seed: number;
  readonly kind: string;
  readonly before: Scrape;
  readonly after: Scrape;
  /** What `/configz` and flags tell. */
  readonly settings: Settings;
  /** The right verdicts for each controller. There are several if their effects are alike; [] = nobody can tell. */
  readonly right: Readonly<Record<ControllerName, readonly Truth[]>>;
}

const KINDS = [
  'tokens',
  'syncs',
  'cpu',
  'two',
  'none',
  'none',
  'pods',
  'throttled others',
  'restarted',
  'quiet',
] as const;
export const WARM_UP = 20;
export const SECONDS = 30;
export const CONTROLLERS: readonly ControllerName[] = ['endpoint', 'endpoint_slice'];

export function drawScenario(seed: number): Drawn {
  const prng = createPrng(seed);
  const kind = KINDS[nextInt(prng, KINDS.length)]!;
  const load = drawLoad(prng, seed, kind);
  const [first, second] = simulate(load, WARM_UP, SECONDS);
  const restarted = kind === 'restarted';
  const right = (name: ControllerName): Truth[] => (restarted ? [] : whatIsRight(load, name, [first, second]));
  const scrapes = [first, second].map((look) => ({ atSeconds: look.atSeconds, text: expositionOf({ load }, look) }));
  const { endpoint, endpoint_slice: slices } = load;
  return {
    seed,
    kind,
    // The second process has run for as long at its look as the first process at its own.
    before: scrapes[restarted ? 1 : 0]!,
    after: scrapes[restarted ? 0 : 1]!,
    settings: {
      syncs: { endpoint: endpoint.workers, endpoint_slice: slices.workers, endpoint_slice_mirroring: 5 },
      cores: null,
      qps: { endpoint: endpoint.qps, endpoint_slice: slices.qps, endpoint_slice_mirroring: null },
      writesInFlightMax: 64,
    },
    right: { endpoint: right('endpoint'), endpoint_slice: right('endpoint_slice') },
  };
}

export function between(prng: Prng, low: number, high: number): number {
  return low * Math.exp(nextFloat(prng) * Math.log(high / low));
}

/** The default of kube-controller-manager, and values of large clusters. */
export const WORKERS = [5, 5, 10, 15, 25, 50];

/** Each kind lacks one resource, or none. */
function drawLoad(prng: Prng, seed: number, kind: (typeof KINDS)[number]): Load {
  const podsPerSecond = kind === 'quiet' ? between(prng, 0.02, 0.2) : between(prng, 10, 120);
  const writeShare = 0.6 + 0.4 * nextFloat(prng);
  const over = between(prng, 1.3, 4);
  const isSlow = kind === 'syncs' || kind === 'two';
  const tightWorkers = WORKERS[nextInt(prng, 4)]!;
  // Workers run short if the API server is slow.
  const apiSeconds = isSlow ? (tightWorkers * over) / podsPerSecond / writeShare : between(prng, 0.003, 0.06);
  const settings = (tight: Truth): ControllerSettings => {
    const syncSeconds = between(prng, 0.0002, 0.002);
    const held = podsPerSecond * (syncSeconds + writeShare * apiSeconds);
    const enough = WORKERS.find((workers) => workers > 2 * held) ?? Math.ceil(2 * held);
    const workers = tight === 'syncs' ? tightWorkers : tight === 'pods' ? 5 : enough;
    const spare = between(prng, 2, 8);
    return {
      workers,
      podWorkers: workers,
      batchSeconds: [0, 0, 0.1, 0.5, 1][nextInt(prng, 5)]!,
      qps: Math.max(1, podsPerSecond * writeShare * (tight === 'tokens' ? 1 / over : spare)),
      burst: Math.round(between(prng, 10, 60)),
      podSeconds: tight === 'pods' ? (5 * over) / podsPerSecond : between(prng, 0.00005, 0.001),
      syncSeconds,
    };
  };
  const first: Truth =
    kind === 'two' ? 'tokens' : kind === 'tokens' || kind === 'syncs' || kind === 'pods' ? kind : 'none';
  const second: Truth = kind === 'two' ? 'syncs' : nextFloat(prng) < 0.5 ? first : 'none';
  const [endpoint, slices] = nextFloat(prng) < 0.5 ? [first, second] : [second, first];
  const cores = kind === 'pods' ? 16 : 2 + nextInt(prng, 7);
  const otherThrottle = nextFloat(prng) < 0.3 ? between(prng, 0.01, 1) : 0;
  return {
    seed,
    podsPerSecond,
    services: Math.round(between(prng, 200, 5000)),
    apiSeconds,
    writeShare,
    cores,
    otherCores: kind === 'cpu' ? cores * (1.02 + 0.2 * nextFloat(prng)) : cores * 0.4 * nextFloat(prng),
    otherWritesPerSecond: between(prng, 1, 60),
    otherApiSeconds: apiSeconds * between(prng, 0.6, 1.6),
    otherThrottle: kind === 'throttled others' ? between(prng, 2, 20) : otherThrottle,
    endpoint: settings(endpoint),
    endpoint_slice: settings(slices),
  };
}

/** A resource helps if plenty of it shortens the delay to this share. */
const HELPS = 0.7;
/** A delay that is no longer than so many times the delay without waits has no bottleneck. */
export const LITTLE = 1.5;
export const SOME = 4;

function whatIsRight(load: Load, name: ControllerName, looks: readonly [Look, Look]): Truth[] {
  // Too few changes for anybody to tell.
  if (load.podsPerSecond * SECONDS < 100) return [];
  const base = delayOf(looks, name);
  const { syncSeconds, podSeconds } = load[name];
  const floor = syncSeconds + podSeconds + load.writeShare * load.apiSeconds;
  if (base <= LITTLE * floor) return ['none'];
  const delays = (['tokens', 'syncs', 'cpu', 'pods'] as const).map((resource) => ({
    resource,
    delay: delayOf(simulate(plenty(load, name, resource), WARM_UP, SECONDS), name),
  }));
  const helping = helpingOf(base, delays);
  // No metric shows the work of pods, so nobody can tell.
  if (helping.length === 1 && helping[0] === 'pods') return [];
  return base <= SOME * floor ? [...helping, 'none'] : helping;
}

/** @param delays with plenty of each resource; Infinity = hardly any change came through */
export function helpingOf(
  base: number,
  delays: readonly { readonly resource: Resource; readonly delay: number }[],
): Truth[] {
  const shareOf = (delay: number): number => (delay === Infinity ? 1 : delay / base);
  return delays.filter(({ delay }) => shareOf(delay) <= HELPS).map(({ resource }) => resource);
}

/** Mean seconds; Infinity = hardly any change came through. */
function delayOf([first, second]: readonly [Look, Look], name: ControllerName): number {
  const count = second[name].delays - first[name].delays;
  return count < 20 ? Infinity : (second[name].delaySeconds - first[name].delaySeconds) / count;
}

/** The factor of "plenty". No scenario lacks as much of a resource. */
const PLENTY = 8;

function plenty(load: Load, name: ControllerName, resource: 'tokens' | 'syncs' | 'cpu' | 'pods'): Load {
  const settings = load[name];
  switch (resource) {
    case 'tokens':
      return { ...load, [name]: { ...settings, qps: settings.qps * PLENTY, burst: settings.burst * PLENTY } };
    case 'syncs':
      return { ...load, [name]: { ...settings, workers: settings.workers * PLENTY } };
    case 'pods':
      return { ...load, [name]: { ...settings, podWorkers: settings.podWorkers * PLENTY } };
    case 'cpu':
      return { ...load, cores: load.cores * PLENTY };
  }
}

/** The text that kube-controller-manager would answer at `/metrics`. */
export function expositionOf({ load }: { readonly load: Load }, look: Look): string {
  const lines: string[] = [];
  for (const name of CONTROLLERS) {
    const { depth, adds, addAfters, queueSeconds, taken, workSeconds, syncs } = look[name];
    const labels = `{name="${name}"}`;
    lines.push(
      `workqueue_depth${labels} ${depth}`,
      // No sync of a simulation hangs.
      `workqueue_longest_running_processor_seconds${labels} 0`,
      `workqueue_adds_total${labels} ${adds}`,
      `workqueue_retries_total${labels} ${addAfters}`,
      `workqueue_queue_duration_seconds_sum${labels} ${queueSeconds}`,
      `workqueue_queue_duration_seconds_count${labels} ${taken}`,
      `workqueue_work_duration_seconds_sum${labels} ${workSeconds}`,
      `workqueue_work_duration_seconds_count${labels} ${syncs}`,
    );
  }
  const throttle = CONTROLLERS.reduce((sum, name) => sum + look[name].throttleSeconds, 0);
  const waited = throttle + load.otherThrottle * look.atSeconds;
  const client = '{host="10.0.0.1:443",verb="PUT"}';
  lines.push(
    `endpoint_slice_controller_changes{operation="update"} ${look.endpoint_slice.writes}`,
    `rest_client_rate_limiter_duration_seconds_sum${client} ${waited}`,
    `rest_client_rate_limiter_duration_seconds_count${client} ${look.apiCount}`,
    // client-go counts the wait for a token as part of the request.
    `rest_client_request_duration_seconds_sum${client} ${look.apiSeconds + waited}`,
    `rest_client_request_duration_seconds_count${client} ${look.apiCount}`,
    `rest_client_requests_total{code="200",host="10.0.0.1:443",method="PUT"} ${look.apiCount}`,
    `process_cpu_seconds_total ${look.cpuSeconds}`,
    `go_sched_gomaxprocs_threads ${load.cores}`,
    'process_start_time_seconds 1.7e+09',
  );
  return `${lines.join('\n')}\n`;
}
