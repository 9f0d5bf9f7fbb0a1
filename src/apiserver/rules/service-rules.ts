import { duplicate, forbidden, invalid, notSupported, required } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { child, equal, items, text } from '../object.ts';
import type { ApiObject } from '../object.ts';
import { freeIp, freeNodePort, ipProblem, nodePortProblem } from '../service-addresses.ts';
import type { ServiceAddresses } from '../service-addresses.ts';
import { ipProblems, parseIp } from './ip.ts';
import { labelName, labelValue, portName, portNumber, PROTOCOLS, qualifiedName, subdomainName } from './name-rules.ts';
import type { RuleContext, Rules } from './rules.ts';

type Json = Record<string, unknown>;

interface Port {
  name?: string;
  protocol?: string;
  port?: number;
  targetPort?: number | string;
  nodePort?: number;
  appProtocol?: string;
}

const AFFINITIES: readonly string[] = ['ClientIP', 'None'];
const FAMILIES: readonly string[] = ['IPv4', 'IPv6'];
const POLICIES: readonly string[] = ['PreferDualStack', 'RequireDualStack', 'SingleStack'];
const TYPES: readonly string[] = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];

/** core/v1 Service. Addresses are chosen here and taken when the object is written. */
export const SERVICE_RULES: Rules = {
  name: labelName,
  prepareCreate: (object, context) => {
    const spec = serviceDefaults(child(object, 'spec'));
    object['spec'] = spec;
    object['status'] = { loadBalancer: {} };
    chooseAddresses(spec, context.addresses);
  },
  prepareUpdate: (object, old, context) => {
    if (context.status) {
      object['spec'] = old['spec'];
      object['status'] = { loadBalancer: {}, ...child(object, 'status') };
      return;
    }
    const spec = keepAddresses(serviceDefaults(child(object, 'spec')), child(old, 'spec'));
    object['spec'] = spec;
    object['status'] = old['status'];
    chooseAddresses(spec, context.addresses);
  },
  validateCreate: (object, context) => validateService(object, null, context),
  validateUpdate: (object, old, context) =>
    context.status ? validateStatus(object) : validateService(object, old, context),
  changed: (object, old, { addresses }) => {
    if (old !== null) {
      for (const ip of ownIps(old)) addresses.ips.delete(ip);
      for (const port of ownNodePorts(old)) addresses.nodePorts.delete(port);
    }
    if (object !== null) {
      for (const ip of ownIps(object)) addresses.ips.add(ip);
      for (const port of ownNodePorts(object)) addresses.nodePorts.add(port);
    }
  },
};

function ownIps(object: ApiObject): readonly string[] {
  return items<string>(child(object, 'spec'), 'clusterIPs').filter((ip) => ip !== 'None');
}

function ownNodePorts(object: ApiObject): readonly number[] {
  return items<Port>(child(object, 'spec'), 'ports').flatMap(({ nodePort = 0 }) => (nodePort === 0 ? [] : [nodePort]));
}

function serviceDefaults(given: Json): Json {
  const spec: Json = { ...given };
  spec['type'] ??= 'ClusterIP';
  spec['sessionAffinity'] ??= 'None';
  if (spec['sessionAffinity'] === 'ClientIP')
    spec['sessionAffinityConfig'] ??= { clientIP: { timeoutSeconds: 10_800 } };
  for (const port of items<Port>(spec, 'ports')) {
    port.protocol ??= 'TCP';
    if (port.targetPort === undefined || port.targetPort === 0 || port.targetPort === '') {
      port.targetPort = port.port ?? 0;
    }
  }
  const type = spec['type'];
  if (type !== 'ExternalName') spec['internalTrafficPolicy'] ??= 'Cluster';
  if (hasNodePorts(type)) spec['externalTrafficPolicy'] ??= 'Cluster';
  if (type === 'LoadBalancer') spec['allocateLoadBalancerNodePorts'] ??= true;
  return spec;
}

function hasNodePorts(type: unknown): boolean {
  return type === 'NodePort' || type === 'LoadBalancer';
}

/** What a client leaves out of an update and the server has given stays. */
function keepAddresses(spec: Json, old: Json): Json {
  if (spec['type'] === 'ExternalName' || old['type'] === 'ExternalName') return spec;
  if (text(spec, 'clusterIP') === '' && items(spec, 'clusterIPs').length === 0) {
    spec['clusterIP'] = old['clusterIP'];
    spec['clusterIPs'] = old['clusterIPs'];
  }
  spec['ipFamilyPolicy'] ??= old['ipFamilyPolicy'];
  spec['ipFamilies'] ??= old['ipFamilies'];
  // Going back to one family gives up what was the second.
  const single = spec['ipFamilyPolicy'] === 'SingleStack' && old['ipFamilyPolicy'] !== 'SingleStack';
  if (single && equal(spec['ipFamilies'], old['ipFamilies']) && equal(spec['clusterIPs'], old['clusterIPs'])) {
    spec['ipFamilies'] = items(spec, 'ipFamilies').slice(0, 1);
    spec['clusterIPs'] = items(spec, 'clusterIPs').slice(0, 1);
  }
  if (hasNodePorts(spec['type']) && hasNodePorts(old['type'])) {
    const oldPorts = items<Port>(old, 'ports');
    for (const port of items<Port>(spec, 'ports')) {
      if (port.nodePort !== undefined) continue;
      const same = oldPorts.find((other) => other.port === port.port && other.protocol === port.protocol);
      if (same?.nodePort !== undefined) port.nodePort = same.nodePort;
    }
  }
  return spec;
}

function chooseAddresses(spec: Json, addresses: ServiceAddresses): void {
  if (spec['type'] === 'ExternalName') {
    if (text(spec, 'clusterIP') === '') {
      for (const field of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy']) {
        delete spec[field];
      }
    }
    return;
  }
  const ips = [...items<string>(spec, 'clusterIPs')];
  const wanted = text(spec, 'clusterIP');
  if (ips.length === 0 && wanted !== '') ips.push(wanted);
  const headless = ips[0] === 'None';
  chooseFamilies(spec, addresses, headless, ips);
  if (headless) {
    spec['clusterIP'] = 'None';
    spec['clusterIPs'] = ['None'];
  } else {
    const families = items<string>(spec, 'ipFamilies');
    for (let at = ips.length; at < families.length; at++) {
      const ip = freeIp(addresses, families[at]!);
      if (ip !== null) ips.push(ip);
    }
    spec['clusterIP'] = wanted === '' ? (ips[0] ?? '') : wanted;
    spec['clusterIPs'] = ips;
  }
  chooseNodePorts(spec, addresses);
}

function chooseFamilies(spec: Json, addresses: ServiceAddresses, headless: boolean, ips: readonly string[]): void {
  const families = [...items<string>(spec, 'ipFamilies')];
  const served = addresses.ranges.map((range) => range.family as string);
  // The server cannot know the families behind such a service, so it leaves both open (spec/wire.md 5.7).
  const open = headless && spec['selector'] === undefined;
  if (open) spec['ipFamilyPolicy'] ??= 'RequireDualStack';
  spec['ipFamilyPolicy'] ??= 'SingleStack';
  if (families.length === 0) {
    for (const ip of ips) if (ip !== 'None') families.push(ip.includes(':') ? 'IPv6' : 'IPv4');
    if (families.length === 0) families.push(served[0]!);
  }
  if (spec['ipFamilyPolicy'] !== 'SingleStack' && families.length === 1) {
    const other = families[0] === 'IPv4' ? 'IPv6' : 'IPv4';
    if (open || served.includes(other)) families.push(other);
  }
  spec['ipFamilies'] = families;
}

function chooseNodePorts(spec: Json, addresses: ServiceAddresses): void {
  const ports = items<Port>(spec, 'ports');
  if (!hasNodePorts(spec['type'])) return;
  if (spec['type'] === 'LoadBalancer' && spec['allocateLoadBalancerNodePorts'] === false) return;
  const taken = new Set(ports.flatMap(({ nodePort = 0 }) => (nodePort === 0 ? [] : [nodePort])));
  for (const port of ports) {
    if (port.nodePort !== undefined) continue;
    const free = freeNodePort(addresses, taken);
    if (free === null) continue;
    port.nodePort = free;
    taken.add(free);
  }
}

function validateService(object: ApiObject, old: ApiObject | null, { addresses }: RuleContext): readonly FieldError[] {
  const spec = child(object, 'spec');
  const oldSpec = child(old ?? undefined, 'spec');
  const ips = items<string>(spec, 'clusterIPs');
  const taken = takenErrors(ips, items<string>(oldSpec, 'clusterIPs'), addresses);
  if (old === null && mismatch(spec).length > 0) return mismatch(spec);
  // The server reserves addresses before it validates the rest.
  if (old === null && taken.length > 0) return taken;
  const errors: FieldError[] = [];
  const type = text(spec, 'type');
  const headless = ips[0] === 'None';
  validatePorts(errors, spec, type !== 'ExternalName' && !headless);
  validateSelector(errors, spec);
  const affinity = text(spec, 'sessionAffinity');
  if (!AFFINITIES.includes(affinity)) errors.push(notSupported('spec.sessionAffinity', affinity, AFFINITIES));
  if (!TYPES.includes(type)) errors.push(notSupported('spec.type', type, TYPES));
  if (type === 'ExternalName') validateExternalName(errors, spec);
  if (headless && hasNodePorts(type)) {
    errors.push(invalid('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${type} services`));
  }
  validateIps(errors, spec);
  validateFamilies(errors, spec, type, headless, addresses);
  validateNodePorts(errors, spec, oldSpec, addresses);
  if (old !== null) {
    errors.push(...taken);
    const keeps = oldSpec['type'] !== 'ExternalName' && type !== 'ExternalName';
    const oldIp = text(oldSpec, 'clusterIP');
    if (keeps && oldIp !== '' && ips[0] !== oldIp) {
      errors.push(invalid('spec.clusterIPs[0]', ips, 'may not change once set'));
    }
  }
  return errors;
}

function mismatch(spec: Json): readonly FieldError[] {
  const ips = items<string>(spec, 'clusterIPs');
  if (ips.length === 0 || ips[0] === text(spec, 'clusterIP')) return [];
  return [invalid('spec.clusterIPs', ips, 'first value must match `clusterIP`')];
}

function takenErrors(ips: readonly string[], own: readonly string[], addresses: ServiceAddresses): FieldError[] {
  const errors: FieldError[] = [];
  for (const ip of ips) {
    if (ip === 'None' || own.includes(ip) || parseIp(ip) === null) continue;
    const problem = ipProblem(addresses, ip);
    if (problem !== '') errors.push(invalid('spec.clusterIPs', ips, `failed to allocate IP ${ip}: ${problem}`));
  }
  return errors;
}

function validatePorts(errors: FieldError[], spec: Json, portsRequired: boolean): void {
  const ports = items<Port>(spec, 'ports');
  if (ports.length === 0 && portsRequired) errors.push(required('spec.ports'));
  const names = new Set<string>();
  for (const [at, port] of ports.entries()) {
    const field = `spec.ports[${at}]`;
    const { name = '', protocol = '', appProtocol } = port;
    if (name === '') {
      if (ports.length > 1) errors.push(required(`${field}.name`));
    } else {
      for (const problem of labelName(name)) errors.push(invalid(`${field}.name`, name, problem));
      if (names.has(name)) errors.push(duplicate(`${field}.name`, name));
      names.add(name);
    }
    const number = port.port ?? 0;
    for (const problem of portNumber(number)) errors.push(invalid(`${field}.port`, number, problem));
    if (!PROTOCOLS.includes(protocol)) errors.push(notSupported(`${field}.protocol`, protocol, PROTOCOLS));
    if (typeof port.targetPort === 'string') {
      for (const problem of portName(port.targetPort)) {
        errors.push(invalid(`${field}.targetPort`, port.targetPort, problem));
      }
    } else if (port.targetPort !== undefined) {
      for (const problem of portNumber(port.targetPort)) {
        errors.push(invalid(`${field}.targetPort`, port.targetPort, problem));
      }
    }
    if (appProtocol !== undefined) {
      for (const problem of qualifiedName(appProtocol)) {
        errors.push(invalid(`${field}.appProtocol`, appProtocol, problem));
      }
    }
  }
  for (const [at, port] of ports.entries()) {
    const first = ports.findIndex((other) => other.port === port.port && other.protocol === port.protocol);
    if (first < at) errors.push(duplicate(`spec.ports[${at}]`, duplicateShape(port)));
  }
}

/** The server shows the port as a Go struct whose other fields it has left out. */
function duplicateShape(port: Port): object {
  const { protocol = '', port: number = 0 } = port;
  return { Name: '', Protocol: protocol, AppProtocol: null, Port: number, TargetPort: 0, NodePort: 0 };
}

function validateExternalName(errors: FieldError[], spec: Json): void {
  if (text(spec, 'clusterIP') !== '') {
    errors.push(forbidden('spec.clusterIPs', 'may not be set for ExternalName services'));
  }
  const name = text(spec, 'externalName');
  if (name === '') errors.push(required('spec.externalName'));
  else for (const problem of subdomainName(name)) errors.push(invalid('spec.externalName', name, problem));
}

function validateFamilies(
  errors: FieldError[],
  spec: Json,
  type: string,
  headless: boolean,
  addresses: ServiceAddresses,
): void {
  if (type === 'ExternalName') return;
  const families = items<string>(spec, 'ipFamilies');
  const policy = spec['ipFamilyPolicy'];
  for (const [at, family] of families.entries()) {
    if (!FAMILIES.includes(family)) errors.push(notSupported(`spec.ipFamilies[${at}]`, family, FAMILIES));
  }
  if (!POLICIES.includes(String(policy))) errors.push(notSupported('spec.ipFamilyPolicy', policy, POLICIES));
  if (families.length > 1 && policy === 'SingleStack') {
    const why = "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified";
    errors.push(invalid('spec.ipFamilyPolicy', policy, why));
  }
  const open = headless && spec['selector'] === undefined;
  if (open || errors.length > 0) return;
  const served = addresses.ranges.map((range) => range.family as string);
  if (policy === 'RequireDualStack' && served.length < 2) {
    const why = 'this cluster is not configured for dual-stack services';
    errors.push(invalid('spec.ipFamilyPolicy', policy, why));
    return;
  }
  for (const [at, family] of families.entries()) {
    if (!served.includes(family)) {
      errors.push(invalid(`spec.ipFamilies[${at}]`, family, 'not configured on this cluster'));
    }
  }
}

/** Cluster IPs have to be addresses, and of the families that are listed. */
function validateIps(errors: FieldError[], spec: Json): void {
  const ips = items<string>(spec, 'clusterIPs');
  const families = items<string>(spec, 'ipFamilies');
  for (const [at, ip] of ips.entries()) {
    if (ip === 'None') continue;
    const field = `spec.clusterIPs[${at}]`;
    for (const problem of ipProblems(ip)) errors.push(invalid(field, ip, problem));
    const family = parseIp(ip)?.family;
    const wanted = families[at];
    if (family !== undefined && wanted !== undefined && family !== wanted && FAMILIES.includes(wanted)) {
      errors.push(invalid(field, ip, `expected an ${wanted} value as indicated by \`ipFamilies[${at}]\``));
    }
  }
}

function validateSelector(errors: FieldError[], spec: Json): void {
  const selector = child(spec, 'selector');
  for (const key of Object.keys(selector).sort()) {
    const value = selector[key];
    for (const problem of qualifiedName(key)) errors.push(invalid('spec.selector', key, problem));
    for (const problem of labelValue(String(value))) errors.push(invalid('spec.selector', value, problem));
  }
}

function validateStatus(object: ApiObject): readonly FieldError[] {
  const ingress = items(child(child(object, 'status'), 'loadBalancer'), 'ingress');
  if (ingress.length === 0 || text(child(object, 'spec'), 'type') === 'LoadBalancer') return [];
  return [forbidden('status.loadBalancer.ingress', "may only be used when `spec.type` is 'LoadBalancer'")];
}

function validateNodePorts(errors: FieldError[], spec: Json, old: Json, addresses: ServiceAddresses): void {
  if (equal(spec['ports'], old['ports'])) return;
  const own = items<Port>(old, 'ports').map((port) => port.nodePort);
  for (const [at, { nodePort = 0 }] of items<Port>(spec, 'ports').entries()) {
    if (nodePort === 0 || own.includes(nodePort)) continue;
    const problem = nodePortProblem(addresses, nodePort);
    if (problem !== '') errors.push(invalid(`spec.ports[${at}].nodePort`, nodePort, problem));
  }
}
