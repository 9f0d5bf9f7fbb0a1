/**
 * The Endpoints objects on the server: which event is whose, and what the planner has to be told.
 *
 * While a request about an object is under way its watch events are held; on the reply, a version up to the reply's is
 * our own doing, a greater one is foreign (design, section 6 "Whose event is it?"). So does what a list misses: it may
 * have overtaken the reply.
 */
import type { Now } from './event.ts';
import type { ReflectorTarget } from './reflector.ts';
import { allServices, ensureService, getService, releaseService } from './services.ts';
import { isPlanned, keyOf, type ExpectedEcho, type HeldEvent, type ServiceState } from './service-state.ts';
import { log, type ControllerState } from './state.ts';
import { addWork } from './workqueue.ts';
import { projectOutput } from '../kube/project.ts';
import { sameBeyondMetadata } from '../kube/beyond-metadata.ts';
import { compareResourceVersions } from '../kube/resource-version.ts';
import type { ObjectSource } from '../kube/source.ts';
import type { OutputRecord } from '../kube/types.ts';
import type { ObjectBytes } from '../shard/protocol.ts';

/** A foreign edit is repaired no sooner, and later while the same happens again (design, section 6). */
const REPAIR_MS_MIN = 1000;
const REPAIR_MS_MAX = 300_000;
const QUIET_MS = 60_000;
/** Bodies kept for the comparison with their echo. */
const ECHOES_EXPECTED_MAX = 256;

export function outputTarget(state: ControllerState, onSynced: (now: Now) => void): ReflectorTarget<OutputRecord> {
  return {
    project: (source) => projectOutput(source, state.interner),
    upsert(record, source, now) {
      const service = ensureService(state, record.namespace, record.name);
      tellOutput(state, service, { resourceVersion: record.resourceVersion, record, content: contentOf(source) }, now);
      // Not the record: the reply to a write may put another one in its place before the list ends.
      return service;
    },
    remove(record, now) {
      const service = getService(state, record.namespace, record.name);
      if (service === undefined) return;
      tellOutput(state, service, { resourceVersion: record.resourceVersion, record: null, content: null }, now);
    },
    removeUnmarked(marks, resourceVersion, now) {
      for (const service of allServices(state)) {
        if (!marks.has(service)) tellOutput(state, service, { resourceVersion, record: null, content: null }, now);
      }
    },
    synced: onSynced,
  };
}

function contentOf(source: ObjectSource): ObjectBytes {
  if (source.encoding === 'protobuf') {
    // A copy: the view would keep the whole page or chunk of the stream alive.
    return { encoding: 'protobuf', bytes: source.bytes.slice() };
  }
  return { encoding: 'json', bytes: Buffer.from(JSON.stringify(source.value), 'utf8') };
}

function tellOutput(state: ControllerState, service: ServiceState, event: HeldEvent, now: Now): void {
  const { inFlight, held } = service.output;
  if (inFlight === 0) takeOutput(state, service, event, now);
  else if (held === null || compareResourceVersions(event.resourceVersion, held.resourceVersion) > 0) {
    service.output.held = event;
  }
}

/** What was held while requests were under way, now that their replies have moved `output.record` forward. */
export function releaseHeld(state: ControllerState, service: ServiceState, now: Now): void {
  const { held } = service.output;
  service.output.held = null;
  if (held !== null) takeOutput(state, service, held, now);
}

/** An own write was applied: `record` is what the object is now, and `body` what its echo has to say. */
export function ownWrite(
  state: ControllerState,
  service: ServiceState,
  record: OutputRecord | null,
  body: Uint8Array,
): void {
  const { output } = service;
  output.record = record;
  output.content = null;
  output.gone = false;
  output.known = true;
  setExpected(state, service, record === null ? null : { resourceVersion: record.resourceVersion, body });
}

function setExpected(state: ControllerState, service: ServiceState, expected: ExpectedEcho | null): void {
  const { output } = service;
  if (output.expected !== null) state.echoesExpected--;
  // While the watch is down echoes do not come: a bound on the bodies that wait for them.
  output.expected = state.echoesExpected < ECHOES_EXPECTED_MAX ? expected : null;
  if (output.expected !== null) state.echoesExpected++;
}

/**
 * What came back is compared with what was sent. A difference is the doing of admission: the planner is told, and the
 * repair waits like that of any foreign edit, so that two writers never chase each other.
 */
function compareEcho(state: ControllerState, service: ServiceState, event: HeldEvent, now: Now): void {
  const { output } = service;
  const { expected } = output;
  if (expected === null) return;
  if (compareResourceVersions(event.resourceVersion, expected.resourceVersion) < 0) return;
  setExpected(state, service, null);
  if (event.resourceVersion !== expected.resourceVersion || event.content?.encoding !== 'protobuf') return;
  if (sameBeyondMetadata(expected.body, event.content.bytes)) return;
  output.content = event.content;
  noteForeignEdit(state, service, 'what was written came back changed', now);
}

/** The answer to a GET of the object: null = it does not exist. Settles what was uncertain. */
export function readOutput(
  state: ControllerState,
  service: ServiceState,
  record: OutputRecord | null,
  source: ObjectSource | null,
): void {
  const { output } = service;
  setExpected(state, service, null);
  output.uncertain = false;
  output.record = record;
  output.content = source === null ? null : contentOf(source);
  output.gone = record === null;
  output.known = true;
}

/** A state of the object as the watch tells it: an echo of an own write, something older, or another writer's doing. */
function takeOutput(state: ControllerState, service: ServiceState, event: HeldEvent, now: Now): void {
  const { output } = service;
  const known = output.record;
  const deleted = event.record === null;
  compareEcho(state, service, event, now);
  if (known !== null && compareResourceVersions(event.resourceVersion, known.resourceVersion) <= 0) return;
  if (known === null && deleted) return;
  output.record = event.record;
  output.content = event.content;
  output.gone = deleted;
  output.known = true;
  if (state.phase !== 'running') {
    if (deleted) releaseService(state, service);
    return;
  }
  if (service.record === null) {
    // Without its Service the object is an orphan, or becomes one: looked at in the chores lane.
    if (deleted) releaseService(state, service);
    else addWork(state.queue, service.item, 'chore', now.nowMs, REPAIR_MS_MIN);
  } else if (!isPlanned(service.record)) {
    // Not ours to plan: the object is read again should the Service get a selector.
    output.content = null;
    output.gone = false;
    output.known = output.record === null;
  } else if (deleted) {
    // Someone removed it, or the API server did while the Service was re-created: make it again (upstream PR #93030).
    addWork(state.queue, service.item, 'fresh', now.nowMs);
  } else if (!output.uncertain) {
    // Where a reply was lost it may be our own doing: the next try begins with a look at the object.
    noteForeignEdit(state, service, 'endpoints were changed by another writer', now);
  }
}

/** An update was answered with the version before it: admission has put everything back, so the object is as it was. */
export function undoneWrite(state: ControllerState, service: ServiceState, now: Now): void {
  noteForeignEdit(state, service, 'an update changed nothing on the server', now);
}

/** Another writer's content will be repaired, later each time while that goes on. */
function noteForeignEdit(state: ControllerState, service: ServiceState, message: string, now: Now): void {
  const { output } = service;
  state.instruments.foreignEdits.inc();
  const again = now.nowMs - output.foreignEditAtMs < QUIET_MS + repairMs(output.foreignEdits);
  output.foreignEdits = again ? output.foreignEdits + 1 : 0;
  output.foreignEditAtMs = now.nowMs;
  log(state, 'info', 2, message, {
    service: keyOf(service),
    resourceVersion: output.record?.resourceVersion ?? '',
    inARow: output.foreignEdits + 1,
  });
  addWork(state.queue, service.item, 'chore', now.nowMs, repairMs(output.foreignEdits));
}

function repairMs(edits: number): number {
  return Math.min(REPAIR_MS_MIN * 2 ** edits, REPAIR_MS_MAX);
}
