/**
 * An Endpoints object or an EndpointSlice as named values, so that two objects can be compared field by field in any
 * order. An endpoint is named by its address, a port by its name.
 */
import { TRIGGER_TIME_ANNOTATION } from '../kube/names.ts';
import type {
  Endpoint,
  EndpointAddress,
  EndpointPort,
  Endpoints,
  EndpointSlice,
  EndpointSubset,
  ObjectMeta,
  ObjectReference,
  SlicePort,
} from '../kube/types.ts';

/** Texts by name, such as `conditions.ready`. An absent field has no entry. */
export type Values = Map<string, string>;

export interface NamedValues {
  /** Fields of the whole object, such as `metadata.labels[app]`. */
  readonly fields: Values;
  /** Ports and endpoints, such as `endpoints[10.0.0.1]`. A second one of the same name ends in `#2`. */
  readonly parts: ReadonlyMap<string, Values>;
}

export function namedValues(object: Endpoints | EndpointSlice): NamedValues {
  const fields = metadataValues(object.metadata);
  const parts: [string, Values][] = [];
  if (object.kind === 'Endpoints') {
    for (const subset of object.subsets ?? []) for (const part of subsetParts(subset)) parts.push(part);
  } else {
    fields.set('addressType', object.addressType);
    for (const port of object.ports ?? []) parts.push([`ports[${port.name ?? ''}]`, slicePortValues(port)]);
    for (const endpoint of object.endpoints ?? []) parts.push(endpointPart(endpoint));
  }
  return { fields, parts: numbered(parts) };
}

/** The trigger time is left out: it goes along with a write and is never a reason for one. */
function metadataValues({ labels = {}, annotations = {}, ownerReferences = [] }: ObjectMeta): Values {
  const values: Values = new Map();
  for (const [key, value] of Object.entries(labels)) values.set(`metadata.labels[${key}]`, value);
  for (const [key, value] of Object.entries(annotations)) {
    if (key !== TRIGGER_TIME_ANNOTATION) values.set(`metadata.annotations[${key}]`, value);
  }
  for (const { kind, name, uid, controller } of ownerReferences) {
    values.set(`metadata.ownerReferences[${kind} ${name}]`, `${uid}${controller === true ? ', controller' : ''}`);
  }
  return values;
}

function* subsetParts({
  addresses = [],
  notReadyAddresses = [],
  ports = [],
}: EndpointSubset): Iterable<[string, Values]> {
  const portsText = ports.map(portText).sort().join(', ');
  for (const [list, ready] of [
    [addresses, 'true'],
    [notReadyAddresses, 'false'],
  ] as const) {
    for (const address of list) yield [`subsets.addresses[${address.ip}]`, addressValues(address, ready, portsText)];
  }
}

function portText({ name = '', port, protocol = 'TCP', appProtocol }: EndpointPort): string {
  return `${name}:${port}/${protocol}${appProtocol === undefined ? '' : ` ${appProtocol}`}`;
}

function addressValues({ hostname, nodeName, targetRef }: EndpointAddress, ready: string, ports: string): Values {
  return valuesOf({ ready, ports, hostname, nodeName, targetRef: targetRef && referenceText(targetRef) });
}

function slicePortValues({ port, protocol, appProtocol }: SlicePort): Values {
  return valuesOf({ port: port === undefined ? undefined : String(port), protocol, appProtocol });
}

function endpointPart(endpoint: Endpoint): [string, Values] {
  const { addresses, conditions = {}, hostname, nodeName, zone, targetRef, hints, deprecatedTopology = {} } = endpoint;
  const [address = '', ...more] = addresses;
  const values = valuesOf({
    'conditions.ready': conditions.ready?.toString(),
    'conditions.serving': conditions.serving?.toString(),
    'conditions.terminating': conditions.terminating?.toString(),
    hostname,
    nodeName,
    zone,
    targetRef: targetRef && referenceText(targetRef),
    'hints.forZones': hints?.forZones?.map(({ name }) => name).join(', '),
    'hints.forNodes': hints?.forNodes?.map(({ name }) => name).join(', '),
    'further addresses': more.length === 0 ? undefined : more.join(', '),
  });
  for (const [key, value] of Object.entries(deprecatedTopology)) values.set(`deprecatedTopology[${key}]`, value);
  return [`endpoints[${address}]`, values];
}

function referenceText({ kind = '', namespace = '', name = '', uid = '' }: ObjectReference): string {
  return `${kind} ${namespace}/${name} ${uid}`;
}

function valuesOf(fields: Readonly<Record<string, string | undefined>>): Values {
  const values: Values = new Map();
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) values.set(name, value);
  return values;
}

/**
 * Numbers values of the same name in the order of their contents. Where two objects have the same values, the order is
 * the same.
 */
function numbered(parts: readonly [string, Values][]): Map<string, Values> {
  const byName = Map.groupBy(parts, ([name]) => name);
  const all = new Map<string, Values>();
  for (const [name, same] of byName) {
    const sorted = same.length === 1 ? same : same.toSorted(([, a], [, b]) => (partText(a) < partText(b) ? -1 : 1));
    sorted.forEach(([, values], i) => all.set(i === 0 ? name : `${name}#${i + 1}`, values));
  }
  return all;
}

/** All values in one line. */
export function partText(values: Values): string {
  if (values.size === 0) return 'nothing but its address';
  return [...values].map(([name, value]) => `${name}=${value}`).join(', ');
}
