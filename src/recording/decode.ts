/** Makes events from the lines of a recording. */
import type { PodRecord } from '../kube/types.ts';
import type { Program } from '../metrics/program-of.ts';
import { hasBegun } from './begun.ts';
import { keyOf, zoneOf } from './encode.ts';
import { readEndpoints, type Known } from './endpoint-items.ts';
import { LineError, NODES, OUTPUTS, PODS, readCount, readFields, readNumber, readText, SERVICES } from './fields.ts';
import { RECORDING_VERSION, WORDS, type Fields } from './lines.ts';
import type {
  By,
  Change,
  RecordedEndpoint,
  RecordedEvent,
  RecordedOutput,
  RecordedResource,
  RecordingHeader,
  RecordOf,
  Told,
} from './recording.ts';
import { NO_SUMS, type OutputSizes, type SizeSums } from './sizes.ts';

export interface Decoder {
  /** Said at the begin of each frame. */
  readonly frame: () => void;
  /** The event of a line; null = the line is a mark between events. @throws LineError */
  readonly next: (line: string) => RecordedEvent | null;
}

interface Entry {
  readonly resource: RecordedResource;
  readonly record: RecordOf[RecordedResource];
}

interface State {
  readonly entries: Map<number, Entry>;
  readonly objectsMax: number;
  /** The names of the objects that are there, by resource. */
  readonly names: Readonly<Record<RecordedResource, Set<string>>>;
  /** Zones by node. */
  readonly zones: Map<string, string>;
  readonly known: Known;
  readonly versions: Map<RecordedResource, number>;
  /** Resources whose first list is whole. */
  readonly listed: Set<RecordedResource>;
  /** Those that the server refuses, and has never let the recorder list. */
  readonly refused: Set<RecordedResource>;
  /** The list that is being told. */
  listing: { readonly resource: RecordedResource; readonly sinceMs: number } | null;
  /** The time in tenths of a millisecond. */
  at: number;
  /** How many endpoints the outputs have that the frame has told so far. */
  endpoints: number;
}

const RESOURCES = new Map(
  Object.entries(WORDS).map(([resource, word]) => [word as string, resource as RecordedResource]),
);
const NO_ENDPOINTS: readonly RecordedEndpoint[] = [];
/** 366 days. Readers cut the time into parts of seconds, so a longer one would keep them busy without end. */
const TENTHS_MAX = 366 * 24 * 3600 * 10_000;
/** Of one resource in a line. These lines come every two seconds, in which no recorder takes in as many events. */
const IRRELEVANT_MAX = 100_000;
/**
 * Of all outputs that a frame tells. A line of a few bytes may tell of an object with many endpoints, each of which costs
 * its readers time. A recorder's frame has 256 KiB, so fewer than 10,000 lines, and slices and the controllers' Endpoints
 * have up to 1,000 endpoints.
 */
const FRAME_ENDPOINTS_MAX = 10_000_000;

/** At a time. No API server has as many, and each takes memory. */
const OBJECTS_MAX = 3_000_000;

/** @throws LineError if the line is no header, or one of a newer program */
export function readHeader(text: string): RecordingHeader {
  const line = parse(text);
  if (line['recording'] !== 'endpointd') throw new LineError('this is no recording of endpointd');
  checkVersion(readNumber(line['version']));
  const names = line['names'] === 'plain' ? 'plain' : 'pseudonyms';
  return { program: readText(line['program']), names };
}

/** @throws LineError */
export function checkVersion(version: number): void {
  if (version <= RECORDING_VERSION) return;
  throw new LineError(
    `it has version ${version} of the format, and this program knows those up to ${RECORDING_VERSION}: a newer endpointd reads it`,
  );
}

export function createDecoder(objectsMax = OBJECTS_MAX): Decoder {
  const entries = new Map<number, Entry>();
  const zones = new Map<string, string>();
  const state: State = {
    entries,
    objectsMax,
    names: {
      pods: new Set(),
      services: new Set(),
      nodes: new Set(),
      endpoints: new Set(),
      endpointslices: new Set(),
    },
    zones,
    known: {
      podNamed: () => undefined,
      podOf(id) {
        const entry = entries.get(id);
        return entry?.resource === 'pods' ? (entry.record as PodRecord) : undefined;
      },
      zoneOf: (node) => zones.get(node) ?? '',
    },
    versions: new Map(),
    listed: new Set(),
    refused: new Set(),
    listing: null,
    at: 0,
    endpoints: 0,
  };
  return {
    frame() {
      state.endpoints = 0;
    },
    next: (text) => take(state, parse(text)),
  };
}

function parse(text: string): Fields {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new LineError('a line is no JSON');
  }
  return readFields(json);
}

function take(state: State, line: Fields): RecordedEvent | null {
  const since = readNumber(line['t']);
  if (since < 0) throw new LineError('time went back');
  if (state.at + since > TENTHS_MAX) throw new LineError('more than 366 days');
  state.at += since;
  const atMs = state.at / 10;
  for (const word in line) {
    const resource = RESOURCES.get(word);
    if (resource !== undefined) return changeOf(state, resource, readNumber(line[word]), line, atMs);
  }
  const sinceOf = (): number => (state.at - readNumber(line['since'])) / 10;
  if (line['listing'] !== undefined) {
    state.listing = { resource: resourceOf(line['listing']), sinceMs: sinceOf() };
    return null;
  }
  if (line['listed'] !== undefined) return listedOf(state, resourceOf(line['listed']), atMs);
  if (line['lost'] !== undefined) return { type: 'lost', atMs, resource: resourceOf(line['lost']), sinceMs: sinceOf() };
  if (line['rewatched'] !== undefined) return { type: 'rewatched', atMs, resource: resourceOf(line['rewatched']) };
  if (line['refused'] !== undefined) {
    const resource = resourceOf(line['refused']);
    if (!state.listed.has(resource)) state.refused.add(resource);
    return { type: 'refused', atMs, resource };
  }
  if (line['irrelevant'] !== undefined) {
    const counts = Object.entries(readFields(line['irrelevant'])).map(([name, count]) => [
      resourceOf(name),
      readCount(count, IRRELEVANT_MAX),
    ]);
    return {
      type: 'irrelevant',
      atMs,
      counts: Object.fromEntries(counts) as Partial<Record<RecordedResource, number>>,
    };
  }
  if (line['sizes'] !== undefined) return { type: 'sizes', atMs, sizes: sizesOf(readFields(line['sizes'])) };
  if (line['wrote'] !== undefined) {
    const resource = resourceOf(line['what']);
    if (resource !== 'endpoints' && resource !== 'endpointslices') throw new LineError('a controller writes outputs');
    return { type: 'wrote', atMs, resource, writer: writerNamed(line['wrote']) };
  }
  if (line['end'] !== undefined) return { type: 'end', atMs };
  throw new LineError('a line tells nothing that is known');
}

function sizesOf(line: Fields): OutputSizes {
  const sumsOf = (json: unknown): SizeSums => {
    if (!Array.isArray(json) || json.length !== NO_SUMS.length) throw new LineError('sums of sizes are not whole');
    return json.map(readNumber) as unknown as SizeSums;
  };
  const of = (resource: keyof OutputSizes): OutputSizes['endpoints'] => {
    const sums = readFields(line[resource]);
    return { protobuf: sumsOf(sums['protobuf']), json: sumsOf(sums['json']) };
  };
  return { endpoints: of('endpoints'), endpointslices: of('endpointslices') };
}

function writerNamed(json: unknown): Program {
  const name = readText(json);
  if (name !== 'endpointd' && name !== 'kube-controller-manager') throw new LineError('an unknown controller');
  return name;
}

function resourceOf(json: unknown): RecordedResource {
  const name = readText(json);
  if (!Object.hasOwn(WORDS, name)) throw new LineError('an unknown resource');
  return name as RecordedResource;
}

function listedOf(state: State, resource: RecordedResource, atMs: number): RecordedEvent {
  const told = state.listed.has(resource) ? 'list' : hasBegun(state) ? 'late' : 'start';
  const sinceMs = told === 'list' && state.listing !== null ? state.listing.sinceMs : atMs;
  state.listed.add(resource);
  state.refused.delete(resource);
  state.versions.set(resource, state.versions.get(resource) ?? 0);
  state.listing = null;
  return { type: 'listed', atMs, resource, told, sinceMs };
}

/** What a line tells of an object. */
const LIVES = ['new', 'set', 'gone'] as const;

function changeOf(state: State, resource: RecordedResource, id: number, line: Fields, atMs: number): Change {
  const entry = state.entries.get(id);
  if (LIVES.filter((life) => line[life] !== undefined).length !== 1) {
    throw new LineError(`${WORDS[resource]} ${id} needs one of ${LIVES.join(', ')}`);
  }
  if (line['new'] === undefined ? entry?.resource !== resource : entry !== undefined) {
    throw new LineError(`${WORDS[resource]} ${id} is ${entry === undefined ? 'not there' : 'there already'}`);
  }
  const before = entry?.record ?? null;
  const fields = line['new'] ?? line['set'];
  const after = line['gone'] !== undefined ? null : read(state, resource, before, readFields(fields));
  noteName(state, resource, before, after);
  noteEndpoints(state, (after ?? before)!);
  if (after === null) state.entries.delete(id);
  else state.entries.set(id, { resource, record: after });
  if (state.entries.size > state.objectsMax) throw new LineError('too many objects');
  if (resource === 'nodes') noteZone(state, before as RecordOf['nodes'] | null, after as RecordOf['nodes'] | null);
  const change = {
    type: 'change',
    resource,
    atMs,
    told: toldOf(state, resource),
    by: byOf(resource, line['by']),
    id,
    version: versionOf(state, resource, line['v']),
    before,
    after,
  };
  return change as Change;
}

/** An object keeps its name, and no other one has it meanwhile: whoever counts objects knows them by their names. */
function noteName(
  state: State,
  resource: RecordedResource,
  before: Entry['record'] | null,
  after: Entry['record'] | null,
): void {
  const names = state.names[resource];
  const was = before === null ? null : keyOf(before);
  const is = after === null ? null : keyOf(after);
  if (was === is) return;
  if (was !== null && is !== null) throw new LineError('an object has got another name');
  if (is !== null && names.has(is)) throw new LineError('two objects have one name');
  if (is !== null) names.add(is);
  if (was !== null) names.delete(was);
}

function noteEndpoints(state: State, record: Entry['record']): void {
  if (!('endpoints' in record)) return;
  state.endpoints += record.endpoints.length;
  if (state.endpoints > FRAME_ENDPOINTS_MAX) throw new LineError('a frame tells too many endpoints');
}

function toldOf({ listed, listing }: State, resource: RecordedResource): Told {
  if (!listed.has(resource)) return 'start';
  return listing?.resource === resource ? 'list' : 'watch';
}

function byOf(resource: RecordedResource, json: unknown): By {
  if (resource !== 'endpoints' && resource !== 'endpointslices') return 'other';
  return json === 'other' || json === 'unknown' ? json : 'controller';
}

function versionOf({ versions }: State, resource: RecordedResource, json: unknown): number {
  if (json === undefined) return Number.NaN;
  const version = (versions.get(resource) ?? 0) + readNumber(json);
  versions.set(resource, version);
  return version;
}

function noteZone({ zones }: State, before: RecordOf['nodes'] | null, after: RecordOf['nodes'] | null): void {
  if (before !== null) zones.delete(before.name);
  if (after !== null) zones.set(after.name, zoneOf(after));
}

function read(
  { known }: State,
  resource: RecordedResource,
  before: RecordOf[RecordedResource] | null,
  fields: Fields,
): RecordOf[RecordedResource] {
  switch (resource) {
    case 'pods':
      return PODS.read(before as RecordOf['pods'] | null, fields);
    case 'services':
      return SERVICES.read(before as RecordOf['services'] | null, fields);
    case 'nodes':
      return NODES.read(before as RecordOf['nodes'] | null, fields);
    case 'endpoints':
    case 'endpointslices': {
      const old = before as RecordedOutput | null;
      const meta = OUTPUTS.read(old, fields);
      const { endpoints = NO_ENDPOINTS } = old ?? {};
      const json = fields['endpoints'];
      return { ...meta, endpoints: json === undefined ? endpoints : readEndpoints(endpoints, meta, json, known) };
    }
  }
}
