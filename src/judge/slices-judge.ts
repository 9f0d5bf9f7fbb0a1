/** Whether a Service's EndpointSlices have the contents that the oracle wants: each endpoint once, and nothing else. */
import type { Endpoint, EndpointSlice, OwnerReference } from '../kube/types.ts';
import { judgeCpuHints, type ZoneShares } from './hints-oracle.ts';
import { portsKey, type ExpectedFamily, type ExpectedSlices } from './slices-oracle.ts';

export interface SlicesJudgeOptions {
  /** `--max-endpoints-per-slice`; Infinity where larger slices existed before. */
  readonly maxEndpointsPerSlice: number;
  /** The zones' shares, for hints by CPU. */
  readonly shares: ZoneShares;
}

/** Something that is wrong. */
export interface Fault {
  /** `<namespace>/<name>` of the slice. If an endpoint or a whole slice is missing, that of the Service. */
  readonly object: string;
  /** One line. */
  readonly reason: string;
}

/**
 * @param slices all slices with the controller's managed-by label and the Service's name, except those being deleted
 */
export function judgeSlices(
  expected: ExpectedSlices,
  slices: readonly EndpointSlice[],
  options: SlicesJudgeOptions,
): Fault[] {
  const faults: Fault[] = [];
  for (const slice of slices) {
    if (expected.families.some(({ family }) => family === slice.addressType))
      judgeFrame(faults, expected, slice, options);
    else faults.push(faultOf(slice, `address type ${slice.addressType} is not wanted`));
  }
  for (const family of expected.families) {
    const ofFamily = slices.filter(({ addressType }) => addressType === family.family);
    if (ofFamily.length === 0) {
      faults.push({ object: keyOf(expected), reason: `no slice for ${family.family}` });
      continue;
    }
    judgeFamily(faults, expected, family, ofFamily);
    judgeHints(faults, expected, family, ofFamily, options.shares);
  }
  return faults;
}

/** Judges everything but the endpoints. */
function judgeFrame(
  faults: Fault[],
  { service, labels }: ExpectedSlices,
  slice: EndpointSlice,
  { maxEndpointsPerSlice }: SlicesJudgeOptions,
): void {
  const { metadata, endpoints } = slice;
  const wrongLabel = labelDifference(labels, metadata.labels ?? {});
  if (wrongLabel !== null) faults.push(faultOf(slice, wrongLabel));
  if (!ownedBy(metadata.ownerReferences, 'Service', service.name, service.uid)) {
    faults.push(faultOf(slice, `is not owned by Service uid ${service.uid}`));
  }
  const count = endpoints?.length ?? 0;
  if (count > maxEndpointsPerSlice) {
    faults.push(faultOf(slice, `${count} endpoints, at most ${maxEndpointsPerSlice} are allowed`));
  }
}

/** One line about the first difference; null = there is none. */
export function labelDifference(
  wanted: Readonly<Record<string, string>>,
  held: Readonly<Record<string, string>>,
  what = 'label',
): string | null {
  for (const [key, value] of Object.entries(wanted)) {
    if (held[key] !== value) return `${what} ${key} is ${JSON.stringify(held[key])}, not ${JSON.stringify(value)}`;
  }
  const surplus = Object.keys(held).find((key) => !Object.hasOwn(wanted, key));
  return surplus === undefined ? null : `${what} ${surplus} should not be there`;
}

/** Whether the slice has the reference by which the garbage collector and `kubectl` know its controller. */
export function ownedBy(
  references: readonly OwnerReference[] | undefined,
  kind: string,
  name: string,
  uid: string,
): boolean {
  return (references ?? []).some(
    (reference) =>
      reference.apiVersion === 'v1' &&
      reference.kind === kind &&
      reference.name === name &&
      reference.uid === uid &&
      reference.controller === true &&
      reference.blockOwnerDeletion === true,
  );
}

function judgeFamily(
  faults: Fault[],
  expected: ExpectedSlices,
  { family, groups }: ExpectedFamily,
  slices: readonly EndpointSlice[],
): void {
  const missing = new Map<string, Map<string, string>>();
  for (const [ports, endpoints] of groups) {
    missing.set(ports, new Map(endpoints.map((endpoint) => [identity(endpoint), contentText(endpoint)])));
  }
  const seen = new Set<string>();
  for (const slice of slices) {
    const ports = portsKey(slice.ports ?? []);
    const endpoints = slice.endpoints ?? [];
    const group = missing.get(ports);
    if (group === undefined) {
      const placeholder = ports === '' && endpoints.length === 0;
      if (placeholder && slices.length === 1) continue;
      faults.push(faultOf(slice, placeholder ? 'a placeholder beside other slices' : `no pod has its ports: ${ports}`));
      continue;
    }
    for (const endpoint of endpoints) {
      const id = identity(endpoint);
      const wanted = group.get(id);
      const held = contentText(endpoint);
      if (wanted !== undefined) {
        group.delete(id);
        seen.add(`${ports} ${id}`);
        if (wanted !== held) faults.push(faultOf(slice, `${held} should be ${wanted}`));
      } else if (seen.has(`${ports} ${id}`)) faults.push(faultOf(slice, `${held} is listed twice`));
      else faults.push(faultOf(slice, `${held} should not be there`));
    }
  }
  for (const [ports, group] of missing) {
    for (const text of group.values()) {
      faults.push({ object: keyOf(expected), reason: `${family} ${ports}: ${text} is missing` });
    }
  }
}

function judgeHints(
  faults: Fault[],
  expected: ExpectedSlices,
  { family }: ExpectedFamily,
  slices: readonly EndpointSlice[],
  shares: ZoneShares,
): void {
  const { hints: rule } = expected;
  const isReady = ({ conditions }: Endpoint): boolean => conditions?.ready === true;
  if (rule === 'cpu') {
    const ready = slices.flatMap(({ endpoints }) => (endpoints ?? []).filter(isReady));
    const reason = judgeCpuHints(ready, shares);
    if (reason !== null) faults.push({ object: keyOf(expected), reason: `${family}: ${reason}` });
    return;
  }
  for (const slice of slices) {
    for (const endpoint of slice.endpoints ?? []) {
      // An endpoint that is not ready keeps its old hints when new ones are given.
      if (rule !== 'none' && !isReady(endpoint)) continue;
      const wanted = rule === 'none' ? '' : ownHints(endpoint, rule);
      const held = hintsText(endpoint.hints);
      if (held !== wanted) {
        faults.push(faultOf(slice, `${endpoint.addresses[0]}: hints "${held}", not "${wanted}" (${rule})`));
      }
    }
  }
}

function ownHints({ zone, nodeName }: Endpoint, rule: string): string {
  return hintsText({
    forZones: zone === undefined ? [] : [{ name: zone }],
    forNodes: nodeName === undefined || rule !== 'PreferSameNode' ? [] : [{ name: nodeName }],
  });
}

function hintsText(hints: Endpoint['hints']): string {
  const zones = (hints?.forZones ?? []).map(({ name }) => `zone ${name}`);
  const nodes = (hints?.forNodes ?? []).map(({ name }) => `node ${name}`);
  return [...zones, ...nodes].join(', ');
}

/** The key by which two endpoints are the same one (docs/spec/endpointslice.md "Identity and equality"). */
export function identity({ addresses, hostname = '', targetRef }: Endpoint): string {
  return `${addresses.toSorted().join(',')} ${hostname} ${targetRef?.namespace ?? ''}/${targetRef?.name ?? ''}`;
}

/** The contents of an endpoint without its hints. Absent and false differ; absent and empty do not. */
export function contentText({ addresses, conditions, hostname, nodeName, zone, targetRef }: Endpoint): string {
  const { ready, serving, terminating } = conditions ?? {};
  const { kind = '', namespace = '', name = '', uid = '', apiVersion = '', fieldPath = '' } = targetRef ?? {};
  const states = Object.entries({ ready, serving, terminating }).flatMap(([state, value]) =>
    value === undefined ? [] : [`${value ? '' : 'not '}${state}`],
  );
  const parts = [
    addresses.toSorted().join(','),
    states.join(', '),
    ...(hostname === undefined ? [] : [`hostname ${hostname}`]),
    ...(nodeName === undefined ? [] : [`on ${nodeName}`]),
    ...(zone === undefined ? [] : [`in ${zone}`]),
    ...(targetRef === undefined ? [] : [`for ${kind} ${namespace}/${name} ${uid}${apiVersion}${fieldPath}`]),
  ];
  return parts.join(' ');
}

export function faultOf({ metadata }: EndpointSlice, reason: string): Fault {
  return { object: `${metadata.namespace}/${metadata.name}`, reason };
}

function keyOf({ service }: ExpectedSlices): string {
  return `${service.namespace}/${service.name}`;
}
