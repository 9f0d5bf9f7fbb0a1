/**
 * What is reported of a sync: Event objects, log lines, metrics. Planning reads nothing of it: without reports the same
 * is written.
 */
import type { Now } from '../event.ts';
import { EVENT_REASONS, type EventReason, type EventReasonName } from './event-reasons.ts';
import { type BoundedLines, createBoundedLines, tellLeftOut, writeBounded } from './bounded-lines.ts';
import type { EventInput } from './event-correlator.ts';
import {
  createFirstSyncs,
  forgetFirstSync,
  noteAllDue,
  noteFirstStuck,
  noteFirstSync,
  tellIfDone,
  type FirstLists,
} from './first-syncs.ts';
import type { Instruments } from './instruments.ts';
import { type Journal, noteSync } from './journal.ts';
import { createOtherWriters, noteOtherWriter } from './other-writers.ts';
import { STAGE_NAMES, stageMs } from './stages.ts';
import { createUntold, tellKept, tellOrKeep, type Message, type Untold } from './untold.ts';
import { OWN_MANAGER } from '../caches/writer-name.ts';
import { keyOf, type ServiceState, type Failure, type Sync, type Unit } from '../caches/service-state.ts';
import type { Log } from '../outbox.ts';
import { problemsEqual, type Problem } from '../../core/problem.ts';
import type { Facts, OutputKind, PlannedWrite } from '../../shard/protocol.ts';

/** The calls by which a sync is reported. None of them gives anything back. */
export interface Reports {
  /** After the first lists: the unit is to be synced. */
  due(unit: Unit): void;
  /** Every controller has begun with what was due. */
  allDue(lists: FirstLists, now: Now): void;
  /** The process begins to write. What came up before monotonic `untoldSinceMs` was told by the leader before. */
  beginsToWrite(untoldSinceMs: number, now: Now): void;
  /**
   * The unit was planned, and its facts are new. `before`: the facts of the plan before; undefined = there was none.
   */
  planned(unit: Unit, before: Facts | undefined, now: Now): void;
  /** The unit is not planned any more. */
  unplanned(unit: Unit, before: Facts | undefined): void;
  /** The unit is forgotten. */
  released(unit: Unit): void;
  /** Takes the problems of a plan. The planner names a problem when it comes up, and not again while it lasts. */
  problems(service: ServiceState, units: readonly Unit[], problems: readonly Problem[], now: Now): void;
  /** A write has failed, and the failure does not settle itself as a conflict does. */
  failedWrite(unit: Unit, write: PlannedWrite, failure: Failure, now: Now): void;
  stuck(unit: Unit, failure: Failure, now: Now): void;
  /** Somebody else has made `changes` of the unit's objects. `writer`: as `writerOf` names it. */
  otherWriter(unit: Unit, writer: string, changes: number, now: Now): void;
  /** The sync has ended. */
  synced(unit: Unit, sync: Sync, now: Now): void;
}

/** Where reports go. */
export interface ReportHands {
  readonly log: Log;
  readonly instruments: Instruments;
  readonly record: (event: EventInput, now: Now) => void;
  readonly journal: Journal;
  /** Whether the process leaves all reports of objects to the leader, or to the controller that it waits for. */
  readonly waitsToWrite: () => boolean;
}

/** For so long after a failover, writes of another endpointd are those of the leader before. */
const NEW_LEADER_MS = 60_000;

export function createReports(hands: ReportHands): Reports {
  const otherWriters = createOtherWriters();
  const first = createFirstSyncs(hands.waitsToWrite);
  const untold = createUntold(hands.waitsToWrite);
  const lines = createBoundedLines(
    hands.log,
    'Part of an object cannot be used',
    'Parts of more objects cannot be used, their lines were left out',
  );
  let wroteFromMs = -Infinity;
  // They begin at 0, so that rates see the first problem, too.
  for (const kind of Object.keys(PROBLEM_EVENTS)) hands.instruments.problems(kind);
  return {
    due: (unit) => void first.due?.add(unit),
    allDue: (lists, now) => noteAllDue(first, hands.log, lists, now),
    beginsToWrite(untoldSinceMs, now) {
      wroteFromMs = now.nowMs;
      tellKept(untold, untoldSinceMs, now);
      tellIfDone(first, hands.log, now);
    },
    planned: (unit, before, now) => reportPlan(hands, untold, unit, before, now),
    unplanned(unit, before) {
      if (before !== undefined) unit.controller.report.sum(before, -1);
    },
    released: (unit) => forgetFirstSync(first, unit),
    problems: (service, units, problems, now) =>
      reportProblems({ ...hands, lines }, untold, service, units, problems, now),
    failedWrite: (unit, write, failure, now) => reportFailedWrite(hands, unit, write, failure, now),
    stuck(unit, failure, now) {
      reportStuck(hands, unit, failure, now);
      noteFirstStuck(first, hands.log, unit, now);
    },
    otherWriter(unit, writer, changes, now) {
      // These are the last writes of the leader before.
      if (writer === OWN_MANAGER && now.nowMs - wroteFromMs < NEW_LEADER_MS) return;
      noteOtherWriter(otherWriters, hands, unit, writer, changes, now);
    },
    synced(unit, sync, now) {
      tellLeftOut(lines, now);
      noteSync(hands.journal, unit, sync, now);
      reportSync(hands, unit, sync, now);
      noteFirstSync(first, hands.log, unit, sync, now);
    },
  };
}

function reportPlan(hands: ReportHands, untold: Untold, unit: Unit, before: Facts | undefined, now: Now): void {
  const { report } = unit.controller;
  const { facts } = unit;
  if (before !== undefined) report.sum(before, -1);
  if (facts === undefined) return;
  report.sum(facts, 1);
  if (isWritten(hands, unit.sync!)) report.planned(facts);
  for (const { reason, detail } of report.events(facts, before)) {
    const message: Message = {
      what: `${keyOf(unit.service)} ${reason} ${detail}`,
      stillHolds: () => unit.service.record !== null,
      tell: (at) => emit(hands, unit, reason, detail, at),
    };
    tellOrKeep(untold, message, now);
  }
}

interface ProblemHands extends ReportHands {
  readonly lines: BoundedLines;
}

function reportProblems(
  hands: ProblemHands,
  untold: Untold,
  service: ServiceState,
  units: readonly Unit[],
  problems: readonly Problem[],
  now: Now,
): void {
  for (let i = 0; i < problems.length; i++) {
    const problem = problems[i]!;
    // A problem of two outputs is told once.
    if (problems.findIndex((other) => problemsEqual(other, problem)) < i) continue;
    hands.instruments.problems(problem.kind).inc();
    const { kind } = PROBLEM_EVENTS[problem.kind];
    const unit = units.find(({ controller }) => controller.kind === kind) ?? units[0];
    const message: Message = {
      what: `${keyOf(service)} ${problem.kind} ${problem.object} ${problem.field}`,
      stillHolds: () => service.record !== null && !(problem.kind === 'unknown-node' && waitsForNoNode(unit)),
      tell: (at) => tellProblem(hands, service, unit, problem, at),
    };
    tellOrKeep(untold, message, now);
  }
}

function waitsForNoNode(unit: Unit | undefined): boolean {
  return unit?.facts?.kind === 'slices' && unit.facts.waitingForNode === 0;
}

function tellProblem(
  hands: ProblemHands,
  service: ServiceState,
  unit: Unit | undefined,
  problem: Problem,
  now: Now,
): void {
  const { reason, kind } = PROBLEM_EVENTS[problem.kind];
  const fields = { service: keyOf(service), object: problem.object, field: problem.field, reason: problem.message };
  writeBounded(hands.lines, problem.kind, fields, now);
  if (reason === null || unit === undefined) return;
  const detail = kind === 'mirror' ? problem.message : `${problem.object}: ${problem.message}`;
  emit(hands, unit, reason, detail, now);
}

/** `kind`: the output whose controller records the Event object, if it was planned. */
const PROBLEM_EVENTS: Readonly<
  Record<Problem['kind'], { readonly reason: EventReasonName | null; readonly kind: OutputKind }>
> = {
  'bad-address': { reason: 'EndpointAddressSkipped', kind: 'endpoints' },
  truncated: { reason: 'EndpointsTruncated', kind: 'endpoints' },
  'bad-annotation': { reason: 'ServiceAnnotationIgnored', kind: 'endpoints' },
  'no-address-of-family': { reason: null, kind: 'endpoints' },
  'undecodable-object': { reason: null, kind: 'endpoints' },
  'unknown-field': { reason: null, kind: 'endpoints' },
  'reserved-label': { reason: null, kind: 'slices' },
  'unknown-node': { reason: 'EndpointOnUnknownNode', kind: 'slices' },
  'mirror-bad-address': { reason: 'InvalidIPAddress', kind: 'mirror' },
  'mirror-truncated': { reason: 'TooManyAddressesToMirror', kind: 'mirror' },
};

function reportFailedWrite(hands: ReportHands, unit: Unit, write: PlannedWrite, failure: Failure, now: Now): void {
  const event = unit.controller.failedWrite(write, failure.message, keyOf(unit.service));
  if (event !== null) emit(hands, unit, event.reason, event.detail, now);
}

function reportStuck(hands: ReportHands, unit: Unit, failure: Failure, now: Now): void {
  const { controller, service } = unit;
  hands.log('error', 0, 'Service is stuck: its objects may be wrong until this is mended', {
    controller: controller.name,
    service: keyOf(service),
    class: failure.class,
    err: failure.message,
  });
  emit(hands, unit, controller.stuckReason, failure.message, now);
}

function reportSync(hands: ReportHands, unit: Unit, sync: Sync, now: Now): void {
  const { controller, service, facts } = unit;
  const { instruments, report } = controller;
  const { failure, applied } = sync;
  const seconds = (now.nowMs - sync.startedAtMs) / 1000;
  if (isWritten(hands, sync)) {
    instruments.syncs(failure?.class ?? (applied > 0 ? 'written' : 'unchanged')).inc();
    report.synced(failure === null, seconds, failure === null ? facts : undefined);
  }
  if (failure !== null) return;
  if (facts !== undefined) {
    hands.log('info', 2, 'Synced', {
      controller: controller.name,
      service: keyOf(service),
      writes: applied,
      ...report.fields(facts),
      ms: Math.round(seconds * 1000),
    });
  }
  if (sync.changedAtMs >= 0 && applied > 0) observeStages(unit, sync, now);
}

/**
 * Whether what the sync plans is written. What a standby plans, and what a leader has lost the Lease for, is no sync for
 * upstream's metrics: a standby of theirs plans nothing.
 */
function isWritten({ waitsToWrite }: ReportHands, { shadow }: Sync): boolean {
  return shadow === null && !waitsToWrite();
}

/**
 * Of a change that was written: what found nothing to write has kept nobody waiting. `watch_in` is observed when a pod is
 * seen.
 */
function observeStages({ controller }: Unit, sync: Sync, now: Now): void {
  for (const stage of STAGE_NAMES) {
    const ms = stageMs(stage, sync, sync.changedAtMs, now.nowMs);
    if (ms >= 0 && stage !== 'watch_in') controller.instruments.stage(stage).observe(ms / 1000);
  }
}

/**
 * Records an Event object on the object that upstream uses, but in the Service's namespace. Upstream records those of
 * failed creates in `default`.
 */
function emit(hands: ReportHands, unit: Unit, reason: EventReasonName, detail: string, now: Now): void {
  const { controller, service } = unit;
  const { type, message, about = controller.eventsAbout }: EventReason = EVENT_REASONS[reason];
  const object = about === 'Service' ? service.record : service.endpoints.record;
  hands.record(
    {
      component: controller.component,
      involvedObject: {
        apiVersion: 'v1',
        kind: about,
        namespace: service.namespace,
        name: service.name,
        uid: object?.uid ?? '',
        resourceVersion: object?.resourceVersion ?? '',
      },
      type,
      reason,
      message: message(keyOf(service), detail),
    },
    now,
  );
}
