import { duplicate, invalid, notSupported, required, tooMany, type FieldError } from '../field-error.ts';
import { child, equal, items, text, type ApiObject } from '../object.ts';
import { canonicalIpProblems, ipProblems, parseIp, specialIpProblems } from './ip.ts';
import { labelName, labelValue, PROTOCOLS, qualifiedName, subdomainName } from './name-rules.ts';
import type { Rules } from './rules.ts';

const ADDRESS_TYPES: readonly string[] = ['FQDN', 'IPv4', 'IPv6'];
const ENDPOINTS_MAX = 1000;
const PORTS_MAX = 20_000;
const ADDRESSES_MAX = 100;
const HINTS_MAX = 8;

interface SlicePort {
  name?: string;
  protocol?: string;
  port?: number;
  appProtocol?: string;
}

interface SliceEndpoint {
  addresses?: string[];
  conditions?: object;
  hostname?: string;
  nodeName?: string;
  zone?: string;
  deprecatedTopology?: object;
  hints?: { forZones?: { name?: string }[]; forNodes?: { name?: string }[] };
}

/** discovery.k8s.io/v1 EndpointSlice. */
export const ENDPOINT_SLICE_RULES: Rules = {
  name: subdomainName,
  prepareCreate: (object) => {
    applyDefaults(object);
    dropTopology(object);
    object.metadata.generation = 1;
  },
  prepareUpdate: (object, old) => {
    applyDefaults(object);
    const changed = !equal(object.metadata.labels, old.metadata.labels) || !sameContent(object, old);
    // The topology counts as a change before it is dropped.
    dropTopology(object);
    object.metadata.generation = (old.metadata.generation ?? 0) + (changed ? 1 : 0);
  },
  validateCreate: (object) => validateSlice(object, null),
  validateUpdate: (object, old) => {
    const errors = validateSlice(object, old);
    if (text(object, 'addressType') !== text(old, 'addressType')) {
      errors.push(invalid('addressType', object['addressType'], 'field is immutable'));
    }
    return errors;
  },
};

function applyDefaults(object: ApiObject): void {
  // The server shows lists without items as null.
  for (const field of ['endpoints', 'ports']) if (items(object, field).length === 0) object[field] = null;
  for (const port of items<SlicePort>(object, 'ports')) {
    port.name ??= '';
    port.protocol ??= 'TCP';
  }
  for (const endpoint of items<SliceEndpoint>(object, 'endpoints')) endpoint.conditions ??= {};
}

function dropTopology(object: ApiObject): void {
  for (const endpoint of items<SliceEndpoint>(object, 'endpoints')) delete endpoint.deprecatedTopology;
}

function sameContent(left: ApiObject, right: ApiObject): boolean {
  return (
    equal(left['addressType'], right['addressType']) &&
    equal(left['endpoints'], right['endpoints']) &&
    equal(left['ports'], right['ports'])
  );
}

function validateSlice(object: ApiObject, old: ApiObject | null): FieldError[] {
  const errors: FieldError[] = [];
  const addressType = text(object, 'addressType');
  if (addressType === '') errors.push(required('addressType'));
  else if (!ADDRESS_TYPES.includes(addressType)) errors.push(notSupported('addressType', addressType, ADDRESS_TYPES));
  const ports = items<SlicePort>(object, 'ports');
  if (ports.length > PORTS_MAX) errors.push(tooMany('ports', ports.length, PORTS_MAX));
  else validatePorts(errors, ports);
  const endpoints = items<SliceEndpoint>(object, 'endpoints');
  if (endpoints.length > ENDPOINTS_MAX) errors.push(tooMany('endpoints', endpoints.length, ENDPOINTS_MAX));
  else if (old === null || !equal(endpoints, items(old, 'endpoints'))) {
    // Unchanged endpoints are not validated: older rules may have allowed them.
    for (const [at, endpoint] of endpoints.entries()) {
      validateEndpoint(errors, `endpoints[${at}]`, endpoint, addressType);
    }
  }
  return errors;
}

function validateEndpoint(errors: FieldError[], field: string, endpoint: SliceEndpoint, addressType: string): void {
  const { addresses = [], hostname, nodeName } = endpoint;
  if (addresses.length === 0) errors.push(required(`${field}.addresses`, 'must contain at least 1 address'));
  if (addresses.length > ADDRESSES_MAX) {
    errors.push(tooMany(`${field}.addresses`, addresses.length, ADDRESSES_MAX));
    return;
  }
  for (const [at, address] of addresses.entries()) {
    validateAddress(errors, `${field}.addresses`, at, address, addressType);
  }
  for (const key of Object.keys(child(endpoint, 'deprecatedTopology'))) {
    for (const problem of qualifiedName(key)) errors.push(invalid(`${field}.deprecatedTopology`, key, problem));
  }
  if (nodeName !== undefined) {
    for (const problem of subdomainName(nodeName)) errors.push(invalid(`${field}.nodeName`, nodeName, problem));
  }
  if (hostname !== undefined) {
    for (const problem of labelName(hostname)) errors.push(invalid(`${field}.hostname`, hostname, problem));
  }
  const { forZones = [], forNodes = [] } = endpoint.hints ?? {};
  // If there are too many zones, the rest is not validated.
  if (validateHints(errors, `${field}.hints.forZones`, forZones, labelValue)) {
    validateHints(errors, `${field}.hints.forNodes`, forNodes, subdomainName);
  }
}

/** Returns whether the hints are few enough to be validated one by one. */
function validateHints(
  errors: FieldError[],
  field: string,
  hints: readonly { name?: string }[],
  rule: (name: string) => readonly string[],
): boolean {
  if (hints.length > HINTS_MAX) {
    errors.push(tooMany(field, hints.length, HINTS_MAX));
    return false;
  }
  const names = new Set<string>();
  for (const [at, { name = '' }] of hints.entries()) {
    for (const problem of rule(name)) errors.push(invalid(`${field}[${at}].name`, name, problem));
    if (names.has(name)) errors.push(duplicate(`${field}[${at}].name`, name));
    names.add(name);
  }
  return true;
}

function validateAddress(errors: FieldError[], list: string, at: number, address: string, addressType: string): void {
  const field = `${list}[${at}]`;
  if (addressType === 'FQDN') {
    if (address === '') errors.push(required(field));
    else for (const problem of subdomainName(address)) errors.push(invalid(field, address, problem));
    return;
  }
  if (addressType !== 'IPv4' && addressType !== 'IPv6') return;
  const problems = ipProblems(address);
  for (const problem of problems) errors.push(invalid(field, address, problem));
  if (problems.length > 0) return;
  const ip = parseIp(address);
  if (ip !== null && ip.family !== addressType) {
    // The server names the list here, not the item.
    errors.push(invalid(list, address, `must be an ${addressType} address`));
  } else {
    for (const problem of canonicalIpProblems(address)) errors.push(invalid(field, address, problem));
  }
  for (const problem of specialIpProblems(address)) errors.push(invalid(field, address, problem));
}

function validatePorts(errors: FieldError[], ports: readonly SlicePort[]): void {
  const names = new Set<string>();
  for (const [at, port] of ports.entries()) {
    const field = `ports[${at}]`;
    const { name = '', protocol = '', appProtocol } = port;
    if (name !== '') {
      for (const problem of labelName(name)) errors.push(invalid(`${field}.name`, name, problem));
    }
    if (names.has(name)) errors.push(duplicate(`${field}.name`, name));
    names.add(name);
    if (!PROTOCOLS.includes(protocol)) errors.push(notSupported(`${field}.protocol`, protocol, PROTOCOLS));
    if (appProtocol !== undefined) {
      for (const problem of qualifiedName(appProtocol)) {
        errors.push(invalid(`${field}.appProtocol`, appProtocol, problem));
      }
    }
  }
}
