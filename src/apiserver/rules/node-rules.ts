import { duplicate, forbidden, invalid, notSupported, required, type FieldError } from '../field-error.ts';
import { child, equal, items, text, type ApiObject } from '../object.ts';
import { cidrProblems, parseIp } from './ip.ts';
import { labelValue, qualifiedName, subdomainName } from './name-rules.ts';
import { quantityErrors } from './resource-amounts.ts';
import type { Rules } from './rules.ts';

/** core/v1 Node. */
export const NODE_RULES: Rules = {
  name: subdomainName,
  prepareCreate: nodeDefaults,
  prepareUpdate: (object, old, context) => {
    if (context.status) object['spec'] = old['spec'];
    else object['status'] = old['status'];
    nodeDefaults(object);
  },
  validateCreate: validateNode,
  validateUpdate: (object, old) => [...validateNode(object), ...validateChange(object, old)],
};

/** The effects in the order of the server's message. */
const EFFECTS: readonly string[] = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

interface Taint {
  readonly key?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly timeAdded?: string;
}

function validateNode(object: ApiObject): FieldError[] {
  const errors: FieldError[] = [];
  validateTaints(errors, items<Taint>(child(object, 'spec'), 'taints'));
  for (const list of ['capacity', 'allocatable']) {
    const resources = child(child(object, 'status'), list) as Record<string, string>;
    for (const name of Object.keys(resources).sort()) {
      errors.push(...quantityErrors(`status.${list}.${name}`, name, resources[name]!));
    }
  }
  validateRanges(errors, items<string>(child(object, 'spec'), 'podCIDRs'));
  return errors;
}

/** The server names the metadata in errors of taints. */
function validateTaints(errors: FieldError[], taints: readonly Taint[]): void {
  const seen = new Set<string>();
  for (const [at, { key = '', value = '', effect = '', timeAdded = null }] of taints.entries()) {
    const field = `metadata.taints[${at}]`;
    for (const problem of qualifiedName(key)) errors.push(invalid(`${field}.key`, key, problem));
    for (const problem of labelValue(value)) errors.push(invalid(`${field}.value`, value, problem));
    if (effect === '') errors.push(required(`${field}.effect`));
    else if (!EFFECTS.includes(effect)) errors.push(notSupported(`${field}.effect`, effect, EFFECTS, false));
    const pair = `${effect} ${key}`;
    if (seen.has(pair)) {
      const { message, ...error } = duplicate(field, { Key: key, Value: value, Effect: effect, TimeAdded: timeAdded });
      errors.push({ ...error, message: `${message}: taints must be unique by key and effect pair` });
    }
    seen.add(pair);
  }
}

function validateRanges(errors: FieldError[], ranges: readonly string[]): void {
  for (const [at, range] of ranges.entries()) {
    for (const problem of cidrProblems(range)) errors.push(invalid(`spec.podCIDRs[${at}]`, range, problem));
  }
  if (ranges.length < 2) return;
  const families = ranges.map((range) => parseIp(range.slice(0, range.indexOf('/')))?.family);
  const unread = families.indexOf(undefined);
  if (unread >= 0) {
    const why = `invalid CIDR[${unread}]: <nil> (invalid CIDR address: ${ranges[unread]})`;
    const message = `Internal error: invalid PodCIDRs. failed to check with dual stack with error:${why}`;
    errors.push({ field: 'spec.podCIDRs', reason: 'InternalError', message });
  }
  if (unread >= 0 || ranges.length > 2 || families[0] === families[1]) {
    errors.push(invalid('spec.podCIDRs', ranges, 'may specify no more than one CIDR for each IP family'));
  }
}

function validateChange(object: ApiObject, old: ApiObject): FieldError[] {
  const errors: FieldError[] = [];
  const addresses = new Set<string>();
  for (const [at, { type = '', address = '' }] of items<{ type?: string; address?: string }>(
    child(object, 'status'),
    'addresses',
  ).entries()) {
    const pair = `${type} ${address}`;
    if (addresses.has(pair)) errors.push(duplicate(`status.addresses[${at}]`, { Type: type, Address: address }));
    addresses.add(pair);
  }
  const [spec, before] = [child(object, 'spec'), child(old, 'spec')];
  const ranges = items<string>(before, 'podCIDRs');
  if (ranges.length > 0 && !equal(ranges, items<string>(spec, 'podCIDRs'))) {
    errors.push(forbidden('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid'));
  }
  if (text(before, 'providerID') !== '' && text(before, 'providerID') !== text(spec, 'providerID')) {
    errors.push(forbidden('spec.providerID', 'node updates may not change providerID except from "" to valid'));
  }
  return errors;
}

function nodeDefaults(object: ApiObject): void {
  object['spec'] = specDefaults(child(object, 'spec'));
  const status = { ...child(object, 'status') };
  if (status['allocatable'] === undefined && status['capacity'] !== undefined) {
    status['allocatable'] = status['capacity'];
  }
  status['daemonEndpoints'] ??= { kubeletEndpoint: { Port: 0 } };
  status['nodeInfo'] ??= Object.fromEntries(NODE_INFO.map((field) => [field, '']));
  for (const condition of items(status, 'conditions')) {
    condition['lastHeartbeatTime'] ??= null;
    condition['lastTransitionTime'] ??= null;
  }
  for (const image of items(status, 'images')) image['names'] ??= null;
  object['status'] = status;
}

/** podCIDR and podCIDRs[0] are one value in the server. If both are given and differ, podCIDR wins. */
function specDefaults(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { configSource: _, ...spec } = given;
  const range = text(spec, 'podCIDR');
  const ranges = items<string>(spec, 'podCIDRs');
  if (range !== '' && ranges[0] !== range) return { ...spec, podCIDRs: [range] };
  return range === '' && ranges.length > 0 ? { ...spec, podCIDR: ranges[0]! } : spec;
}

const NODE_INFO: readonly string[] = [
  'machineID',
  'systemUUID',
  'bootID',
  'kernelVersion',
  'osImage',
  'containerRuntimeVersion',
  'kubeletVersion',
  'kubeProxyVersion',
  'operatingSystem',
  'architecture',
];
