/** The endpoints of an output in lines: only changes, and numbers of pods where an endpoint stands for one. */
import { podIPsOf } from '../kube/record.ts';
import type { EndpointConditions, PodRecord } from '../kube/types.ts';
import { LineError, readCount, readFields, readItems, readNumber, readText, readTexts, same } from './fields.ts';
import type { EndpointItem, Fields } from './lines.ts';
import type { Names } from './names.ts';
import type { RecordedEndpoint, RecordedOutput } from './recording.ts';

/** The objects to which endpoints refer. */
export interface Known {
  /** The pod of this namespace and name, by its number. */
  readonly podNamed: (
    namespace: string,
    name: string,
  ) => { readonly id: number; readonly record: PodRecord } | undefined;
  readonly podOf: (id: number) => PodRecord | undefined;
  /** '' = the node has no zone. */
  readonly zoneOf: (node: string) => string;
}

const NO_TEXTS: readonly string[] = [];

/** Conditions of slices by a word. A number stands for the conditions `ready`. */
const CONDITIONS: Readonly<Record<string, EndpointConditions>> = {
  ready: { ready: true, serving: true, terminating: false },
  unready: { ready: false, serving: false, terminating: false },
  ending: { ready: false, serving: true, terminating: true },
  ended: { ready: false, serving: false, terminating: true },
};
const OF_ENDPOINTS: Readonly<Record<string, EndpointConditions>> = {
  ready: { ready: true },
  unready: { ready: false },
};

/** null = both are the same. */
export function writeEndpoints(
  before: RecordedOutput | null,
  after: RecordedOutput,
  known: Known,
  names: Names,
): EndpointItem[] | null {
  const old = before?.endpoints ?? [];
  if (old === after.endpoints) return null;
  const search = searchOf(old);
  const items: EndpointItem[] = [];
  /** Behind the last endpoint that was found. */
  let next = 0;
  let from = -1;
  let count = 0;
  const endRun = (): void => {
    if (count > 0) items.push([from, count]);
    count = 0;
  };
  for (const endpoint of after.endpoints) {
    const at = nearby(old, endpoint, next) ?? search(endpoint);
    if (at >= 0) next = at + 1;
    if (at >= 0 && count > 0 && at === from + count) count++;
    else {
      endRun();
      if (at < 0) items.push(writeEndpoint(endpoint, after, known, names));
      else {
        from = at;
        count = 1;
      }
    }
  }
  endRun();
  const isSame = old.length === after.endpoints.length && (old.length === 0 || isWhole(items, old.length));
  return isSame ? null : items;
}

function isWhole(items: readonly EndpointItem[], length: number): boolean {
  const [first] = items;
  return items.length === 1 && Array.isArray(first) && first[0] === 0 && first[1] === length;
}

/**
 * Where an endpoint was, if it is where it should be: none has moved, one is gone, or this one has changed, which is -1.
 * null = somewhere else, or nowhere.
 */
function nearby(old: readonly RecordedEndpoint[], endpoint: RecordedEndpoint, next: number): number | null {
  const expected = old[next];
  if (expected === endpoint) return next;
  if (old[next + 1] === endpoint) return next + 1;
  if (expected === undefined || firstAddress(expected) !== firstAddress(endpoint)) return null;
  return same(expected, endpoint) ? next : -1;
}

/** A change moves few endpoints. To look through them all so often is cheaper than a map of their places. */
const SCANS_MAX = 4;

/**
 * Where an endpoint was; -1 = nowhere. It is looked for by its first address. Of several endpoints with one address the
 * last counts.
 */
function searchOf(old: readonly RecordedEndpoint[]): (endpoint: RecordedEndpoint) => number {
  let scans = 0;
  let places: ReadonlyMap<string, number> | null = null;
  return (endpoint) => {
    const address = firstAddress(endpoint);
    let at: number;
    if (scans < SCANS_MAX) {
      scans++;
      at = old.findLastIndex((one) => firstAddress(one) === address);
    } else {
      places ??= new Map(old.map((one, i) => [firstAddress(one), i]));
      at = places.get(address) ?? -1;
    }
    return at >= 0 && same(old[at], endpoint) ? at : -1;
  };
}

function firstAddress({ addresses }: RecordedEndpoint): string {
  return addresses[0] ?? '';
}

function writeEndpoint(
  endpoint: RecordedEndpoint,
  output: RecordedOutput,
  known: Known,
  names: Names,
): number | Fields {
  const pod = known.podNamed(output.namespace, endpoint.pod);
  const isOfPod = pod !== undefined && pod.record.uid === endpoint.podUid;
  const base = isOfPod ? endpointOf(pod.record, output, known) : NO_ENDPOINT;
  const fields: Fields = isOfPod ? { of: pod.id } : {};
  const { namespace, addressType } = output;
  const put = (key: keyof RecordedEndpoint, value: () => unknown): void => {
    if (!same(base[key], endpoint[key])) fields[key] = value();
  };
  put('addresses', () => endpoint.addresses.map((each) => names.address(each)));
  put('conditions', () => wordOf(endpoint.conditions, addressType) ?? endpoint.conditions);
  put('hostname', () => names.pod(namespace, endpoint.hostname));
  put('nodeName', () => names.node(endpoint.nodeName));
  put('zone', () => names.zone(endpoint.zone));
  put('pod', () => names.pod(namespace, endpoint.pod));
  put('podUid', () => names.uid(endpoint.podUid));
  put('forZones', () => endpoint.forZones.map((each) => names.zone(each)));
  put('forNodes', () => endpoint.forNodes.map((each) => names.node(each)));
  put('subset', () => endpoint.subset);
  return isOfPod && Object.keys(fields).length === 1 ? pod.id : fields;
}

const NO_ENDPOINT: RecordedEndpoint = {
  addresses: NO_TEXTS,
  conditions: {},
  hostname: '',
  nodeName: '',
  zone: '',
  pod: '',
  podUid: '',
  forZones: NO_TEXTS,
  forNodes: NO_TEXTS,
  subset: 0,
};

/** The endpoint that these controllers make of a ready pod. */
function endpointOf(pod: PodRecord, { addressType, service }: OutputOf, { zoneOf }: Known): RecordedEndpoint {
  const isSlice = addressType !== '';
  const address = podIPsOf(pod).find((ip) => !isSlice || ip.includes(':') === (addressType === 'IPv6'));
  return {
    addresses: address === undefined ? NO_TEXTS : [address],
    conditions: isSlice ? CONDITIONS['ready']! : OF_ENDPOINTS['ready']!,
    hostname: pod.subdomain === service ? pod.hostname : '',
    nodeName: pod.nodeName,
    zone: isSlice ? zoneOf(pod.nodeName) : '',
    pod: pod.name,
    podUid: pod.uid,
    forZones: NO_TEXTS,
    forNodes: NO_TEXTS,
    subset: 0,
  };
}

type OutputOf = Pick<RecordedOutput, 'addressType' | 'service'>;

function wordsOf(addressType: string): Readonly<Record<string, EndpointConditions>> {
  return addressType === '' ? OF_ENDPOINTS : CONDITIONS;
}

function wordOf(conditions: EndpointConditions, addressType: string): string | undefined {
  return Object.entries(wordsOf(addressType)).find(([, value]) => same(value, conditions))?.[0];
}

/** Of one object. The API server takes objects of up to 1.5 MiB, so it has far fewer. */
const ENDPOINTS_MAX = 100_000;

/** @throws LineError */
export function readEndpoints(
  before: readonly RecordedEndpoint[],
  output: OutputOf,
  json: unknown,
  known: Known,
): readonly RecordedEndpoint[] {
  const endpoints: RecordedEndpoint[] = [];
  for (const item of readItems(json)) {
    if (Array.isArray(item)) {
      const from = readCount(item[0], ENDPOINTS_MAX);
      const count = readCount(item[1], ENDPOINTS_MAX);
      if (from + count > before.length) throw new LineError(`there are no endpoints ${from} to ${from + count}`);
      checkCount(endpoints.length + count);
      for (let i = from; i < from + count; i++) endpoints.push(before[i]!);
    } else {
      checkCount(endpoints.length + 1);
      endpoints.push(readEndpoint(item, output, known));
    }
  }
  return endpoints;
}

function checkCount(count: number): void {
  if (count > ENDPOINTS_MAX) throw new LineError(`more than ${ENDPOINTS_MAX} endpoints`);
}

function readEndpoint(item: unknown, output: OutputOf, known: Known): RecordedEndpoint {
  if (typeof item === 'number') return podEndpoint(item, output, known);
  const fields = readFields(item);
  const base = fields['of'] === undefined ? NO_ENDPOINT : podEndpoint(readNumber(fields['of']), output, known);
  const or = <T>(key: string, read: (json: unknown) => T, otherwise: T): T =>
    fields[key] === undefined ? otherwise : read(fields[key]);
  return {
    addresses: or('addresses', readTexts, base.addresses),
    conditions: or('conditions', (json) => readConditions(json, output.addressType), base.conditions),
    hostname: or('hostname', readText, base.hostname),
    nodeName: or('nodeName', readText, base.nodeName),
    zone: or('zone', readText, base.zone),
    pod: or('pod', readText, base.pod),
    podUid: or('podUid', readText, base.podUid),
    forZones: or('forZones', readTexts, base.forZones),
    forNodes: or('forNodes', readTexts, base.forNodes),
    subset: or('subset', readNumber, base.subset),
  };
}

function podEndpoint(id: number, output: OutputOf, known: Known): RecordedEndpoint {
  const pod = known.podOf(id);
  if (pod === undefined) throw new LineError(`there is no pod ${id}`);
  return endpointOf(pod, output, known);
}

function readConditions(json: unknown, addressType: string): EndpointConditions {
  if (typeof json !== 'string') return readFields(json);
  const words = wordsOf(addressType);
  if (!Object.hasOwn(words, json)) throw new LineError('unknown conditions');
  return words[json]!;
}
