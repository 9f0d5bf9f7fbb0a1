/** What the debug page shows. It is read from the controllers' state when somebody asks, and changes nothing. */
import { type JournalEntry, journalEntries } from './journal.ts';
import { STAGE_NAMES, STAGES } from './stages.ts';
import type { Now } from '../event.ts';
import { type Controller, keyOf } from '../caches/service-state.ts';
import { allServices } from '../caches/services.ts';
import { waitsToWrite } from '../leader/leadership.ts';
import { leaderText, roleOf, type Role } from './role.ts';
import type { Reflector } from '../reflectors/reflector.ts';
import type { ControllerState } from '../state.ts';
import { isInPlanner } from '../syncs/planner-view.ts';
import { longestWorkSeconds } from '../queues/workqueue.ts';
import { oldestUnwrittenMs } from './oldest-change.ts';
import { pauseSecondsLeft } from '../writes/write-pause.ts';
import { percentileOfSorted } from '../../lib/percentile.ts';
import { tokensAt } from '../../lib/token-bucket.ts';
import { allTurns } from '../../lib/turns.ts';

/** Times in milliseconds; -1 = there is none. */
export interface DebugView {
  readonly phase: string;
  /** Who writes. */
  readonly leader: string;
  readonly role: Role;
  readonly wallMs: number;
  readonly services: number;
  readonly queues: readonly QueueView[];
  readonly shards: readonly ShardRow[];
  readonly writes: WritesView;
  readonly watches: readonly WatchView[];
  /** At most `ROWS_MAX` of them. Those with the most failures come first. */
  readonly stuck: readonly StuckView[];
  readonly stuckTotal: number;
  /** Units that have failed more than once in a row, stuck ones included; 0 while the process writes nothing. */
  readonly failing: number;
  /** Of the newest `JOURNAL_MAX` changes in the journal. */
  readonly stages: readonly StageView[];
  /** The services with the most of these changes, at most `ROWS_MAX`. */
  readonly busiest: readonly BusyView[];
  /** The newest changes, as many as were asked for. If one Service was asked for, only its changes. */
  readonly changes: readonly JournalEntry[];
}

export interface QueueView {
  readonly controller: string;
  readonly running: boolean;
  /** Keys that wait for a slot, by lane. `delayed`: those that wait for a time. */
  readonly fresh: number;
  readonly chore: number;
  readonly delayed: number;
  /** How many of those that are delayed have a change that is not written. */
  readonly delayedChanges: number;
  readonly syncing: number;
  readonly slots: number;
  readonly longestSyncMs: number;
  /** As `oldestUnwrittenMs`, but as an age; -1 = there is none. */
  readonly oldestChangeMs: number;
}

export interface ShardRow {
  readonly shard: number;
  readonly services: number;
  readonly queued: number;
  readonly suspects: number;
  readonly batches: number;
  readonly oldestBatchMs: number;
}

export interface WritesView {
  readonly fresh: number;
  readonly chore: number;
  readonly inFlight: number;
  readonly inFlightMax: number;
  readonly tokens: number;
  readonly burst: number;
  readonly pauseMs: number;
}

export interface WatchView {
  readonly resource: string;
  readonly phase: string;
  readonly lastEventMs: number;
  readonly openMs: number;
  /** Since it was lost, or since the start where the first list has failed. One that is only starting is not down. */
  readonly downMs: number;
}

export interface StuckView {
  readonly controller: string;
  readonly service: string;
  readonly class: string;
  readonly failures: number;
  readonly error: string;
}

export interface StageView {
  readonly controller: string;
  readonly stage: string;
  readonly count: number;
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export interface BusyView {
  readonly service: string;
  readonly changes: number;
  readonly writes: number;
  readonly failures: number;
}

const ROWS_MAX = 50;
/** The main thread makes the view, so it sums up no more. */
export const JOURNAL_MAX = 4096;
/** Of the newest changes that are shown, where nobody asks for more. */
const CHANGES_SHOWN = 50;

/** All but the changes that were asked for. */
export function debugSummary(state: ControllerState, now: Now): Omit<DebugView, 'changes'> {
  const { controllers, journal } = state;
  const entries = journalEntries(journal, JOURNAL_MAX);
  const stuck = controllers.flatMap(stuckOf);
  return {
    phase: state.phase,
    leader: leaderText(state.leadership),
    role: roleOf(state.leadership),
    wallMs: now.wallMs,
    services: state.existingServices,
    queues: controllers.map((controller) => queueView(controller, now.nowMs)),
    shards: shardViews(state, now.nowMs),
    writes: writesView(state, now.nowMs),
    watches: state.reflectors.map((reflector) => watchView(reflector, now.nowMs)),
    stuck: stuck.sort((a, b) => b.failures - a.failures).slice(0, ROWS_MAX),
    stuckTotal: stuck.length,
    failing: waitsToWrite(state) ? 0 : countFailing(state),
    stages: stageViews(entries),
    busiest: busiestOf(entries),
  };
}

/**
 * @param service `namespace/name`: only its changes are shown; '' = all changes are
 * @param changesMax so many of them
 */
export function debugChanges(
  { journal }: ControllerState,
  service: string,
  changesMax: number = CHANGES_SHOWN,
): JournalEntry[] {
  const isAsked = (namespace: string, name: string): boolean => service === '' || service === `${namespace}/${name}`;
  return journalEntries(journal, changesMax, isAsked);
}

/** A first failure settles itself as a rule. */
function countFailing(state: ControllerState): number {
  let failing = 0;
  for (const { units } of allServices(state)) for (const { failures } of units) if (failures > 1) failing++;
  return failing;
}

function queueView(controller: Controller, nowMs: number): QueueView {
  const { name, running, queue } = controller;
  const changedMs = oldestUnwrittenMs(controller);
  return {
    controller: name,
    running,
    fresh: queue.fresh.depth,
    chore: queue.chore.depth,
    delayed: queue.delayed.items.length,
    delayedChanges: queue.delayed.items.filter(({ changedMs }) => changedMs >= 0).length,
    syncing: queue.processing.length,
    slots: queue.slots.count,
    longestSyncMs: longestWorkSeconds(queue, nowMs) * 1000,
    oldestChangeMs: changedMs < 0 ? -1 : nowMs - changedMs,
  };
}

function shardViews(state: ControllerState, nowMs: number): ShardRow[] {
  const services = state.shards.map(() => 0);
  for (const { shard, view } of allServices(state)) if (isInPlanner(view)) services[shard]!++;
  return state.shards.map(({ queued, suspects, inFlight }, shard) => {
    const posted = [...inFlight.values()].map(({ postedAtMs }) => postedAtMs);
    return {
      shard,
      services: services[shard]!,
      queued: queued.length,
      suspects: suspects.length,
      batches: inFlight.size,
      oldestBatchMs: posted.length === 0 ? -1 : nowMs - Math.min(...posted),
    };
  });
}

function writesView({ writes, options }: ControllerState, nowMs: number): WritesView {
  const { tokens, pause } = writes;
  return {
    fresh: allTurns(writes.fresh).length,
    chore: allTurns(writes.chore).length,
    inFlight: writes.inFlight,
    inFlightMax: options.maxWritesInFlight,
    tokens: Math.max(0, tokensAt(tokens, nowMs)),
    burst: tokens.burst,
    pauseMs: pauseSecondsLeft(pause, nowMs) * 1000,
  };
}

function watchView(reflector: Reflector, nowMs: number): WatchView {
  const { resource, phase, synced, downSinceMs, hasRun, failure } = reflector;
  const isDown = downSinceMs >= 0 && (hasRun || failure !== '');
  const life = phase.name === 'watching' ? phase.life : null;
  return {
    resource,
    phase: synced || phase.name === 'watching' ? phase.name : `${phase.name}, not listed yet`,
    lastEventMs: life === null || life.frames === 0 ? -1 : nowMs - life.lastFrameAtMs,
    openMs: life === null ? -1 : nowMs - life.openedAtMs,
    downMs: isDown ? nowMs - downSinceMs : -1,
  };
}

function stuckOf({ name, stuck }: Controller): StuckView[] {
  return [...stuck].map(([unit, failure]) => ({
    controller: name,
    service: keyOf(unit.service),
    class: failure.class,
    failures: unit.failures,
    error: failure.message,
  }));
}

function stageViews(entries: readonly JournalEntry[]): StageView[] {
  const controllers = [...new Set(entries.map(({ controller }) => controller))].sort();
  return controllers.flatMap((controller) => {
    const own = entries.filter((entry) => entry.controller === controller);
    return STAGE_NAMES.flatMap((stage): StageView[] => {
      const times = Float64Array.from(own.map((entry) => entry[STAGES[stage]]).filter((ms) => ms >= 0)).sort();
      if (times.length === 0) return [];
      const [medianMs, p99Ms, maxMs] = [0.5, 0.99, 1].map((share) => percentileOfSorted(times, share));
      return [{ controller, stage, count: times.length, medianMs: medianMs!, p99Ms: p99Ms!, maxMs: maxMs! }];
    });
  });
}

function busiestOf(entries: readonly JournalEntry[]): BusyView[] {
  const services = new Map<string, { service: string; changes: number; writes: number; failures: number }>();
  for (const { namespace, name, writes, result } of entries) {
    const service = `${namespace}/${name}`;
    let busy = services.get(service);
    if (busy === undefined) services.set(service, (busy = { service, changes: 0, writes: 0, failures: 0 }));
    busy.changes++;
    busy.writes += writes;
    if (result !== 'written' && result !== 'unchanged') busy.failures++;
  }
  return [...services.values()].sort((a, b) => b.changes - a.changes).slice(0, ROWS_MAX);
}
