import { createBrake } from './reflectors/brake.ts';
import { createControllers } from './definitions/controllers.ts';
import { createEventRecorder } from './reports/event-recorder.ts';
import { createFactSums } from './syncs/facts.ts';
import { readState } from './reports/gauges.ts';
import { createInstruments } from './reports/instruments.ts';
import { createMirrorZones } from './caches/mirror-zones.ts';
import type { ControllerOptions } from './options.ts';
import { createTokenBucket } from './writes/rate-limit.ts';
import type { ServiceState } from './caches/service-state.ts';
import { createShardState } from './syncs/shard-batches.ts';
import type { ControllerState } from './state.ts';
import { createWritePause } from './writes/write-pause.ts';
import { createWriteQueue } from './writes/writes.ts';
import { createNodeTable } from '../core/node-table.ts';
import { createSelectorIndex } from '../core/selector-index.ts';
import { createInterner } from '../lib/interner.ts';
import { createPrng } from '../lib/prng.ts';
import type { MetricStore } from '../metrics/store.ts';

/**
 * The state before the first event, its gauges registered in `metrics`.
 * @param seed of the state's own generator
 * @param host of the API server, for metrics
 */
export function createState(
  options: ControllerOptions,
  shardCount: number,
  seed: number,
  metrics: MetricStore,
  host: string,
): ControllerState {
  const controllers = createControllers(options, metrics);
  const state: ControllerState = {
    options,
    prng: createPrng(seed),
    interner: createInterner(),
    instruments: createInstruments(metrics, host),
    effects: [],
    requests: new Map(),
    nextRequestId: 1,
    phase: 'starting',
    stopByMs: Infinity,
    controllers,
    reflectors: [],
    brake: createBrake(),
    index: createSelectorIndex<ServiceState>(),
    nodes: createNodeTable(),
    services: new Map(),
    serviceCount: 0,
    slices: new Map(),
    shards: Array.from({ length: shardCount }, () => createShardState()),
    nextBatch: 1,
    writes: createWriteQueue(),
    tokens: createTokenBucket(options.kubeApiQps * controllers.length, options.kubeApiBurst * controllers.length),
    pause: createWritePause(),
    recorder: createEventRecorder(options.eventQueueSize),
    sums: createFactSums(),
    mirrorZones: options.mirroring && options.mirroringZones ? createMirrorZones() : null,
    shares: null,
    echoesExpected: 0,
    resyncAtMs: Infinity,
  };
  readState(metrics, state);
  return state;
}
