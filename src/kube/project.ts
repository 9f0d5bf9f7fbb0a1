/**
 * Makes records of objects, with only the fields that planning reads. Other fields are skipped by their length. Strings
 * and label sets that many objects share come from the interner. `project-json.ts` makes equal records from JSON.
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
  type ProtoReader,
} from './protobuf.ts';
import { checkedVersion } from './resource-version.ts';
import { emptyNode, emptyOutput, emptyPod, emptyService, type Draft } from './record.ts';
import type { ObjectSource } from './source.ts';
import { tagOf } from './tags.ts';
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
 * @param kubeletShutdownIsTermination whether a pod that its kubelet is ending counts as deleting (D30)
 * @throws DecodeError that names what could be read of the pod
 */
export function projectPod(source: ObjectSource, interner: Interner, kubeletShutdownIsTermination = false): PodRecord {
  const pod = emptyPod();
  try {
    if (source.encoding === 'json') podFromJson(source.value, interner, pod, kubeletShutdownIsTermination);
    else readPod(createReader(source.bytes), interner, pod, kubeletShutdownIsTermination);
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
 * For Endpoints and EndpointSlices, of which only metadata is read.
 * @throws DecodeError that names what could be read of the object
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

const META_NAME = tagOf('ObjectMeta', 'name');
const META_NAMESPACE = tagOf('ObjectMeta', 'namespace');
const META_UID = tagOf('ObjectMeta', 'uid');
const META_RESOURCE_VERSION = tagOf('ObjectMeta', 'resourceVersion');
const META_CREATION_TIMESTAMP = tagOf('ObjectMeta', 'creationTimestamp');
const META_DELETION_TIMESTAMP = tagOf('ObjectMeta', 'deletionTimestamp');
const META_LABELS = tagOf('ObjectMeta', 'labels');
const META_ANNOTATIONS = tagOf('ObjectMeta', 'annotations');
const ENTRY_KEY = tagOf('MapEntry', 'key');
const ENTRY_VALUE = tagOf('MapEntry', 'value');
const QUANTITY_STRING = tagOf('Quantity', 'string');

const POD_METADATA = tagOf('Pod', 'metadata');
const POD_SPEC = tagOf('Pod', 'spec');
const POD_STATUS = tagOf('Pod', 'status');
const SPEC_CONTAINERS = tagOf('PodSpec', 'containers');
const SPEC_NODE_NAME = tagOf('PodSpec', 'nodeName');
const SPEC_HOSTNAME = tagOf('PodSpec', 'hostname');
const SPEC_SUBDOMAIN = tagOf('PodSpec', 'subdomain');
const SPEC_INIT_CONTAINERS = tagOf('PodSpec', 'initContainers');
const CONTAINER_PORTS = tagOf('Container', 'ports');
const CONTAINER_RESTART_POLICY = tagOf('Container', 'restartPolicy');
const PORT_NAME = tagOf('ContainerPort', 'name');
const PORT_CONTAINER_PORT = tagOf('ContainerPort', 'containerPort');
const PORT_PROTOCOL = tagOf('ContainerPort', 'protocol');
const STATUS_PHASE = tagOf('PodStatus', 'phase');
const STATUS_CONDITIONS = tagOf('PodStatus', 'conditions');
const STATUS_POD_IP = tagOf('PodStatus', 'podIP');
const STATUS_POD_IPS = tagOf('PodStatus', 'podIPs');
const POD_IP_IP = tagOf('PodIP', 'ip');
/** The conditions of nodes have the same tags: a test holds it. */
const CONDITION_TYPE = tagOf('PodCondition', 'type');
const CONDITION_STATUS = tagOf('PodCondition', 'status');
const CONDITION_LAST_TRANSITION_TIME = tagOf('PodCondition', 'lastTransitionTime');
const CONDITION_REASON = tagOf('PodCondition', 'reason');

const SERVICE_METADATA = tagOf('Service', 'metadata');
const SERVICE_SPEC = tagOf('Service', 'spec');
const SERVICE_PORTS = tagOf('ServiceSpec', 'ports');
const SERVICE_SELECTOR = tagOf('ServiceSpec', 'selector');
const SERVICE_CLUSTER_IP = tagOf('ServiceSpec', 'clusterIP');
const SERVICE_TYPE = tagOf('ServiceSpec', 'type');
const SERVICE_PUBLISH_NOT_READY = tagOf('ServiceSpec', 'publishNotReadyAddresses');
const SERVICE_IP_FAMILIES = tagOf('ServiceSpec', 'ipFamilies');
const SERVICE_TRAFFIC_DISTRIBUTION = tagOf('ServiceSpec', 'trafficDistribution');
const SERVICE_PORT_NAME = tagOf('ServicePort', 'name');
const SERVICE_PORT_PROTOCOL = tagOf('ServicePort', 'protocol');
const SERVICE_PORT_PORT = tagOf('ServicePort', 'port');
const SERVICE_PORT_TARGET_PORT = tagOf('ServicePort', 'targetPort');
const SERVICE_PORT_APP_PROTOCOL = tagOf('ServicePort', 'appProtocol');

const NODE_METADATA = tagOf('Node', 'metadata');
const NODE_STATUS = tagOf('Node', 'status');
const NODE_ALLOCATABLE = tagOf('NodeStatus', 'allocatable');
const NODE_CONDITIONS = tagOf('NodeStatus', 'conditions');

/** The same in every object. */
const OUTPUT_METADATA = tagOf('PartialObjectMetadata', 'metadata');

/** Kinds of values that share the interner's table. */
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
    case META_NAME: {
      record.name = readLatin1(reader);
      return true;
    }
    case META_UID: {
      record.uid = readLatin1(reader);
      return true;
    }
    case META_RESOURCE_VERSION: {
      record.resourceVersion = checkedVersion(readLatin1(reader));
      return true;
    }
    case META_LABELS: {
      record.labels = readLabelRun(reader, interner, META_LABELS, record.labels);
      return true;
    }
    default: {
      return false;
    }
  }
}

/**
 * Skips consecutive entries of a repeated field and returns where the first one starts. Its tag, of one byte, has been
 * read already. The interner finds equal lists by these bytes, so most lists are neither parsed nor kept twice.
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
      if (inner === ENTRY_KEY) key = readInterned(reader, interner);
      else if (inner === ENTRY_VALUE) value = readInterned(reader, interner);
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

/** As `readInterned`, for a text that often equals `known`. No interner = a new text is not interned. */
function readSame(reader: ProtoReader, known: string, interner: Interner | null): string {
  const stop = readLength(reader);
  const start = reader.position;
  reader.position = stop;
  if (rangeSpells(reader.bytes, start, stop, known)) return known;
  return interner === null ? latin1(reader.bytes, start, stop) : internLatin1(interner, reader.bytes, start, stop);
}

/** Enters the message after a tag. Returns the end of the outer message, which the caller sets back afterwards. */
function enter(reader: ProtoReader): number {
  const outer = reader.end;
  reader.end = readLength(reader);
  return outer;
}

function readPod(
  reader: ProtoReader,
  interner: Interner,
  pod: Draft<PodRecord>,
  kubeletShutdownIsTermination: boolean,
): void {
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) return;
    if (tag === POD_METADATA) {
      const outer = enter(reader);
      readPodMeta(reader, interner, pod);
      reader.end = outer;
    } else if (tag === POD_SPEC) {
      const outer = enter(reader);
      readPodSpec(reader, interner, pod);
      reader.end = outer;
    } else if (tag === POD_STATUS) {
      const outer = enter(reader);
      readPodStatus(reader, interner, pod, kubeletShutdownIsTermination);
      reader.end = outer;
    } else skipField(reader, tag);
  }
}

function readPodMeta(reader: ProtoReader, interner: Interner, pod: Draft<PodRecord>): void {
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) return;
    if (readCommonMeta(tag, reader, interner, pod)) continue;
    if (tag === META_NAMESPACE) pod.namespace = readInterned(reader, interner);
    else {
      if (tag === META_DELETION_TIMESTAMP) pod.deleting = true;
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
    if (tag === SPEC_CONTAINERS) readContainer(reader, ports, false);
    else if (tag === SPEC_NODE_NAME) pod.nodeName = readInterned(reader, interner);
    else if (tag === SPEC_HOSTNAME) pod.hostname = readSame(reader, pod.name, interner);
    else if (tag === SPEC_SUBDOMAIN) pod.subdomain = readInterned(reader, interner);
    else if (tag === SPEC_INIT_CONTAINERS) readContainer(reader, sidecarPorts, true);
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
    if (tag === CONTAINER_PORTS) {
      if (isNamedPort(reader)) ports.push(start, reader.position);
    } else if (tag === CONTAINER_RESTART_POLICY && init) {
      restarts = readIs(reader, 'Always');
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
    if (tag === PORT_NAME) {
      const stop = readLength(reader);
      named = stop > reader.position;
      reader.position = stop;
    } else skipField(reader, tag);
  }
  reader.end = outer;
  return named;
}

/**
 * Pods of one template have the same bytes of ports, so the interner finds the list by them. Bytes that lie apart are
 * joined first.
 */
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
      if (inner === PORT_NAME) name = readInterned(reader, interner);
      else if (inner === PORT_CONTAINER_PORT) containerPort = readInt32(reader);
      else if (inner === PORT_PROTOCOL) protocol = readInterned(reader, interner);
      else skipField(reader, inner);
    }
    reader.end = end;
    ports.push({ name, containerPort, protocol });
  }
}

function readPodStatus(
  reader: ProtoReader,
  interner: Interner,
  pod: Draft<PodRecord>,
  kubeletShutdownIsTermination: boolean,
): void {
  let seenReady = false;
  let podIPs: string[] | null = null;
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) break;
    if (tag === STATUS_PHASE) pod.phase = readInterned(reader, interner);
    else if (tag === STATUS_CONDITIONS) {
      if (kubeletShutdownIsTermination && isKubeletEnd(reader)) pod.deleting = true;
      if (seenReady) skipField(reader, tag);
      else seenReady = readReadyCondition(reader, pod);
    } else if (tag === STATUS_POD_IP) pod.podIP = readLatin1(reader);
    else if (tag === STATUS_POD_IPS) {
      const outer = enter(reader);
      let ip = '';
      for (;;) {
        const inner = readTag(reader);
        if (inner === 0) break;
        if (inner === POD_IP_IP) ip = readSame(reader, pod.podIP, null);
        else skipField(reader, inner);
      }
      reader.end = outer;
      if (podIPs === null) podIPs = [ip];
      else podIPs.push(ip);
    } else skipField(reader, tag);
  }
  if (podIPs !== null) pod.podIPs = podIPs.length === 1 && podIPs[0] === pod.podIP ? null : podIPs;
}

/** Looks at the next condition. The reader stays in front of it. */
function isKubeletEnd(reader: ProtoReader): boolean {
  const { position } = reader;
  const outer = enter(reader);
  let type = false;
  let status = false;
  let reason = false;
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) break;
    if (tag === CONDITION_TYPE) type = readIs(reader, KUBELET_END.type);
    else if (tag === CONDITION_STATUS) status = readIs(reader, KUBELET_END.status);
    else if (tag === CONDITION_REASON) reason = readIs(reader, KUBELET_END.reason);
    else skipField(reader, tag);
  }
  reader.end = outer;
  reader.position = position;
  return type && status && reason;
}

/** Whether the text that is read is this one. */
function readIs(reader: ProtoReader, text: string): boolean {
  const stop = readLength(reader);
  const is = rangeSpells(reader.bytes, reader.position, stop, text);
  reader.position = stop;
  return is;
}

/** Reads a condition. If its type is Ready, fills `ready` and the time, and returns true. */
function readReadyCondition(reader: ProtoReader, record: { ready: boolean; readyTime?: number }): boolean {
  const outer = enter(reader);
  let isReady = false;
  let status = false;
  let time = 0;
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) break;
    if (tag === CONDITION_TYPE) isReady = readIs(reader, 'Ready');
    else if (tag === CONDITION_STATUS) status = readIs(reader, 'True');
    else if (tag === CONDITION_LAST_TRANSITION_TIME) {
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
    if (tag === SERVICE_METADATA) {
      const outer = enter(reader);
      readServiceMeta(reader, interner, service);
      reader.end = outer;
    } else if (tag === SERVICE_SPEC) {
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
    if (tag === META_NAMESPACE) service.namespace = readInterned(reader, interner);
    else if (tag === META_CREATION_TIMESTAMP) {
      const outer = enter(reader);
      service.creationTime = readTimeSeconds(reader) ?? 0;
      reader.end = outer;
    } else if (tag === META_ANNOTATIONS) readKnownAnnotation(reader, annotations);
    else {
      if (tag === META_DELETION_TIMESTAMP) service.deleting = true;
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
    if (tag === ENTRY_KEY) {
      const stop = readLength(reader);
      const start = reader.position;
      key = SERVICE_ANNOTATIONS.find((name) => rangeSpells(reader.bytes, start, stop, name));
      reader.position = stop;
    } else if (tag === ENTRY_VALUE && key !== undefined) value = readUtf8(reader);
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
    if (tag === SERVICE_PORTS) service.ports = readServicePortRun(reader, interner, service.ports);
    else if (tag === SERVICE_SELECTOR)
      service.selector = readLabelRun(reader, interner, SERVICE_SELECTOR, service.selector ?? EMPTY_LABELS);
    else if (tag === SERVICE_CLUSTER_IP) service.clusterIP = readLatin1(reader);
    else if (tag === SERVICE_TYPE) service.type = readInterned(reader, interner);
    else if (tag === SERVICE_PUBLISH_NOT_READY) service.publishNotReadyAddresses = readBool(reader);
    else if (tag === SERVICE_IP_FAMILIES) ipFamilies.push(readInterned(reader, interner));
    else if (tag === SERVICE_TRAFFIC_DISTRIBUTION) service.trafficDistribution = readInterned(reader, interner);
    else skipField(reader, tag);
  }
  if (ipFamilies.length > 0) service.ipFamilies = ipFamilies;
}

function readServicePortRun(
  reader: ProtoReader,
  interner: Interner,
  before: readonly ServicePort[],
): readonly ServicePort[] {
  const start = skipRun(reader, SERVICE_PORTS);
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
    if (tag === SERVICE_PORT_NAME) name = readInterned(reader, interner);
    else if (tag === SERVICE_PORT_PROTOCOL) protocol = readInterned(reader, interner);
    else if (tag === SERVICE_PORT_PORT) port = readInt32(reader);
    else if (tag === SERVICE_PORT_TARGET_PORT) {
      const inner = enter(reader);
      targetPort = readIntOrStringBody(reader);
      reader.end = inner;
    } else if (tag === SERVICE_PORT_APP_PROTOCOL) appProtocol = readInterned(reader, interner);
    else skipField(reader, tag);
  }
  reader.end = outer;
  return { name, protocol, port, targetPort, appProtocol };
}

function readNode(reader: ProtoReader, interner: Interner, node: Draft<NodeRecord>): void {
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) return;
    if (tag === NODE_METADATA) {
      const outer = enter(reader);
      for (;;) {
        const inner = readTag(reader);
        if (inner === 0) break;
        if (!readCommonMeta(inner, reader, interner, node)) skipField(reader, inner);
      }
      reader.end = outer;
    } else if (tag === NODE_STATUS) {
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
    if (tag === NODE_ALLOCATABLE) readCpu(reader, interner, node);
    else if (tag === NODE_CONDITIONS && !seenReady) seenReady = readReadyCondition(reader, node);
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
    if (tag === ENTRY_KEY) isCpu = readSame(reader, 'cpu', interner) === 'cpu';
    else if (tag === ENTRY_VALUE) {
      const message = enter(reader);
      for (;;) {
        const inner = readTag(reader);
        if (inner === 0) break;
        if (inner === QUANTITY_STRING) quantity = readInterned(reader, interner);
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
    if (tag !== OUTPUT_METADATA) {
      skipField(reader, tag);
      continue;
    }
    const outer = enter(reader);
    for (;;) {
      const inner = readTag(reader);
      if (inner === 0) break;
      if (readCommonMeta(inner, reader, interner, output)) continue;
      if (inner === META_NAMESPACE) output.namespace = readInterned(reader, interner);
      else if (inner === META_ANNOTATIONS)
        output.leaderElection = readIsLeaderAnnotation(reader) || output.leaderElection;
      else {
        if (inner === META_DELETION_TIMESTAMP) output.deleting = true;
        skipField(reader, inner);
      }
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
    if (tag === ENTRY_KEY) found = readIs(reader, LEADER_ANNOTATION);
    else skipField(reader, tag);
  }
  reader.end = outer;
  return found;
}
