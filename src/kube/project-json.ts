/** Makes the records of `project.ts` from JSON, the fallback encoding. Correctness goes before speed here. */
import { internString, type Interner } from '../lib/interner.ts';
import { EMPTY_LABELS, labelsFromPairs } from './labels.ts';
import { KUBELET_END, LEADER_ANNOTATION, SERVICE_ANNOTATIONS } from './names.ts';
import { DecodeError } from './protobuf.ts';
import { NO_PORTS, type Draft } from './record.ts';
import { checkedVersion } from './resource-version.ts';
import { parseTime } from './time.ts';
import type {
  ContainerPort,
  Labels,
  NodeRecord,
  OutputRecord,
  PodRecord,
  ServicePort,
  ServiceRecord,
} from './types.ts';

type JsonObject = Record<string, unknown>;

const NOTHING: JsonObject = {};

/** @throws DecodeError that names the field */
export function podFromJson(
  value: object,
  interner: Interner,
  pod: Draft<PodRecord>,
  kubeletShutdownIsTermination: boolean,
): void {
  const meta = commonMeta(value, interner, pod);
  pod.namespace = interned(meta, 'metadata.', 'namespace', interner);
  pod.deleting = isSet(meta['deletionTimestamp']);
  const spec = objectAt(value as JsonObject, '', 'spec');
  pod.nodeName = interned(spec, 'spec.', 'nodeName', interner);
  pod.hostname = interned(spec, 'spec.', 'hostname', interner);
  pod.subdomain = interned(spec, 'spec.', 'subdomain', interner);
  const ports: ContainerPort[] = [];
  listAt(spec, 'spec.', 'containers').forEach((container, i) => {
    addPorts(objectOf(container, `spec.containers[${i}]`), `spec.containers[${i}].`, interner, ports);
  });
  listAt(spec, 'spec.', 'initContainers').forEach((item, i) => {
    const path = `spec.initContainers[${i}]`;
    const container = objectOf(item, path);
    if (textAt(container, `${path}.`, 'restartPolicy') === 'Always') addPorts(container, `${path}.`, interner, ports);
  });
  pod.ports = ports.length === 0 ? NO_PORTS : ports;
  const status = objectAt(value as JsonObject, '', 'status');
  pod.phase = interned(status, 'status.', 'phase', interner);
  const ready = readyCondition(status);
  if (ready !== null) {
    pod.ready = ready['status'] === 'True';
    pod.readyTime = parseTime(textAt(ready, 'status.conditions[].', 'lastTransitionTime'));
  }
  if (kubeletShutdownIsTermination && listAt(status, 'status.', 'conditions').some(isKubeletEnd)) pod.deleting = true;
  pod.podIP = textAt(status, 'status.', 'podIP');
  const podIPs = listAt(status, 'status.', 'podIPs').map((item, i) =>
    textAt(objectOf(item, `status.podIPs[${i}]`), `status.podIPs[${i}].`, 'ip'),
  );
  if (podIPs.length > 0) pod.podIPs = podIPs.length === 1 && podIPs[0] === pod.podIP ? null : podIPs;
}

function addPorts(container: JsonObject, path: string, interner: Interner, ports: ContainerPort[]): void {
  listAt(container, path, 'ports').forEach((item, i) => {
    const at = `${path}ports[${i}]`;
    const port = objectOf(item, at);
    const name = interned(port, `${at}.`, 'name', interner);
    if (name === '') return;
    const protocol = interned(port, `${at}.`, 'protocol', interner);
    ports.push({ name, containerPort: int32At(port, `${at}.`, 'containerPort'), protocol });
  });
}

function readyCondition(status: JsonObject): JsonObject | null {
  const conditions = listAt(status, 'status.', 'conditions');
  for (let i = 0; i < conditions.length; i++) {
    const condition = objectOf(conditions[i], `status.conditions[${i}]`);
    if (condition['type'] === 'Ready') return condition;
  }
  return null;
}

function isKubeletEnd(condition: unknown): boolean {
  const { type, status, reason } = objectOf(condition, 'status.conditions[]');
  return type === KUBELET_END.type && status === KUBELET_END.status && reason === KUBELET_END.reason;
}

/** @throws DecodeError that names the field */
export function serviceFromJson(value: object, interner: Interner, service: Draft<ServiceRecord>): void {
  const meta = commonMeta(value, interner, service);
  service.namespace = interned(meta, 'metadata.', 'namespace', interner);
  service.creationTime = parseTime(textAt(meta, 'metadata.', 'creationTimestamp'));
  service.deleting = isSet(meta['deletionTimestamp']);
  const annotations = objectAt(meta, 'metadata.', 'annotations');
  service.annotations = labelsFromPairs(
    SERVICE_ANNOTATIONS.filter((name) => Object.hasOwn(annotations, name)).map((name): [string, string] => [
      name,
      textAt(annotations, 'metadata.annotations.', name),
    ]),
  );
  const spec = objectAt(value as JsonObject, '', 'spec');
  service.type = interned(spec, 'spec.', 'type', interner);
  service.clusterIP = textAt(spec, 'spec.', 'clusterIP');
  const ipFamilies = listAt(spec, 'spec.', 'ipFamilies');
  if (ipFamilies.length > 0) {
    service.ipFamilies = ipFamilies.map((family, i) => internString(interner, textOf(family, `spec.ipFamilies[${i}]`)));
  }
  const selector = labelsAt(spec, 'spec.', 'selector', interner);
  service.selector = selector.length === 0 ? null : selector;
  service.ports = listAt(spec, 'spec.', 'ports').map((item, i) => {
    const path = `spec.ports[${i}]`;
    return servicePort(objectOf(item, path), `${path}.`, interner);
  });
  service.publishNotReadyAddresses = booleanAt(spec, 'spec.', 'publishNotReadyAddresses');
  service.trafficDistribution = interned(spec, 'spec.', 'trafficDistribution', interner);
}

function servicePort(port: JsonObject, path: string, interner: Interner): ServicePort {
  const target = port['targetPort'];
  return {
    name: interned(port, path, 'name', interner),
    protocol: interned(port, path, 'protocol', interner),
    port: int32At(port, path, 'port'),
    targetPort: typeof target === 'string' ? target : int32At(port, path, 'targetPort'),
    appProtocol: isSet(port['appProtocol']) ? interned(port, path, 'appProtocol', interner) : undefined,
  };
}

/** @throws DecodeError that names the field */
export function nodeFromJson(value: object, interner: Interner, node: Draft<NodeRecord>): void {
  commonMeta(value, interner, node);
  const status = objectAt(value as JsonObject, '', 'status');
  node.ready = readyCondition(status)?.['status'] === 'True';
  const allocatable = objectAt(status, 'status.', 'allocatable');
  const cpu = allocatable['cpu'];
  node.allocatableCpu = typeof cpu === 'number' ? String(cpu) : textAt(allocatable, 'status.allocatable.', 'cpu');
}

/** @throws DecodeError that names the field */
export function outputFromJson(value: object, interner: Interner, output: Draft<OutputRecord>): void {
  const meta = commonMeta(value, interner, output);
  output.namespace = interned(meta, 'metadata.', 'namespace', interner);
  output.leaderElection = Object.hasOwn(objectAt(meta, 'metadata.', 'annotations'), LEADER_ANNOTATION);
  output.deleting = isSet(meta['deletionTimestamp']);
}

/** Fills what all records have, the name first so that errors can show it, and returns the metadata. */
function commonMeta(
  value: object,
  interner: Interner,
  record: { namespace?: string; name: string; uid: string; resourceVersion: string; labels: Labels },
): JsonObject {
  const meta = objectAt(value as JsonObject, '', 'metadata');
  record.name = textAt(meta, 'metadata.', 'name');
  record.uid = textAt(meta, 'metadata.', 'uid');
  record.resourceVersion = checkedVersion(textAt(meta, 'metadata.', 'resourceVersion'));
  record.labels = labelsAt(meta, 'metadata.', 'labels', interner);
  return meta;
}

function labelsAt(object: JsonObject, path: string, name: string, interner: Interner): Labels {
  const map = objectAt(object, path, name);
  const keys = Object.keys(map);
  if (keys.length === 0) return EMPTY_LABELS;
  return labelsFromPairs(
    keys.map((key): [string, string] => [internString(interner, key), interned(map, `${path}${name}.`, key, interner)]),
  );
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function interned(object: JsonObject, path: string, name: string, interner: Interner): string {
  return internString(interner, textAt(object, path, name));
}

function textAt(object: JsonObject, path: string, name: string): string {
  const value = object[name];
  return isSet(value) ? textOf(value, path + name) : '';
}

function textOf(value: unknown, path: string): string {
  if (typeof value !== 'string') throw wrong(path, 'a string', value);
  return value;
}

function int32At(object: JsonObject, path: string, name: string): number {
  const value = object[name];
  if (!isSet(value)) return 0;
  if (typeof value !== 'number' || (value | 0) !== value) throw wrong(path + name, 'an int32', value);
  return value;
}

function booleanAt(object: JsonObject, path: string, name: string): boolean {
  const value = object[name];
  if (!isSet(value)) return false;
  if (typeof value !== 'boolean') throw wrong(path + name, 'a boolean', value);
  return value;
}

function objectAt(object: JsonObject, path: string, name: string): JsonObject {
  const value = object[name];
  return isSet(value) ? objectOf(value, path + name) : NOTHING;
}

function objectOf(value: unknown, path: string): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(path, 'an object', value);
  return value as JsonObject;
}

function listAt(object: JsonObject, path: string, name: string): readonly unknown[] {
  const value = object[name];
  if (!isSet(value)) return [];
  if (!Array.isArray(value)) throw wrong(path + name, 'a list', value);
  return value as unknown[];
}

function wrong(path: string, expected: string, value: unknown): DecodeError {
  return new DecodeError(`${path}: expected ${expected}, got ${(JSON.stringify(value) ?? 'nothing').slice(0, 100)}`);
}
