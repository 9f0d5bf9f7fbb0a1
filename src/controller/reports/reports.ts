/** What a sync tells the outside: events on the Service, log lines, metrics. It changes nothing that planning reads. */
import type { Now } from '../event.ts';
import { EVENT_REASONS, type EventReasonName } from './event-reasons.ts';
import { recordEvent } from './event-recorder.ts';
import { setFacts } from '../syncs/facts.ts';
import { keyOf, type ServiceState, type Failure, type Sync, type Unit } from '../caches/service-state.ts';
import { log, type ControllerState } from '../state.ts';
import { hintEvents } from '../caches/topology.ts';
import type { MirrorFacts } from '../../core/mirroring/plan.ts';
import { problemsEqual, type Problem } from '../../core/problem.ts';
import type { SlicesFacts } from '../../core/slices/facts.ts';
import {
  OUTPUT_ENDPOINTS,
  OUTPUT_MIRROR,
  OUTPUT_SLICES,
  type EndpointsFacts,
  type PlannedWrite,
  type ServiceFacts,
} from '../../shard/protocol.ts';

/** What a plan says of a unit's service. */
export function reportPlan(state: ControllerState, unit: Unit, facts: ServiceFacts, now: Now): void {
  const { instruments, output } = unit.controller;
  const before = unit.facts;
  if (output === OUTPUT_ENDPOINTS) {
    setFacts(state, unit, facts.endpoints);
  } else if (output === OUTPUT_SLICES) {
    const { slices } = facts;
    for (const { reason, detail } of slices === undefined
      ? []
      : hintEvents(before as SlicesFacts | undefined, slices)) {
      emit(state, unit, reason, detail, now);
    }
    setFacts(state, unit, slices);
    for (const { added, removed } of slices?.families ?? []) {
      instruments.slices?.added.observe(added);
      instruments.slices?.removed.observe(removed);
    }
  } else {
    const { mirror } = facts;
    setFacts(state, unit, mirror);
    if (mirror === undefined) return;
    instruments.mirror?.added.observe(mirror.added);
    instruments.mirror?.updated.observe(mirror.updated);
    instruments.mirror?.removed.observe(mirror.removed);
    instruments.mirror?.skipped.observe(mirror.skipped);
  }
}

/** The planner tells of a problem when it arises, not with every plan while it lasts. */
export function reportProblems(
  state: ControllerState,
  service: ServiceState,
  units: readonly Unit[],
  problems: readonly Problem[],
  now: Now,
): void {
  for (let i = 0; i < problems.length; i++) {
    const problem = problems[i]!;
    // What spoils an address in two outputs at once is told once.
    if (problems.findIndex((other) => problemsEqual(other, problem)) < i) continue;
    state.instruments.problems(problem.kind).inc();
    log(state, 'warning', 0, problem.message, {
      service: keyOf(service),
      problem: problem.kind,
      object: problem.object,
      field: problem.field,
    });
    const { reason, output } = PROBLEM_EVENTS[problem.kind];
    const unit = units.find(({ controller }) => controller.output === output) ?? units[0];
    if (reason === null || unit === undefined) continue;
    const detail = output === OUTPUT_MIRROR ? problem.message : `${problem.object}: ${problem.message}`;
    emit(state, unit, reason, detail, now);
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

/** A write that was refused; not one that settles itself, such as a conflict. */
export function reportFailedWrite(
  state: ControllerState,
  unit: Unit,
  write: PlannedWrite,
  failure: Failure,
  silent: boolean,
  now: Now,
): void {
  if (silent) return;
  const { output } = unit.controller;
  if (output === OUTPUT_ENDPOINTS) {
    if (write.verb === 'create') emit(state, unit, 'FailedToCreateEndpoint', failure.message, now);
    else if (write.verb === 'update') emit(state, unit, 'FailedToUpdateEndpoint', failure.message, now);
  } else if (output === OUTPUT_SLICES) {
    const detail = `failed to ${write.verb} EndpointSlice ${write.name}: ${failure.message}`;
    emit(state, unit, 'FailedToUpdateEndpointSlices', detail, now);
  }
}

/** Upstream drops the key here. */
export function reportStuck(state: ControllerState, unit: Unit, failure: Failure, now: Now): void {
  const { controller, service } = unit;
  log(state, 'error', 0, 'service is stuck: its objects may be wrong until this is mended', {
    controller: controller.name,
    service: keyOf(service),
    class: failure.class,
    reason: failure.message,
  });
  emit(state, unit, STUCK_EVENTS[controller.name], failure.message, now);
}

const STUCK_EVENTS = {
  endpoints: 'EndpointsStuck',
  endpointslice: 'EndpointSlicesStuck',
  'endpointslice-mirroring': 'MirroredEndpointSlicesStuck',
} as const satisfies Record<string, EventReasonName>;

/** The end of a sync. */
export function reportSync(state: ControllerState, unit: Unit, sync: Sync, now: Now): void {
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
    log(state, 'info', 2, 'synced', {
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
function emit(state: ControllerState, unit: Unit, reason: EventReasonName, detail: string, now: Now): void {
  const { controller, service } = unit;
  const mirrored = controller.output === OUTPUT_MIRROR;
  const about = mirrored ? service.endpoints.record : service.record;
  const { type, message } = EVENT_REASONS[reason];
  recordEvent(
    state.recorder,
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
