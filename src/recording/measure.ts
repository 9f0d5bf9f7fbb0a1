/**
 * What a recording shows of the controller: the time from the event of a pod's or Service's change to the event of the
 * service's Endpoints, or of a slice, that shows it, by the recorder's clock. A change is that a pod becomes a ready address of a
 * service, or is one no longer.
 */
import { parseIp } from '../core/ip.ts';
import { podAbsence, podEndpoint, podReady, wantedFamily } from '../core/pod-endpoint.ts';
import { selectsPods } from '../core/selects-pods.ts';
import { sliceFamilies } from '../core/slices/slice-families.ts';
import { hasPortOn } from '../core/target-port.ts';
import { labelsGet } from '../kube/labels.ts';
import { MIRROR_MANAGED_BY_VALUE, SLICE_MANAGED_BY_LABEL } from '../kube/names.ts';
import type { PodRecord, ServiceRecord } from '../kube/types.ts';
import { hasBegun } from './begun.ts';
import type { ChangeOf, OutputResource, RecordedEvent, RecordedOutput, RecordedResource } from './recording.ts';
import { type RecordedService, type Selection, type Selections, servicesWithPods } from './selections.ts';

/** The measurements of one kind of outputs. */
export interface Measured {
  /** Milliseconds of each shown change that added an address. `removedMs`: that removed one. */
  readonly addedMs: number[];
  readonly removedMs: number[];
  /** Changes that were undone before they were shown, or whose service was deleted. */
  undone: number;
  /** Changes that need not be shown: the service has ceased to ask for them, or its Endpoints are over capacity. */
  notOwed: number;
  /** Changes that a lost watch has hidden. */
  hidden: number;
  /** Writes of the recorded controllers, with deletions. */
  writes: number;
  /** Writes that showed a change. */
  showing: number;
}

type OutputsShown = Readonly<Record<OutputResource, Shown>>;

/** What the objects of one kind show of a service. */
interface Published {
  /** How many ready endpoints have the address, over all objects. */
  readonly ready: Map<string, number>;
  /** How many objects there are of each address type. */
  readonly objects: Map<string, number>;
  /** They are Endpoints that had no room for all addresses. Which ones they leave out tells nothing of a change. */
  isOverCapacity: boolean;
}

/** What one kind of outputs of a service shows, and the changes that it does not show yet. */
interface Shown {
  readonly published: Published;
  /** How many pods of the service have the ready address. Pods of one node may share its address. */
  readonly wanted: Map<string, number>;
  readonly awaited: Map<string, { readonly ready: boolean; readonly sinceMs: number }>;
  /** Awaited changes that the pod's next one has undone, at `atMs`, oldest first. A write may be under way with them. */
  readonly undone: Map<string, { readonly sinceMs: number; readonly atMs: number }>;
  /** What an output has shown before the event of its pod, oldest first: watches are not in step with each other. */
  readonly early: Map<string, { readonly ready: boolean; readonly write: ShownWrite; readonly atMs: number }>;
}

/** A write of the recorded controllers that an output's watch has told. */
interface ShownWrite {
  /** A change is known that it shows. */
  isShowing: boolean;
}

/** An output and an event of a pod that are further apart than this do not tell of one change. */
export const APART_MS_MAX = 5000;

/** Called as things come. */
export interface MeasureListener {
  /** A change is shown. */
  readonly shown: (kind: OutputResource, ready: boolean, sinceMs: number, atMs: number) => void;
  /** A watch tells of a write of the recorded controllers, also before the recording has begun. */
  readonly written: (kind: OutputResource, write: Written) => void;
}

/** A write of the recorded controllers. */
export interface Written {
  readonly atMs: number;
  /** How many the object has afterwards; 0 = it is deleted, or has none. */
  readonly endpoints: number;
  /** null = its Service is not known, or has no pods of its own. */
  readonly service: RecordedService | null;
  /** Whether the mirroring controller has written it. */
  readonly isMirrored: boolean;
}

export interface Measuring {
  readonly listener: MeasureListener;
  readonly services: Map<RecordedService, OutputsShown>;
  /** By namespace and name of a Service, which may be deleted and created again while its objects stay. */
  readonly published: Map<string, Readonly<Record<OutputResource, Published>>>;
  readonly measured: Readonly<Record<OutputResource, Measured>>;
  readonly listed: Set<RecordedResource>;
  /** Resources that may not be read. */
  readonly refused: Set<RecordedResource>;
  /** Resources whose watch is lost. */
  readonly lost: Set<RecordedResource>;
  /** What came before has no time of the recording. */
  hasBegun: boolean;
}

const KINDS: readonly OutputResource[] = ['endpoints', 'endpointslices'];

const NOBODY: MeasureListener = { shown() {}, written() {} };

export function createMeasuring(listener: MeasureListener = NOBODY): Measuring {
  const none = (): Measured => {
    return { addedMs: [], removedMs: [], undone: 0, notOwed: 0, hidden: 0, writes: 0, showing: 0 };
  };
  return {
    listener,
    services: new Map(),
    published: new Map(),
    measured: { endpoints: none(), endpointslices: none() },
    listed: new Set(),
    refused: new Set(),
    lost: new Set(),
    hasBegun: false,
  };
}

/** Changes that were not shown when the recording ended. */
export function awaitedOf({ services }: Measuring, kind: OutputResource): number {
  let count = 0;
  for (const outputs of services.values()) count += outputs[kind].awaited.size;
  return count;
}

/** Addresses by whether they are to be shown as ready. */
export type Owed = ReadonlyMap<string, boolean>;

/** For each Service what its objects of a kind do not show now as its pods are. */
export function owedOf({ services }: Measuring, kind: OutputResource): Map<RecordedService, Owed> {
  const all = new Map<RecordedService, Owed>();
  for (const [service, outputs] of services) {
    const { published, wanted } = outputs[kind];
    // Which ones Endpoints without room leave out tells nothing.
    if (!selectsPods(service.record) || published.isOverCapacity) continue;
    const owed = new Map<string, boolean>();
    for (const address of wanted.keys()) if (!published.ready.has(address)) owed.set(address, true);
    for (const address of published.ready.keys()) {
      if (!wanted.has(address) && isOfChanges(address, service.record)) owed.set(address, false);
    }
    if (owed.size > 0) all.set(service, owed);
  }
  return all;
}

/** Slices of a second family show addresses that no change of a pod tells. */
function isOfChanges(address: string, service: ServiceRecord): boolean {
  const family = wantedFamily(service);
  return family === null || parseIp(address)?.family === family;
}

/** Whether the objects of a kind show any of these addresses as they are owed. */
export function isPaid({ services }: Measuring, service: RecordedService, kind: OutputResource, owed: Owed): boolean {
  const ready = services.get(service)?.[kind].published.ready;
  return ready !== undefined && [...owed].some(([address, isReady]) => ready.has(address) === isReady);
}

/** @param selection the effect of the event on the Services */
export function measureEvent(measuring: Measuring, event: RecordedEvent, selection: Selection): void {
  const { listed, refused, lost } = measuring;
  switch (event.type) {
    case 'change':
      if (event.resource === 'pods') onPod(measuring, event, selection);
      else if (event.resource === 'services') onService(measuring, event, selection);
      else if (event.resource !== 'nodes') onOutput(measuring, event.resource, event, selection);
      return;
    case 'listed':
      for (const resources of [refused, lost]) resources.delete(event.resource);
      listed.add(event.resource);
      measuring.hasBegun = hasBegun(measuring);
      if (event.told === 'list') hide(measuring, event.resource);
      return;
    case 'lost':
      lost.add(event.resource);
      hide(measuring, event.resource);
      return;
    case 'rewatched':
      lost.delete(event.resource);
      hide(measuring, event.resource);
      return;
    case 'refused':
      if (!listed.has(event.resource)) refused.add(event.resource);
      measuring.hasBegun = hasBegun(measuring);
      return;
    case 'irrelevant':
    case 'sizes':
    case 'wrote':
    case 'end':
  }
}

/** Whether the time of a change in an output depends on the watch of the resource. */
function isTimedBy(resource: RecordedResource, kind: OutputResource): boolean {
  return resource === 'pods' || resource === 'services' || resource === kind;
}

/** Drops awaited changes, which may have been shown, or undone, unseen, and what was shown meanwhile. */
function hide({ services, measured }: Measuring, resource: RecordedResource): void {
  for (const kind of KINDS) {
    if (!isTimedBy(resource, kind)) continue;
    for (const outputs of services.values()) {
      measured[kind].hidden += outputs[kind].awaited.size;
      for (const kept of ['awaited', 'undone', 'early'] as const) outputs[kind][kept].clear();
    }
  }
}

/** The ready address of a pod for a service in one kind of outputs; null = it has none. */
function readyAddress(service: ServiceRecord, pod: PodRecord | null, kind: OutputResource): string | null {
  if (pod === null) return null;
  const { publishNotReadyAddresses: publish } = service;
  if (podAbsence(pod, publish) !== null || !podReady(pod, publish)) return null;
  if (kind === 'endpoints' && !hasPortOn(service, pod)) return null;
  return podEndpoint(service, wantedFamily(service), pod).address?.ip ?? null;
}

function onPod(measuring: Measuring, { told, atMs }: ChangeOf<'pods'>, { selected }: Selection): void {
  const isTimed = told === 'watch' && measuring.hasBegun;
  for (const { service, before, after } of selected) {
    const { record } = service;
    const outputs = measuring.services.get(service)!;
    for (const kind of KINDS) {
      const move = { was: readyAddress(record, before, kind), is: readyAddress(record, after, kind) };
      if (move.was === move.is) continue;
      const ofService = countMove(outputs[kind].wanted, move);
      if (isTimed) onAddresses(measuring, outputs, kind, ofService, atMs);
    }
  }
}

/** A ready address has become another; null = none. */
interface AddressMove {
  readonly was: string | null;
  readonly is: string | null;
}

/** An address leaves a service with the last pod that has it, and comes with the first. */
function countMove(wanted: Shown['wanted'], { was, is }: AddressMove): AddressMove {
  if (was !== null) add(wanted, was, -1);
  const isFirst = is !== null && !wanted.has(is);
  if (is !== null) add(wanted, is, 1);
  return { was: was === null || wanted.has(was) ? null : was, is: isFirst ? is : null };
}

function onAddresses(
  measuring: Measuring,
  outputs: OutputsShown,
  kind: OutputResource,
  { was, is }: AddressMove,
  atMs: number,
): void {
  if (was !== null) onAddress(measuring, outputs, kind, { address: was, ready: false, sinceMs: atMs });
  if (is !== null) onAddress(measuring, outputs, kind, { address: is, ready: true, sinceMs: atMs });
}

/** A service has a ready address more, or has one no longer. */
interface AddressChange {
  readonly address: string;
  readonly ready: boolean;
  /** By the recorder's clock. */
  readonly sinceMs: number;
}

function onAddress(measuring: Measuring, outputs: OutputsShown, kind: OutputResource, change: AddressChange): void {
  const { address, ready, sinceMs } = change;
  if (measuring.refused.has(kind)) return;
  if ([...measuring.lost].some((resource) => isTimedBy(resource, kind))) {
    measuring.measured[kind].hidden++;
    return;
  }
  const { awaited, undone, early, published } = outputs[kind];
  const before = early.get(address);
  const last = awaited.get(address);
  for (const kept of [early, undone, awaited]) kept.delete(address);
  if (last !== undefined) measuring.measured[kind].undone++;
  if (published.ready.has(address) === ready) {
    if (last !== undefined) keep(undone, address, { sinceMs: last.sinceMs, atMs: sinceMs });
    if (before?.ready !== ready || sinceMs - before.atMs > APART_MS_MAX) return;
    noteShown(measuring, kind, change, before.write, sinceMs);
  } else if (ready && published.isOverCapacity) measuring.measured[kind].notOwed++;
  else awaited.set(address, { ready, sinceMs });
}

/** Keeps the newest entry, and forgets those that are too old. */
function keep<Entry extends { readonly atMs: number }>(
  entries: Map<string, Entry>,
  address: string,
  entry: Entry,
): void {
  entries.delete(address);
  entries.set(address, entry);
  for (const [oldest, { atMs }] of entries) {
    if (entry.atMs - atMs <= APART_MS_MAX) break;
    entries.delete(oldest);
  }
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

function onService(
  measuring: Measuring,
  { told, atMs, after }: ChangeOf<'services'>,
  { service, selected }: Selection,
): void {
  if (service === null) return;
  const { services, measured } = measuring;
  const outputs = services.get(service);
  const { namespace, name } = service.record;
  if (after === null) {
    for (const kind of KINDS) measured[kind].undone += outputs![kind].awaited.size;
    services.delete(service);
    forgetPublished(measuring, namespace, name);
    return;
  }
  const shown = outputs ?? awaitingNothing(publishedOf(measuring, namespace, name));
  services.set(service, shown);
  for (const kind of KINDS) {
    const { wanted } = shown[kind];
    const was = new Set(wanted.keys());
    wanted.clear();
    for (const pod of selected) {
      const address = readyAddress(after, pod.after, kind);
      if (address !== null) add(wanted, address, 1);
    }
    dropNotOwed(measuring, kind, shown[kind], after);
    if (told !== 'watch' || !measuring.hasBegun || !selectsPods(after)) continue;
    const is = new Set(wanted.keys());
    for (const address of was.difference(is)) onAddresses(measuring, shown, kind, { was: address, is: null }, atMs);
    for (const address of is.difference(was)) onAddresses(measuring, shown, kind, { was: null, is: address }, atMs);
  }
}

/** Drops the changes of pods that a Service does not ask for any more. A controller leaves one without pods as it is. */
function dropNotOwed(
  { measured }: Measuring,
  kind: OutputResource,
  { awaited, undone, wanted }: Shown,
  service: ServiceRecord,
): void {
  const isManaged = selectsPods(service);
  undone.clear();
  for (const [address, { ready }] of awaited) {
    if (isManaged && wanted.has(address) === ready) continue;
    awaited.delete(address);
    measured[kind].notOwed++;
  }
}

function awaitingNothing(published: Readonly<Record<OutputResource, Published>>): OutputsShown {
  const shown = (kind: OutputResource): Shown => ({
    published: published[kind],
    wanted: new Map(),
    awaited: new Map(),
    undone: new Map(),
    early: new Map(),
  });
  return { endpoints: shown('endpoints'), endpointslices: shown('endpointslices') };
}

function publishedOf({ published }: Measuring, namespace: string, service: string): Record<OutputResource, Published> {
  const key = `${namespace}/${service}`;
  let found = published.get(key);
  if (found === undefined) {
    const nothing = (): Published => ({ ready: new Map(), objects: new Map(), isOverCapacity: false });
    published.set(key, (found = { endpoints: nothing(), endpointslices: nothing() }));
  }
  return found;
}

/** Of a Service that is gone nothing is kept once its objects are. */
function forgetPublished({ published }: Measuring, namespace: string, service: string): void {
  const key = `${namespace}/${service}`;
  if (KINDS.every((kind) => published.get(key)![kind].objects.size === 0)) published.delete(key);
}

function onOutput(
  measuring: Measuring,
  kind: OutputResource,
  { before, after, told, by, atMs }: ChangeOf<OutputResource>,
  { service }: Selection,
): void {
  const { listener, services, measured } = measuring;
  const isWatched = told === 'watch' && measuring.hasBegun;
  const { namespace, service: name, addressType } = (after ?? before)!;
  const shown = service === null ? null : services.get(service)![kind];
  const published = shown?.published ?? publishedOf(measuring, namespace, name)[kind];
  add(published.objects, addressType, (after === null ? 0 : 1) - (before === null ? 0 : 1));
  if (told === 'watch' && by !== 'other' && !(after === null && isCollected(service, published, addressType))) {
    if (isWatched) measured[kind].writes++;
    const isMirrored = labelsGet((after ?? before)!.labels, SLICE_MANAGED_BY_LABEL) === MIRROR_MANAGED_BY_VALUE;
    const own = service !== null && selectsPods(service.record) ? service : null;
    listener.written(kind, { atMs, endpoints: after?.endpoints.length ?? 0, service: own, isMirrored });
  }
  const changed = new Map<string, number>();
  for (const address of readyOf(before)) add(changed, address, -1);
  for (const address of readyOf(after)) add(changed, address, 1);
  published.isOverCapacity = kind === 'endpoints' && after?.overCapacity === true;
  if (shown !== null && published.isOverCapacity) dropAdditions(measuring, kind, shown);
  const write: ShownWrite = { isShowing: false };
  for (const [address, count] of changed) {
    const was = published.ready.has(address);
    add(published.ready, address, count);
    const ready = published.ready.has(address);
    if (ready !== was && isWatched && shown !== null) onShown(measuring, kind, shown, { address, ready, atMs }, write);
  }
  if (service === null) forgetPublished(measuring, namespace, name);
}

/**
 * Whether somebody else has deleted an object: the API server, the garbage collector, or the namespace's end, before or
 * after the Service (docs/spec/endpoints.md "Deletes"). A controller keeps one of each family that the Service has.
 */
function isCollected(service: RecordedService | null, { objects }: Published, addressType: string): boolean {
  if (service === null || service.record.deleting) return true;
  const isWanted = addressType === '' || sliceFamilies(service.record).some((family) => family === addressType);
  return isWanted && !objects.has(addressType);
}

/** Endpoints that are over capacity owe no pod a place. */
function dropAdditions({ measured }: Measuring, kind: OutputResource, { awaited, undone }: Shown): void {
  undone.clear();
  for (const [address, { ready }] of awaited) {
    if (!ready) continue;
    awaited.delete(address);
    measured[kind].notOwed++;
  }
}

/** An output has begun, or ceased, to show a ready address. */
function onShown(
  measuring: Measuring,
  kind: OutputResource,
  { awaited, undone, early, published }: Shown,
  { address, ready, atMs }: { readonly address: string; readonly ready: boolean; readonly atMs: number },
  write: ShownWrite,
): void {
  const change = awaited.get(address);
  const last = undone.get(address);
  for (const kept of [awaited, undone, early]) kept.delete(address);
  if (change !== undefined) noteShown(measuring, kind, { address, ...change }, write, atMs);
  else if (last !== undefined && atMs - last.atMs <= APART_MS_MAX) {
    // It shows the change that was undone, so what undid it is to be shown too.
    measuring.measured[kind].undone--;
    noteShown(measuring, kind, { address, ready, sinceMs: last.sinceMs }, write, atMs);
    awaited.set(address, { ready: !ready, sinceMs: last.atMs });
  } else if (ready || !published.isOverCapacity) keep(early, address, { ready, write, atMs });
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
    for (const pod of pods) if (readyAddress(service.record, pod, 'endpointslices') !== null) size++;
    sizes.push(size);
  }
  return sizes;
}
