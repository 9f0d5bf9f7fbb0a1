import { createHands } from './hands.ts';
import { createControllers } from './definitions/controllers.ts';
import { createEventRecorder, recordEvent } from './reports/event-recorder.ts';
import { readState } from './reports/gauges.ts';
import { createInstruments, type Instruments } from './reports/instruments.ts';
import { createJournal } from './reports/journal.ts';
import { createReports } from './reports/reports.ts';
import { createReplan } from './caches/replan.ts';
import { createLeadership, waitsToWrite, type LeadershipOptions } from './leader/leadership.ts';
import type { ControllerOptions } from './options.ts';
import { createOutbox, mutedWhile, type SourceOf } from './outbox.ts';
import type { Controller, ServiceState } from './caches/service-state.ts';
import { createShardState } from './syncs/shard-batches.ts';
import type { ControllerState, Purpose } from './state.ts';
import { createWrites } from './writes/writes.ts';
import { createNodeTable } from '../core/node-table.ts';
import { createSelectorIndex } from '../core/selector-index.ts';
import { createInterner } from '../lib/interner.ts';
import { createPrng } from '../lib/prng.ts';
import { createTokenBucket } from '../lib/token-bucket.ts';
import type { MetricStore } from '../metrics/store.ts';

/** The elector draws from a generator of its own, so that it changes nothing of what the syncs draw. */
const LEASE_SEED = 0x1ea5e;

export interface StateConfig {
  readonly options: ControllerOptions;
  readonly metrics: MetricStore;
  /** The host of the API server, for metrics. */
  readonly host: string;
  /** Absent or null = the process writes without holding a Lease. */
  readonly leadership?: LeadershipOptions | null;
  /** The process is a shadow. Default: it is one only if it has a Lease to wait for. */
  readonly isShadow?: boolean;
  readonly sourceOf?: SourceOf;
}

/**
 * The state before the first event, its gauges registered in `metrics`.
 * @param seed of the state's own generators
 */
export function createState(config: StateConfig, shardCount: number, seed: number): ControllerState {
  const { options, metrics, leadership = null, isShadow = false } = config;
  const controllers = createControllers(options, metrics, () => !waitsToWrite(state));
  const instruments = createInstruments(metrics, config.host);
  beginAtZero(instruments, controllers, options, shardCount);
  const prng = createPrng(seed);
  const interner = createInterner();
  const outbox = createOutbox<Purpose>(config.sourceOf);
  // Event objects draw from a generator of their own, so that they change nothing of what the syncs draw.
  const eventRecorder = createEventRecorder(options.eventQueueSize, createPrng(~seed));
  const journal = createJournal(options.journalSize);
  const state: ControllerState = {
    options,
    prng,
    interner,
    instruments,
    outbox,
    hands: createHands({ options, outbox, prng, interner, instruments }, () => state),
    phase: 'starting',
    stopByMs: Infinity,
    releaseByMs: Infinity,
    controllers,
    reflectors: [],
    cachesOpenedAtMs: Infinity,
    index: createSelectorIndex<ServiceState>(),
    nodes: createNodeTable(),
    services: new Map(),
    serviceCount: 0,
    existingServices: 0,
    slices: new Map(),
    shards: Array.from({ length: shardCount }, () => createShardState()),
    nextBatchId: 1,
    writes: createWrites(
      createTokenBucket(options.kubeApiQps * controllers.length, options.kubeApiBurst * controllers.length),
    ),
    isShadow: isShadow || leadership !== null,
    leadership:
      leadership === null
        ? null
        : createLeadership(
            leadership,
            controllers.map(({ name }) => name),
            createPrng(seed ^ LEASE_SEED),
          ),
    eventRecorder,
    reports: createReports({
      // A standby reports nothing of objects: the leader does.
      log: mutedWhile(() => state.isShadow, outbox.log),
      record(event, now) {
        if (!state.isShadow) recordEvent(eventRecorder, event, now.nowMs, now.wallMs);
      },
      instruments,
      journal,
      waitsToWrite: () => waitsToWrite(state),
    }),
    journal,
    replan: createReplan(),
    conflicted: new Map(),
    missedEndpoints: new Set(),
    namelessTold: new Set(),
    echoesExpected: 0,
    resyncAtMs: Infinity,
    standbyPlansAtMs: Infinity,
  };
  readState(metrics, state);
  return state;
}

/** Counters whose label sets are known begin at 0, so that rates see the first event, too. */
function beginAtZero(
  instruments: Instruments,
  controllers: readonly Controller[],
  options: ControllerOptions,
  shardCount: number,
): void {
  for (const resource of new Set(['services', ...controllers.flatMap((controller) => controller.caches(options))])) {
    instruments.watchRestarts(resource);
    instruments.historyResets(resource);
    instruments.decodeErrors(resource);
  }
  for (let shard = 0; shard < shardCount; shard++) instruments.shardRestarts(shard);
}
