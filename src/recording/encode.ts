/**
 * Makes the lines of a recording. It keeps the last told state of each object, so a line has only changes. The caller
 * makes the order of a list random, because the server's order would tell something.
 */
import { labelsGet } from '../kube/labels.ts';
import { ZONE_LABEL } from '../kube/names.ts';
import { compareResourceVersions } from '../kube/resource-version.ts';
import { writeEndpoints, type Known } from './endpoint-items.ts';
import { NODES, OUTPUTS, PODS, SERVICES, type Writing } from './fields.ts';
import { RECORDING_VERSION, WORDS, type Fields, type ObjectLine } from './lines.ts';
import type { Names } from './names.ts';
import type { Program } from '../metrics/program-of.ts';
import type { By, RecordedResource, RecordingHeader, RecordOf, OutputResource } from './recording.ts';

export interface Encoder {
  /** The first line. */
  readonly header: (header: RecordingHeader) => void;
  /** Tells the state of an object, unless it was told last. Returns whether there was something to tell. */
  readonly put: <R extends RecordedResource>(resource: R, record: RecordOf[R], by: By, atMs: number) => boolean;
  /** Tells that an object is gone, if it was told. */
  readonly remove: (resource: RecordedResource, namespace: string, name: string, told: Gone, atMs: number) => boolean;
  /** Tells that a list begins. @param sinceMs how long ago the gap before it began */
  readonly listing: (resource: RecordedResource, sinceMs: number, atMs: number) => void;
  /** Tells that the list is complete. @param version the version of the list */
  readonly listed: (resource: RecordedResource, version: string, atMs: number) => void;
  /** Tells that the program has written such an output, unless it was told since the last first list. */
  readonly wrote: (resource: OutputResource, writer: Program, atMs: number) => void;
  /** Any other line. */
  readonly tell: (atMs: number, line: Fields) => void;
  /** How many objects were told and are not gone. */
  readonly count: (resource: RecordedResource) => number;
  /** Encodes all objects again and drops the lines, so that all texts in use are asked for. */
  readonly touch: () => void;
}

export interface Gone {
  readonly by: By;
  /** '' = not known. */
  readonly version: string;
}

interface Entry<R extends RecordedResource = RecordedResource> {
  readonly id: number;
  record: RecordOf[R];
}

interface Versions {
  /** That of the first list. */
  readonly first: string;
  /** The one that was told last. */
  last: string;
}

interface State {
  readonly writing: Writing;
  readonly emit: (line: string) => void;
  readonly entries: Readonly<Record<RecordedResource, Map<string, Entry>>>;
  readonly versions: Map<RecordedResource, Versions>;
  readonly known: Known;
  /** What was told of writers, `resource writer` each. */
  readonly wrote: Set<string>;
  lastId: number;
  /** The time of the last line, in tenths of a millisecond since the recording began. */
  lastAt: number;
}

/**
 * @param beganSeconds the wall clock when the recording began
 * @param emit takes a line, without its end
 */
export function createEncoder(names: Names, beganSeconds: number, emit: (line: string) => void): Encoder {
  const entries = {
    pods: new Map<string, Entry>(),
    services: new Map<string, Entry>(),
    nodes: new Map<string, Entry>(),
    endpoints: new Map<string, Entry>(),
    endpointslices: new Map<string, Entry>(),
  };
  const known: Known = {
    podNamed: (namespace, name) => entries.pods.get(`${namespace}/${name}`) as Entry<'pods'> | undefined,
    podOf: () => undefined,
    zoneOf: (node) => zoneOf((entries.nodes.get(`/${node}`) as Entry<'nodes'> | undefined)?.record),
  };
  const state: State = {
    writing: { names, beganSeconds },
    emit,
    entries,
    versions: new Map(),
    known,
    wrote: new Set(),
    lastId: 0,
    lastAt: 0,
  };
  return {
    header({ program, names: kind }) {
      emit(JSON.stringify({ recording: 'endpointd', version: RECORDING_VERSION, program, names: kind }));
    },
    put: (resource, record, by, atMs) => put(state, resource, record, by, atMs),
    remove: (resource, namespace, name, told, atMs) => remove(state, resource, `${namespace}/${name}`, told, atMs),
    listing: (resource, sinceMs, atMs) => tell(state, atMs, { listing: resource, since: Math.round(sinceMs * 10) }),
    listed(resource, version, atMs) {
      if (!state.versions.has(resource)) {
        state.versions.set(resource, { first: version, last: version });
        // The recording may begin here, and what came before is no part of it.
        state.wrote.clear();
      }
      tell(state, atMs, { listed: resource });
    },
    wrote(resource, writer, atMs) {
      const key = `${resource} ${writer}`;
      if (state.wrote.has(key)) return;
      state.wrote.add(key);
      tell(state, atMs, { wrote: writer, what: resource });
    },
    tell: (atMs, line) => tell(state, atMs, line),
    count: (resource) => entries[resource].size,
    touch() {
      for (const [resource, all] of Object.entries(entries)) {
        for (const { record } of all.values()) write(state, resource as RecordedResource, null, record);
      }
    },
  };
}

export function zoneOf(node: RecordOf['nodes'] | undefined): string {
  return node === undefined ? '' : (labelsGet(node.labels, ZONE_LABEL) ?? '');
}

function put<R extends RecordedResource>(
  state: State,
  resource: R,
  record: RecordOf[R],
  by: By,
  atMs: number,
): boolean {
  const entries = state.entries[resource];
  const key = keyOf(record);
  let entry = entries.get(key);
  // The uid is another one: the end of the object before was not seen.
  if (entry !== undefined && entry.record.uid !== record.uid) {
    remove(state, resource, key, { by: resource.startsWith('endpoint') ? 'unknown' : 'other', version: '' }, atMs);
    entry = undefined;
  }
  const fields = write(state, resource, entry?.record ?? null, record);
  if (entry === undefined) {
    entry = { id: ++state.lastId, record };
    entries.set(key, entry);
    emitObject(state, resource, entry.id, atMs, { by, version: record.resourceVersion }, { new: fields ?? {} });
    return true;
  }
  entry.record = record;
  if (fields === null) return false;
  emitObject(state, resource, entry.id, atMs, { by, version: record.resourceVersion }, { set: fields });
  return true;
}

function remove(state: State, resource: RecordedResource, key: string, told: Gone, atMs: number): boolean {
  const entry = state.entries[resource].get(key);
  if (entry === undefined) return false;
  state.entries[resource].delete(key);
  emitObject(state, resource, entry.id, atMs, told, { gone: true });
  return true;
}

export function keyOf(record: { readonly namespace?: string; readonly name: string }): string {
  return `${record.namespace ?? ''}/${record.name}`;
}

function write(
  { writing, known }: State,
  resource: RecordedResource,
  before: RecordOf[RecordedResource] | null,
  after: RecordOf[RecordedResource],
): Fields | null {
  switch (resource) {
    case 'pods':
      return PODS.write(before as RecordOf['pods'] | null, after as RecordOf['pods'], writing);
    case 'services':
      return SERVICES.write(before as RecordOf['services'] | null, after as RecordOf['services'], writing);
    case 'nodes':
      return NODES.write(before as RecordOf['nodes'] | null, after as RecordOf['nodes'], writing);
    case 'endpoints':
    case 'endpointslices': {
      const old = before as RecordOf['endpoints'] | null;
      const output = after as RecordOf['endpoints'];
      const fields = OUTPUTS.write(old, output, writing);
      const endpoints = writeEndpoints(old, output, known, writing.names);
      return endpoints === null ? fields : { ...fields, endpoints };
    }
  }
}

function emitObject(
  state: State,
  resource: RecordedResource,
  id: number,
  atMs: number,
  { by, version }: Gone,
  what: Pick<ObjectLine, 'new' | 'set' | 'gone'>,
): void {
  const isOutput = resource === 'endpoints' || resource === 'endpointslices';
  const line: Record<string, unknown> & ObjectLine = {
    [WORDS[resource]]: id,
    t: timeOf(state, atMs),
    v: versionOf(state, resource, version),
    by: isOutput && by !== 'controller' ? by : undefined,
    ...what,
  };
  state.emit(JSON.stringify(line));
}

function tell(state: State, atMs: number, line: Fields): void {
  state.emit(JSON.stringify({ t: timeOf(state, atMs), ...line }));
}

function timeOf(state: State, atMs: number): number {
  const at = Math.max(state.lastAt, Math.round(atMs * 10));
  const since = at - state.lastAt;
  state.lastAt = at;
  return since;
}

const DECIMAL = /^\d{1,30}$/;
/** Every number of so many digits is a safe integer. */
const SAFE_DIGITS = 15;

/**
 * The version, but not one of before the end of the first list: it would tell how long ago the object was written. Lists
 * after that may tell such objects, where etcd was restored from a backup.
 */
function versionOf({ versions }: State, resource: RecordedResource, version: string): number | undefined {
  const of = versions.get(resource);
  if (of === undefined || !DECIMAL.test(version) || !DECIMAL.test(of.last)) return undefined;
  if (compareResourceVersions(version, of.first) < 0) return undefined;
  const { last } = of;
  of.last = version;
  const areSafe = version.length <= SAFE_DIGITS && last.length <= SAFE_DIGITS;
  return areSafe ? Number(version) - Number(last) : Number(BigInt(version) - BigInt(last));
}
