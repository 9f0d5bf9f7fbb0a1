/**
 * What a recording shows of the controller that ran meanwhile: how long from the event of a pod's change until an event of
 * the service's Endpoints, and of its slices, showed it, by the recorder's clock. A change is that the pod begins or ceases
 * to be a ready address of a service.
 */
import { podAbsence, podEndpoint, podReady, wantedFamily } from '../core/pod-endpoint.ts';
import {
  createSelectorIndex,
  podsOf,
  putPod,
  putService,
  removePod,
  removeService,
  type SelectorIndex,
} from '../core/selector-index.ts';
import { selectsPods } from '../core/selects-pods.ts';
import type { PodRecord, ServiceRecord } from '../kube/types.ts';
import { WORDS } from './lines.ts';
import type { ChangeOf, RecordedEvent, RecordedOutput, RecordedResource } from './recording.ts';

export type OutputKind = 'endpoints' | 'endpointslices';

/** What was measured of one kind of outputs. */
export interface Measured {
  /** Milliseconds of each change that was shown. */
  readonly addedMs: number[];
  readonly removedMs: number[];
  /** Changes that were undone, or the service was, before they were shown. */
  superseded: number;
  /** Changes that a gap has hidden. */
  hidden: number;
  /** By the recorded controllers, deletions included. */
  writes: number;
  /** Of the writes: those that showed a change. */
  showing: number;
}

export interface MeasuredService {
  readonly namespace: string;
  readonly name: string;
  record: ServiceRecord;
  readonly outputs: Readonly<Record<OutputKind, Shown>>;
}

/** What one kind of outputs of a service shows, and changes that it does not show yet. */
interface Shown {
  /** How many ready endpoints of all objects have the address. */
  readonly ready: Map<string, number>;
  readonly awaited: Map<string, { readonly ready: boolean; readonly sinceMs: number }>;
}

/** Is told of each change that was shown, and of each write by the recorded controllers, as they come. */
export interface MeasureListener {
  readonly shown: (kind: OutputKind, ready: boolean, sinceMs: number, atMs: number) => void;
  readonly written: (kind: OutputKind, atMs: number) => void;
}

export interface Measuring {
  readonly listener: MeasureListener;
  readonly index: SelectorIndex<MeasuredService>;
  readonly services: Map<string, MeasuredService>;
  /** Outputs whose Service is not known. */
  readonly measured: Readonly<Record<OutputKind, Measured>>;
  /** Resources that are not listed yet, nor refused. */
  readonly missing: Set<RecordedResource>;
  /** Outputs that may not be read. */
  readonly refused: Set<RecordedResource>;
}

const KINDS: readonly OutputKind[] = ['endpoints', 'endpointslices'];

const NOBODY: MeasureListener = { shown() {}, written() {} };

export function createMeasuring(listener: MeasureListener = NOBODY): Measuring {
  const none = (): Measured => {
    return { addedMs: [], removedMs: [], superseded: 0, hidden: 0, writes: 0, showing: 0 };
  };
  return {
    listener,
    index: createSelectorIndex(),
    services: new Map(),
    measured: { endpoints: none(), endpointslices: none() },
    missing: new Set(Object.keys(WORDS) as RecordedResource[]),
    refused: new Set(),
  };
}

/** Changes that were not shown when the recording ended. */
export function awaitedOf({ services }: Measuring, kind: OutputKind): number {
  let count = 0;
  for (const { outputs } of services.values()) count += outputs[kind].awaited.size;
  return count;
}

export function measureEvent(measuring: Measuring, event: RecordedEvent): void {
  switch (event.type) {
    case 'change':
      if (event.resource === 'pods') onPod(measuring, event);
      else if (event.resource === 'services') onService(measuring, event);
      else if (event.resource !== 'nodes') onOutput(measuring, event.resource, event);
      return;
    case 'listed':
      measuring.missing.delete(event.resource);
      if (event.told === 'list') hide(measuring, event.resource);
      return;
    case 'rewatched':
      hide(measuring, event.resource);
      return;
    case 'refused':
      measuring.missing.delete(event.resource);
      measuring.refused.add(event.resource);
      return;
    case 'irrelevant':
    case 'end':
  }
}

/** What is awaited may have been shown, or undone, without being seen in time. */
function hide({ services, measured }: Measuring, resource: RecordedResource): void {
  for (const kind of KINDS) {
    if (resource !== 'pods' && resource !== kind) continue;
    for (const { outputs } of services.values()) {
      measured[kind].hidden += outputs[kind].awaited.size;
      outputs[kind].awaited.clear();
    }
  }
}

/** The ready address that a pod is for a service; null = it is none. */
function readyAddress({ record }: MeasuredService, pod: PodRecord | null): string | null {
  if (pod === null) return null;
  const { publishNotReadyAddresses: publish } = record;
  if (podAbsence(pod, publish) !== null || !podReady(pod, publish)) return null;
  return podEndpoint(record, wantedFamily(record), pod).address?.ip ?? null;
}

function onPod(measuring: Measuring, { before, after, told, atMs }: ChangeOf<'pods'>): void {
  const { index, missing } = measuring;
  const services =
    after === null
      ? { before: removePod(index, before!.namespace, before!.name).before, after: [] }
      : putPod(index, after);
  // Which of them do not know it as it was, or will not know it as it is.
  const had = new Set(services.before);
  const has = new Set(services.after);
  if (told !== 'watch' || missing.size > 0) return;
  for (const service of new Set([...had, ...has])) {
    const was = had.has(service) ? readyAddress(service, before) : null;
    const is = has.has(service) ? readyAddress(service, after) : null;
    if (was === is) continue;
    for (const kind of KINDS) {
      if (measuring.refused.has(kind)) continue;
      if (was !== null) expect(measuring, service, kind, was, false, atMs);
      if (is !== null) expect(measuring, service, kind, is, true, atMs);
    }
  }
}

function expect(
  { measured }: Measuring,
  { outputs }: MeasuredService,
  kind: OutputKind,
  address: string,
  ready: boolean,
  atMs: number,
): void {
  const { awaited, ready: shown } = outputs[kind];
  if (awaited.delete(address)) measured[kind].superseded++;
  if (shown.has(address) !== ready) awaited.set(address, { ready, sinceMs: atMs });
}

function onService(measuring: Measuring, { before, after }: ChangeOf<'services'>): void {
  const { services, index, measured } = measuring;
  const { namespace, name } = (after ?? before)!;
  const key = `${namespace}/${name}`;
  let service = services.get(key);
  if (after === null) {
    if (service === undefined) return;
    for (const kind of KINDS) measured[kind].superseded += service.outputs[kind].awaited.size;
    removeService(index, service);
    services.delete(key);
    return;
  }
  if (service === undefined) {
    service = {
      namespace,
      name,
      record: after,
      outputs: { endpoints: nothingShown(), endpointslices: nothingShown() },
    };
    services.set(key, service);
  }
  service.record = after;
  putService(index, service, namespace, selectsPods(after) ? after.selector : null);
}

function nothingShown(): Shown {
  return { ready: new Map(), awaited: new Map() };
}

function onOutput(
  measuring: Measuring,
  kind: OutputKind,
  { before, after, told, by, atMs }: ChangeOf<OutputKind>,
): void {
  const { listener, services, measured, missing } = measuring;
  const { namespace, service: name } = (after ?? before)!;
  const service = services.get(`${namespace}/${name}`);
  const isWatched = told === 'watch' && missing.size === 0;
  if (isWatched && by !== 'other') {
    measured[kind].writes++;
    listener.written(kind, atMs);
  }
  if (service === undefined) return;
  const shown = service.outputs[kind];
  for (const address of readyOf(before)) add(shown.ready, address, -1);
  for (const address of readyOf(after)) add(shown.ready, address, 1);
  if (!isWatched) return;
  let met = 0;
  for (const [address, { ready, sinceMs }] of shown.awaited) {
    if (shown.ready.has(address) !== ready) continue;
    shown.awaited.delete(address);
    measured[kind][ready ? 'addedMs' : 'removedMs'].push(atMs - sinceMs);
    listener.shown(kind, ready, sinceMs, atMs);
    met++;
  }
  if (met > 0) measured[kind].showing++;
}

function* readyOf(output: RecordedOutput | null): Generator<string> {
  for (const { addresses, conditions } of output?.endpoints ?? []) {
    // In a slice `ready` that is not said means yes.
    if (conditions.ready !== false && addresses[0] !== undefined) yield addresses[0];
  }
}

function add(counts: Map<string, number>, address: string, by: number): void {
  const count = (counts.get(address) ?? 0) + by;
  if (count === 0) counts.delete(address);
  else counts.set(address, count);
}

/** How many ready addresses each Service that selects pods has now. */
export function serviceSizes({ services, index }: Measuring): number[] {
  const sizes: number[] = [];
  for (const service of services.values()) {
    if (!selectsPods(service.record)) continue;
    let size = 0;
    for (const pod of podsOf(index, service)) if (readyAddress(service, pod) !== null) size++;
    sizes.push(size);
  }
  return sizes;
}
