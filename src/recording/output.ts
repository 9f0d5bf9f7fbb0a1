/**
 * Endpoints objects and EndpointSlices as a recording keeps them. An endpoint with the same bytes as an earlier one is
 * the same object, so unchanged endpoints cost a hash each.
 */
import { CONTROLLER_MANAGERS } from '../core/last-writer.ts';
import { decodeMessage, encodeBare } from '../kube/codec.ts';
import { labelsGet } from '../kube/labels.ts';
import { fieldManagersOf } from '../kube/managed-fields.ts';
import {
  MANAGED_BY_LABEL,
  MANAGED_BY_VALUE,
  MIRROR_MANAGED_BY_VALUE,
  OVER_CAPACITY_ANNOTATION,
  SERVICE_NAME_LABEL,
  SLICE_MANAGED_BY_LABEL,
  SLICE_MANAGED_BY_VALUE,
  TRIGGER_TIME_ANNOTATION,
} from '../kube/names.ts';
import { projectOutput } from '../kube/project.ts';
import {
  createReader,
  rangeSpells,
  readLength,
  readTag,
  readUtf8,
  skipField,
  type ProtoReader,
} from '../kube/protobuf.ts';
import { messageNamed, type Message } from '../kube/schema.ts';
import type { ObjectSource } from '../kube/source.ts';
import { tagOf } from '../kube/tags.ts';
import { parseMicroTime } from '../kube/time.ts';
import type {
  Endpoint,
  EndpointAddress,
  EndpointConditions,
  Labels,
  ObjectReference,
  SlicePort,
} from '../kube/types.ts';
import { createInterner, internSpan, type Interner } from '../lib/interner.ts';
import type { By, RecordedEndpoint, RecordedOutput } from './recording.ts';

/** The field number, which is the same in every object. */
const OBJECT_METADATA = tagOf('PartialObjectMetadata', 'metadata');
const META_ANNOTATIONS = tagOf('ObjectMeta', 'annotations');
const ENTRY_KEY = tagOf('MapEntry', 'key');
const ENTRY_VALUE = tagOf('MapEntry', 'value');
const ENDPOINTS_SUBSETS = tagOf('Endpoints', 'subsets');
const SUBSET_ADDRESSES = tagOf('EndpointSubset', 'addresses');
const SUBSET_NOT_READY = tagOf('EndpointSubset', 'notReadyAddresses');
const SUBSET_PORTS = tagOf('EndpointSubset', 'ports');
const SLICE_ADDRESS_TYPE = tagOf('EndpointSlice', 'addressType');
const SLICE_ENDPOINTS = tagOf('EndpointSlice', 'endpoints');
const SLICE_PORTS = tagOf('EndpointSlice', 'ports');

const ENDPOINT = messageNamed('Endpoint');
const ENDPOINT_ADDRESS = messageNamed('EndpointAddress');
const SLICE_PORT = messageNamed('DiscoveryEndpointPort');
const CORE_PORT = messageNamed('CoreEndpointPort');

/** The kinds of texts in the interner's table. Kinds of addresses follow this one, two for each subset. */
const SPAN_ENDPOINT = 0;
const SPAN_ADDRESS = 1;

const NO_ENDPOINTS: readonly RecordedEndpoint[] = [];
const NO_TEXTS: readonly string[] = [];
const READY: EndpointConditions = { ready: true };
const NOT_READY: EndpointConditions = { ready: false };

const MANAGED_SLICES: ReadonlySet<string> = new Set([SLICE_MANAGED_BY_VALUE, MIRROR_MANAGED_BY_VALUE]);

export interface OutputReader {
  /** @throws DecodeError */
  readonly read: (source: ObjectSource) => ReadOutput;
}

export interface ReadOutput {
  readonly output: RecordedOutput;
  readonly writers: Writers;
}

/** The last writes by controllers and by others that managedFields tell, in seconds since the epoch; 0 = none. */
export interface Writers {
  readonly controllersAt: number;
  readonly othersAt: number;
}

/**
 * Who has written an object. If others have a newer entry than before, they have: controllers write all the time, and
 * entries have whole seconds.
 * @param before null = the object was not known before
 */
export function writerOf(before: Writers | null, { controllersAt, othersAt }: Writers): By {
  if (controllersAt === 0) return 'other';
  if (before === null) return othersAt > controllersAt ? 'other' : 'controller';
  return othersAt > before.othersAt ? 'other' : 'controller';
}

/**
 * @param slots the size of the table of endpoints: a power of two above the number of endpoints, so that few collide
 */
export function createOutputReader(slots = 2 ** 17): OutputReader {
  const strings = createInterner();
  const endpoints = createInterner(slots);
  return {
    read(source) {
      const { kind, apiVersion } = source;
      const isJson = source.encoding === 'json';
      const bytes = isJson ? encodeBare({ ...source.value, kind, apiVersion }) : source.bytes;
      const managers = fieldManagersOf(source);
      const { namespace, name, uid, resourceVersion, labels, leaderElection } = projectOutput(
        { encoding: 'protobuf', kind, apiVersion, bytes },
        strings,
      );
      const body = kind === 'Endpoints' ? readEndpoints(bytes, endpoints) : readSlice(bytes, endpoints);
      const service = kind === 'Endpoints' ? name : (labelsGet(labels, SERVICE_NAME_LABEL) ?? '');
      const meta = { namespace, name, uid, resourceVersion, labels, service, leaderElection };
      return { output: { ...meta, ...readAnnotations(bytes), ...body }, writers: writersOf(managers, labels) };
    },
  };
}

/** If the server keeps no managedFields, the controllers' label shows that they are the writers. */
function writersOf(managers: ReturnType<typeof fieldManagersOf>, labels: Labels): Writers {
  const writers = { controllersAt: 0, othersAt: 0 };
  const isManaged = labelsGet(labels, MANAGED_BY_LABEL) === MANAGED_BY_VALUE;
  if (managers.length === 0 && (isManaged || MANAGED_SLICES.has(labelsGet(labels, SLICE_MANAGED_BY_LABEL) ?? ''))) {
    writers.controllersAt = 1;
  }
  for (const { manager, time } of managers) {
    const who = CONTROLLER_MANAGERS.has(manager) ? 'controllersAt' : 'othersAt';
    writers[who] = Math.max(writers[who], time);
  }
  return writers;
}

type Annotations = Pick<RecordedOutput, 'triggerMs' | 'overCapacity'>;

/** Reads our own annotations and skips others' values. */
function readAnnotations(bytes: Uint8Array): Annotations {
  const found = { triggerMs: 0, overCapacity: false };
  const reader = createReader(bytes);
  for (let tag = readTag(reader); tag !== 0; tag = readTag(reader)) {
    if (tag !== OBJECT_METADATA) {
      skipField(reader, tag);
      continue;
    }
    inner(reader, (metaTag) => {
      if (metaTag !== META_ANNOTATIONS) return false;
      let key = '';
      inner(reader, (entryTag) => {
        if (entryTag === ENTRY_KEY) {
          key = knownKey(reader);
          return true;
        }
        if (entryTag !== ENTRY_VALUE || key === '') return false;
        const value = readUtf8(reader);
        if (key === OVER_CAPACITY_ANNOTATION) found.overCapacity = true;
        else found.triggerMs = parseMs(value);
        return true;
      });
      return true;
    });
  }
  return found;
}

function knownKey(reader: ProtoReader): string {
  const stop = readLength(reader);
  const { bytes, position } = reader;
  reader.position = stop;
  return (
    [TRIGGER_TIME_ANNOTATION, OVER_CAPACITY_ANNOTATION].find((key) => rangeSpells(bytes, position, stop, key)) ?? ''
  );
}

function parseMs(text: string): number {
  const time = parseMicroTime(text);
  return time === null ? 0 : time.seconds * 1000 + Math.floor(time.nanos / 1e6);
}

/** Reads the message that begins here. @param take reads a field and returns true; false = the field is skipped */
function inner(reader: ProtoReader, take: (tag: number) => boolean): void {
  const outer = reader.end;
  reader.end = readLength(reader);
  for (let tag = readTag(reader); tag !== 0; tag = readTag(reader)) if (!take(tag)) skipField(reader, tag);
  reader.end = outer;
}

type Body = Pick<RecordedOutput, 'addressType' | 'ports' | 'endpoints'>;

function readSlice(bytes: Uint8Array, interner: Interner): Body {
  const endpoints: RecordedEndpoint[] = [];
  const ports: SlicePort[] = [];
  let addressType = '';
  const reader = createReader(bytes);
  for (let tag = readTag(reader); tag !== 0; tag = readTag(reader)) {
    if (tag === SLICE_ENDPOINTS) {
      const stop = readLength(reader);
      endpoints.push(internSpan(interner, SPAN_ENDPOINT, bytes, reader.position, stop, readSliceEndpoint));
      reader.position = stop;
    } else if (tag === SLICE_PORTS) ports.push(readPort(reader, SLICE_PORT));
    else if (tag === SLICE_ADDRESS_TYPE) addressType = readUtf8(reader);
    else skipField(reader, tag);
  }
  return { addressType, ports: [ports], endpoints: endpoints.length === 0 ? NO_ENDPOINTS : endpoints };
}

function readPort(reader: ProtoReader, message: Message): SlicePort {
  const stop = readLength(reader);
  const port = decodeMessage(message, reader.bytes, reader.position, stop);
  reader.position = stop;
  return port;
}

function readEndpoints(bytes: Uint8Array, interner: Interner): Body {
  const endpoints: RecordedEndpoint[] = [];
  const ports: SlicePort[][] = [];
  const reader = createReader(bytes);
  for (let tag = readTag(reader); tag !== 0; tag = readTag(reader)) {
    if (tag !== ENDPOINTS_SUBSETS) {
      skipField(reader, tag);
      continue;
    }
    const subset = ports.length;
    const ofSubset: SlicePort[] = [];
    ports.push(ofSubset);
    inner(reader, (field) => {
      if (field === SUBSET_PORTS) {
        ofSubset.push(readPort(reader, CORE_PORT));
        return true;
      }
      if (field !== SUBSET_ADDRESSES && field !== SUBSET_NOT_READY) return false;
      const isReady = field === SUBSET_ADDRESSES;
      const stop = readLength(reader);
      const span = SPAN_ADDRESS + 2 * subset + (isReady ? 0 : 1);
      endpoints.push(
        internSpan(interner, span, bytes, reader.position, stop, (_interner, from, start, end) =>
          readAddress(from, start, end, isReady, subset),
        ),
      );
      reader.position = stop;
      return true;
    });
  }
  return { addressType: '', ports, endpoints: endpoints.length === 0 ? NO_ENDPOINTS : endpoints };
}

function readAddress(
  bytes: Uint8Array,
  start: number,
  end: number,
  isReady: boolean,
  subset: number,
): RecordedEndpoint {
  const address = decodeMessage(ENDPOINT_ADDRESS, bytes, start, end) as unknown as EndpointAddress;
  return {
    addresses: [address.ip],
    conditions: isReady ? READY : NOT_READY,
    hostname: address.hostname ?? '',
    nodeName: address.nodeName ?? '',
    zone: '',
    ...podOf(address.targetRef),
    forZones: NO_TEXTS,
    forNodes: NO_TEXTS,
    subset,
  };
}

function readSliceEndpoint(_interner: Interner, bytes: Uint8Array, start: number, end: number): RecordedEndpoint {
  const endpoint = decodeMessage(ENDPOINT, bytes, start, end) as unknown as Endpoint;
  const { hints } = endpoint;
  return {
    addresses: endpoint.addresses ?? NO_TEXTS,
    conditions: endpoint.conditions ?? {},
    hostname: endpoint.hostname ?? '',
    nodeName: endpoint.nodeName ?? '',
    zone: endpoint.zone ?? '',
    ...podOf(endpoint.targetRef),
    forZones: hints?.forZones?.map(({ name }) => name) ?? NO_TEXTS,
    forNodes: hints?.forNodes?.map(({ name }) => name) ?? NO_TEXTS,
    subset: 0,
  };
}

function podOf(reference: ObjectReference | undefined): { pod: string; podUid: string } {
  if (reference?.kind !== 'Pod') return { pod: '', podUid: '' };
  return { pod: reference.name ?? '', podUid: reference.uid ?? '' };
}
