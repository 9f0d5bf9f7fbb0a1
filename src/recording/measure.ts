/**
 * What a recording shows of the controller: the time from the event of a pod's change to the event of the service's
 * Endpoints, or of a slice, that shows it, by the recorder's clock. A change is that a pod becomes a ready address of a
 * service, or is one no longer.
 */
import { podAbsence, podEndpoint, podReady, wantedFamily } from '../core/pod-endpoint.ts';
import type { PodRecord } from '../kube/types.ts';
import { WORDS } from './lines.ts';
import type { ChangeOf, RecordedEvent, RecordedOutput, RecordedResource } from './recording.ts';
import { type RecordedService, type Selection, type Selections, servicesWithPods } from './selections.ts';

export type OutputResource = 'endpoints' | 'endpointslices';

/** The measurements of one kind of outputs. */
export interface Measured {
  /** Milliseconds of each shown change that added an address. `removedMs`: that removed one. */
  readonly addedMs: number[];
  readonly removedMs: number[];
  /** Changes that were undone before they were shown, or whose service was deleted. */
  superseded: number;
  /** Changes that a gap has hidden. */
  hidden: number;
  /** Writes of the recorded controllers, with deletions. */
  writes: number;
  /** Writes that showed a change. */
  showing: number;
}

type OutputsShown = Readonly<Record<OutputResource, Shown>>;

/** The addresses that one kind of outputs of a service shows, and the changes that it does not show yet. */
interface Shown {
  /** How many ready endpoints have the address, over all objects. */
  readonly ready: Map<string, number>;
  readonly awaited: Map<string, { readonly ready: boolean; readonly sinceMs: number }>;
  /** What an output has shown before the event of its pod, oldest first: watches are not in step with each other. */
  readonly early: Map<string, { readonly ready: boolean; readonly write: ShownWrite }>;
}

/** A write of the recorded controllers that an output's watch has told. */
interface ShownWrite {
  readonly atMs: number;
  /** A change is known that it shows. */
  isShowing: boolean;
}

/** An event of a pod that comes later than this after an output is not what the output shows. */
const EARLY_MS_MAX = 5000;

/** Called for each change that is shown, and for each write of the recorded controllers, as they come. */
export interface MeasureListener {
  readonly shown: (kind: OutputResource, ready: boolean, sinceMs: number, atMs: number) => void;
  readonly written: (kind: OutputResource, atMs: number) => void;
}

export interface Measuring {
  readonly listener: MeasureListener;
  readonly services: Map<RecordedService, OutputsShown>;
  /** By namespace and name of a Service, which may be deleted and created again while its objects stay. */
  readonly ready: Map<string, Readonly<Record<OutputResource, Shown['ready']>>>;
  readonly measured: Readonly<Record<OutputResource, Measured>>;
  /** Resources that are neither listed nor refused yet. */
  readonly missing: Set<RecordedResource>;
  /** Outputs that may not be read. */
  readonly refused: Set<RecordedResource>;
}

const KINDS: readonly OutputResource[] = ['endpoints', 'endpointslices'];

const NOBODY: MeasureListener = { shown() {}, written() {} };

export function createMeasuring(listener: MeasureListener = NOBODY): Measuring {
  const none = (): Measured => {
    return { addedMs: [], removedMs: [], superseded: 0, hidden: 0, writes: 0, showing: 0 };
  };
  return {
    listener,
    services: new Map(),
    ready: new Map(),
    measured: { endpoints: none(), endpointslices: none() },
    missing: new Set(Object.keys(WORDS) as RecordedResource[]),
    refused: new Set(),
  };
}

/** Changes that were not shown when the recording ended. */
export function awaitedOf({ services }: Measuring, kind: OutputResource): number {
  let count = 0;
  for (const outputs of services.values()) count += outputs[kind].awaited.size;
  return count;
}

/** @param selection the effect of the event on the Services */
export function measureEvent(measuring: Measuring, event: RecordedEvent, selection: Selection): void {
  switch (event.type) {
    case 'change':
      if (event.resource === 'pods') onPod(measuring, event, selection);
      else if (event.resource === 'services') onService(measuring, event, selection);
      else if (event.resource !== 'nodes') onOutput(measuring, event.resource, event, selection);
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
    case 'sizes':
    case 'end':
  }
}

/** Drops awaited changes, which may have been shown, or undone, unseen, and what was shown meanwhile. */
function hide({ services, measured }: Measuring, resource: RecordedResource): void {
  for (const kind of KINDS) {
    if (resource !== 'pods' && resource !== kind) continue;
    for (const outputs of services.values()) {
      measured[kind].hidden += outputs[kind].awaited.size;
      outputs[kind].awaited.clear();
      outputs[kind].early.clear();
    }
  }
}

/** The ready address of a pod for a service; null = it has none. */
function readyAddress({ record }: RecordedService, pod: PodRecord | null): string | null {
  if (pod === null) return null;
  const { publishNotReadyAddresses: publish } = record;
  if (podAbsence(pod, publish) !== null || !podReady(pod, publish)) return null;
  return podEndpoint(record, wantedFamily(record), pod).address?.ip ?? null;
}

function onPod(measuring: Measuring, { told, atMs }: ChangeOf<'pods'>, { selected }: Selection): void {
  const { missing, refused, services } = measuring;
  if (told !== 'watch' || missing.size > 0) return;
  for (const { service, before, after } of selected) {
    const was = readyAddress(service, before);
    const is = readyAddress(service, after);
    if (was === is) continue;
    const outputs = services.get(service)!;
    for (const kind of KINDS) {
      if (refused.has(kind)) continue;
      if (was !== null) onAddress(measuring, outputs, kind, { address: was, ready: false, sinceMs: atMs });
      if (is !== null) onAddress(measuring, outputs, kind, { address: is, ready: true, sinceMs: atMs });
    }
  }
}

/** A pod's change: its address has become ready, or is no longer. */
interface AddressChange {
  readonly address: string;
  readonly ready: boolean;
  /** By the recorder's clock. */
  readonly sinceMs: number;
}

function onAddress(measuring: Measuring, outputs: OutputsShown, kind: OutputResource, change: AddressChange): void {
  const { address, ready, sinceMs } = change;
  const { awaited, early, ready: shown } = outputs[kind];
  const before = early.get(address);
  early.delete(address);
  if (awaited.delete(address)) measuring.measured[kind].superseded++;
  if (shown.has(address) !== ready) {
    awaited.set(address, { ready, sinceMs });
    return;
  }
  if (before?.ready !== ready || sinceMs - before.write.atMs > EARLY_MS_MAX) return;
  noteShown(measuring, kind, change, before.write, sinceMs);
}

function noteShown(
  { measured, listener }: Measuring,
  kind: OutputResource,
  { ready, sinceMs }: AddressChange,
  write: ShownWrite,
  atMs: number,
): void {
  measured[kind][ready ? 'addedMs' : 'removedMs'].push(atMs - sinceMs);
  listener.shown(kind, ready, sinceMs, atMs);
  if (!write.isShowing) measured[kind].showing++;
  write.isShowing = true;
}

function onService(measuring: Measuring, { after }: ChangeOf<'services'>, { service }: Selection): void {
  if (service === null) return;
  const { services, measured } = measuring;
  const outputs = services.get(service);
  const { namespace, name } = service.record;
  if (after !== null) {
    if (outputs !== undefined) return;
    const ready = readyAt(measuring, namespace, name);
    services.set(service, {
      endpoints: awaitingNothing(ready.endpoints),
      endpointslices: awaitingNothing(ready.endpointslices),
    });
    return;
  }
  for (const kind of KINDS) measured[kind].superseded += outputs![kind].awaited.size;
  services.delete(service);
  forgetReady(measuring, namespace, name);
}

function awaitingNothing(ready: Shown['ready']): Shown {
  return { ready, awaited: new Map(), early: new Map() };
}

function readyAt({ ready }: Measuring, namespace: string, service: string): Record<OutputResource, Shown['ready']> {
  const key = `${namespace}/${service}`;
  let found = ready.get(key);
  if (found === undefined) ready.set(key, (found = { endpoints: new Map(), endpointslices: new Map() }));
  return found;
}

/** Of a Service that is gone nothing is kept once its objects are. */
function forgetReady({ ready }: Measuring, namespace: string, service: string): void {
  const key = `${namespace}/${service}`;
  if (KINDS.every((kind) => ready.get(key)![kind].size === 0)) ready.delete(key);
}

function onOutput(
  measuring: Measuring,
  kind: OutputResource,
  { before, after, told, by, atMs }: ChangeOf<OutputResource>,
  { service }: Selection,
): void {
  const { listener, services, measured, missing } = measuring;
  const isWatched = told === 'watch' && missing.size === 0;
  // When a Service is deleted, its slices are deleted by the garbage collector.
  const isCollected = kind === 'endpointslices' && after === null && service === null;
  if (isWatched && by !== 'other' && !isCollected) {
    measured[kind].writes++;
    listener.written(kind, atMs);
  }
  const changed = new Map<string, number>();
  for (const address of readyOf(before)) add(changed, address, -1);
  for (const address of readyOf(after)) add(changed, address, 1);
  if (service === null) {
    const { namespace, service: name } = (after ?? before)!;
    const ready = readyAt(measuring, namespace, name)[kind];
    for (const [address, by] of changed) add(ready, address, by);
    forgetReady(measuring, namespace, name);
    return;
  }
  const shown = services.get(service)![kind];
  const write: ShownWrite = { atMs, isShowing: false };
  for (const [address, by] of changed) {
    const was = shown.ready.has(address);
    add(shown.ready, address, by);
    const ready = shown.ready.has(address);
    if (ready === was || !isWatched) continue;
    const awaited = shown.awaited.get(address);
    if (awaited === undefined) noteEarly(shown, address, ready, write);
    else {
      shown.awaited.delete(address);
      shown.early.delete(address);
      noteShown(measuring, kind, { address, ...awaited }, write, atMs);
    }
  }
}

/** Keeps what no pod's event has told yet, and forgets what is too old. */
function noteEarly({ early }: Shown, address: string, ready: boolean, write: ShownWrite): void {
  early.delete(address);
  early.set(address, { ready, write });
  for (const [oldest, { write: written }] of early) {
    if (write.atMs - written.atMs <= EARLY_MS_MAX) break;
    early.delete(oldest);
  }
}

function* readyOf(output: RecordedOutput | null): Generator<string> {
  for (const { addresses, conditions } of output?.endpoints ?? []) {
    // In a slice an absent `ready` means yes.
    if (conditions.ready !== false && addresses[0] !== undefined) yield addresses[0];
  }
}

function add(counts: Map<string, number>, address: string, by: number): void {
  const count = (counts.get(address) ?? 0) + by;
  if (count === 0) counts.delete(address);
  else counts.set(address, count);
}

/** How many ready addresses each Service that selects pods has now. */
export function serviceSizes(selections: Selections): number[] {
  const sizes: number[] = [];
  for (const [service, pods] of servicesWithPods(selections)) {
    let size = 0;
    for (const pod of pods) if (readyAddress(service, pod) !== null) size++;
    sizes.push(size);
  }
  return sizes;
}
