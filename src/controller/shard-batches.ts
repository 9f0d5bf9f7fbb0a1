/**
 * Batches to the shards: entries are built when a batch leaves, so that they carry the latest news; at most two batches
 * of a shard are under way. After a shard is lost, the services of its batches are planned again one at a time, until the
 * one that kills it is found (design, section 6 "Poison").
 */
import type { Now } from './event.ts';
import { allServices } from './services.ts';
import { isPlanned, keyOf, type Failure, type ServiceState } from './service-state.ts';
import { log, type ControllerState } from './state.ts';
import { getPod, podsOf } from '../core/selector-index.ts';
import { labelsInclude } from '../kube/labels.ts';
import type { PodRecord, ServiceRecord } from '../kube/types.ts';
import { assert } from '../lib/assert.ts';
import { decodeReply, encodeBatch, estimateEntryBytes } from '../shard/codec.ts';
import { OUTPUT_ENDPOINTS, type BatchEntry, type Observed, type ServiceResult } from '../shard/protocol.ts';

export interface ShardState {
  /** Services whose entry goes out with the next batch. Bounded by the concurrent syncs. */
  queued: ServiceState[];
  /** Services from lost batches, to be planned alone, one after the other. */
  suspects: ServiceState[];
  /** Keys of services that the planner shall forget, before anything else is told of them. Bounded by the services. */
  readonly forgotten: Set<string>;
  readonly inFlight: Map<number, BatchInFlight>;
  /** Told to end; its loss is awaited. */
  ending: boolean;
}

interface BatchInFlight {
  readonly services: readonly ServiceState[];
  readonly postedAtMs: number;
}

const BATCHES_IN_FLIGHT_MAX = 2;
/** Keys in a batch that tells a planner what to forget. */
const FORGOTTEN_MAX = 1000;
/** The second time that a thread dies with the same service, the service is to blame. */
const DEATHS_MAX = 2;

export function createShardState(): ShardState {
  return { queued: [], suspects: [], forgotten: new Set(), inFlight: new Map(), ending: false };
}

/** Lines a service up for its shard's next batch. */
export function queuePlan(state: ControllerState, service: ServiceState): void {
  const shard = state.shards[service.shard]!;
  if (service.suspect) shard.suspects.push(service);
  else shard.queued.push(service);
}

export interface RefusedPlan {
  readonly service: ServiceState;
  /** null = while it waited its Service went away, or ceased to be ours to plan. */
  readonly failure: Failure | null;
}

/** Sends what is lined up, as far as the shards take it. Returns what no batch can carry. */
export function flushShards(state: ControllerState, now: Now): readonly RefusedPlan[] {
  let refused: RefusedPlan[] | null = null;
  for (let index = 0; index < state.shards.length; index++) {
    const shard = state.shards[index]!;
    if (shard.ending || (shard.queued.length === 0 && shard.suspects.length === 0 && shard.forgotten.size === 0)) {
      continue;
    }
    flushShard(state, index, shard, (refused ??= []), now);
  }
  return refused ?? NONE_REFUSED;
}

const NONE_REFUSED: readonly RefusedPlan[] = [];

function flushShard(state: ControllerState, index: number, shard: ShardState, refused: RefusedPlan[], now: Now): void {
  while (shard.forgotten.size > 0 && shard.inFlight.size < BATCHES_IN_FLIGHT_MAX) {
    postForgotten(state, index, shard, now);
  }
  while (shard.suspects.length > 0 && shard.inFlight.size === 0) {
    postBatch(state, index, [shard.suspects.shift()!], refused, now);
  }
  while (
    shard.queued.length > 0 &&
    shard.suspects.length === 0 &&
    shard.inFlight.size < BATCHES_IN_FLIGHT_MAX &&
    !aloneInFlight(shard)
  ) {
    shard.queued = postBatch(state, index, shard.queued, refused, now);
  }
}

function aloneInFlight(shard: ShardState): boolean {
  for (const batch of shard.inFlight.values()) if (batch.services[0]?.suspect === true) return true;
  return false;
}

/** Posts as many of the services as fit in a batch and returns the rest. */
function postBatch(
  state: ControllerState,
  index: number,
  services: readonly ServiceState[],
  refused: RefusedPlan[],
  now: Now,
): ServiceState[] {
  const { batchBytesMax } = state.options;
  const taken: ServiceState[] = [];
  const entries: BatchEntry[] = [];
  let bytes = 0;
  let next = 0;
  for (; next < services.length; next++) {
    const service = services[next]!;
    if (service.record === null || !isPlanned(service.record)) {
      refused.push({ service, failure: null });
      continue;
    }
    const entry = buildEntry(state, service, service.record);
    const entryBytes = estimateEntryBytes(entry);
    if (entryBytes > batchBytesMax) {
      const message = `snapshot of ${entryBytes} bytes is over --max-batch-bytes=${batchBytesMax}`;
      refused.push({ service, failure: { class: 'invalid', message, retryAfterMs: -1 } });
      continue;
    }
    if (entries.length > 0 && bytes + entryBytes > batchBytesMax) break;
    bytes += entryBytes;
    commitEntry(service, entry);
    entries.push(entry);
    taken.push(service);
  }
  if (entries.length > 0) post(state, index, taken, entries, now);
  return services.slice(next);
}

function post(
  state: ControllerState,
  index: number,
  services: readonly ServiceState[],
  entries: readonly BatchEntry[],
  now: Now,
): void {
  const batch = state.nextBatch++;
  state.shards[index]!.inFlight.set(batch, { services, postedAtMs: now.nowMs });
  state.instruments.shardBatches(index).inc();
  const bytes = encodeBatch({ wallMs: now.wallMs, entries });
  state.effects.push({ type: 'shard.post', shard: index, batch, bytes });
}

function postForgotten(state: ControllerState, index: number, shard: ShardState, now: Now): void {
  const entries: BatchEntry[] = [];
  for (const service of shard.forgotten) {
    if (entries.length === FORGOTTEN_MAX) break;
    shard.forgotten.delete(service);
    entries.push({
      service,
      outputs: 0,
      base: 0,
      version: 0,
      spec: null,
      upserts: [],
      removals: [],
      acks: [],
      observed: [],
    });
  }
  post(state, index, NO_SERVICES, entries, now);
}

const NO_SERVICES: readonly ServiceState[] = [];

function buildEntry(state: ControllerState, service: ServiceState, record: ServiceRecord): BatchEntry {
  const base = service.plannerVersion;
  const full = base === 0;
  // Spread into a list, not into arguments: of those there may be too many.
  const upserts: PodRecord[] = full ? [...podsOf(state.index, service)] : [];
  const removals: string[] = [];
  if (!full && service.changedPods !== null) {
    for (const name of service.changedPods) {
      const pod = getPod(state.index, service.namespace, name);
      if (pod !== undefined && selects(record, pod)) upserts.push(pod);
      else removals.push(name);
    }
  }
  return {
    service: keyOf(service),
    outputs: OUTPUT_ENDPOINTS,
    base,
    version: base + 1,
    spec: full || service.specChanged ? record : undefined,
    upserts,
    removals,
    acks: service.acks ?? [],
    observed: observedOf(service),
  };
}

function selects(record: ServiceRecord, pod: PodRecord): boolean {
  return record.selector !== null && labelsInclude(pod.labels, record.selector);
}

function observedOf(service: ServiceState): Observed[] {
  const { content, gone } = service.output;
  if (content === null && !gone) return [];
  return [{ output: OUTPUT_ENDPOINTS, name: service.name, content }];
}

/** The entry leaves: what it carries is the planner's now. */
function commitEntry(service: ServiceState, entry: BatchEntry): void {
  service.plannerVersion = entry.version;
  service.inPlanner = true;
  service.specChanged = false;
  service.changedPods = null;
  service.acks = null;
  service.output.content = null;
  service.output.gone = false;
}

/** A service that is not planned any more: the planner forgets it, and its object is read should it be planned again. */
export function forgetInPlanner(state: ControllerState, service: ServiceState): void {
  if (service.inPlanner) state.shards[service.shard]!.forgotten.add(keyOf(service));
  service.output.content = null;
  service.output.gone = false;
  forgetPlanner(service);
}

/** The results of a batch, each with its service; none when the batch is not awaited any more. */
export function onShardPlanned(
  state: ControllerState,
  index: number,
  batch: number,
  bytes: Uint8Array,
  now: Now,
): readonly (readonly [ServiceState, ServiceResult])[] {
  const inFlight = state.shards[index]!.inFlight.get(batch);
  // An answer that crossed the loss of its shard.
  if (inFlight === undefined) return [];
  state.shards[index]!.inFlight.delete(batch);
  state.instruments.planSeconds(index).observe((now.nowMs - inFlight.postedAtMs) / 1000);
  const { results, error } = decodeReply(bytes);
  if (error !== null) return inFlight.services.map((service) => [service, failedResult(service, error)] as const);
  if (inFlight.services.length === 0) return [];
  assert(results.length === inFlight.services.length, `batch ${batch} has ${results.length} results`);
  return results.map((result, i) => {
    const service = inFlight.services[i]!;
    service.suspect = false;
    service.deaths = 0;
    return [service, result] as const;
  });
}

/** The batch as a whole could not be read. */
function failedResult(service: ServiceState, error: string): ServiceResult {
  return {
    service: keyOf(service),
    outputs: 0,
    needFull: false,
    writes: [],
    facts: undefined,
    problems: [],
    error,
  };
}

export interface LostPlans {
  /** To be planned again from the start: the object read where needed, then a full snapshot. */
  readonly again: readonly ServiceState[];
  /** Died twice: quarantined. */
  readonly poisoned: readonly { readonly service: ServiceState; readonly failure: Failure }[];
}

/** All state of the shard is gone; what was lined up or under way is returned. */
export function onShardLost(
  state: ControllerState,
  index: number,
  batches: readonly number[],
  reason: string,
): LostPlans {
  const shard = state.shards[index]!;
  shard.ending = false;
  state.instruments.shardRestarts(index).inc();
  log(state, 'error', 0, 'a shard was lost; its state is rebuilt as it is needed', {
    shard: index,
    reason,
    batches: batches.length,
  });
  const again = [...shard.queued, ...shard.suspects];
  const poisoned: { service: ServiceState; failure: Failure }[] = [];
  for (const { services } of shard.inFlight.values()) {
    for (const service of services) {
      service.deaths++;
      service.suspect = true;
      if (services.length > 1 || service.deaths < DEATHS_MAX) {
        again.push(service);
        continue;
      }
      state.instruments.quarantines.inc();
      const message = `planning it ended its thread ${service.deaths} times: ${reason}`;
      poisoned.push({ service, failure: { class: 'poison', message, retryAfterMs: -1 } });
    }
  }
  shard.queued = [];
  shard.suspects = [];
  shard.forgotten.clear();
  shard.inFlight.clear();
  for (const service of allServices(state)) if (service.shard === index) forgetPlanner(service);
  return { again, poisoned };
}

/** The planner's state of a service is lost: full snapshot next, and the object is read again from the server. */
function forgetPlanner(service: ServiceState): void {
  service.plannerVersion = 0;
  service.inPlanner = false;
  service.changedPods = null;
  service.acks = null;
  const { output } = service;
  output.known = output.record === null || output.content !== null;
}

/** Ends a shard that has not answered a batch within the deadline. Returns when to look again; Infinity = not. */
export function checkShardDeadlines(state: ControllerState, now: Now): number {
  let nextMs = Infinity;
  for (let index = 0; index < state.shards.length; index++) {
    const shard = state.shards[index]!;
    if (shard.ending) continue;
    for (const batch of shard.inFlight.values()) {
      const dueMs = batch.postedAtMs + state.options.shardDeadlineMs;
      if (dueMs <= now.nowMs) {
        shard.ending = true;
        state.effects.push({ type: 'shard.restart', shard: index });
        break;
      }
      nextMs = Math.min(nextMs, dueMs);
    }
  }
  return nextMs;
}
