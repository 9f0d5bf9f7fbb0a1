/**
 * The last told state of one resource: the reflector's cache. A list is told as a whole at its end and in random order,
 * because the server's order is that of the names.
 */
import { isMissed } from '../controller/reflectors/brake.ts';
import { FORGOTTEN_VERSION, givesWay } from '../controller/reflectors/history.ts';
import type { Now } from '../controller/event.ts';
import type { Reflector, ReflectorTarget, Removal } from '../controller/reflectors/reflector.ts';
import { labelsFromPairs, labelsGet } from '../kube/labels.ts';
import { CONTROL_PLANE_LABELS, MIRROR_MANAGED_BY_VALUE, SLICE_MANAGED_BY_LABEL, ZONE_LABEL } from '../kube/names.ts';
import { projectNode, projectPod, projectService } from '../kube/project.ts';
import type { ObjectSource } from '../kube/source.ts';
import type { NodeRecord } from '../kube/types.ts';
import type { Interner } from '../lib/interner.ts';
import type { Encoder } from './encode.ts';
import type { Names } from './names.ts';
import { readOutput, writerOf, type EndpointTexts, type Writers } from './output.ts';
import { shuffled } from './pseudonyms.ts';
import type { By, RecordedOutput, RecordedResource, RecordOf } from './recording.ts';
import {
  addSize,
  ENCODINGS,
  type Encoding,
  type FrameSizer,
  NO_SUMS,
  type OutputSizes,
  type SizeSums,
} from './sizes.ts';

export interface Watched {
  readonly resource: RecordedResource;
  readonly path: string;
  readonly target: ReflectorTarget<Seen>;
  /** Tells what a list has brought, and what it lacks. */
  readonly tellList: (removal: Removal | null, list: ToldList) => void;
  /** The number of events that changed nothing since the last call. */
  readonly takeIrrelevant: () => number;
  /** The sizes of all changes of outputs that watches have told. */
  readonly sizes: () => OutputSizes['endpoints'];
}

export interface ToldList {
  readonly version: string;
  readonly sinceMs: number;
  readonly atMs: number;
}

/** The last seen state of an object. */
interface Seen {
  readonly record: RecordOf[RecordedResource];
  /** null for an input. */
  readonly writers: Writers | null;
  /** Those of the state that was told before this one; null = none was told. */
  writersBefore: Writers | null;
  /** Of the endpoints of an output. */
  readonly texts: EndpointTexts['texts'];
  resourceVersion: string;
  /** Who made the last change. */
  by: By;
}

export interface Watching {
  readonly encoder: Encoder;
  readonly interner: Interner;
  readonly names: Names;
  readonly frames: FrameSizer;
  readonly uint32: () => number;
  /** Milliseconds since the recording began, at this time of the clock. */
  readonly atMs: (nowMs: number) => number;
  /** Called when a list is asked for. */
  readonly listing: (resource: RecordedResource) => void;
  /** Called when a watch tells of an object, before it is taken. */
  readonly beforeNews: (resource: RecordedResource, now: Now) => void;
}

const PATHS: Readonly<Record<RecordedResource, string>> = {
  pods: '/api/v1/pods',
  services: '/api/v1/services',
  nodes: '/api/v1/nodes',
  endpoints: '/api/v1/endpoints',
  endpointslices: '/apis/discovery.k8s.io/v1/endpointslices',
};

/** The labels of a Node that are read. */
const NODE_LABELS: ReadonlySet<string> = new Set([ZONE_LABEL, ...CONTROL_PLANE_LABELS]);

interface State {
  readonly resource: RecordedResource;
  readonly watching: Watching;
  readonly seen: Map<string, Seen>;
  /** The keys that the list under way has brought; null = no list is under way. */
  listed: Set<string> | null;
  irrelevant: number;
  readonly sizes: Record<Encoding, SizeSums>;
}

export function createWatched(resource: Reflector['resource'], watching: Watching): Watched {
  const state: State = {
    resource,
    watching,
    seen: new Map(),
    listed: null,
    irrelevant: 0,
    sizes: { protobuf: NO_SUMS, json: NO_SUMS },
  };
  return {
    resource,
    path: PATHS[resource],
    target: targetOf(state),
    tellList: (removal, list) => tellList(state, removal, list),
    takeIrrelevant() {
      const count = state.irrelevant;
      state.irrelevant = 0;
      return count;
    },
    sizes: () => state.sizes,
  };
}

function targetOf(state: State): ReflectorTarget<Seen> {
  const { resource, watching, seen } = state;
  return {
    project: (source) => read(state, source),
    cachedVersion: ({ record }) => seen.get(keyOf(record))?.resourceVersion ?? '',
    markOf: (namespace, name) => seen.get(`${namespace}/${name}`),
    upsert(next, source, upTo, now) {
      if (state.listed === null) watching.beforeNews(resource, now);
      const key = keyOf(next.record);
      const before = seen.get(key);
      if (before !== undefined && !givesWay(before.resourceVersion, upTo)) return before;
      if (next.writers !== null) {
        // A list that is tried again meets the states of its first try, which were not told.
        const isUntold = state.listed?.has(key) === true;
        next.writersBefore = (isUntold ? before?.writersBefore : before?.writers) ?? null;
        next.by = writerOf(next.writersBefore, next.writers);
      }
      seen.set(key, next);
      if (state.listed !== null) {
        state.listed.add(key);
        return next;
      }
      const atMs = watching.atMs(now.nowMs);
      noteSize(state, next, source);
      tellWriter(state, next, atMs);
      if (!tell(state, next, atMs)) state.irrelevant++;
      return next;
    },
    remove({ record, resourceVersion }, now) {
      if (state.listed === null) watching.beforeNews(resource, now);
      const one = seen.get(keyOf(record));
      if (one !== undefined) forget(state, one, resourceVersion, watching.atMs(now.nowMs));
    },
    // In the controller, the brake calls this. Here `tellList` does its work.
    removeUnmarked: () => undefined,
    listing() {
      state.listed ??= new Set();
      watching.listing(resource);
    },
    awaitedDeletes: () => null,
    forgetVersions() {
      for (const one of seen.values()) one.resourceVersion = FORGOTTEN_VERSION;
    },
  };
}

function tellList(state: State, removal: Removal | null, { version, sinceMs, atMs }: ToldList): void {
  const { resource, watching, seen } = state;
  const { encoder, uint32 } = watching;
  encoder.listing(resource, sinceMs, atMs);
  const missed = removal === null ? [] : [...seen.values()].filter((one) => isMissed(removal, one));
  for (const i of shuffled(missed.length, uint32)) forget(state, missed[i]!, '', atMs);
  const brought = [...(state.listed ?? [])];
  state.listed = null;
  for (const i of shuffled(brought.length, uint32)) tell(state, seen.get(brought[i]!)!, atMs);
  encoder.listed(resource, version, atMs);
}

function noteSize({ sizes, watching }: State, { record, writers }: Seen, source: ObjectSource): void {
  if (writers === null) return;
  const frame = watching.frames.sizeOf(source);
  const { length } = (record as RecordedOutput).endpoints;
  for (const encoding of ENCODINGS) {
    const bytes = frame[encoding];
    if (bytes !== null) sizes[encoding] = addSize(sizes[encoding], length, bytes);
  }
}

/**
 * A list does not tell when its objects were written. A write that only takes fields away leaves its manager's time as it
 * was, so an entry that is no newer than before tells nothing. Mirrored slices may be another program's.
 */
function tellWriter({ resource, watching }: State, { record, writers, writersBefore }: Seen, atMs: number): void {
  if (writers === null || writers.lastController === null) return;
  if (resource !== 'endpoints' && resource !== 'endpointslices') return;
  if (labelsGet((record as RecordedOutput).labels, SLICE_MANAGED_BY_LABEL) === MIRROR_MANAGED_BY_VALUE) return;
  if (writers.controllersAt > (writersBefore?.controllersAt ?? 0))
    watching.encoder.wrote(resource, writers.lastController, atMs);
}

/** Returns whether there was something to tell. */
function tell({ resource, watching }: State, { record, by }: Seen, atMs: number): boolean {
  return watching.encoder.put(resource, record, by, atMs);
}

/** @param version '' = not known: a list does not tell when what it lacks went */
function forget(state: State, { record, writers }: Seen, version: string, atMs: number): void {
  const { resource, watching, seen, listed } = state;
  const key = keyOf(record);
  seen.delete(key);
  listed?.delete(key);
  const { namespace, name } = nameOf(record);
  const by: By = writers === null || writers.controllersAt === 0 ? 'other' : 'unknown';
  watching.encoder.remove(resource, namespace, name, { by, version }, atMs);
}

function nameOf(record: Seen['record']): { namespace: string; name: string } {
  return { namespace: 'namespace' in record ? record.namespace : '', name: record.name };
}

function keyOf(record: Seen['record']): string {
  const { namespace, name } = nameOf(record);
  return `${namespace}/${name}`;
}

const NO_TEXTS: readonly string[] = [];

function read({ resource, watching: { interner, names }, seen }: State, source: ObjectSource): Seen {
  switch (resource) {
    case 'pods':
      return input(projectPod(source, interner));
    case 'services':
      return input(projectService(source, interner));
    case 'nodes':
      return input(withFewLabels(projectNode(source, interner)));
    case 'endpoints':
    case 'endpointslices': {
      const { output, writers, texts } = readOutput(source, interner, names, (namespace, name) => {
        const last = seen.get(`${namespace}/${name}`);
        return last === undefined ? null : { endpoints: (last.record as RecordedOutput).endpoints, texts: last.texts };
      });
      const { resourceVersion } = output;
      return { record: output, writers, writersBefore: null, texts, resourceVersion, by: 'controller' };
    }
  }
}

function input(record: RecordOf['pods' | 'services' | 'nodes']): Seen {
  const { resourceVersion } = record;
  return { record, writers: null, writersBefore: null, texts: NO_TEXTS, resourceVersion, by: 'other' };
}

function withFewLabels(node: NodeRecord): NodeRecord {
  const pairs: [string, string][] = [];
  for (let i = 0; i < node.labels.length; i += 2) {
    if (NODE_LABELS.has(node.labels[i]!)) pairs.push([node.labels[i]!, node.labels[i + 1]!]);
  }
  return { ...node, labels: labelsFromPairs(pairs) };
}
