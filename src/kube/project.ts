/**
 * Inputs as records: only the fields that planning reads, the others skipped by their length. Strings and label sets
 * that many objects share come out of the interner. The JSON side is in `project-json.ts`; both give equal records.
 */
import { latin1 } from '../lib/bytes-text.ts';
import { createInterner, internLatin1, internSpan, type Interner } from '../lib/interner.ts';
import { readIntOrStringBody, readTimeSeconds } from './codec.ts';
import { EMPTY_LABELS, labelsFromPairs } from './labels.ts';
import { LEADER_ANNOTATION, SERVICE_ANNOTATIONS, KUBELET_END } from './names.ts';
import { nodeFromJson, outputFromJson, podFromJson, serviceFromJson } from './project-json.ts';
import {
  createReader,
  DecodeError,
  rangeSpells,
  readBool,
  readInt32,
  readLatin1,
  readLength,
  readTag,
  readUtf8,
  skipField,
  WIRE_BYTES,
  WIRE_VARINT,
  type ProtoReader,
} from './protobuf.ts';
import { emptyNode, emptyOutput, emptyPod, emptyService, type Draft } from './record.ts';
import type { ObjectSource } from './source.ts';
import type {
  ContainerPort,
  Labels,
  NodeRecord,
  OutputRecord,
  PodRecord,
  ServicePort,
  ServiceRecord,
} from './types.ts';

/**
 * @param kubeletEnds a pod that its kubelet is ending counts as deleting, too (D30)
 * @throws DecodeError that names what could be read of the pod
 */
export function projectPod(source: ObjectSource, interner: Interner, kubeletEnds = false): PodRecord {
  const pod = emptyPod();
  try {
    if (source.encoding === 'json') podFromJson(source.value, interner, pod, kubeletEnds);
    else readPod(createReader(source.bytes), interner, pod, kubeletEnds);
  } catch (error) {
    throw named(error, 'pod', pod);
  }
  return pod;
}

/** @throws DecodeError that names what could be read of the service */
export function projectService(source: ObjectSource, interner: Interner): ServiceRecord {
  const service = emptyService();
  try {
    if (source.encoding === 'json') serviceFromJson(source.value, interner, service);
    else readService(createReader(source.bytes), interner, service);
  } catch (error) {
    throw named(error, 'service', service);
  }
  return service;
}

/** @throws DecodeError that names what could be read of the node */
export function projectNode(source: ObjectSource, interner: Interner): NodeRecord {
  const node = emptyNode();
  try {
    if (source.encoding === 'json') nodeFromJson(source.value, interner, node);
    else readNode(createReader(source.bytes), interner, node);
  } catch (error) {
    throw named(error, 'node', { namespace: '', name: node.name });
  }
  return node;
}

/**
 * For Endpoints and EndpointSlices: the content stays unread. @throws DecodeError that names what could be read of it
 */
export function projectOutput(source: ObjectSource, interner: Interner = createInterner(1)): OutputRecord {
  const output = emptyOutput();
  try {
    if (source.encoding === 'json') outputFromJson(source.value, interner, output);
    else readOutput(createReader(source.bytes), interner, output);
  } catch (error) {
    throw named(error, source.kind.toLowerCase(), output);
  }
  return output;
}

function named(error: unknown, kind: string, object: { namespace: string; name: string }): unknown {
  if (!(error instanceof DecodeError)) return error;
  const key = object.namespace === '' ? object.name : `${object.namespace}/${object.name}`;
  return new DecodeError(`${kind} ${key === '' ? '(no name read)' : key}: ${error.message}`);
}

/** Tags: number and wire type of a field, as they stand on the wire. */
const F1 = (1 << 3) | WIRE_BYTES;
const F2 = (2 << 3) | WIRE_BYTES;
const F3 = (3 << 3) | WIRE_BYTES;
const F4 = (4 << 3) | WIRE_BYTES;
const F5 = (5 << 3) | WIRE_BYTES;
const F6 = (6 << 3) | WIRE_BYTES;
const F8 = (8 << 3) | WIRE_BYTES;
const F9 = (9 << 3) | WIRE_BYTES;
const F10 = (10 << 3) | WIRE_BYTES;
const F11 = (11 << 3) | WIRE_BYTES;
const F12 = (12 << 3) | WIRE_BYTES;
const F16 = (16 << 3) | WIRE_BYTES;
const F17 = (17 << 3) | WIRE_BYTES;
const F19 = (19 << 3) | WIRE_BYTES;
const F20 = (20 << 3) | WIRE_BYTES;
const F23 = (23 << 3) | WIRE_BYTES;
const F24 = (24 << 3) | WIRE_BYTES;
const V3 = (3 << 3) | WIRE_VARINT;
const V13 = (13 << 3) | WIRE_VARINT;

/** Readings that share the interner's table of values. */
const SPAN_LABELS = 1;
const SPAN_PORTS = 2;
const SPAN_SERVICE_PORTS = 3;

/** The fields of ObjectMeta that every record has. False = `tag` is another field, still unread. */
function readCommonMeta(
  tag: number,
  reader: ProtoReader,
  interner: Interner,
  record: { name: string; uid: string; resourceVersion: string; labels: Labels },
): boolean {
  switch (tag) {
    case F1: {
      record.name = readLatin1(reader);
      return true;
    }
    case F5: {
      record.uid = readLatin1(reader);
      return true;
    }
    case F6: {
      record.resourceVersion = readLatin1(reader);
      return true;
    }
    case F11: {
      record.labels = readLabelRun(reader, interner, F11, record.labels);
      return true;
    }
    default: {
      return false;
    }
  }
}

/**
 * Skips the entries of a repeated field that stand in a row, the first one's one-byte tag just read, and returns where
 * they start. Their bytes are the key under which equal lists are found, so that most are neither parsed nor kept
 * twice.
 */
function skipRun(reader: ProtoReader, tag: number): number {
  const start = reader.position - 1;
  reader.position = readLength(reader);
  while (reader.position < reader.end && reader.bytes[reader.position] === tag) {
    reader.position++;
    reader.position = readLength(reader);
  }
  return start;
}

function readLabelRun(reader: ProtoReader, interner: Interner, tag: number, before: Labels): Labels {
  const start = skipRun(reader, tag);
  const labels = internSpan(interner, SPAN_LABELS, reader.bytes, start, reader.position, parseLabels);
  return before.length === 0 ? labels : labelsFromPairs([...pairsOf(before), ...pairsOf(labels)]);
}

function pairsOf(labels: Labels): [string, string][] {
  const pairs: [string, string][] = [];
  for (let i = 0; i < labels.length; i += 2) pairs.push([labels[i]!, labels[i + 1]!]);
  return pairs;
}

function parseLabels(interner: Interner, bytes: Uint8Array, start: number, end: number): Labels {
  const reader = createReader(bytes, start, end);
  const labels: string[] = [];
  let ascending = true;
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) break;
    reader.end = readLength(reader);
    let key = '';
    let value = '';
    for (;;) {
      const inner = readTag(reader);
      if (inner === 0) break;
      if (inner === F1) key = readInterned(reader, interner);
      else if (inner === F2) value = readInterned(reader, interner);
      else skipField(reader, inner);
    }
    reader.end = end;
    if (labels.length > 0 && labels[labels.length - 2]! >= key) ascending = false;
    labels.push(key, value);
  }
  // A grown array has spare room; a copy has not.
  return ascending ? labels.slice() : labelsFromPairs(pairsOf(labels));
}

function readInterned(reader: ProtoReader, interner: Interner): string {
  const stop = readLength(reader);
  const start = reader.position;
  reader.position = stop;
  return internLatin1(interner, reader.bytes, start, stop);
}

/** As `readInterned`, for text that is often a string at hand. */
function readSame(reader: ProtoReader, known: string, interner: Interner | null): string {
  const stop = readLength(reader);
  const start = reader.position;
  reader.position = stop;
  if (rangeSpells(reader.bytes, start, stop, known)) return known;
  return interner === null ? latin1(reader.bytes, start, stop) : internLatin1(interner, reader.bytes, start, stop);
}

/** Goes into the message after a tag and returns the end to set back afterwards. */
function enter(reader: ProtoReader): number {
  const outer = reader.end;
  reader.end = readLength(reader);
  return outer;
}

function readPod(reader: ProtoReader, interner: Interner, pod: Draft<PodRecord>, kubeletEnds: boolean): void {
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) return;
    if (tag === F1) {
      const outer = enter(reader);
      readPodMeta(reader, interner, pod);
      reader.end = outer;
    } else if (tag === F2) {
      const outer = enter(reader);
      readPodSpec(reader, interner, pod);
      reader.end = outer;
    } else if (tag === F3) {
      const outer = enter(reader);
      readPodStatus(reader, interner, pod, kubeletEnds);
      reader.end = outer;
    } else skipField(reader, tag);
  }
}

function readPodMeta(reader: ProtoReader, interner: Interner, pod: Draft<PodRecord>): void {
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) return;
    if (readCommonMeta(tag, reader, interner, pod)) continue;
    if (tag === F3) pod.namespace = readInterned(reader, interner);
    else {
      if (tag === F9) pod.deleting = true;
      skipField(reader, tag);
    }
  }
}

function readPodSpec(reader: ProtoReader, interner: Interner, pod: Draft<PodRecord>): void {
  const ports: number[] = [];
  const sidecarPorts: number[] = [];
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) break;
    if (tag === F2) readContainer(reader, ports, false);
    else if (tag === F10) pod.nodeName = readInterned(reader, interner);
    else if (tag === F16) pod.hostname = readSame(reader, pod.name, interner);
    else if (tag === F17) pod.subdomain = readInterned(reader, interner);
    else if (tag === F20) readContainer(reader, sidecarPorts, true);
    else skipField(reader, tag);
  }
  for (const position of sidecarPorts) ports.push(position);
  if (ports.length > 0) pod.ports = readPorts(reader.bytes, ports, interner);
}

/**
 * Notes where the named ports of a container are: pairs of start (at the tag) and end.
 * @param init only a container that restarts Always counts: a sidecar
 */
function readContainer(reader: ProtoReader, ports: number[], init: boolean): void {
  const outer = enter(reader);
  const before = ports.length;
  let restarts = !init;
  for (;;) {
    const start = reader.position;
    const tag = readTag(reader);
    if (tag === 0) break;
    if (tag === F6) {
      if (isNamedPort(reader)) ports.push(start, reader.position);
    } else if (tag === F24 && init) {
      const stop = readLength(reader);
      restarts = rangeSpells(reader.bytes, reader.position, stop, 'Always');
      reader.position = stop;
    } else skipField(reader, tag);
  }
  if (!restarts) ports.length = before;
  reader.end = outer;
}

function isNamedPort(reader: ProtoReader): boolean {
  const outer = enter(reader);
  let named = false;
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) break;
    if (tag === F1) {
      const stop = readLength(reader);
      named = stop > reader.position;
      reader.position = stop;
    } else skipField(reader, tag);
  }
  reader.end = outer;
  return named;
}

/** Pods of one template have the same port bytes, so the list is found by them, put together where they are apart. */
function readPorts(bytes: Uint8Array, spans: readonly number[], interner: Interner): readonly ContainerPort[] {
  let adjacent = true;
  let length = 0;
  for (let i = 0; i < spans.length; i += 2) {
    length += spans[i + 1]! - spans[i]!;
    if (i > 0 && spans[i] !== spans[i - 1]) adjacent = false;
  }
  if (adjacent) return internSpan(interner, SPAN_PORTS, bytes, spans[0]!, spans[spans.length - 1]!, parsePorts);
  const joined = new Uint8Array(length);
  let at = 0;
  for (let i = 0; i < spans.length; i += 2) {
    for (let from = spans[i]!; from < spans[i + 1]!; from++) joined[at++] = bytes[from]!;
  }
  return internSpan(interner, SPAN_PORTS, joined, 0, length, parsePorts);
}

function parsePorts(interner: Interner, bytes: Uint8Array, start: number, end: number): readonly ContainerPort[] {
  const reader = createReader(bytes, start, end);
  const ports: ContainerPort[] = [];
  for (;;) {
    const tag = readTag(reader);
    // As above, a copy without spare room.
    if (tag === 0) return ports.slice();
    reader.end = readLength(reader);
    let name = '';
    let containerPort = 0;
    let protocol = '';
    for (;;) {
      const inner = readTag(reader);
      if (inner === 0) break;
      if (inner === F1) name = readInterned(reader, interner);
      else if (inner === V3) containerPort = readInt32(reader);
      else if (inner === F4) protocol = readInterned(reader, interner);
      else skipField(reader, inner);
    }
    reader.end = end;
    ports.push({ name, containerPort, protocol });
  }
}

function readPodStatus(reader: ProtoReader, interner: Interner, pod: Draft<PodRecord>, kubeletEnds: boolean): void {
  let seenReady = false;
  let podIPs: string[] | null = null;
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) break;
    if (tag === F1) pod.phase = readInterned(reader, interner);
    else if (tag === F2) {
      if (kubeletEnds && isKubeletEnd(reader)) pod.deleting = true;
      if (seenReady) skipField(reader, tag);
      else seenReady = readReadyCondition(reader, pod);
    } else if (tag === F6) pod.podIP = readLatin1(reader);
    else if (tag === F12) {
      const outer = enter(reader);
      let ip = '';
      for (;;) {
        const inner = readTag(reader);
        if (inner === 0) break;
        if (inner === F1) ip = readSame(reader, pod.podIP, null);
        else skipField(reader, inner);
      }
      reader.end = outer;
      if (podIPs === null) podIPs = [ip];
      else podIPs.push(ip);
    } else skipField(reader, tag);
  }
  if (podIPs !== null) pod.podIPs = podIPs.length === 1 && podIPs[0] === pod.podIP ? null : podIPs;
}

/** Looks at the condition that comes next, and stays before it. */
function isKubeletEnd(reader: ProtoReader): boolean {
  const { position } = reader;
  const outer = enter(reader);
  let type = false;
  let status = false;
  let reason = false;
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) break;
    if (tag === F1) type = readIs(reader, KUBELET_END.type);
    else if (tag === F2) status = readIs(reader, KUBELET_END.status);
    else if (tag === F5) reason = readIs(reader, KUBELET_END.reason);
    else skipField(reader, tag);
  }
  reader.end = outer;
  reader.position = position;
  return type && status && reason;
}

function readIs(reader: ProtoReader, text: string): boolean {
  const stop = readLength(reader);
  const is = rangeSpells(reader.bytes, reader.position, stop, text);
  reader.position = stop;
  return is;
}

/** Fills `ready` and the time if the condition is of type Ready, and says whether it is. */
function readReadyCondition(reader: ProtoReader, record: { ready: boolean; readyTime?: number }): boolean {
  const outer = enter(reader);
  let isReady = false;
  let status = false;
  let time = 0;
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) break;
    if (tag === F1) {
      const stop = readLength(reader);
      isReady = rangeSpells(reader.bytes, reader.position, stop, 'Ready');
      reader.position = stop;
    } else if (tag === F2) {
      const stop = readLength(reader);
      status = rangeSpells(reader.bytes, reader.position, stop, 'True');
      reader.position = stop;
    } else if (tag === F4) {
      const inner = enter(reader);
      time = readTimeSeconds(reader) ?? 0;
      reader.end = inner;
    } else skipField(reader, tag);
  }
  reader.end = outer;
  if (isReady) {
    record.ready = status;
    if (record.readyTime !== undefined) record.readyTime = time;
  }
  return isReady;
}

function readService(reader: ProtoReader, interner: Interner, service: Draft<ServiceRecord>): void {
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) return;
    if (tag === F1) {
      const outer = enter(reader);
      readServiceMeta(reader, interner, service);
      reader.end = outer;
    } else if (tag === F2) {
      const outer = enter(reader);
      readServiceSpec(reader, interner, service);
      reader.end = outer;
    } else skipField(reader, tag);
  }
}

function readServiceMeta(reader: ProtoReader, interner: Interner, service: Draft<ServiceRecord>): void {
  const annotations: [string, string][] = [];
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) break;
    if (readCommonMeta(tag, reader, interner, service)) continue;
    if (tag === F3) service.namespace = readInterned(reader, interner);
    else if (tag === F8) {
      const outer = enter(reader);
      service.creationTime = readTimeSeconds(reader) ?? 0;
      reader.end = outer;
    } else if (tag === F12) readKnownAnnotation(reader, annotations);
    else {
      if (tag === F9) service.deleting = true;
      skipField(reader, tag);
    }
  }
  service.annotations = labelsFromPairs(annotations);
}

function readKnownAnnotation(reader: ProtoReader, annotations: [string, string][]): void {
  const outer = enter(reader);
  let key: string | undefined;
  let value = '';
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) break;
    if (tag === F1) {
      const stop = readLength(reader);
      const start = reader.position;
      key = SERVICE_ANNOTATIONS.find((name) => rangeSpells(reader.bytes, start, stop, name));
      reader.position = stop;
    } else if (tag === F2 && key !== undefined) value = readUtf8(reader);
    else skipField(reader, tag);
  }
  reader.end = outer;
  if (key !== undefined) annotations.push([key, value]);
}

function readServiceSpec(reader: ProtoReader, interner: Interner, service: Draft<ServiceRecord>): void {
  const ipFamilies: string[] = [];
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) break;
    if (tag === F1) service.ports = readServicePortRun(reader, interner, service.ports);
    else if (tag === F2) service.selector = readLabelRun(reader, interner, F2, service.selector ?? EMPTY_LABELS);
    else if (tag === F3) service.clusterIP = readLatin1(reader);
    else if (tag === F4) service.type = readInterned(reader, interner);
    else if (tag === V13) service.publishNotReadyAddresses = readBool(reader);
    else if (tag === F19) ipFamilies.push(readInterned(reader, interner));
    else if (tag === F23) service.trafficDistribution = readInterned(reader, interner);
    else skipField(reader, tag);
  }
  if (ipFamilies.length > 0) service.ipFamilies = ipFamilies;
}

function readServicePortRun(
  reader: ProtoReader,
  interner: Interner,
  before: readonly ServicePort[],
): readonly ServicePort[] {
  const start = skipRun(reader, F1);
  const ports = internSpan(interner, SPAN_SERVICE_PORTS, reader.bytes, start, reader.position, parseServicePorts);
  return before.length === 0 ? ports : [...before, ...ports];
}

function parseServicePorts(interner: Interner, bytes: Uint8Array, start: number, end: number): readonly ServicePort[] {
  const reader = createReader(bytes, start, end);
  const ports: ServicePort[] = [];
  while (readTag(reader) !== 0) ports.push(readServicePort(reader, interner));
  return ports.slice();
}

function readServicePort(reader: ProtoReader, interner: Interner): ServicePort {
  const outer = enter(reader);
  let name = '';
  let protocol = '';
  let port = 0;
  let targetPort: number | string = 0;
  let appProtocol: string | undefined;
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) break;
    if (tag === F1) name = readInterned(reader, interner);
    else if (tag === F2) protocol = readInterned(reader, interner);
    else if (tag === V3) port = readInt32(reader);
    else if (tag === F4) {
      const inner = enter(reader);
      targetPort = readIntOrStringBody(reader);
      reader.end = inner;
    } else if (tag === F6) appProtocol = readInterned(reader, interner);
    else skipField(reader, tag);
  }
  reader.end = outer;
  return { name, protocol, port, targetPort, appProtocol };
}

function readNode(reader: ProtoReader, interner: Interner, node: Draft<NodeRecord>): void {
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) return;
    if (tag === F1) {
      const outer = enter(reader);
      for (;;) {
        const inner = readTag(reader);
        if (inner === 0) break;
        if (!readCommonMeta(inner, reader, interner, node)) skipField(reader, inner);
      }
      reader.end = outer;
    } else if (tag === F3) {
      const outer = enter(reader);
      readNodeStatus(reader, interner, node);
      reader.end = outer;
    } else skipField(reader, tag);
  }
}

function readNodeStatus(reader: ProtoReader, interner: Interner, node: Draft<NodeRecord>): void {
  let seenReady = false;
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) return;
    if (tag === F2) readCpu(reader, interner, node);
    else if (tag === F4 && !seenReady) seenReady = readReadyCondition(reader, node);
    else skipField(reader, tag);
  }
}

/** One entry of the map `allocatable`: a name and a Quantity. */
function readCpu(reader: ProtoReader, interner: Interner, node: Draft<NodeRecord>): void {
  const outer = enter(reader);
  let isCpu = false;
  let quantity = '';
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) break;
    if (tag === F1) isCpu = readSame(reader, 'cpu', interner) === 'cpu';
    else if (tag === F2) {
      const message = enter(reader);
      for (;;) {
        const inner = readTag(reader);
        if (inner === 0) break;
        if (inner === F1) quantity = readInterned(reader, interner);
        else skipField(reader, inner);
      }
      reader.end = message;
    } else skipField(reader, tag);
  }
  reader.end = outer;
  if (isCpu) node.allocatableCpu = quantity;
}

function readOutput(reader: ProtoReader, interner: Interner, output: Draft<OutputRecord>): void {
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) return;
    if (tag !== F1) {
      skipField(reader, tag);
      continue;
    }
    const outer = enter(reader);
    for (;;) {
      const inner = readTag(reader);
      if (inner === 0) break;
      if (readCommonMeta(inner, reader, interner, output)) continue;
      if (inner === F3) output.namespace = readInterned(reader, interner);
      else if (inner === F12) output.leaderElection = readIsLeaderAnnotation(reader) || output.leaderElection;
      else skipField(reader, inner);
    }
    reader.end = outer;
  }
}

function readIsLeaderAnnotation(reader: ProtoReader): boolean {
  const outer = enter(reader);
  let found = false;
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) break;
    if (tag === F1) {
      const stop = readLength(reader);
      found = rangeSpells(reader.bytes, reader.position, stop, LEADER_ANNOTATION);
      reader.position = stop;
    } else skipField(reader, tag);
  }
  reader.end = outer;
  return found;
}
