/**
 * Batches to the shards. An entry is built when its batch leaves, so that it carries the latest news. At most two
 * batches of a shard are under way. After a shard is lost, the services of its batches are planned again one at a time,
 * until the service that ends the thread is found (docs/protocols.md "Poison").
 */
import type { Now } from '../event.ts';
import { allServices, hasObjects } from '../caches/services.ts';
import { keyOf, type ServiceState, type Failure, type Unit } from '../caches/service-state.ts';
import type { AwaitedEntry, BatchInFlight, ControllerState, ShardState } from '../state.ts';
import { awaitsAcks, isWanted, mustRead } from '../caches/unit.ts';
import { nodesWithZones } from '../caches/mirror-zones.ts';
import {
  askFor,
  createShardView,
  noteDismissed,
  noteForgotten,
  isSnapshotDue,
  nextEntryParts,
  noteEntryAnswered,
  noteLost,
  noteSent,
  noteShardLost,
  takeBack,
  takeForgotten,
  takeShared,
  type EntryParts,
} from './planner-view.ts';
import type { Member } from '../../core/member.ts';
import { currentShares, zoneOf } from '../../core/node-table.ts';
import { getSelectedPod, podsOf } from '../../core/selector-index.ts';
import type { PodRecord, ServiceRecord } from '../../kube/types.ts';
import { assert } from '../../lib/assert.ts';
import { nextUint32 } from '../../lib/prng.ts';
import { estimateEntryBytes } from '../../shard/entry-bytes.ts';
import type { BatchEntry, OutputKind, PlanReply, ServiceResult } from '../../shard/protocol.ts';

const BATCHES_IN_FLIGHT_MAX = 2;
/** A thread that has not answered for so long may hang. */
const LATE_MS = 1000;
/** A step that comes so long after a deadline tells that the process stood still. Its threads get as long from then on. */
const STOOD_STILL_MS = 1000;
/** The most keys in a batch that tells a planner what to forget. */
const FORGOTTEN_MAX = 1000;
/** A service is to blame when so many batches with it were lost. */
const BATCHES_LOST_MAX = 2;

export function createShardState(): ShardState {
  return {
    queued: [],
    suspects: [],
    view: createShardView(),
    inFlight: new Map(),
    ending: false,
  };
}

/** Lines a unit up for the next batch of its shard. Units of one service share an entry. */
export function queuePlan(state: ControllerState, { service, controller, sync }: Unit): void {
  assert(sync?.stage.name === 'planning', `${keyOf(service)} is lined up without a sync that plans`);
  const shard = state.shards[service.shard]!;
  if (service.view.asked.length === 0) (isSuspect(service) ? shard.suspects : shard.queued).push(service);
  askFor(service.view, controller.kind);
}

/** Whether a batch with the service was lost. The service is planned alone until a batch with it is answered with results. */
function isSuspect({ batchesLost }: ServiceState): boolean {
  return batchesLost > 0;
}

/** Whether a plan of the shard may come late: its thread may hang, or plans a service alone that may end it. */
export function plansLate({ ending, inFlight }: ShardState, now: Now): boolean {
  if (ending) return true;
  for (const batch of inFlight.values()) {
    if (now.nowMs - batch.postedAtMs >= LATE_MS || isOfSuspect(batch)) return true;
  }
  return false;
}

/** The units that have asked for these outputs. */
export function unitsOf(service: ServiceState, outputs: readonly OutputKind[]): Unit[] {
  return service.units.filter(({ controller }) => outputs.includes(controller.kind));
}

/** A unit that has asked for a plan and gets none. */
export interface UnitWithoutPlan {
  readonly unit: Unit;
  /**
   * null = it starts over: it is not planned any more, its objects have to be read first, or its planner is lost and needs
   * a full snapshot.
   */
  readonly failure: Failure | null;
}

/** Sends what is lined up, as far as the shards take it. Returns the units that no batch can carry. */
export function flushShards(state: ControllerState, now: Now): readonly UnitWithoutPlan[] {
  let refused: UnitWithoutPlan[] | null = null;
  for (let index = 0; index < state.shards.length; index++) {
    const shard = state.shards[index]!;
    if (shard.ending || (shard.queued.length === 0 && shard.suspects.length === 0 && shard.view.toForget.size === 0)) {
      continue;
    }
    flushShard(state, index, shard, (refused ??= []), now);
  }
  return refused ?? NONE_REFUSED;
}

const NONE_REFUSED: readonly UnitWithoutPlan[] = [];

function flushShard(
  state: ControllerState,
  index: number,
  shard: ShardState,
  refused: UnitWithoutPlan[],
  now: Now,
): void {
  while (shard.view.toForget.size > 0 && shard.inFlight.size < BATCHES_IN_FLIGHT_MAX) {
    postForgotten(state, index, shard, now);
  }
  // Suspects go one at a time. The first that may go goes, and if none may, they hold up no other service.
  const suspect = shard.suspects.findIndex((service) => !mustWait(service));
  if (suspect >= 0) {
    if (shard.inFlight.size === 0) postBatch(state, index, shard.suspects.splice(suspect, 1), refused, now);
    return;
  }
  while (shard.queued.length > 0 && shard.inFlight.size < BATCHES_IN_FLIGHT_MAX && !aloneInFlight(shard)) {
    const before = shard.queued.length;
    shard.queued = postBatch(state, index, shard.queued, refused, now);
    // All services that are left wait for answers.
    if (shard.queued.length === before) return;
  }
}

function aloneInFlight(shard: ShardState): boolean {
  for (const batch of shard.inFlight.values()) if (isOfSuspect(batch)) return true;
  return false;
}

/** A suspect has its batch for itself, so the first entry tells. */
function isOfSuspect({ awaited }: BatchInFlight): boolean {
  return awaited.length > 0 && isSuspect(awaited[0]!.service);
}

/**
 * Whether the entry of the service must wait. A full snapshot waits while a write of the service is under way, or a
 * plan that may lead to one. Otherwise the planner could not tell to which objects an ack belongs
 * (docs/protocols.md "What a planner knows").
 */
function mustWait({ view, units }: ServiceState): boolean {
  return isSnapshotDue(view) && (view.planning.length > 0 || units.some(awaitsAcks));
}

/** Posts as many of the services as fit in a batch. Returns the others. */
function postBatch(
  state: ControllerState,
  index: number,
  services: readonly ServiceState[],
  refused: UnitWithoutPlan[],
  now: Now,
): ServiceState[] {
  const { maxBatchBytes } = state.options;
  const taken: AwaitedEntry[] = [];
  const entries: BatchEntry[] = [];
  const left: ServiceState[] = [];
  let bytes = 0;
  for (const service of services) {
    if (bytes > maxBatchBytes || mustWait(service)) {
      left.push(service);
      continue;
    }
    const { view, record } = service;
    for (const unit of unitsOf(service, view.asked)) {
      if (isWanted(unit) && !mustRead(unit)) continue;
      takeBack(view, [unit.controller.kind]);
      refused.push({ unit, failure: null });
    }
    const { asked } = view;
    if (asked.length === 0 || record === null) continue;
    const waiting = outputsThatWait(service);
    const parts = nextEntryParts(view, waiting);
    const entry = buildEntry(state, service, record, parts);
    const entryBytes = estimateEntryBytes(entry);
    if (entryBytes > maxBatchBytes) {
      const message = `snapshot of ${entryBytes} bytes is over --max-batch-bytes=${maxBatchBytes}`;
      const failure: Failure = { class: 'invalid', message, retryAfterMs: -1 };
      for (const unit of unitsOf(service, asked)) refused.push({ unit, failure });
      takeBack(view, asked);
      continue;
    }
    if (entries.length > 0 && bytes + entryBytes > maxBatchBytes) {
      // The batch is full. The services that follow keep their order.
      bytes = Infinity;
      left.push(service);
      continue;
    }
    bytes += entryBytes;
    assert(!state.shards[index]!.view.toForget.has(entry.service), `${entry.service} is told before it is forgotten`);
    noteSent(view, parts, waiting);
    entries.push(entry);
    taken.push({ service, outputs: asked });
  }
  if (entries.length > 0) post(state, index, taken, entries, now);
  return left;
}

function post(
  state: ControllerState,
  index: number,
  awaited: readonly AwaitedEntry[],
  entries: readonly BatchEntry[],
  now: Now,
): void {
  const shard = state.shards[index]!;
  const batchId = state.nextBatchId++;
  shard.inFlight.set(batchId, { awaited, postedAtMs: now.nowMs, graceMs: 0 });
  for (const { service, outputs } of awaited) {
    for (const { sync } of unitsOf(service, outputs)) if (sync !== null) sync.postedAtMs = now.nowMs;
  }
  state.instruments.shardBatches(index).inc();
  const shared = takeShared(shard.view, currentShares(state.nodes), (node) => zoneOf(state.nodes, node) ?? '');
  const batch = { seed: nextUint32(state.prng), ...shared, entries };
  state.outbox.effects.push({ type: 'shard.post', shard: index, batchId, batch });
}

function postForgotten(state: ControllerState, index: number, shard: ShardState, now: Now): void {
  const entries = takeForgotten(shard.view, FORGOTTEN_MAX).map((service): BatchEntry => ({
    service,
    outputs: [],
    base: 0,
    spec: null,
    upserts: [],
    removals: [],
    acks: [],
    relisted: [],
    observed: [],
  }));
  post(state, index, NOTHING_AWAITED, entries, now);
}

const NOTHING_AWAITED: readonly AwaitedEntry[] = [];

function buildEntry(
  state: ControllerState,
  service: ServiceState,
  record: ServiceRecord,
  { specChanged, changedPods, ...parts }: EntryParts,
): BatchEntry {
  const upserts: Member[] = [];
  const removals: string[] = [];
  if (changedPods === 'all') {
    for (const pod of podsOf(state.index, service)) upserts.push(memberOf(state, pod));
  } else {
    for (const name of changedPods) {
      const pod = getSelectedPod(state.index, service, name);
      if (pod === undefined) removals.push(name);
      else upserts.push(memberOf(state, pod));
    }
  }
  return { service: keyOf(service), ...parts, spec: specChanged ? record : undefined, upserts, removals };
}

function memberOf(state: ControllerState, pod: PodRecord): Member {
  return { pod, zone: zoneOf(state.nodes, pod.nodeName) };
}

/**
 * The outputs whose news must wait. A planner is told nothing of an object while it waits for the ack of a write to it.
 * So news of a unit's objects wait while the unit syncs. An entry that plans from these objects is told of them all the
 * same. For slices, such an entry belongs to the unit that writes them. The Endpoints object may be read by another
 * unit while its writer still ends. But a reader begins with a full snapshot, and that waits until nothing of the
 * writer is under way.
 */
function outputsThatWait({ view: { asked }, units }: ServiceState): readonly OutputKind[] {
  const isToldOf = (kind: OutputKind): boolean =>
    units.some(({ controller }) => asked.includes(controller.kind) && controller.needs.includes(kind));
  return units
    .filter(({ sync, controller }) => sync !== null && !isToldOf(controller.kind))
    .map(({ controller }) => controller.kind);
}

/**
 * Nothing of the service is planned any more. The planner forgets it. If it is planned again, its objects are read
 * first.
 */
export function forgetService(state: ControllerState, service: ServiceState): void {
  const { view } = state.shards[service.shard]!;
  noteForgotten(view, keyOf(service), service.view, (kind) => hasObjects(service, kind));
}

/** What the planner has of the service is lost or useless: the next entry is a full snapshot. */
export function dismissService(state: ControllerState, service: ServiceState): void {
  const { view } = state.shards[service.shard]!;
  noteDismissed(view, keyOf(service), service.view, (kind) => hasObjects(service, kind));
}

export interface PlannedService extends AwaitedEntry {
  readonly result: ServiceResult;
}

/** Takes the results of a batch. None if the batch is not awaited any more. */
export function onShardPlanned(
  state: ControllerState,
  index: number,
  batchId: number,
  { results, error }: PlanReply,
  now: Now,
): readonly PlannedService[] {
  const inFlight = state.shards[index]!.inFlight.get(batchId);
  // The answer was under way when its shard was lost.
  if (inFlight === undefined) return [];
  const { awaited } = inFlight;
  state.shards[index]!.inFlight.delete(batchId);
  state.instruments.planSeconds(index).observe((now.nowMs - inFlight.postedAtMs) / 1000);
  assert(error !== null || awaited.length === 0 || results.length === awaited.length, `batch ${batchId} is incomplete`);
  return awaited.map(({ service, outputs }, i) => {
    noteEntryAnswered(service.view, outputs);
    if (error !== null) return { service, outputs, result: failedResult(service, error) };
    service.batchesLost = 0;
    return { service, outputs, result: results[i]! };
  });
}

/** The result of each service when the batch itself could not be read. */
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

/**
 * Takes the loss of a shard with all its state. Returns what was lined up or under way. A unit whose service has ended its
 * thread so often that it is quarantined fails, and the others start over.
 */
export function onShardLost(
  state: ControllerState,
  index: number,
  batchIds: readonly number[],
  reason: string,
): UnitWithoutPlan[] {
  const shard = state.shards[index]!;
  shard.ending = false;
  state.instruments.shardRestarts(index).inc();
  state.outbox.log('error', 0, 'A shard was lost; its state is rebuilt as it is needed', {
    shard: index,
    err: reason,
    batches: batchIds.length,
  });
  const again: UnitWithoutPlan[] = [];
  const poisoned: UnitWithoutPlan[] = [];
  for (const service of [...shard.queued, ...shard.suspects]) {
    for (const unit of unitsOf(service, service.view.asked)) again.push({ unit, failure: null });
    takeBack(service.view, service.view.asked);
  }
  for (const { awaited } of shard.inFlight.values()) {
    for (const { service, outputs } of awaited) {
      noteEntryAnswered(service.view, outputs);
      service.batchesLost++;
      const units = unitsOf(service, outputs);
      if (awaited.length > 1 || service.batchesLost < BATCHES_LOST_MAX) {
        for (const unit of units) again.push({ unit, failure: null });
        continue;
      }
      state.instruments.quarantines.inc();
      const message = `planning it ended its thread ${service.batchesLost} times: ${reason}`;
      for (const unit of units) poisoned.push({ unit, failure: { class: 'poison', message, retryAfterMs: -1 } });
    }
  }
  shard.queued = [];
  shard.suspects = [];
  shard.inFlight.clear();
  noteShardLost(shard.view, nodesWithZones(state));
  for (const service of allServices(state)) {
    if (service.shard === index) noteLost(service.view, (kind) => hasObjects(service, kind));
  }
  return [...poisoned, ...again];
}

/**
 * Ends a shard that has not answered a batch within its deadline. Returns when to look again; Infinity = not at all.
 */
export function checkShardDeadlines(state: ControllerState, now: Now): number {
  let nextMs = Infinity;
  for (let index = 0; index < state.shards.length; index++) {
    const shard = state.shards[index]!;
    if (shard.ending) continue;
    for (const batch of shard.inFlight.values()) {
      const deadlineMs = batch.postedAtMs + state.options.shardDeadlineMs;
      const lateMs = now.nowMs - deadlineMs;
      if (batch.graceMs === 0 && lateMs >= STOOD_STILL_MS) batch.graceMs = lateMs + STOOD_STILL_MS;
      const dueMs = deadlineMs + batch.graceMs;
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
