/**
 * What a sync tells the outside: events on the Service, log lines, metrics. It changes nothing that planning reads: without
 * it the same is written.
 */
import type { Now } from '../event.ts';
import { EVENT_REASONS, type EventReasonName } from './event-reasons.ts';
import { recordEvent, type EventRecorder } from './event-recorder.ts';
import { replaceFacts, type FactSums } from './fact-sums.ts';
import { createFirstSyncs, noteAllDue, noteFirstStuck, noteFirstSync } from './first-syncs.ts';
import { hintEvents } from './hint-events.ts';
import type { Instruments } from './instruments.ts';
import { noteOtherWriter, type OtherWriters } from './other-writers.ts';
import { keyOf, type ServiceState, type Failure, type Sync, type Unit } from '../caches/service-state.ts';
import type { Log } from '../outbox.ts';
import type { MirrorFacts } from '../../core/mirroring/plan.ts';
import { problemsEqual, type Problem } from '../../core/problem.ts';
import type { SlicesFacts } from '../../core/slices/facts.ts';
import {
  OUTPUT_ENDPOINTS,
  OUTPUT_MIRROR,
  OUTPUT_SLICES,
  type EndpointsFacts,
  type PlannedWrite,
} from '../../shard/protocol.ts';

/** What a sync tells of. Nothing comes back. */
export interface Reports {
  /** Of the first lists: the unit is to be synced. */
  due(unit: Unit): void;
  /** Every controller has begun with what was due, of so many Services. `startedAt`: when the lists were asked for. */
  allDue(services: number, startedAt: Now, now: Now): void;
  /** The unit was planned: its facts are new, `before` are those of the plan before (undefined = there was none). */
  planned(unit: Unit, before: Unit['facts'], now: Now): void;
  /** The unit is not planned any more. */
  unplanned(unit: Unit, before: Unit['facts']): void;
  /** The planner tells of a problem when it arises, not with every plan while it lasts. */
  problems(service: ServiceState, units: readonly Unit[], problems: readonly Problem[], now: Now): void;
  /** A write was refused. `silent`: it settles itself, such as a conflict. */
  failedWrite(unit: Unit, write: PlannedWrite, failure: Failure, silent: boolean, now: Now): void;
  stuck(unit: Unit, failure: Failure, now: Now): void;
  /** Somebody else has made `changes` of the unit's objects. `writer`: as `writerOf` names it. */
  otherWriter(unit: Unit, writer: string, changes: number, now: Now): void;
  /** The end of a sync. */
  synced(unit: Unit, sync: Sync, now: Now): void;
}

/** Where it is told. */
export interface ReportHands {
  readonly log: Log;
  readonly instruments: Instruments;
  readonly recorder: EventRecorder;
  readonly sums: FactSums;
}

export function createReports(hands: ReportHands): Reports {
  const otherWriters: OtherWriters = new Map();
  const first = createFirstSyncs();
  return {
    due: (unit) => void first.due?.add(unit),
    allDue: (services, startedAt, now) => noteAllDue(first, hands.log, services, startedAt, now),
    planned: (unit, before, now) => reportPlan(hands, unit, before, now),
    unplanned: (unit, before) => replaceFacts(hands.sums, unit, before, undefined),
    problems: (service, units, problems, now) => reportProblems(hands, service, units, problems, now),
    failedWrite(unit, write, failure, silent, now) {
      if (!silent) reportFailedWrite(hands, unit, write, failure, now);
    },
    stuck(unit, failure, now) {
      reportStuck(hands, unit, failure, now);
      noteFirstStuck(first, hands.log, unit, now);
    },
    otherWriter: (unit, writer, changes, now) => noteOtherWriter(otherWriters, hands, unit, writer, changes, now),
    synced(unit, sync, now) {
      reportSync(hands, unit, sync, now);
      noteFirstSync(first, hands.log, unit, sync, now);
    },
  };
}

function reportPlan(hands: ReportHands, unit: Unit, before: Unit['facts'], now: Now): void {
  const { instruments, output } = unit.controller;
  const { facts } = unit;
  replaceFacts(hands.sums, unit, before, facts);
  if (facts === undefined) return;
  if (output === OUTPUT_SLICES) {
    const slices = facts as SlicesFacts;
    for (const { reason, detail } of hintEvents(before as SlicesFacts | undefined, slices)) {
      emit(hands, unit, reason, detail, now);
    }
    for (const { added, removed } of slices.families) {
      instruments.slices?.added.observe(added);
      instruments.slices?.removed.observe(removed);
    }
  } else if (output === OUTPUT_MIRROR) {
    const mirror = facts as MirrorFacts;
    instruments.mirror?.added.observe(mirror.added);
    instruments.mirror?.updated.observe(mirror.updated);
    instruments.mirror?.removed.observe(mirror.removed);
    instruments.mirror?.skipped.observe(mirror.skipped);
  }
}

function reportProblems(
  hands: ReportHands,
  service: ServiceState,
  units: readonly Unit[],
  problems: readonly Problem[],
  now: Now,
): void {
  for (let i = 0; i < problems.length; i++) {
    const problem = problems[i]!;
    // What spoils an address in two outputs at once is told once.
    if (problems.findIndex((other) => problemsEqual(other, problem)) < i) continue;
    hands.instruments.problems(problem.kind).inc();
    hands.log('warning', 0, 'Part of an object cannot be used', {
      service: keyOf(service),
      problem: problem.kind,
      object: problem.object,
      field: problem.field,
      reason: problem.message,
    });
    const { reason, output } = PROBLEM_EVENTS[problem.kind];
    const unit = units.find(({ controller }) => controller.output === output) ?? units[0];
    if (reason === null || unit === undefined) continue;
    const detail = output === OUTPUT_MIRROR ? problem.message : `${problem.object}: ${problem.message}`;
    emit(hands, unit, reason, detail, now);
  }
}

/** `output`: whose event it is, if that one was planned. */
const PROBLEM_EVENTS: Readonly<
  Record<Problem['kind'], { readonly reason: EventReasonName | null; readonly output: number }>
> = {
  'bad-address': { reason: 'EndpointAddressSkipped', output: OUTPUT_ENDPOINTS },
  truncated: { reason: 'EndpointsTruncated', output: OUTPUT_ENDPOINTS },
  'bad-annotation': { reason: 'ServiceAnnotationIgnored', output: OUTPUT_ENDPOINTS },
  'no-address-of-family': { reason: null, output: OUTPUT_ENDPOINTS },
  'undecodable-object': { reason: null, output: OUTPUT_ENDPOINTS },
  'unknown-field': { reason: null, output: OUTPUT_ENDPOINTS },
  'reserved-label': { reason: null, output: OUTPUT_SLICES },
  'unknown-node': { reason: 'EndpointOnUnknownNode', output: OUTPUT_SLICES },
  'mirror-bad-address': { reason: 'InvalidIPAddress', output: OUTPUT_MIRROR },
  'mirror-truncated': { reason: 'TooManyAddressesToMirror', output: OUTPUT_MIRROR },
};

function reportFailedWrite(hands: ReportHands, unit: Unit, write: PlannedWrite, failure: Failure, now: Now): void {
  const { output } = unit.controller;
  if (output === OUTPUT_ENDPOINTS) {
    if (write.verb === 'create') emit(hands, unit, 'FailedToCreateEndpoint', failure.message, now);
    else if (write.verb === 'update') emit(hands, unit, 'FailedToUpdateEndpoint', failure.message, now);
  } else if (output === OUTPUT_SLICES) {
    const detail = `failed to ${write.verb} EndpointSlice ${write.name}: ${failure.message}`;
    emit(hands, unit, 'FailedToUpdateEndpointSlices', detail, now);
  }
}

/** Upstream drops the key here. */
function reportStuck(hands: ReportHands, unit: Unit, failure: Failure, now: Now): void {
  const { controller, service } = unit;
  hands.log('error', 0, 'Service is stuck: its objects may be wrong until this is mended', {
    controller: controller.name,
    service: keyOf(service),
    class: failure.class,
    err: failure.message,
  });
  emit(hands, unit, STUCK_EVENTS[controller.name], failure.message, now);
}

const STUCK_EVENTS = {
  endpoints: 'EndpointsStuck',
  endpointslice: 'EndpointSlicesStuck',
  'endpointslice-mirroring': 'MirroredEndpointSlicesStuck',
} as const satisfies Record<string, EventReasonName>;

function reportSync(hands: ReportHands, unit: Unit, sync: Sync, now: Now): void {
  const { controller, service, facts } = unit;
  const { instruments } = controller;
  const { failure, applied, changedAtMs } = sync;
  const seconds = (now.nowMs - sync.startedAtMs) / 1000;
  instruments.syncs(failure?.class ?? (applied > 0 ? 'written' : 'unchanged')).inc();
  instruments.slices?.syncs(failure === null ? 'success' : 'error').inc();
  instruments.mirror?.syncSeconds.observe(seconds);
  if (failure !== null) return;
  if (instruments.slices !== null && facts !== undefined) {
    const { families, topology, trafficDistribution } = facts as SlicesFacts;
    const changed = instruments.slices.changedPerSync(topology ? 'Auto' : 'Disabled', trafficDistribution);
    for (const { writes } of families) changed.observe(writes);
  }
  if (facts !== undefined) {
    hands.log('info', 2, 'Synced', {
      controller: controller.name,
      service: keyOf(service),
      writes: applied,
      ...factFields(controller.output, facts),
      ms: Math.round(seconds * 1000),
    });
  }
  if (changedAtMs >= 0 && applied > 0) instruments.stage('total').observe((now.nowMs - changedAtMs) / 1000);
}

function factFields(output: number, facts: NonNullable<Unit['facts']>): Record<string, number> {
  if (output === OUTPUT_ENDPOINTS) {
    const { ready, notReady } = facts as EndpointsFacts;
    return { ready, notReady };
  }
  if (output === OUTPUT_MIRROR) {
    const { endpoints, slices } = facts as MirrorFacts;
    return { endpoints, slices };
  }
  const sum = { endpoints: 0, slices: 0 };
  for (const { endpoints, slices } of (facts as SlicesFacts).families) {
    sum.endpoints += endpoints;
    sum.slices += slices;
  }
  return sum;
}

/** Records an event on the Service, or on the mirrored Endpoints (upstream's of failed creates land in `default`). */
function emit(hands: ReportHands, unit: Unit, reason: EventReasonName, detail: string, now: Now): void {
  const { controller, service } = unit;
  const mirrored = controller.output === OUTPUT_MIRROR;
  const about = mirrored ? service.endpoints.record : service.record;
  const { type, message } = EVENT_REASONS[reason];
  recordEvent(
    hands.recorder,
    {
      component: controller.component,
      involvedObject: {
        apiVersion: 'v1',
        kind: mirrored ? 'Endpoints' : 'Service',
        namespace: service.namespace,
        name: service.name,
        uid: about?.uid ?? '',
        resourceVersion: about?.resourceVersion ?? '',
      },
      type,
      reason,
      message: message(keyOf(service), detail),
    },
    now.nowMs,
    now.wallMs,
  );
}
