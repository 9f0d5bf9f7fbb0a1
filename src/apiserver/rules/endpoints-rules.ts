import type { EndpointAddress, EndpointPort, EndpointSubset } from '../../kube/types.ts';
import { invalid, notSupported, required, type FieldError } from '../field-error.ts';
import { equal, items, type ApiObject } from '../object.ts';
import { ipProblems, specialIpProblems } from './ip.ts';
import { labelName, portNumber, PROTOCOLS, qualifiedName, subdomainName } from './name-rules.ts';
import type { Rules } from './rules.ts';

/** core/v1 Endpoints (docs/spec/endpoints.md "What the API server validates"). */
export const ENDPOINTS_RULES: Rules = {
  name: subdomainName,
  prepareCreate: applyDefaults,
  prepareUpdate: applyDefaults,
  validateCreate: validateSubsets,
  // Unchanged subsets are not validated: older rules may have allowed them.
  validateUpdate: (object, old) => (equal(object['subsets'], old['subsets']) ? [] : validateSubsets(object)),
};

function applyDefaults(object: ApiObject): void {
  for (const subset of items<EndpointSubset>(object, 'subsets')) {
    for (const port of items<{ protocol?: string }>(subset, 'ports')) {
      if ((port.protocol ?? '') === '') port.protocol = 'TCP';
    }
  }
}

function validateSubsets(object: ApiObject): readonly FieldError[] {
  const errors: FieldError[] = [];
  for (const [at, subset] of items<EndpointSubset>(object, 'subsets').entries()) {
    validateSubset(errors, `subsets[${at}]`, subset);
  }
  return errors;
}

function validateSubset(errors: FieldError[], field: string, subset: EndpointSubset): void {
  const { addresses = [], notReadyAddresses = [], ports = [] } = subset;
  if (addresses.length === 0 && notReadyAddresses.length === 0) {
    errors.push(required(field, 'must specify `addresses` or `notReadyAddresses`'));
  }
  for (const [at, address] of addresses.entries()) validateAddress(errors, `${field}.addresses[${at}]`, address);
  for (const [at, address] of notReadyAddresses.entries()) {
    validateAddress(errors, `${field}.notReadyAddresses[${at}]`, address);
  }
  for (const [at, port] of ports.entries()) validatePort(errors, `${field}.ports[${at}]`, port, ports.length > 1);
}

function validateAddress(errors: FieldError[], field: string, address: EndpointAddress): void {
  const ip = address.ip ?? '';
  for (const problem of ipProblems(ip)) errors.push(invalid(`${field}.ip`, ip, problem));
  const { hostname = '', nodeName } = address;
  if (hostname !== '') {
    for (const problem of labelName(hostname)) errors.push(invalid(`${field}.hostname`, hostname, problem));
  }
  if (nodeName !== undefined) {
    for (const problem of subdomainName(nodeName)) errors.push(invalid(`${field}.nodeName`, nodeName, problem));
  }
  for (const problem of specialIpProblems(ip)) errors.push(invalid(`${field}.ip`, ip, problem));
}

function validatePort(errors: FieldError[], field: string, port: EndpointPort, nameRequired: boolean): void {
  const { name = '', protocol = '', appProtocol } = port;
  if (name === '') {
    if (nameRequired) errors.push(required(`${field}.name`));
  } else {
    for (const problem of labelName(name)) errors.push(invalid(`${field}.name`, name, problem));
  }
  const number = port.port ?? 0;
  for (const problem of portNumber(number)) errors.push(invalid(`${field}.port`, number, problem));
  if (protocol === '') errors.push(required(`${field}.protocol`));
  else if (!PROTOCOLS.includes(protocol)) errors.push(notSupported(`${field}.protocol`, protocol, PROTOCOLS));
  if (appProtocol !== undefined) {
    for (const problem of qualifiedName(appProtocol)) {
      errors.push(invalid(`${field}.appProtocol`, appProtocol, problem));
    }
  }
}
