/** What `explain` reads of a cluster. A part that cannot be read is named, and the rest goes on. */
import type { DebugView } from '../../controller/reports/debug-view.ts';
import type { JournalEntry } from '../../controller/reports/journal.ts';
import type { ExplainConfig, Seen } from '../../core/explain/service.ts';
import { lastWriter, lastWriters } from '../../core/last-writer.ts';
import { createNodeTable, type NodeTable, putNode } from '../../core/node-table.ts';
import { endpointsPath, slicesPath } from '../../kube/key.ts';
import { labelsMissing, selectorText } from '../../kube/labels.ts';
import { fieldManagersOf } from '../../kube/managed-fields.ts';
import { MANAGED_BY_LABEL, SERVICE_NAME_LABEL, SLICE_MANAGED_BY_LABEL } from '../../kube/names.ts';
import { projectNode, projectOutput, projectPod, projectService } from '../../kube/project.ts';
import type { ObjectSource } from '../../kube/source.ts';
import type {
  Endpoint,
  Endpoints,
  EndpointSlice,
  KubeObject,
  Labels,
  OutputRecord,
  PodRecord,
  ServiceRecord,
} from '../../kube/types.ts';
import type { Interner } from '../../lib/interner.ts';
import { type Monitor, MonitorError } from '../../node/monitor-client.ts';
import { readObject } from '../../shard/read-object.ts';
import { type ApiReader, ReadError } from './api-reader.ts';

export interface Reading {
  readonly reader: ApiReader;
  readonly interner: Interner;
  readonly config: ExplainConfig;
  /** The most pods, or Services, that are shown although they lack labels. */
  readonly othersMax: number;
  readonly progress: (text: string) => void;
  /** A running endpointd that is asked for the last changes of a Service, and its address; null = no one is asked. */
  readonly endpointd: { readonly origin: string; readonly monitor: Monitor } | null;
  /** The parts that could not be read, with the reason. Readers append to it. */
  readonly unseen: string[];
}

/** What the running endpointd remembers of a Service. */
export interface Changes {
  /** The last change of each controller. */
  readonly last: readonly JournalEntry[];
  /** Why there is none, or why another process may have newer ones; '' = neither, or no one was asked. */
  readonly note: string;
}

/** A stored object, whoever made it. */
export interface StoredOutput {
  readonly name: string;
  /** `Endpoints`, or the address type of a slice. */
  readonly type: string;
  readonly addresses: number;
  readonly managedBy: string;
  /** Time of the last write in managedFields, in seconds since the epoch; 0 = managedFields have none. */
  readonly writtenAt: number;
  /** As `lastWriter` says; '' = managedFields do not tell. */
  readonly writtenBy: string;
}

/** Awaits a read. undefined = it has failed, and `unseen` says why. @throws ReadError if no server answers */
export async function see<T>({ unseen }: Reading, what: string, work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof ReadError) || error.status === 0) throw error;
    const reason = `${what}: ${error.message}`;
    if (!unseen.includes(reason)) unseen.push(reason);
    return undefined;
  }
}

export function missing(error: unknown): null {
  if (error instanceof ReadError && error.status === 404) return null;
  throw error;
}

export async function readNodes(reading: Reading): Promise<NodeTable | undefined> {
  const { reader, interner, progress } = reading;
  let table = createNodeTable();
  const listed = reader.list(
    { path: '/api/v1/nodes' },
    {
      begin: () => {
        table = createNodeTable();
      },
      take: (item) => {
        putNode(table, projectNode(item, interner));
        return null;
      },
      progress: (count) => progress(`${count} nodes read`),
    },
  );
  return (await see(reading, 'nodes (zones and hints)', listed)) === undefined ? undefined : table;
}

export const NO_CHANGES: Changes = { last: [], note: '' };

/** Why a process notes no changes, by its role (`DebugView.role`). The process that writes has them. */
const SILENT_ROLES: ReadonlyMap<string, string> = new Map<DebugView['role'], string>([
  ['stands by', 'it stands by. Ask the leader'],
  ['nobody', 'it stands by, and nobody leads'],
  ['waits', 'it waits to take over'],
  ['catches up', 'it brings its caches up to date before it writes'],
]);

/** Asks the running endpointd. */
export async function readChanges(
  { endpointd, unseen }: Reading,
  { namespace, name }: ServiceRecord,
): Promise<Changes> {
  if (endpointd === null) return NO_CHANGES;
  const { origin, monitor } = endpointd;
  const query = `format=json&service=${encodeURIComponent(`${namespace}/${name}`)}`;
  try {
    const view = JSON.parse(await monitor.get(`/debug/endpointd?${query}`)) as Partial<DebugView>;
    const newest = new Map<string, JournalEntry>();
    for (const entry of view.changes ?? []) if (!newest.has(entry.controller)) newest.set(entry.controller, entry);
    const last = [...newest.values()];
    const silence = SILENT_ROLES.get(view.role ?? '');
    if (silence !== undefined) return { last, note: `The endpointd at ${origin} notes no changes now: ${silence}.` };
    if (last.length > 0) return { last, note: '' };
    const why =
      'since its start no pod of it has changed and nothing was written, or it has no room for it any more (--journal-size)';
    return { last, note: `The endpointd at ${origin} remembers no change of ${namespace}/${name}: ${why}.` };
  } catch (error) {
    if (!(error instanceof MonitorError) && !(error instanceof SyntaxError)) throw error;
    unseen.push(`changes of ${namespace}/${name} in the running endpointd: ${error.message}`);
    return NO_CHANGES;
  }
}

export interface Outputs {
  readonly endpoints: Seen['endpoints'];
  readonly slices: readonly EndpointSlice[] | undefined;
  readonly stored: { readonly endpoints: readonly StoredOutput[]; readonly slices: readonly StoredOutput[] };
}

export async function readOutputs(reading: Reading, { namespace, name }: ServiceRecord): Promise<Outputs> {
  const { reader } = reading;
  const [endpoints, slices] = await Promise.all([
    see(reading, `endpoints ${namespace}/${name}`, reader.get(endpointsPath(namespace, name)).catch(missing)),
    see(
      reading,
      `endpointslices of ${namespace}`,
      reader.list(
        { path: slicesPath(namespace), labelSelector: `${SERVICE_NAME_LABEL}=${name}`, form: 'json' },
        { take: (item) => item },
      ),
    ),
  ]);
  const readable = (slices ?? []).map((item) => decoded(reading, item, 'endpointslice') as EndpointSlice | null);
  return {
    endpoints: endpoints == null ? endpoints : storedEndpoints(reading, endpoints),
    slices: slices === undefined ? undefined : readable.filter((slice) => slice !== null),
    stored: {
      endpoints: endpoints == null ? [] : [storedOutput(endpoints)],
      slices: (slices ?? []).map(storedOutput).sort((a, b) => (a.name < b.name ? -1 : 1)),
    },
  };
}

/** A slice that lists a pod, and the Service that it is of; '' = it names none. */
interface Listing {
  readonly slice: string;
  readonly service: string;
}

/**
 * The slices that list the pod, ascending by name. undefined = they could not be seen.
 * @param uid null = any pod of the name
 */
export async function readListing(
  reading: Reading,
  { namespace, name }: Pick<PodRecord, 'namespace' | 'name'>,
  uid: string | null,
): Promise<readonly Listing[] | undefined> {
  const { reader, progress } = reading;
  const isPod = ({ targetRef }: Endpoint): boolean =>
    targetRef?.kind === 'Pod' && targetRef.name === name && (uid === null || (targetRef.uid ?? uid) === uid);
  const listed = reader.list(
    { path: slicesPath(namespace), form: 'json' },
    {
      take: (item): Listing | null => {
        const { metadata, endpoints } = valueOf(item) as KubeObject & Partial<Pick<EndpointSlice, 'endpoints'>>;
        if (endpoints?.some(isPod) !== true) return null;
        return { slice: metadata.name ?? '', service: metadata.labels?.[SERVICE_NAME_LABEL] ?? '' };
      },
      progress: (count) => progress(`${count} EndpointSlices read`),
    },
  );
  const found = await see(reading, `endpointslices of ${namespace}`, listed);
  return found?.toSorted((a, b) => (a.slice < b.slice ? -1 : 1));
}

/** Endpoints that cannot be decoded count as not seen. */
function storedEndpoints(
  reading: Reading,
  source: ObjectSource,
): { readonly object: Endpoints; readonly record: OutputRecord } | undefined {
  const object = decoded(reading, source, 'endpoints') as Endpoints | null;
  return object === null ? undefined : { object, record: projectOutput(source) };
}

/** null = the object cannot be decoded, and is added to `unseen`. */
function decoded({ unseen }: Reading, source: ObjectSource, what: string): KubeObject | null {
  const value = valueOf(source);
  const { name = '', namespace = '' } = value.metadata;
  const title = `${what} ${namespace}/${name}`;
  const bytes = Buffer.from(JSON.stringify(value));
  const { object, problem } = readObject(source.apiVersion, source.kind, title, name, { encoding: 'json', bytes });
  if (object === null) unseen.push(`${title}: cannot be read: ${problem?.message}`);
  return object;
}

function valueOf(source: ObjectSource): KubeObject {
  if (source.encoding !== 'json') throw new ReadError(0, `${source.kind}: the server does not answer in JSON`);
  return source.value as KubeObject;
}

function storedOutput(source: ObjectSource): StoredOutput {
  const value = valueOf(source) as KubeObject & Partial<Endpoints> & Partial<Pick<EndpointSlice, 'endpoints'>>;
  const { metadata } = value;
  const { addressType } = value as { addressType?: string };
  const lists = (value.subsets ?? []).flatMap(({ addresses = [], notReadyAddresses = [] }) => [
    addresses,
    notReadyAddresses,
  ]);
  return {
    name: metadata.name ?? '',
    type: addressType ?? 'Endpoints',
    addresses: (value.endpoints ?? []).length + lists.reduce((sum, list) => sum + list.length, 0),
    managedBy: metadata.labels?.[SLICE_MANAGED_BY_LABEL] ?? metadata.labels?.[MANAGED_BY_LABEL] ?? '',
    writtenAt: lastWriters(fieldManagersOf(source)).newest,
    writtenBy: lastWriter(source),
  };
}

/** The pods that a Service is explained with. */
export interface Candidates {
  readonly pods: readonly PodRecord[];
  /** The name of the one pod that is explained; null = all are. */
  readonly asked: string | null;
  /** Whether `pods` has every pod that the Service selects. */
  readonly all: boolean;
  /** How many pods have some of the labels and are not in `pods`; null = the pods could not be seen. */
  readonly others: number | null;
}

/** Whether the selector may be meant for these labels: they have more than half of its pairs, or all of its keys. */
function isNear(labels: Labels, selector: Labels): boolean {
  const wrong = labelsMissing(labels, selector);
  return wrong.length * 2 < selector.length || wrong.every(({ found }) => found !== null);
}

interface PodOptions {
  readonly begin?: () => void;
  readonly keeps: (pod: PodRecord) => boolean;
}

/** @param selector only pods with these labels are read; [] = all pods of the namespace */
async function readPods(
  reading: Reading,
  namespace: string,
  selector: Labels,
  { begin, keeps }: PodOptions,
): Promise<PodRecord[]> {
  const { reader, interner, config, progress } = reading;
  return reader.list(
    { path: `/api/v1/namespaces/${namespace}/pods`, labelSelector: selectorText(selector) },
    {
      begin,
      take: (item) => {
        const pod = projectPod(item, interner, config.kubeletShutdownIsTermination);
        return keeps(pod) ? pod : null;
      },
      progress: (count) => progress(`${count} pods read`),
    },
  );
}

/**
 * Keeps the pods that the Service selects or lists. Of pods with some of the labels it keeps no more than are shown.
 */
export async function readCandidates(
  reading: Reading,
  service: ServiceRecord,
  { endpoints, slices }: Outputs,
): Promise<Candidates> {
  const selector = service.selector ?? [];
  const listed = namesListed(endpoints?.object, slices ?? []);
  let others = 0;
  const pods = await see(
    reading,
    `pods of ${service.namespace}`,
    readPods(reading, service.namespace, [], {
      begin: () => {
        others = 0;
      },
      keeps: (pod) => {
        if (labelsMissing(pod.labels, selector).length === 0 || listed.has(pod.name)) return true;
        return isNear(pod.labels, selector) && ++others <= reading.othersMax;
      },
    }),
  );
  const isSelected = ({ labels }: PodRecord): boolean => labelsMissing(labels, selector).length === 0;
  if (pods === undefined) return { pods: [], asked: null, all: false, others: null };
  const sorted = sortedByName(pods);
  return {
    pods: [...sorted.filter(isSelected), ...sorted.filter((pod) => !isSelected(pod))],
    asked: null,
    all: true,
    others: Math.max(0, others - reading.othersMax),
  };
}

function namesListed(endpoints: Endpoints | undefined, slices: readonly EndpointSlice[]): Set<string> {
  const names = new Set<string>();
  const add = (targetRef: { readonly kind?: string; readonly name?: string } | undefined): void => {
    if (targetRef?.kind === 'Pod') names.add(targetRef.name ?? '');
  };
  for (const { addresses = [], notReadyAddresses = [] } of endpoints?.subsets ?? []) {
    for (const list of [addresses, notReadyAddresses]) for (const { targetRef } of list) add(targetRef);
  }
  for (const slice of slices) for (const { targetRef } of slice.endpoints ?? []) add(targetRef);
  return names;
}

interface ServicesOfPod {
  readonly selecting: readonly ServiceRecord[];
  /** Services that do not select the pod, but nearly do, or list it in a slice. */
  readonly others: readonly ServiceRecord[];
  readonly more: number;
}

/**
 * Reads the Services of the pod's namespace. undefined = they could not be seen.
 * @param listing names of the Services whose slices list the pod
 */
export async function readServicesOf(
  reading: Reading,
  { namespace, labels }: PodRecord,
  listing: ReadonlySet<string>,
): Promise<ServicesOfPod | undefined> {
  const { reader, interner, othersMax, progress } = reading;
  let nearCount = 0;
  const isSelecting = ({ selector }: ServiceRecord): boolean =>
    selector !== null && labelsMissing(labels, selector).length === 0;
  const listed = reader.list(
    { path: `/api/v1/namespaces/${namespace}/services` },
    {
      begin: () => {
        nearCount = 0;
      },
      take: (item) => {
        const service = projectService(item, interner);
        if (isSelecting(service) || listing.has(service.name)) return service;
        if (service.selector === null) return null;
        return isNear(labels, service.selector) && ++nearCount <= othersMax ? service : null;
      },
      progress: (count) => progress(`${count} Services read`),
    },
  );
  const found = await see(reading, `services of ${namespace}`, listed);
  if (found === undefined) return undefined;
  const services = sortedByName(found);
  return {
    selecting: services.filter(isSelecting),
    others: services.filter((service) => !isSelecting(service)),
    more: Math.max(0, nearCount - othersMax),
  };
}

/** Reads all pods of these Services, because what an object has room for depends on all of them. */
export async function readPodsOf(
  reading: Reading,
  pod: PodRecord,
  services: readonly ServiceRecord[],
): Promise<Candidates> {
  const read = async (): Promise<Map<string, PodRecord>> => {
    const byName = new Map([[pod.name, pod]]);
    for (const { selector } of services) {
      for (const each of await readPods(reading, pod.namespace, selector ?? [], { keeps: () => true }))
        byName.set(each.name, each);
    }
    return byName;
  };
  const byName = await see(reading, `pods of ${pod.namespace}`, read());
  if (byName === undefined) return { pods: [pod], asked: pod.name, all: false, others: null };
  return { pods: sortedByName([...byName.values()]), asked: pod.name, all: true, others: 0 };
}

function sortedByName<T extends { readonly name: string }>(list: readonly T[]): T[] {
  return list.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
