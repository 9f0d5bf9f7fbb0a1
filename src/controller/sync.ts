/**
 * One sync of one service: read what is uncertain, plan, write, finish. It holds a slot of the work queue from `startSync`
 * to `finish`; every path ends in `finish`.
 */
import { nextDelayMs, type FailureClass } from './backoff.ts';
import type { Now } from './event.ts';
import { EVENT_REASONS, type EventReasonName } from './event-reasons.ts';
import { recordEvent } from './event-recorder.ts';
import { ownWrite, readOutput, releaseHeld, undoneWrite } from './outputs.ts';
import { releaseService, setFacts } from './services.ts';
import { isPlanned, keyOf, type Failure, type ServiceState } from './service-state.ts';
import { forgetInPlanner, queuePlan } from './shard-batches.ts';
import { log, send, type ControllerState } from './state.ts';
import { addWork, doneWork, retryWork } from './workqueue.ts';
import { classify, queueWrite, takeBackWrites, type QueuedWrite, type WriteOutcome } from './writes.ts';
import { readObject } from '../kube/object.ts';
import { ACCEPT, ACCEPT_METADATA } from '../kube/media-type.ts';
import { LEADER_ANNOTATION, MANAGED_BY_LABEL, MANAGED_BY_VALUE } from '../kube/names.ts';
import type { Problem } from '../core/problem.ts';
import { endpointsPath } from '../kube/key.ts';
import { labelsGet } from '../kube/labels.ts';
import { projectOutput } from '../kube/project.ts';
import { DecodeError } from '../kube/protobuf.ts';
import type { OutputRecord } from '../kube/types.ts';
import { assert } from '../lib/assert.ts';
import type { TransportEvent } from '../ports/transport.ts';
import { OUTPUT_ENDPOINTS, type PlannedWrite, type ServiceResult } from '../shard/protocol.ts';

const READ_TIMEOUT_MS = 10_000;
/** Failures in a row after which a service is announced as stuck, when its class does not say so at once. */
const STUCK_FAILURES = 6;
/**
 * A service that changes is tried again at once, even while it backs off; but not sooner than this after a failure that
 * costs others something: a thread, or a token for a write that will be refused.
 */
const HOLD_MS: Readonly<Partial<Record<FailureClass, number>>> = { poison: 10_000, invalid: 2000, forbidden: 2000 };

/** A service that the queue has handed out: planned, taken for an orphan, forgotten, or put off while it must wait. */
export function startSync(state: ControllerState, service: ServiceState, chore: boolean, now: Now): void {
  assert(service.sync === null, `${keyOf(service)} is synced twice at once`);
  if (now.nowMs < service.notBeforeMs) {
    doneWork(state.queue, service.item, now.nowMs);
    addWork(state.queue, service.item, chore ? 'chore' : 'fresh', now.nowMs, service.notBeforeMs - now.nowMs);
    return;
  }
  if (service.changedAtMs >= 0) state.instruments.stage('queue').observe((now.nowMs - service.changedAtMs) / 1000);
  service.sync = {
    stage: 'planning',
    startedAtMs: now.nowMs,
    changedAtMs: service.changedAtMs,
    chore,
    later: [],
    open: 0,
    failure: null,
    applied: 0,
  };
  service.changedAtMs = -1;
  if (service.record !== null && isPlanned(service.record)) {
    beginPlan(state, service, now);
    return;
  }
  forgetInPlanner(state, service);
  setFacts(state, service, undefined);
  if (service.record === null) startOrphan(state, service, now);
  else finish(state, service, now);
}

/** Plans, after a look at the object where only the server knows what it holds. Also how a plan starts over. */
export function beginPlan(state: ControllerState, service: ServiceState, now: Now): void {
  const sync = service.sync!;
  const { output } = service;
  if (service.record === null || !isPlanned(service.record)) {
    // What made it so has queued it.
    finish(state, service, now);
    return;
  }
  if (!output.uncertain && output.known) {
    sync.stage = 'planning';
    queuePlan(state, service);
    return;
  }
  sync.stage = 'reading';
  output.inFlight++;
  send(
    state,
    { for: 'read-output', service },
    {
      lane: 'read',
      method: 'GET',
      path: endpointsPath(service.namespace, service.name),
      accept: ACCEPT,
      contentType: '',
      body: null,
      stream: false,
      timeoutMs: READ_TIMEOUT_MS,
    },
  );
}

/** The answer to the GET that `beginPlan` sent. */
export function onOutputRead(state: ControllerState, service: ServiceState, event: TransportEvent, now: Now): void {
  const failure = takeRead(state, service, event);
  service.output.inFlight--;
  releaseHeld(state, service, now);
  if (failure === null) beginPlan(state, service, now);
  else fail(state, service, failure, now);
}

function takeRead(state: ControllerState, service: ServiceState, event: TransportEvent): Failure | null {
  if (event.type !== 'response' || (event.status !== 200 && event.status !== 404)) return classify(event).failure;
  if (event.status === 404) {
    readOutput(state, service, null, null);
    return null;
  }
  try {
    const source = readObject(event.contentType, event.body);
    readOutput(state, service, projectOutput(source, state.interner), source);
    return null;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    state.instruments.decodeErrors('endpoints').inc();
    return { class: 'server', message: error.message, retryAfterMs: -1 };
  }
}

/** The planner's answer: its writes of phase 1 are queued, those of phase 2 wait until all of these are applied. */
export function onPlanned(state: ControllerState, service: ServiceState, result: ServiceResult, now: Now): void {
  const sync = service.sync;
  assert(sync !== null && sync.stage === 'planning', `a plan of ${keyOf(service)} comes unasked`);
  if (result.error !== null || result.needFull) {
    service.plannerVersion = 0;
    service.changedPods = null;
    if (result.error === null) {
      queuePlan(state, service);
      return;
    }
    service.inPlanner = false;
    service.output.known = service.output.record === null;
    fail(state, service, { class: 'invalid', message: `planning failed: ${result.error}`, retryAfterMs: -1 }, now);
    return;
  }
  if (sync.changedAtMs >= 0) state.instruments.stage('plan').observe((now.nowMs - sync.startedAtMs) / 1000);
  setFacts(state, service, result.facts);
  reportProblems(state, service, result.problems, now);
  sync.later = [];
  if (service.record === null || !isPlanned(service.record)) {
    for (const write of result.writes) ackNotSent(service, write);
    finish(state, service, now);
    return;
  }
  if ((result.outputs & OUTPUT_ENDPOINTS) === 0) {
    const reason = result.problems.map(({ message }) => message).join('; ');
    fail(state, service, { class: 'invalid', message: `not planned: ${reason}`, retryAfterMs: -1 }, now);
    return;
  }
  if (result.writes.length === 0) {
    finish(state, service, now);
    return;
  }
  sync.stage = 'writing';
  for (const write of result.writes) {
    if (write.phase === 1) openWrite(state, service, write, now);
    else sync.later.push(write);
  }
  if (sync.open === 0) openLater(state, service, now);
}

function openWrite(state: ControllerState, service: ServiceState, write: PlannedWrite, now: Now): void {
  const sync = service.sync!;
  sync.open++;
  service.output.inFlight++;
  queueWrite(state, { service, write, lane: sync.chore ? 'chore' : 'fresh', queuedAtMs: now.nowMs, sentAtMs: -1 });
}

function openLater(state: ControllerState, service: ServiceState, now: Now): void {
  const sync = service.sync!;
  const { later } = sync;
  sync.later = [];
  for (const write of later) {
    if (sync.failure === null) openWrite(state, service, write, now);
    else ackNotSent(service, write);
  }
}

function ackNotSent(service: ServiceState, write: PlannedWrite): void {
  (service.acks ??= []).push({ write: write.id, result: 'not-sent', uid: '', resourceVersion: '' });
}

/** The answer to a write, or that it was withdrawn. */
export function onWriteDone(
  state: ControllerState,
  service: ServiceState,
  write: PlannedWrite,
  outcome: WriteOutcome,
  now: Now,
): void {
  const sync = service.sync;
  assert(sync !== null && sync.open > 0, `an answer to no write of ${keyOf(service)}`);
  const { output } = service;
  sync.open--;
  output.inFlight--;
  const undone = write.verb === 'update' && outcome.applied?.resourceVersion === write.resourceVersion;
  if (undone) {
    undoneWrite(state, service, now);
  } else if (outcome.applied !== null) {
    sync.applied++;
    ownWrite(state, service, outcome.applied, write.body);
  } else if (outcome.result === 'applied') {
    // A delete: nothing is left to know.
    ownWrite(state, service, null, write.body);
  }
  if (outcome.uncertain) output.uncertain = true;
  if (service.inPlanner) {
    (service.acks ??= []).push({
      write: write.id,
      result: undone ? 'refused' : outcome.result,
      uid: outcome.applied?.uid ?? '',
      resourceVersion: outcome.applied?.resourceVersion ?? '',
    });
  } else {
    // The planner that made this plan is gone: its successor learns the object from the server.
    output.known = output.record === null;
  }
  if (outcome.failure !== null) {
    sync.failure = outcome.failure;
    reportFailedWrite(state, service, write, outcome.failure, outcome.silent, now);
  }
  if (output.inFlight === 0) releaseHeld(state, service, now);
  if (sync.open === 0 && sync.later.length > 0) openLater(state, service, now);
  if (sync.open === 0) finish(state, service, now);
}

/** Ends a sync that got no further. */
export function fail(state: ControllerState, service: ServiceState, failure: Failure, now: Now): void {
  service.sync!.failure = failure;
  finish(state, service, now);
}

/** Gives the slot back. A sync with a failure is tried again by the back-off of its class, never dropped. */
export function finish(state: ControllerState, service: ServiceState, now: Now): void {
  const sync = service.sync!;
  assert(sync.open === 0, `${keyOf(service)} is finished with open writes`);
  service.sync = null;
  doneWork(state.queue, service.item, now.nowMs);
  const { failure } = sync;
  if (failure === null) {
    state.instruments.syncs(sync.applied > 0 ? 'written' : 'unchanged').inc();
    if (service.facts !== undefined) {
      log(state, 'info', 2, 'synced', {
        service: keyOf(service),
        writes: sync.applied,
        ready: service.facts.ready,
        notReady: service.facts.notReady,
        ms: Math.round(now.nowMs - sync.startedAtMs),
      });
    }
    if (sync.changedAtMs >= 0 && sync.applied > 0) {
      state.instruments.stage('total').observe((now.nowMs - sync.changedAtMs) / 1000);
    }
    service.failures = 0;
    service.notBeforeMs = -Infinity;
    if (state.stuck.delete(service)) log(state, 'info', 0, 'service is no longer stuck', { service: keyOf(service) });
    releaseService(state, service);
    return;
  }
  state.instruments.syncs(failure.class).inc();
  if (sync.changedAtMs >= 0) service.changedAtMs = sync.changedAtMs;
  service.notBeforeMs = now.nowMs + (HOLD_MS[failure.class] ?? 0);
  const delayMs = nextDelayMs(failure.class, service.failures, state.prng, Math.max(0, failure.retryAfterMs));
  service.failures++;
  log(
    state,
    failure.class === 'conflict' ? 'info' : 'warning',
    failure.class === 'conflict' ? 3 : 1,
    'sync failed, retrying',
    {
      service: keyOf(service),
      class: failure.class,
      reason: failure.message,
      failures: service.failures,
      retryMs: Math.round(delayMs),
    },
  );
  const hopeless = failure.class === 'invalid' || failure.class === 'poison';
  if (hopeless || service.failures >= STUCK_FAILURES) stick(state, service, failure, now);
  retryWork(state.queue, service.item, sync.chore ? 'chore' : 'fresh', now.nowMs, delayMs);
}

function stick(state: ControllerState, service: ServiceState, failure: Failure, now: Now): void {
  const announced = state.stuck.has(service);
  state.stuck.set(service, failure.class);
  if (announced) return;
  log(state, 'error', 0, 'service is stuck: its endpoints may be wrong until this is mended', {
    service: keyOf(service),
    class: failure.class,
    reason: failure.message,
  });
  emit(state, service, 'EndpointsStuck', failure.message, now);
}

function reportFailedWrite(
  state: ControllerState,
  service: ServiceState,
  write: PlannedWrite,
  failure: Failure,
  silent: boolean,
  now: Now,
): void {
  if (silent) return;
  if (write.verb === 'create') emit(state, service, 'FailedToCreateEndpoint', failure.message, now);
  else if (write.verb === 'update') emit(state, service, 'FailedToUpdateEndpoint', failure.message, now);
}

/** The planner tells of a problem when it arises, not with every plan while it lasts. */
function reportProblems(state: ControllerState, service: ServiceState, problems: readonly Problem[], now: Now): void {
  for (const problem of problems) {
    state.instruments.problems(problem.kind).inc();
    log(state, 'warning', 0, problem.message, {
      service: keyOf(service),
      problem: problem.kind,
      object: problem.object,
      field: problem.field,
    });
    const reason = PROBLEM_EVENTS[problem.kind];
    if (reason !== null) emit(state, service, reason, `${problem.object}: ${problem.message}`, now);
  }
}

const PROBLEM_EVENTS: Readonly<Record<Problem['kind'], EventReasonName | null>> = {
  'bad-address': 'EndpointAddressSkipped',
  truncated: 'EndpointsTruncated',
  'bad-annotation': 'ServiceAnnotationIgnored',
  'no-address-of-family': null,
  'undecodable-object': null,
  'unknown-field': null,
  'unknown-node': 'EndpointOnUnknownNode',
  'mirror-bad-address': 'InvalidIPAddress',
  'mirror-truncated': 'TooManyAddressesToMirror',
};

/** Records an event on the Service, whose namespace is never missing (upstream's land in `default`). */
function emit(state: ControllerState, service: ServiceState, reason: EventReasonName, detail: string, now: Now): void {
  const { type, message } = EVENT_REASONS[reason];
  recordEvent(
    state.recorder,
    {
      component: 'endpoint-controller',
      involvedObject: {
        apiVersion: 'v1',
        kind: 'Service',
        namespace: service.namespace,
        name: service.name,
        uid: service.record?.uid ?? '',
        resourceVersion: service.record?.resourceVersion ?? '',
      },
      type,
      reason,
      message: message(keyOf(service), detail),
    },
    now.nowMs,
    now.wallMs,
  );
}

/** An Endpoints object without a Service: deleted only if upstream's label marks it as this controller's. */
function startOrphan(state: ControllerState, service: ServiceState, now: Now): void {
  const { record } = service.output;
  if (record === null) {
    finish(state, service, now);
    return;
  }
  if (record.leaderElection || labelsGet(record.labels, MANAGED_BY_LABEL) !== MANAGED_BY_VALUE) {
    reportOrphan(state, service, record);
    finish(state, service, now);
    return;
  }
  // The cache of Services may be behind: ask the server itself (upstream PR #104062).
  service.sync!.stage = 'confirming';
  send(
    state,
    { for: 'confirm-orphan', service },
    {
      lane: 'read',
      method: 'GET',
      path: `/api/v1/namespaces/${service.namespace}/services/${service.name}`,
      accept: ACCEPT_METADATA,
      contentType: '',
      body: null,
      stream: false,
      timeoutMs: READ_TIMEOUT_MS,
    },
  );
}

function reportOrphan(state: ControllerState, service: ServiceState, record: OutputRecord): void {
  if (service.orphanReported === record.uid) return;
  service.orphanReported = record.uid;
  state.instruments.orphansKept.inc();
  log(state, 'info', record.leaderElection ? 3 : 1, 'endpoints without a service are left alone', {
    endpoints: keyOf(service),
    reason: record.leaderElection
      ? `annotation ${LEADER_ANNOTATION}`
      : `no label ${MANAGED_BY_LABEL}=${MANAGED_BY_VALUE}`,
  });
}

/** The server's word on whether the Service of an orphan exists: deleted only if it does not. */
export function onOrphanConfirmed(
  state: ControllerState,
  service: ServiceState,
  event: TransportEvent,
  now: Now,
): void {
  const { record } = service.output;
  if (event.type === 'response' && event.status === 200) {
    // There is a Service: the cache will show it and queue it.
    finish(state, service, now);
  } else if (event.type === 'response' && event.status === 404) {
    if (service.record !== null || record === null) {
      finish(state, service, now);
      return;
    }
    const sync = service.sync!;
    sync.stage = 'deleting';
    openWrite(
      state,
      service,
      {
        id: 0,
        output: OUTPUT_ENDPOINTS,
        verb: 'delete',
        name: service.name,
        uid: record.uid,
        resourceVersion: record.resourceVersion,
        phase: 1,
        body: new Uint8Array(0),
      },
      now,
    );
  } else {
    fail(state, service, classify(event).failure!, now);
  }
}

/** What was planned but not sent, and will not be. */
export function withdraw(state: ControllerState, { service, write }: QueuedWrite, now: Now): void {
  onWriteDone(
    state,
    service,
    write,
    { result: 'not-sent', applied: null, uncertain: false, failure: null, silent: true },
    now,
  );
}

/** At the end of a drain. */
export function withdrawAll(state: ControllerState, now: Now): void {
  for (const queued of takeBackWrites(state)) withdraw(state, queued, now);
}
