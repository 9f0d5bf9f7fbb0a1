/**
 * Batches to the shards: entries are built when a batch leaves, so that they carry the latest news; at most two batches
 * of a shard are under way. After a shard is lost, the services of its batches are planned again one at a time, until
 * the one that kills it is found (docs/spec/protocols.md "Poison").
 */
import type { Now } from '../event.ts';
import { allServices, getUnit, releaseSlice } from '../caches/services.ts';
import { keyOf, type ServiceState, type Failure, type Unit } from '../caches/service-state.ts';
import { log, type ControllerState, type ShardState, type Asked } from '../state.ts';
import { awaitsAcks, isWanted, readsEndpoints, readsSlices } from '../caches/unit.ts';
import { forgetSlices } from '../caches/outputs.ts';
import { takeZones, tellAllZones } from '../caches/mirror-zones.ts';
import type { Member } from '../../core/member.ts';
import { currentShares, zoneOf } from '../../core/node-table.ts';
import { getPod, podsOf } from '../../core/selector-index.ts';
import { labelsInclude } from '../../kube/labels.ts';
import type { PodRecord, ServiceRecord } from '../../kube/types.ts';
import { assert } from '../../lib/assert.ts';
import { nextUint32 } from '../../lib/prng.ts';
import { decodeReply, encodeBatch, estimateEntryBytes } from '../../shard/codec.ts';
import {
  OUTPUT_ENDPOINTS,
  OUTPUT_MIRROR,
  kindsOf,
  type BatchEntry,
  type Observed,
  type OutputKind,
  type ServiceResult,
} from '../../shard/protocol.ts';

const BATCHES_IN_FLIGHT_MAX = 2;
/** Keys in a batch that tells a planner what to forget. */
const FORGOTTEN_MAX = 1000;
/** The second time that a thread dies with the same service, the service is to blame. */
const DEATHS_MAX = 2;

export function createShardState(): ShardState {
  return {
    queued: [],
    suspects: [],
    forgotten: new Set(),
    inFlight: new Map(),
    sharesVersion: -1,
    nodesToTell: new Set(),
    ending: false,
  };
}

/** Lines a unit up for its shard's next batch; units of one service share an entry. */
export function queuePlan(state: ControllerState, { service, controller }: Unit): void {
  const shard = state.shards[service.shard]!;
  if (service.asked === 0) (service.suspect ? shard.suspects : shard.queued).push(service);
  service.asked |= controller.output;
}

/** The units that have asked for these outputs. */
export function unitsOf(service: ServiceState, outputs: number): Unit[] {
  return service.units.filter(({ controller }) => (controller.output & outputs) !== 0);
}

export interface RefusedPlan {
  readonly unit: Unit;
  /** null = while it waited it ceased to be ours to plan, or its objects have to be read first: it starts over. */
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
  // One at a time, and the first that may go; if none may, none holds up the others.
  const suspect = shard.suspects.findIndex((service) => !mustWait(service));
  if (suspect >= 0) {
    if (shard.inFlight.size === 0) postBatch(state, index, shard.suspects.splice(suspect, 1), refused, now);
    return;
  }
  while (shard.queued.length > 0 && shard.inFlight.size < BATCHES_IN_FLIGHT_MAX && !aloneInFlight(shard)) {
    const before = shard.queued.length;
    shard.queued = postBatch(state, index, shard.queued, refused, now);
    // All that is left waits for answers.
    if (shard.queued.length === before) return;
  }
}

function aloneInFlight(shard: ShardState): boolean {
  for (const batch of shard.inFlight.values()) if (batch.entries[0]?.service.suspect === true) return true;
  return false;
}

/**
 * A full snapshot goes out only when no write of the service is under way, nor a plan that will lead to one: the
 * planner could not tell what an ack belongs to (docs/spec/protocols.md "What a planner knows").
 */
function mustWait(service: ServiceState): boolean {
  if (service.plannerVersion !== 0) return false;
  return service.planning !== 0 || service.units.some(awaitsAcks);
}

/** Posts as many of the services as fit in a batch and returns the rest. */
function postBatch(
  state: ControllerState,
  index: number,
  services: readonly ServiceState[],
  refused: RefusedPlan[],
  now: Now,
): ServiceState[] {
  const { maxBatchBytes } = state.options;
  const taken: Asked[] = [];
  const entries: BatchEntry[] = [];
  const left: ServiceState[] = [];
  let bytes = 0;
  for (const service of services) {
    if (bytes > maxBatchBytes || mustWait(service)) {
      left.push(service);
      continue;
    }
    for (const unit of unitsOf(service, service.asked)) {
      if (isWanted(unit) && !readsEndpoints(unit) && !readsSlices(unit)) continue;
      service.asked &= ~unit.controller.output;
      refused.push({ unit, failure: null });
    }
    const { record, asked } = service;
    if (asked === 0 || record === null) continue;
    const entry = buildEntry(state, service, record);
    const entryBytes = estimateEntryBytes(entry);
    if (entryBytes > maxBatchBytes) {
      const message = `snapshot of ${entryBytes} bytes is over --max-batch-bytes=${maxBatchBytes}`;
      const failure: Failure = { class: 'invalid', message, retryAfterMs: -1 };
      for (const unit of unitsOf(service, asked)) refused.push({ unit, failure });
      service.asked = 0;
      continue;
    }
    if (entries.length > 0 && bytes + entryBytes > maxBatchBytes) {
      // Full: those that follow keep their order.
      bytes = Infinity;
      left.push(service);
      continue;
    }
    bytes += entryBytes;
    commitEntry(state, service, entry);
    entries.push(entry);
    taken.push({ service, outputs: asked });
  }
  if (entries.length > 0) post(state, index, taken, entries, now);
  return left;
}

function post(
  state: ControllerState,
  index: number,
  asked: readonly Asked[],
  entries: readonly BatchEntry[],
  now: Now,
): void {
  const shard = state.shards[index]!;
  const batch = state.nextBatch++;
  shard.inFlight.set(batch, { entries: asked, postedAtMs: now.nowMs });
  state.instruments.shardBatches(index).inc();
  const current = currentShares(state.nodes);
  const version = current?.version ?? 0;
  const shares = version === shard.sharesVersion ? undefined : current;
  shard.sharesVersion = version;
  const zones = takeZones(state, shard.nodesToTell);
  const bytes = encodeBatch({ wallMs: now.wallMs, seed: nextUint32(state.prng), shares, zones, entries });
  state.outbox.effects.push({ type: 'shard.post', shard: index, batch, bytes });
}

function postForgotten(state: ControllerState, index: number, shard: ShardState, now: Now): void {
  const entries: BatchEntry[] = [];
  for (const service of shard.forgotten) {
    if (entries.length === FORGOTTEN_MAX) break;
    shard.forgotten.delete(service);
    entries.push({
      service,
      outputs: [],
      base: 0,
      version: 0,
      spec: null,
      upserts: [],
      removals: [],
      acks: [],
      relisted: [],
      observed: [],
    });
  }
  post(state, index, NOTHING_ASKED, entries, now);
}

const NOTHING_ASKED: readonly Asked[] = [];

function buildEntry(state: ControllerState, service: ServiceState, record: ServiceRecord): BatchEntry {
  const base = service.plannerVersion;
  const full = base === 0;
  const upserts: Member[] = [];
  if (full) for (const pod of podsOf(state.index, service)) upserts.push(memberOf(state, pod));
  const removals: string[] = [];
  if (!full && service.changedPods !== null) {
    for (const name of service.changedPods) {
      const pod = getPod(state.index, service.namespace, name);
      if (pod !== undefined && selects(record, pod)) upserts.push(memberOf(state, pod));
      else removals.push(name);
    }
  }
  return {
    service: keyOf(service),
    outputs: kindsOf(service.asked),
    base,
    version: base + 1,
    spec: full || service.specChanged ? record : undefined,
    upserts,
    removals,
    acks: service.acks ?? [],
    ...observedOf(service),
  };
}

function memberOf(state: ControllerState, pod: PodRecord): Member {
  return { pod, zone: zoneOf(state.nodes, pod.nodeName) };
}

function selects(record: ServiceRecord, pod: PodRecord): boolean {
  return record.selector !== null && labelsInclude(pod.labels, record.selector);
}

/**
 * News of a unit's objects wait while it syncs, but for the entry that begins that sync: a planner is told nothing
 * about an object while it waits for the ack of a write to it.
 */
function isToldNow(service: ServiceState, { sync, controller }: Unit): boolean {
  return sync === null || (service.asked & controller.output) !== 0;
}

function observedOf(service: ServiceState): Pick<BatchEntry, 'relisted' | 'observed'> {
  const observed: Observed[] = [];
  const relisted: OutputKind[] = [];
  const { content, gone } = service.endpoints;
  if ((content !== null || gone) && endpointsAreTold(service)) {
    observed.push({ output: 'endpoints', name: service.name, content });
  }
  for (const unit of service.units) {
    if (!isToldNow(service, unit)) continue;
    const { kind } = unit.controller;
    if (unit.relisted) relisted.push(kind);
    for (const slice of unit.news ?? []) observed.push({ output: kind, name: slice.name, content: slice.content });
  }
  return { relisted, observed };
}

/** The Endpoints object has one unit that writes it, or one that reads it; the one may still have to end. */
function endpointsAreTold(service: ServiceState): boolean {
  // It takes a full snapshot to begin with that, and those wait until nothing of the writer's is under way.
  if ((service.asked & OUTPUT_MIRROR) !== 0) return true;
  const writer = getUnit(service, OUTPUT_ENDPOINTS);
  return writer === undefined || isToldNow(service, writer);
}

/** The entry leaves: what it carries is the planner's now. */
function commitEntry(state: ControllerState, service: ServiceState, entry: BatchEntry): void {
  service.plannerVersion = entry.version;
  service.inPlanner = true;
  service.specChanged = false;
  service.changedPods = null;
  service.acks = null;
  if (endpointsAreTold(service)) {
    service.endpoints.content = null;
    service.endpoints.gone = false;
  }
  for (const unit of service.units) {
    if (!isToldNow(service, unit)) continue;
    unit.relisted = false;
    const { news } = unit;
    if (news === null) continue;
    unit.news = null;
    for (const slice of news) {
      slice.content = null;
      slice.gone = false;
      releaseSlice(state, slice);
    }
  }
  service.planning |= service.asked;
  service.asked = 0;
}

/**
 * A service of which nothing is planned any more: the planner forgets it, and its objects are read should that change.
 */
export function forgetInPlanner(state: ControllerState, service: ServiceState): void {
  if (service.inPlanner) state.shards[service.shard]!.forgotten.add(keyOf(service));
  service.endpoints.content = null;
  service.endpoints.gone = false;
  lostInPlanner(service);
  for (const unit of service.units) if (unit.sync === null) forgetSlices(state, unit);
}

export interface PlannedService extends Asked {
  readonly result: ServiceResult;
}

/** The results of a batch; none when the batch is not awaited any more. */
export function onShardPlanned(
  state: ControllerState,
  index: number,
  batch: number,
  bytes: Uint8Array,
  now: Now,
): readonly PlannedService[] {
  const inFlight = state.shards[index]!.inFlight.get(batch);
  // An answer that crossed the loss of its shard.
  if (inFlight === undefined) return [];
  const { entries } = inFlight;
  state.shards[index]!.inFlight.delete(batch);
  state.instruments.planSeconds(index).observe((now.nowMs - inFlight.postedAtMs) / 1000);
  const { results, error } = decodeReply(bytes);
  assert(error !== null || entries.length === 0 || results.length === entries.length, `batch ${batch} is incomplete`);
  return entries.map(({ service, outputs }, i) => {
    service.planning &= ~outputs;
    if (error !== null) return { service, outputs, result: failedResult(service, error) };
    service.suspect = false;
    service.deaths = 0;
    return { service, outputs, result: results[i]! };
  });
}

/** The batch as a whole could not be read. */
function failedResult(service: ServiceState, error: string): ServiceResult {
  return {
    service: keyOf(service),
    needFull: false,
    plans: [],
    failures: [],
    problems: [],
    error,
  };
}

export interface LostPlans {
  /** To be planned again from the start: the objects read where needed, then a full snapshot. */
  readonly again: readonly Unit[];
  /** Died twice: quarantined. */
  readonly poisoned: readonly { readonly unit: Unit; readonly failure: Failure }[];
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
  log(state, 'error', 0, 'A shard was lost; its state is rebuilt as it is needed', {
    shard: index,
    err: reason,
    batches: batches.length,
  });
  const again: Unit[] = [];
  const poisoned: { unit: Unit; failure: Failure }[] = [];
  for (const service of [...shard.queued, ...shard.suspects]) {
    again.push(...unitsOf(service, service.asked));
    service.asked = 0;
  }
  for (const { entries } of shard.inFlight.values()) {
    for (const { service, outputs } of entries) {
      service.planning &= ~outputs;
      service.deaths++;
      service.suspect = true;
      const units = unitsOf(service, outputs);
      if (entries.length > 1 || service.deaths < DEATHS_MAX) {
        again.push(...units);
        continue;
      }
      state.instruments.quarantines.inc();
      const message = `planning it ended its thread ${service.deaths} times: ${reason}`;
      for (const unit of units) poisoned.push({ unit, failure: { class: 'poison', message, retryAfterMs: -1 } });
    }
  }
  shard.queued = [];
  shard.suspects = [];
  shard.forgotten.clear();
  shard.inFlight.clear();
  shard.sharesVersion = -1;
  tellAllZones(state, shard.nodesToTell);
  for (const service of allServices(state)) if (service.shard === index) lostInPlanner(service);
  return { again, poisoned };
}

/** The planner's state of a service is lost: full snapshot next, and the objects are read again from the server. */
export function lostInPlanner(service: ServiceState): void {
  service.plannerVersion = 0;
  service.inPlanner = false;
  service.changedPods = null;
  service.acks = null;
  const { endpoints, units } = service;
  endpoints.known = endpoints.record === null || endpoints.content !== null;
  for (const unit of units) unit.known = unit.slices === null || isNewsWhole(unit);
}

/** The planner would be told of every slice anyway. */
function isNewsWhole({ slices, news, relisted }: Unit): boolean {
  return relisted && news !== null && slices !== null && news.size === slices.size;
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
        state.outbox.effects.push({ type: 'shard.restart', shard: index });
        break;
      }
      nextMs = Math.min(nextMs, dueMs);
    }
  }
  return nextMs;
}
