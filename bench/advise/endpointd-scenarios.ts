/**
 * Scenarios of endpointd for `endpointd advise`, and the right advice for each. It is found as that of
 * kube-controller-manager's: the simulation gets plenty of one resource at a time, and of all of them.
 */
import { createPrng, nextFloat, nextInt, type Prng } from '../../src/lib/prng.ts';
import { between, CONTROLLERS, helpingOf, LITTLE, SECONDS, SOME, WARM_UP, WORKERS, type Drawn } from './scenarios.ts';
import { simulateEndpointd, type OwnLoad, type OwnLook, type OwnSettings } from './simulate-endpointd.ts';
import type { ControllerName } from './simulate.ts';

const KINDS = [
  'tokens',
  'syncs',
  'cpu',
  'two',
  'none',
  'none',
  'places',
  'hot services',
  'restarted',
  'quiet',
] as const;
type Kind = (typeof KINDS)[number];

export function drawEndpointdScenario(seed: number): Drawn {
  const prng = createPrng(seed);
  const kind = KINDS[nextInt(prng, KINDS.length)]!;
  const load = drawLoad(prng, seed, kind);
  const [first, second] = simulateEndpointd(load, WARM_UP, SECONDS);
  const restarted = kind === 'restarted';
  const right = rightOf(load, restarted, [first, second]);
  const looks = [first, second].map((look) => expositionOf(load, look));
  return {
    seed,
    kind,
    before: looks[restarted ? 1 : 0]!,
    after: looks[restarted ? 0 : 1]!,
    settings: {
      syncs: {
        endpoint: load.endpoint.workers,
        endpoint_slice: load.endpoint_slice.workers,
        endpoint_slice_mirroring: 5,
      },
      cores: null,
      // As `--kube-api-qps`, which is the share of one controller.
      qps: { endpoint: load.qps / 2, endpoint_slice: load.qps / 2, endpoint_slice_mirroring: null },
      writesInFlightMax: load.places,
    },
    right,
  };
}

/** Each kind lacks one resource, or none. */
function drawLoad(prng: Prng, seed: number, kind: Kind): OwnLoad {
  const isHot = kind === 'hot services';
  const podsPerSecond = kind === 'quiet' ? between(prng, 0.02, 0.2) : between(prng, 10, 120);
  const writeShare = 0.6 + 0.4 * nextFloat(prng);
  const over = between(prng, 1.3, 4);
  const tightWorkers = WORKERS[nextInt(prng, 4)]!;
  const sliceWrites = [1, 1, 1, 2, 4][nextInt(prng, 5)]!;
  const writes = podsPerSecond * writeShare * (1 + sliceWrites);
  const isSlow = kind === 'syncs' || kind === 'two';
  const quick = kind === 'places' || isHot ? between(prng, 0.05, 0.3) : between(prng, 0.003, 0.06);
  const apiSeconds = isSlow ? (tightWorkers * over) / podsPerSecond / writeShare : quick;
  const held = podsPerSecond * (0.005 + writeShare * apiSeconds);
  const enough = WORKERS.find((workers) => workers > 2 * held) ?? Math.ceil(2 * held);
  const isTight = kind === 'two' || kind === 'tokens' || isSlow;
  const tight = nextInt(prng, 3);
  const settings = (i: number, count: number): OwnSettings => ({
    // One controller lacks workers, or both do.
    workers: isSlow && tight !== i ? tightWorkers : enough,
    batchSeconds: [0, 0, 0.1, 0.5, 1][nextInt(prng, 5)]!,
    writes: count,
  });
  const [endpoint, slices] = [settings(0, 1), settings(1, sliceWrites)];
  const spare = between(prng, 2, 8);
  const inFlight = writes * apiSeconds;
  const costs = [between(prng, 5e-5, 5e-4), between(prng, 2e-4, 2e-3), between(prng, 5e-5, 5e-4)] as const;
  const share = podsPerSecond * (costs[0] + 2 * costs[1]) + writes * costs[2];
  // The main thread has enough to do by itself, or too little.
  const wanted = kind === 'cpu' ? between(prng, 0.95, 1.3) : Math.min(share, 0.4);
  const [eventSeconds, syncSeconds, replySeconds] = costs.map((cost) => (cost * wanted) / share);
  return {
    seed,
    podsPerSecond,
    services: isHot ? 1 + nextInt(prng, 5) : Math.round(between(prng, 200, 5000)),
    apiSeconds,
    writeShare,
    qps: Math.max(1, isTight && kind !== 'syncs' ? writes / over : writes * spare),
    burst: Math.round(between(prng, 20, 120)),
    places: kind === 'places' ? Math.max(1, Math.floor(inFlight / over)) : Math.max(64, Math.ceil(2 * inFlight)),
    eventSeconds: eventSeconds!,
    syncSeconds: syncSeconds!,
    replySeconds: replySeconds!,
    otherShare: 0.2 * nextFloat(prng),
    otherCores: 2 * nextFloat(prng),
    endpoint,
    endpoint_slice: slices,
  };
}

/** The factor of "plenty". No scenario lacks as much of a resource. */
const PLENTY = 8;

/**
 * The controllers share the bucket, the places and the main thread. What one of them gained by more workers alone it
 * might take from the other, so both get them.
 */
function withPlenty(load: OwnLoad, resources: readonly string[]): OwnLoad {
  const factor = (resource: string): number => (resources.includes(resource) ? PLENTY : 1);
  const thread = factor('cpu');
  const settingsOf = (one: ControllerName): OwnSettings => {
    const { workers, batchSeconds, writes } = load[one];
    return { workers: workers * factor('syncs'), batchSeconds, writes };
  };
  return {
    ...load,
    qps: load.qps * factor('tokens'),
    burst: load.burst * factor('tokens'),
    places: load.places * factor('places'),
    eventSeconds: load.eventSeconds / thread,
    syncSeconds: load.syncSeconds / thread,
    replySeconds: load.replySeconds / thread,
    otherShare: load.otherShare / thread,
    endpoint: settingsOf('endpoint'),
    endpoint_slice: settingsOf('endpoint_slice'),
  };
}

const RESOURCES = ['tokens', 'syncs', 'cpu', 'places'] as const;

function rightOf(load: OwnLoad, restarted: boolean, looks: readonly [OwnLook, OwnLook]): Drawn['right'] {
  // Too few changes for anybody to tell.
  if (restarted || load.podsPerSecond * SECONDS < 100) return { endpoint: [], endpoint_slice: [] };
  const tried = (...resources: readonly string[]): readonly [OwnLook, OwnLook] =>
    simulateEndpointd(withPlenty(load, resources), WARM_UP, SECONDS);
  const best = tried(...RESOURCES);
  const each = RESOURCES.map((resource) => ({ resource, looks: tried(resource) }));
  const right = (name: ControllerName): Drawn['right'][ControllerName] => {
    const [base, floor] = [delayOf(looks, name), delayOf(best, name)];
    if (base <= LITTLE * floor) return ['none'];
    const delays = each.map(({ resource, looks: those }) => ({ resource, delay: delayOf(those, name) }));
    const helping = helpingOf(base, delays);
    // No verdict names the places, so the best answer is that it cannot tell which flag helps.
    if (helping.length === 1 && helping[0] === 'places') return [];
    return base <= SOME * floor ? [...helping, 'none'] : helping;
  };
  return { endpoint: right('endpoint'), endpoint_slice: right('endpoint_slice') };
}

/** Mean seconds; Infinity = hardly any change came through. */
function delayOf([first, second]: readonly [OwnLook, OwnLook], name: ControllerName): number {
  const count = second[name].delays - first[name].delays;
  return count < 20 ? Infinity : (second[name].delaySeconds - first[name].delaySeconds) / count;
}

/** The share of the main thread's time that is a part of steps. */
const STEPS = 0.6;

/** The text that endpointd would answer at `/metrics`. */
function expositionOf({ otherCores }: OwnLoad, look: OwnLook): Drawn['before'] {
  const { atSeconds, threadSeconds, waitedSeconds, apiSeconds, apiCount } = look;
  const lines = CONTROLLERS.flatMap((name) => {
    const { depth, queueSeconds, taken, workSeconds, syncs } = look[name];
    const labels = `{name="${name}"}`;
    return [
      `workqueue_depth${labels} ${depth}`,
      // No sync of a simulation hangs.
      `workqueue_longest_running_processor_seconds${labels} 0`,
      `workqueue_queue_duration_seconds_sum${labels} ${queueSeconds}`,
      `workqueue_queue_duration_seconds_count${labels} ${taken}`,
      `workqueue_work_duration_seconds_sum${labels} ${workSeconds}`,
      `workqueue_work_duration_seconds_count${labels} ${syncs}`,
    ];
  });
  lines.push(
    'endpointd_build_info{version="0.1.0"} 1',
    `endpointd_step_duration_seconds_sum ${STEPS * threadSeconds}`,
    `endpointd_writes_total{verb="update"} ${apiCount}`,
    `endpoint_slice_controller_changes{operation="update"} ${look.endpoint_slice.writes}`,
    `nodejs_eventloop_utilization_histogram_sum ${threadSeconds}`,
    `nodejs_eventloop_utilization_histogram_count ${atSeconds}`,
    `rest_client_rate_limiter_duration_seconds_sum{verb="PUT"} ${waitedSeconds}`,
    `rest_client_request_duration_seconds_sum{verb="PUT"} ${apiSeconds}`,
    `rest_client_request_duration_seconds_count{verb="PUT"} ${apiCount}`,
    `rest_client_requests_total{code="200",method="PUT"} ${apiCount}`,
    `process_cpu_seconds_total ${threadSeconds + otherCores * atSeconds}`,
    'process_start_time_seconds 1.7e+09',
  );
  return { atSeconds, text: `${lines.join('\n')}\n` };
}
