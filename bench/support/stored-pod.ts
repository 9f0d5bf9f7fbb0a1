/** Pods as an API server stores and sends them, with fields that no client has written: uid, version, managedFields. */
import { encodeMessage } from '../../src/kube/codec.ts';
import { messageOf } from '../../src/kube/schema.ts';
import type { ObjectSource } from '../../src/kube/source.ts';
import { formatTime } from '../../src/kube/time.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { createPrng, nextUint32 } from '../../src/lib/prng.ts';
import { CLUSTER_EPOCH_SECONDS } from '../../src/workload/objects.ts';

/**
 * Adds the server's fields to a created object. `revision` makes it unique, and `version` is the version of its last
 * change.
 */
export function stored(object: KubeObject, revision: number, version = revision): KubeObject {
  const metadata = {
    ...object.metadata,
    uid: uidOf(revision),
    resourceVersion: String(version),
    creationTimestamp: formatTime(CLUSTER_EPOCH_SECONDS),
  };
  return { ...object, metadata };
}

/** A stored pod in the form of JSON. */
export function storedPodJson(pod: KubeObject, revision: number): KubeObject {
  const object = stored(pod, revision);
  return { ...object, metadata: { ...object.metadata, managedFields: managedFields(pod) } } as KubeObject;
}

/** A stored pod in the form of the wire: protobuf without envelope. */
export function storedPodSource(pod: KubeObject, revision: number): ObjectSource {
  return { encoding: 'protobuf', kind: 'Pod', apiVersion: 'v1', bytes: storedPodBytes(pod, revision) };
}

/** The message of a stored pod. The project's codec leaves managedFields out, so they are added here. */
export function storedPodBytes(pod: KubeObject, revision: number, version = revision): Uint8Array {
  const object = stored(pod, revision, version);
  const message = messageOf('v1', 'Pod')!;
  const part = (number: number, value: unknown): Buffer =>
    Buffer.from(encodeMessage(message.byNumber[number]!.message!, value as object));
  const managed = managedFields(pod).map((entry) => delimited(17, encodeManagedFields(entry)));
  const bytes = Buffer.concat([
    delimited(1, Buffer.concat([part(1, object.metadata), ...managed])),
    delimited(2, part(2, object['spec'])),
    delimited(3, part(3, object['status'])),
  ]);
  return new Uint8Array(bytes);
}

export function storedServiceSource(service: KubeObject, revision: number): ObjectSource {
  return storedSource('Service', service, revision);
}

export function storedNodeSource(node: KubeObject, revision: number): ObjectSource {
  return storedSource('Node', node, revision);
}

function storedSource(kind: string, object: KubeObject, revision: number): ObjectSource {
  const bytes = encodeMessage(messageOf('v1', kind)!, stored(object, revision));
  return { encoding: 'protobuf', kind, apiVersion: 'v1', bytes };
}

export function uidOf(revision: number): string {
  const prng = createPrng(revision);
  const hex = Array.from({ length: 4 }, () => nextUint32(prng).toString(16).padStart(8, '0')).join('');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
}

interface ManagedFields {
  readonly manager: string;
  readonly operation: string;
  readonly apiVersion: string;
  readonly time: string;
  readonly fieldsType: string;
  readonly fieldsV1: object;
  readonly subresource?: string;
}

/** Who has written which fields: the deployer the object, the kubelet its status. */
function managedFields(pod: KubeObject): readonly ManagedFields[] {
  const { metadata, status } = pod;
  const entry = {
    operation: 'Update',
    apiVersion: 'v1',
    time: formatTime(CLUSTER_EPOCH_SECONDS),
    fieldsType: 'FieldsV1',
  };
  return [
    { manager: 'deployer', ...entry, fieldsV1: fieldsOf({ metadata: { labels: metadata.labels }, spec: pod['spec'] }) },
    { manager: 'kubelet', ...entry, fieldsV1: fieldsOf({ status }), subresource: 'status' },
  ];
}

/** The set of the fields of `value`, in the API server's form. */
function fieldsOf(value: object): object {
  const fields: Record<string, unknown> = {};
  for (const [name, child] of Object.entries(value)) {
    if (Array.isArray(child)) fields[`f:${name}`] = itemsOf(child);
    else fields[`f:${name}`] = typeof child === 'object' && child !== null ? fieldsOf(child) : {};
  }
  return fields;
}

const LIST_KEYS = ['containerPort', 'name', 'type', 'ip'];

function itemsOf(items: readonly unknown[]): object {
  const fields: Record<string, unknown> = {};
  for (const item of items) {
    const key = LIST_KEYS.find((name) => typeof item === 'object' && item !== null && name in item);
    if (key === undefined) return {};
    const value = (item as Record<string, unknown>)[key];
    fields[`k:${JSON.stringify({ [key]: value })}`] = { '.': {}, ...fieldsOf(item as object) };
  }
  return fields;
}

function encodeManagedFields(entry: ManagedFields): Buffer {
  const text = (number: number, value: string): Buffer => delimited(number, Buffer.from(value));
  return Buffer.concat([
    text(1, entry.manager),
    text(2, entry.operation),
    text(3, entry.apiVersion),
    delimited(4, Buffer.from([0x08, ...varint(CLUSTER_EPOCH_SECONDS)])),
    text(6, entry.fieldsType),
    delimited(7, text(1, JSON.stringify(entry.fieldsV1))),
    ...(entry.subresource === undefined ? [] : [text(8, entry.subresource)]),
  ]);
}

function delimited(number: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(bytes.length)]), bytes]);
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return [...bytes, rest];
    bytes.push((rest % 128) | 128);
  }
}
