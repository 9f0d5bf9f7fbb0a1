/**
 * Endpoints objects and EndpointSlices as a recording keeps them. An endpoint that has the bytes that it had in the last
 * state of its object is the same object, so unchanged endpoints cost a comparison each.
 */
import { CONTROLLER_MANAGERS } from '../core/last-writer.ts';
import { decodeMessage, encodeBare, EncodeError } from '../kube/codec.ts';
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
  DecodeError,
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
import { latin1, spells } from '../lib/bytes-text.ts';
import type { Interner } from '../lib/interner.ts';
import type { Program } from '../metrics/program-of.ts';
import type { Names } from './names.ts';
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

const NO_TEXTS: readonly string[] = [];
const READY: EndpointConditions = { ready: true };
const NOT_READY: EndpointConditions = { ready: false };

const MANAGED_SLICES: ReadonlySet<string> = new Set([SLICE_MANAGED_BY_VALUE, MIRROR_MANAGED_BY_VALUE]);

/** The endpoints of an object, and the bytes of each as a Latin-1 string. */
export interface EndpointTexts {
  readonly endpoints: readonly RecordedEndpoint[];
  readonly texts: readonly string[];
}

export interface ReadOutput {
  readonly output: RecordedOutput;
  readonly writers: Writers;
  readonly texts: EndpointTexts['texts'];
}

/** The last writes by controllers and by others that managedFields tell, in seconds since the epoch; 0 = none. */
export interface Writers {
  readonly controllersAt: number;
  readonly othersAt: number;
  /** The controller that has written last; null = managedFields do not tell, or several have written in that second. */
  readonly lastController: Program | null;
}

/**
 * Who has written an object. If others have a newer entry than before, they have: controllers write all the time, and
 * entries have whole seconds.
 * @param before null = the object was not known before
 */
export function writerOf(
  before: Pick<Writers, 'othersAt'> | null,
  { controllersAt, othersAt }: Pick<Writers, 'controllersAt' | 'othersAt'>,
): By {
  if (controllersAt === 0) return 'other';
  if (before === null) return othersAt > controllersAt ? 'other' : 'controller';
  return othersAt > before.othersAt ? 'other' : 'controller';
}

/**
 * @param names of an object that cannot be read
 * @param before the endpoints of the last state of an object; null = it is not known
 * @throws DecodeError
 */
export function readOutput(
  source: ObjectSource,
  interner: Interner,
  names: Names,
  before: (namespace: string, name: string) => EndpointTexts | null,
): ReadOutput {
  const managers = fieldManagersOf(source);
  const { namespace, name, uid, resourceVersion, labels, leaderElection } = projectOutput(source, interner);
  const isEndpoints = source.kind === 'Endpoints';
  const bytes = bytesOf(source, names, namespace, name);
  const reading: Reading = { before: before(namespace, name) ?? NOTHING, next: 0, endpoints: [], texts: [] };
  const body = isEndpoints ? readEndpoints(bytes, reading) : readSlice(bytes, reading);
  const service = isEndpoints ? name : (labelsGet(labels, SERVICE_NAME_LABEL) ?? '');
  const meta = { namespace, name, uid, resourceVersion, labels, service, leaderElection };
  const output = { ...meta, ...readAnnotations(bytes), ...body, endpoints: reading.endpoints };
  return { output, writers: writersOf(managers, labels), texts: reading.texts };
}

/** @throws DecodeError that names the object by `names`, and the field without what it has */
function bytesOf(source: ObjectSource, names: Names, namespace: string, name: string): Uint8Array {
  if (source.encoding === 'protobuf') return source.bytes;
  const { kind, apiVersion } = source;
  try {
    return encodeBare({ ...source.value, kind, apiVersion });
  } catch (error) {
    if (!(error instanceof EncodeError)) throw error;
    const [word, named] =
      kind === 'Endpoints' ? ['endpoints', names.service(namespace, name)] : ['slice', names.slice(namespace, name)];
    throw new DecodeError(`${word} ${names.namespace(namespace)}/${named}: ${error.field} cannot be read`);
  }
}

/** The endpoints of an object that is being read. */
interface Reading {
  readonly before: EndpointTexts;
  /** The place in `before` behind the last endpoint that was found there. */
  next: number;
  readonly endpoints: RecordedEndpoint[];
  readonly texts: string[];
}

const NOTHING: EndpointTexts = { endpoints: [], texts: [] };

/**
 * Reads the endpoint in `bytes[start, end)`. It is taken from the last state if it is where it should be there: none has
 * moved, or one is gone.
 * @param part what is said of the endpoint by the place of its bytes
 */
function readEndpoint(
  reading: Reading,
  bytes: Uint8Array,
  start: number,
  end: number,
  part: Part,
  decode: (bytes: Uint8Array, start: number, end: number, part: Part) => RecordedEndpoint,
): void {
  const { before, next, endpoints, texts } = reading;
  for (let at = next; at <= next + 1 && at < before.texts.length; at++) {
    const text = before.texts[at]!;
    const endpoint = before.endpoints[at]!;
    if (text.length !== end - start || !isIn(endpoint, part) || !spells(text, bytes, start)) continue;
    endpoints.push(endpoint);
    texts.push(text);
    reading.next = at + 1;
    return;
  }
  endpoints.push(decode(bytes, start, end, part));
  texts.push(latin1(bytes, start, end));
}

/** In Endpoints the subset, and which of its two lists; a slice has one list, which says nothing. */
interface Part {
  readonly subset: number;
  readonly conditions: EndpointConditions | null;
}

const OF_SLICE: Part = { subset: 0, conditions: null };

function isIn(endpoint: RecordedEndpoint, { subset, conditions }: Part): boolean {
  return endpoint.subset === subset && (conditions === null || endpoint.conditions === conditions);
}

/** If the server keeps no managedFields, the controllers' label shows that they are the writers. */
function writersOf(managers: ReturnType<typeof fieldManagersOf>, labels: Labels): Writers {
  let [controllersAt, othersAt] = [0, 0];
  const isManaged = labelsGet(labels, MANAGED_BY_LABEL) === MANAGED_BY_VALUE;
  if (managers.length === 0 && (isManaged || MANAGED_SLICES.has(labelsGet(labels, SLICE_MANAGED_BY_LABEL) ?? ''))) {
    controllersAt = 1;
  }
  const last = new Set<Program>();
  for (const { manager, time } of managers) {
    if (!CONTROLLER_MANAGERS.has(manager)) {
      othersAt = Math.max(othersAt, time);
      continue;
    }
    if (time > controllersAt) last.clear();
    if (time >= controllersAt) last.add(manager === 'endpointd' ? 'endpointd' : 'kube-controller-manager');
    controllersAt = Math.max(controllersAt, time);
  }
  const [lastController] = last;
  return { controllersAt, othersAt, lastController: last.size === 1 ? lastController! : null };
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

type Body = Pick<RecordedOutput, 'addressType' | 'ports'>;

function readSlice(bytes: Uint8Array, reading: Reading): Body {
  const ports: SlicePort[] = [];
  let addressType = '';
  const reader = createReader(bytes);
  for (let tag = readTag(reader); tag !== 0; tag = readTag(reader)) {
    if (tag === SLICE_ENDPOINTS) {
      const stop = readLength(reader);
      readEndpoint(reading, bytes, reader.position, stop, OF_SLICE, sliceEndpoint);
      reader.position = stop;
    } else if (tag === SLICE_PORTS) ports.push(readPort(reader, SLICE_PORT));
    else if (tag === SLICE_ADDRESS_TYPE) addressType = readUtf8(reader);
    else skipField(reader, tag);
  }
  return { addressType, ports: [ports] };
}

function readPort(reader: ProtoReader, message: Message): SlicePort {
  const stop = readLength(reader);
  const port = decodeMessage(message, reader.bytes, reader.position, stop);
  reader.position = stop;
  return port;
}

function readEndpoints(bytes: Uint8Array, reading: Reading): Body {
  const ports: SlicePort[][] = [];
  const reader = createReader(bytes);
  for (let tag = readTag(reader); tag !== 0; tag = readTag(reader)) {
    if (tag !== ENDPOINTS_SUBSETS) {
      skipField(reader, tag);
      continue;
    }
    const ofSubset: SlicePort[] = [];
    const ready = { subset: ports.length, conditions: READY };
    const notReady = { subset: ports.length, conditions: NOT_READY };
    ports.push(ofSubset);
    inner(reader, (field) => {
      if (field === SUBSET_PORTS) {
        ofSubset.push(readPort(reader, CORE_PORT));
        return true;
      }
      if (field !== SUBSET_ADDRESSES && field !== SUBSET_NOT_READY) return false;
      const stop = readLength(reader);
      readEndpoint(
        reading,
        bytes,
        reader.position,
        stop,
        field === SUBSET_ADDRESSES ? ready : notReady,
        addressEndpoint,
      );
      reader.position = stop;
      return true;
    });
  }
  return { addressType: '', ports };
}

function addressEndpoint(
  bytes: Uint8Array,
  start: number,
  end: number,
  { subset, conditions }: Part,
): RecordedEndpoint {
  const address = decodeMessage(ENDPOINT_ADDRESS, bytes, start, end) as unknown as EndpointAddress;
  return {
    addresses: [address.ip],
    conditions: conditions!,
    hostname: address.hostname ?? '',
    nodeName: address.nodeName ?? '',
    zone: '',
    ...podOf(address.targetRef),
    forZones: NO_TEXTS,
    forNodes: NO_TEXTS,
    subset,
  };
}

function sliceEndpoint(bytes: Uint8Array, start: number, end: number): RecordedEndpoint {
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
