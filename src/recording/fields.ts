/** How each field of a record stands in a line, as one table for each kind of record. */
import type { ContainerPort, NodeRecord, PodRecord, ServicePort, ServiceRecord, SlicePort } from '../kube/types.ts';
import { emptyNode, emptyPod, emptyService } from '../kube/record.ts';
import { EMPTY_LABELS } from '../kube/labels.ts';
import type { Fields } from './lines.ts';
import type { Names } from './names.ts';
import { RECORDING_BEGAN_SECONDS, type RecordedOutput } from './recording.ts';

/** A line has a value that is not allowed. */
export class LineError extends Error {
  override readonly name = 'LineError';
}

/** The tools with which records are written. */
export interface Writing {
  readonly names: Names;
  /** Seconds since the epoch when the recording began. */
  readonly beganSeconds: number;
}

/** The text of one field. `V`: type of the field. `R`: type of its record. */
interface Form<V, R> {
  readonly write: (value: V, writing: Writing, record: R) => unknown;
  /** @throws LineError */
  readonly read: (json: unknown) => V;
}

type Forms<R> = { readonly [K in keyof R]: Form<R[K], R> };

/** Older times are told as this old. */
const OLDEST_SECONDS = -3600;

const PHASES = ['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'];
const PROTOCOLS = ['TCP', 'UDP', 'SCTP'];
const SERVICE_TYPES = ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'];
const FAMILIES = ['IPv4', 'IPv6'];
const ADDRESS_TYPES = [...FAMILIES, 'FQDN'];
const DISTRIBUTIONS = ['PreferClose', 'PreferSameZone', 'PreferSameNode'];
/** Values of the annotations that a ServiceRecord keeps. */
const ANNOTATION_VALUES = ['true', 'false', 'True', 'False', '1', '0', 'Auto', 'auto', 'Disabled', 'disabled'];

const flag = form(
  (value: boolean) => value,
  (json) => {
    if (typeof json !== 'boolean') throw new LineError('expected true or false');
    return json;
  },
);

export function readText(json: unknown): string {
  if (typeof json !== 'string') throw new LineError('expected a text');
  return json;
}

export function readTexts(json: unknown): readonly string[] {
  return readItems(json).map(readText);
}

/** JSON may name a number that is none: 1e999. */
export function readNumber(json: unknown): number {
  if (typeof json !== 'number' || !Number.isFinite(json)) throw new LineError('expected a number');
  return json;
}

/** @param max a line that tells more is the work of somebody who wants to exhaust the reader's memory */
export function readCount(json: unknown, max: number): number {
  const count = readNumber(json);
  if (!Number.isSafeInteger(count) || count < 0 || count > max) throw new LineError('expected a count');
  return count;
}

export function readItems(json: unknown): readonly unknown[] {
  if (!Array.isArray(json)) throw new LineError('expected a list');
  return json;
}

export function readFields(json: unknown): Fields {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw new LineError('expected an object');
  return json as Fields;
}

function form<V, R>(write: Form<V, R>['write'], read: Form<V, R>['read']): Form<V, R> {
  return { write, read };
}

function text<R>(write: (value: string, names: Names, record: R) => string): Form<string, R> {
  return form((value, { names }, record) => write(value, names, record), readText);
}

function texts<R>(write: (value: string, names: Names) => string): Form<readonly string[], R> {
  return form((value, { names }) => value.map((each) => write(each, names)), readTexts);
}

function labels<R extends object>(): Form<readonly string[], R> {
  return form(
    (value, { names }, record) => names.labels((record as { namespace?: string }).namespace ?? '', value),
    readPairs,
  );
}

/** Whoever compares labels counts on their order, and on each key standing there once. */
function readPairs(json: unknown): readonly string[] {
  const read = readTexts(json);
  if (read.length % 2 !== 0) throw new LineError('expected pairs of keys and values');
  for (let i = 2; i < read.length; i += 2) if (read[i - 2]! >= read[i]!) throw new LineError('keys have no order');
  return read;
}

/** Seconds since the epoch; 0 = none. */
function seconds<R>(): Form<number, R> {
  return form(
    (value, { beganSeconds }) => (value === 0 ? null : Math.max(OLDEST_SECONDS, value - beganSeconds)),
    (json) => (json === null ? 0 : RECORDING_BEGAN_SECONDS + readNumber(json)),
  );
}

const UNSAID: Form<string, unknown> = { write: () => '', read: readText };

const POD: Forms<PodRecord> = {
  namespace: text((value, names) => names.namespace(value)),
  name: text((value, names, { namespace }) => names.pod(namespace, value)),
  uid: text((value, names) => names.uid(value)),
  resourceVersion: UNSAID,
  labels: labels(),
  deleting: flag,
  nodeName: text((value, names) => names.node(value)),
  hostname: text((value, names, { namespace }) => names.pod(namespace, value)),
  subdomain: text((value, names, { namespace }) => names.service(namespace, value)),
  phase: text((value, names) => names.oneOf(PHASES, value)),
  ready: flag,
  readyTime: seconds(),
  podIP: text((value, names) => names.address(value)),
  podIPs: form(
    (value, { names }) => value?.map((each) => names.address(each)) ?? null,
    (json) => (json === null ? null : readTexts(json)),
  ),
  ports: form(
    (value, { names }) =>
      value.map(({ name, containerPort, protocol }) => [
        names.port(name),
        containerPort,
        names.oneOf(PROTOCOLS, protocol),
      ]),
    (json) =>
      readItems(json).map((item): ContainerPort => {
        const [name, containerPort, protocol] = readItems(item);
        return { name: readText(name), containerPort: readNumber(containerPort), protocol: readText(protocol) };
      }),
  ),
};

const SERVICE: Forms<ServiceRecord> = {
  namespace: text((value, names) => names.namespace(value)),
  name: text((value, names, { namespace }) => names.service(namespace, value)),
  uid: text((value, names) => names.uid(value)),
  resourceVersion: UNSAID,
  labels: labels(),
  annotations: form(
    (value, { names }) => value.map((each, i) => (i % 2 === 0 ? each : names.oneOf(ANNOTATION_VALUES, each))),
    readPairs,
  ),
  creationTime: seconds(),
  deleting: flag,
  type: text((value, names) => names.oneOf(SERVICE_TYPES, value)),
  clusterIP: text((value, names) => names.address(value)),
  ipFamilies: texts((value, names) => names.oneOf(FAMILIES, value)),
  selector: form(
    (value, { names }, { namespace }) => (value === null ? null : names.labels(namespace, value)),
    (json) => (json === null ? null : readPairs(json)),
  ),
  ports: form(
    (value, writing) => value.map((port) => writeServicePort(port, writing.names)),
    (json) => readItems(json).map(readServicePort),
  ),
  publishNotReadyAddresses: flag,
  trafficDistribution: text((value, names) => names.oneOf(DISTRIBUTIONS, value)),
};

function writeServicePort({ name, protocol, port, targetPort, appProtocol }: ServicePort, names: Names): unknown[] {
  const target = typeof targetPort === 'number' ? targetPort : names.port(targetPort);
  const said = [names.port(name), names.oneOf(PROTOCOLS, protocol), port, target];
  return appProtocol === undefined ? said : [...said, names.appProtocol(appProtocol)];
}

function readServicePort(json: unknown): ServicePort {
  const [name, protocol, port, target, appProtocol] = readItems(json);
  return {
    name: readText(name),
    protocol: readText(protocol),
    port: readNumber(port),
    targetPort: typeof target === 'number' ? target : readText(target),
    appProtocol: appProtocol === undefined ? undefined : readText(appProtocol),
  };
}

const NODE: Forms<NodeRecord> = {
  name: text((value, names) => names.node(value)),
  uid: text((value, names) => names.uid(value)),
  resourceVersion: UNSAID,
  labels: labels(),
  ready: flag,
  allocatableCpu: text((value, names) => names.quantity(value)),
};

/** `endpoint-items.ts` writes the endpoints. */
const OUTPUT: Forms<Omit<RecordedOutput, 'endpoints'>> = {
  namespace: text((value, names) => names.namespace(value)),
  name: text((value, names, { namespace, addressType }) =>
    addressType === '' ? names.service(namespace, value) : names.slice(namespace, value),
  ),
  uid: text((value, names) => names.uid(value)),
  resourceVersion: UNSAID,
  labels: labels(),
  service: text((value, names, { namespace }) => names.service(namespace, value)),
  addressType: text((value, names) => names.oneOf(ADDRESS_TYPES, value)),
  triggerMs: form(
    (value, { beganSeconds }) => (value === 0 ? null : Math.max(OLDEST_SECONDS * 1000, value - beganSeconds * 1000)),
    (json) => (json === null ? 0 : RECORDING_BEGAN_SECONDS * 1000 + readNumber(json)),
  ),
  leaderElection: flag,
  overCapacity: flag,
  ports: form(
    (value, { names }) => value.map((ofSubset) => ofSubset.map((port) => writeSlicePort(port, names))),
    (json) => readItems(json).map((ofSubset) => readItems(ofSubset).map(readSlicePort)),
  ),
};

function writeSlicePort({ name, protocol, port, appProtocol }: SlicePort, names: Names): unknown[] {
  const said = [
    name === undefined ? null : names.port(name),
    protocol === undefined ? null : names.oneOf(PROTOCOLS, protocol),
    port ?? null,
  ];
  return appProtocol === undefined ? said : [...said, names.appProtocol(appProtocol)];
}

function readSlicePort(json: unknown): SlicePort {
  const [name, protocol, port, appProtocol] = readItems(json);
  return {
    ...(name === null ? {} : { name: readText(name) }),
    ...(protocol === null ? {} : { protocol: readText(protocol) }),
    ...(port === null ? {} : { port: readNumber(port) }),
    ...(appProtocol === undefined ? {} : { appProtocol: readText(appProtocol) }),
  };
}

/** Writes and reads one kind of records. */
export interface Table<R> {
  /**
   * The fields in which `after` differs from `before`, or the non-empty fields of a new record; null = there are none.
   * @param before null = the record is new
   */
  readonly write: (before: R | null, after: R, writing: Writing) => Fields | null;
  /** @throws LineError */
  readonly read: (before: R | null, fields: Fields) => R;
}

function table<R extends object>(forms: Forms<R>, empty: R): Table<R> {
  const keys = Object.keys(forms) as (keyof R & string)[];
  return {
    write(before, after, writing) {
      const fields: Fields = {};
      const base = before ?? empty;
      for (const key of keys) {
        if (key === 'resourceVersion' || same(base[key], after[key])) continue;
        fields[key] = forms[key].write(after[key], writing, after);
      }
      return Object.keys(fields).length === 0 ? null : fields;
    },
    read(before, fields) {
      const record = { ...(before ?? empty) };
      for (const key of keys) {
        if (!Object.hasOwn(fields, key)) continue;
        try {
          record[key] = forms[key].read(fields[key]);
        } catch (error) {
          if (!(error instanceof LineError)) throw error;
          throw new LineError(`${key}: ${error.message}`);
        }
      }
      return record;
    },
  };
}

/** Whether two values of plain data are equal: texts, numbers, lists and objects of them. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => same(item, b[i]));
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => same((a as Fields)[key], (b as Fields)[key]));
}

export const PODS: Table<PodRecord> = table(POD, { ...emptyPod(), podIPs: null });
export const SERVICES: Table<ServiceRecord> = table(SERVICE, emptyService());
export const NODES: Table<NodeRecord> = table(NODE, emptyNode());
export const OUTPUTS: Table<Omit<RecordedOutput, 'endpoints'>> = table(OUTPUT, {
  namespace: '',
  name: '',
  uid: '',
  resourceVersion: '',
  labels: EMPTY_LABELS,
  service: '',
  addressType: '',
  triggerMs: 0,
  leaderElection: false,
  overCapacity: false,
  ports: [],
});
