import { duplicate, forbidden, invalid, notSupported, required, type FieldError } from '../field-error.ts';
import { child, items, text, type ApiObject } from '../object.ts';
import { cidrProblems, ipProblems, parseIp, specialIpProblems } from './ip.ts';
import { labelName, labelValue, portName, portNumber, PROTOCOLS, qualifiedName, subdomainName } from './name-rules.ts';
import { familyErrors } from './service-allocation.ts';
import {
  familiesOf,
  ipsOf,
  isBalancer,
  isExternal,
  isHeadless,
  needsClusterIp,
  needsHealthCheckPort,
  needsNodePorts,
  portsOf,
  same,
  typeOf,
  type ServiceSpec,
  type SpecPort,
} from './service-spec.ts';

const AFFINITIES: readonly string[] = ['ClientIP', 'None'];
const TYPES: readonly string[] = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
const TRAFFIC_POLICIES: readonly string[] = ['Cluster', 'Local'];
/** The values in the order of the server's message. */
const DISTRIBUTIONS: readonly string[] = ['PreferClose', 'PreferSameZone', 'PreferSameNode'];
const IP_MODES: readonly string[] = ['Proxy', 'VIP'];
const AFFINITY_SECONDS_MAX = 86_400;
const BALANCER_ONLY = "may only be used when `type` is 'LoadBalancer'";

/** The errors of a Service whose addresses are chosen, in the server's order. */
export function validateService(spec: ServiceSpec, old: ServiceSpec | null): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (old !== null) validateChange(errors, spec, old);
  validateType(errors, spec);
  validatePorts(errors, spec);
  validateSelector(errors, spec);
  validateAffinity(errors, spec);
  errors.push(...familyErrors(spec));
  for (const [at, ip] of items<string>(spec, 'externalIPs').entries()) {
    const problems = ipProblems(ip);
    for (const problem of problems.length > 0 ? problems : specialIpProblems(ip)) {
      errors.push(invalid(`spec.externalIPs[${at}]`, ip, problem));
    }
  }
  const type = typeOf(spec);
  if (!TYPES.includes(type)) errors.push(notSupported('spec.type', type, TYPES));
  validatePortPairs(errors, spec);
  validateBalancer(errors, spec);
  validateTraffic(errors, spec);
  return errors;
}

function validateChange(errors: FieldError[], spec: ServiceSpec, old: ServiceSpec): void {
  if (needsClusterIp(spec) && needsClusterIp(old)) {
    const ips = ipsOf(spec);
    for (const [at, ip] of ipsOf(old).entries()) {
      if (at < ips.length && ip !== ips[at]) {
        errors.push(invalid(`spec.clusterIPs[${at}]`, ips, 'may not change once set'));
      }
    }
    const families = familiesOf(spec);
    const before = familiesOf(old);
    if (!isHeadless(spec) && before.length > 0 && families[0] !== before[0]) {
      errors.push(invalid('spec.ipFamilies[0]', families, 'may not change once set'));
    }
  }
  if (isBalancer(spec) && isBalancer(old) && !same(spec, old, 'loadBalancerClass')) {
    errors.push(invalid('spec.loadBalancerClass', spec['loadBalancerClass'], 'may not change once set'));
  }
}

function validateType(errors: FieldError[], spec: ServiceSpec): void {
  const type = typeOf(spec);
  const headless = isHeadless(spec);
  if (portsOf(spec).length === 0 && !headless && type !== 'ExternalName') errors.push(required('spec.ports'));
  if (needsNodePorts(spec) && headless) {
    errors.push(invalid('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${type} services`));
  }
  if (type !== 'ExternalName') return;
  for (const field of ['clusterIPs', 'ipFamilies', 'ipFamilyPolicy']) {
    if (spec[field] === undefined) continue;
    errors.push(forbidden(`spec.${field}`, 'may not be set for ExternalName services'));
  }
  // A dot at the end marks the name as complete.
  const name = text(spec, 'externalName').replace(/\.$/, '');
  if (name === '') errors.push(required('spec.externalName'));
  else for (const problem of subdomainName(name)) errors.push(invalid('spec.externalName', name, problem));
}

function validatePorts(errors: FieldError[], spec: ServiceSpec): void {
  const ports = portsOf(spec);
  const names = new Set<string>();
  for (const [at, port] of ports.entries()) validatePort(errors, `spec.ports[${at}]`, port, ports.length > 1, names);
}

function validatePort(
  errors: FieldError[],
  field: string,
  port: SpecPort,
  nameRequired: boolean,
  names: Set<string>,
): void {
  const { name = '', protocol = '', targetPort, appProtocol, port: number = 0 } = port;
  if (name === '') {
    if (nameRequired) errors.push(required(`${field}.name`));
  } else {
    for (const problem of labelName(name)) errors.push(invalid(`${field}.name`, name, problem));
    if (names.has(name)) errors.push(duplicate(`${field}.name`, name));
    names.add(name);
  }
  for (const problem of portNumber(number)) errors.push(invalid(`${field}.port`, number, problem));
  if (!PROTOCOLS.includes(protocol)) errors.push(notSupported(`${field}.protocol`, protocol, PROTOCOLS));
  if (targetPort !== undefined) {
    const problems = typeof targetPort === 'string' ? portName(targetPort) : portNumber(targetPort);
    for (const problem of problems) errors.push(invalid(`${field}.targetPort`, targetPort, problem));
  }
  if (appProtocol === undefined) return;
  for (const problem of qualifiedName(appProtocol)) {
    errors.push(invalid(`${field}.appProtocol`, appProtocol, problem));
  }
}

function validateSelector(errors: FieldError[], spec: ServiceSpec): void {
  const selector = child(spec, 'selector');
  for (const key of Object.keys(selector).sort()) {
    const value = selector[key];
    for (const problem of qualifiedName(key)) errors.push(invalid('spec.selector', key, problem));
    for (const problem of labelValue(String(value))) errors.push(invalid('spec.selector', value, problem));
  }
}

function validateAffinity(errors: FieldError[], spec: ServiceSpec): void {
  const affinity = text(spec, 'sessionAffinity');
  if (!AFFINITIES.includes(affinity)) errors.push(notSupported('spec.sessionAffinity', affinity, AFFINITIES));
  if (affinity !== 'ClientIP') return;
  const seconds = child(child(spec, 'sessionAffinityConfig'), 'clientIP')['timeoutSeconds'] as number;
  if (seconds > 0 && seconds <= AFFINITY_SECONDS_MAX) return;
  const why = `must be greater than 0 and less than ${AFFINITY_SECONDS_MAX}`;
  errors.push(invalid('spec.sessionAffinityConfig.clientIP.timeoutSeconds', seconds, why));
}

/** Two ports of the same protocol may not have the same number or the same node port. */
function validatePortPairs(errors: FieldError[], spec: ServiceSpec): void {
  const ports = portsOf(spec);
  if (typeOf(spec) === 'ClusterIP') {
    for (const [at, { nodePort = 0 }] of ports.entries()) {
      if (nodePort === 0) continue;
      errors.push(forbidden(`spec.ports[${at}].nodePort`, "may not be used when `type` is 'ClusterIP'"));
    }
  }
  for (const [field, shape] of [
    ['nodePort', nodePortShape],
    ['port', portShape],
  ] as const) {
    const first = new Set<string>();
    for (const [at, port] of ports.entries()) {
      const { protocol = '', [field]: number = 0 } = port;
      if (field === 'nodePort' && number === 0) continue;
      const pair = `${protocol}/${number}`;
      if (first.has(pair))
        errors.push(duplicate(`spec.ports[${at}]${field === 'port' ? '' : '.nodePort'}`, shape(port)));
      first.add(pair);
    }
  }
}

const nodePortShape = (port: SpecPort): unknown => port.nodePort;

/** The server shows the port as a Go struct with these fields only. */
const portShape = ({ protocol = '', port = 0 }: SpecPort): unknown => {
  return { Name: '', Protocol: protocol, AppProtocol: null, Port: port, TargetPort: 0, NodePort: 0 };
};

function validateBalancer(errors: FieldError[], spec: ServiceSpec): void {
  const balancer = isBalancer(spec);
  const ranges = items<string>(spec, 'loadBalancerSourceRanges');
  if (ranges.length > 0) {
    // The real server spells the field so.
    const field = 'spec.LoadBalancerSourceRanges';
    if (!balancer) errors.push(forbidden(field, BALANCER_ONLY));
    for (const [at, range] of ranges.entries()) {
      for (const problem of cidrProblems(range.trim())) errors.push(invalid(`${field}[${at}]`, range.trim(), problem));
    }
  }
  if (!balancer && spec['allocateLoadBalancerNodePorts'] !== undefined) {
    errors.push(forbidden('spec.allocateLoadBalancerNodePorts', BALANCER_ONLY));
  }
  const name = spec['loadBalancerClass'] as string | undefined;
  if (name === undefined) return;
  if (!balancer) errors.push(forbidden('spec.loadBalancerClass', BALANCER_ONLY));
  else for (const problem of qualifiedName(name)) errors.push(invalid('spec.loadBalancerClass', name, problem));
}

function validateTraffic(errors: FieldError[], spec: ServiceSpec): void {
  const external = text(spec, 'externalTrafficPolicy');
  if (!isExternal(spec)) {
    if (external !== '') {
      const why = 'may only be set for externally-accessible services';
      errors.push(invalid('spec.externalTrafficPolicy', external, why));
    }
  } else if (!TRAFFIC_POLICIES.includes(external)) {
    errors.push(notSupported('spec.externalTrafficPolicy', external, TRAFFIC_POLICIES));
  }
  const health = (spec['healthCheckNodePort'] as number | undefined) ?? 0;
  if (health !== 0 && !needsHealthCheckPort(spec)) {
    const why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    errors.push(invalid('spec.healthCheckNodePort', health, why));
  }
  const internal = spec['internalTrafficPolicy'];
  if (internal !== undefined && !TRAFFIC_POLICIES.includes(internal as string)) {
    errors.push(notSupported('spec.internalTrafficPolicy', internal, TRAFFIC_POLICIES));
  }
  const distribution = spec['trafficDistribution'];
  if (distribution !== undefined && !DISTRIBUTIONS.includes(distribution as string)) {
    errors.push(notSupported('spec.trafficDistribution', distribution, DISTRIBUTIONS, false));
  }
}

interface Ingress {
  ip?: string;
  ipMode?: string;
  hostname?: string;
}

export function validateServiceStatus(object: ApiObject): readonly FieldError[] {
  const errors: FieldError[] = [];
  const ingress = items<Ingress>(child(child(object, 'status'), 'loadBalancer'), 'ingress');
  const list = 'status.loadBalancer.ingress';
  if (ingress.length > 0 && !isBalancer(child(object, 'spec'))) {
    return [forbidden(list, "may only be used when `spec.type` is 'LoadBalancer'")];
  }
  for (const [at, { ip = '', ipMode, hostname = '' }] of ingress.entries()) {
    const field = `${list}[${at}]`;
    if (ip !== '') for (const problem of ipProblems(ip)) errors.push(invalid(`${field}.ip`, ip, problem));
    if (ipMode !== undefined && ip === '') {
      errors.push(forbidden(`${field}.ipMode`, 'may not be specified when `ip` is not set'));
    } else if (ipMode !== undefined && !IP_MODES.includes(ipMode)) {
      errors.push(notSupported(`${field}.ipMode`, ipMode, IP_MODES));
    }
    if (hostname === '') continue;
    for (const problem of subdomainName(hostname)) errors.push(invalid(`${field}.hostname`, hostname, problem));
    if (parseIp(hostname) !== null) {
      errors.push(invalid(`${field}.hostname`, hostname, 'must be a DNS name, not an IP address'));
    }
  }
  return errors;
}
