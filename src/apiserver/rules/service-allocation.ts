import { errorOccurred } from '../api-error.ts';
import {
  duplicate,
  forbidden,
  invalid,
  joinFieldErrors,
  notSupported,
  required,
  type FieldError,
} from '../field-error.ts';
import { text } from '../object.ts';
import { freeIp, freeNodePort, ipProblem, nodePortProblem, type ServiceAddresses } from '../service-addresses.ts';
import { ipProblems, parseIp } from './ip.ts';
import {
  familiesOf,
  hasSelector,
  ipsOf,
  isHeadless,
  needsClusterIp,
  needsHealthCheckPort,
  needsNodePorts,
  portsOf,
  same,
  wantsNodePorts,
  type ServiceSpec,
} from './service-spec.ts';

const FAMILIES: readonly string[] = ['IPv4', 'IPv6'];
const FULL = 'range is full';
const POLICIES: readonly string[] = ['PreferDualStack', 'RequireDualStack', 'SingleStack'];

/**
 * Gives a Service its families, addresses and ports, before all other validation. If this step has errors, they are the
 * whole answer. The addresses are only taken when the object is written.
 * @param old null = the Service is new
 * @throws ApiError 500 if a range has no room
 */
export function allocate(
  name: string,
  spec: ServiceSpec,
  old: ServiceSpec | null,
  addresses: ServiceAddresses,
): readonly FieldError[] {
  if (old !== null) patchAllocated(spec, old);
  bringIpsInLine(spec, old);
  for (const step of [chooseFamilies, chooseIps, chooseNodePorts, chooseHealthCheckPort]) {
    const errors = step(spec, old, addresses, name);
    if (errors.length > 0) return errors;
  }
  return [];
}

/** Keeps the server's values where a client leaves them out of an update. */
function patchAllocated(spec: ServiceSpec, old: ServiceSpec): void {
  if (needsClusterIp(spec) && needsClusterIp(old)) {
    if (text(spec, 'clusterIP') === '' && text(old, 'clusterIP') !== '') spec['clusterIP'] = old['clusterIP'];
    if (ipsOf(old).length > 0 && ipsOf(spec).length === 0 && spec['clusterIP'] === old['clusterIP'])
      spec['clusterIPs'] = old['clusterIPs'];
  }
  if (needsNodePorts(spec) && needsNodePorts(old)) {
    const used = new Set(portsOf(spec).map((port) => port.nodePort ?? 0));
    const byName = new Map(portsOf(old).map(({ name = '', nodePort = 0 }) => [name, nodePort]));
    for (const port of portsOf(spec)) {
      const before = byName.get(port.name ?? '') ?? 0;
      if ((port.nodePort ?? 0) === 0 && before !== 0 && !used.has(before)) port.nodePort = before;
    }
  }
  if (needsHealthCheckPort(spec) && needsHealthCheckPort(old)) {
    spec['healthCheckNodePort'] ??= old['healthCheckNodePort'];
  }
}

/**
 * `clusterIP` is the first of `clusterIPs`. A client that changes one of the two fields may leave the other as it was.
 */
function bringIpsInLine(spec: ServiceSpec, old: ServiceSpec | null): void {
  const ip = text(spec, 'clusterIP');
  if (ipsOf(spec).length === 0) {
    if (ip !== '') spec['clusterIPs'] = [ip];
    return;
  }
  if (old === null || ip === text(old, 'clusterIP') || !same(spec, old, 'clusterIPs')) return;
  if (ip === '') delete spec['clusterIPs'];
  else spec['clusterIPs'] = [ip];
}

function chooseFamilies(
  spec: ServiceSpec,
  old: ServiceSpec | null,
  addresses: ServiceAddresses,
): readonly FieldError[] {
  if (!needsClusterIp(spec) || keepsPreference(spec, old)) return [];
  // The server cannot know the families of a headless Service without a selector, so both are allowed.
  const open = text(spec, 'clusterIP') === 'None' && !hasSelector(spec);
  spec['ipFamilyPolicy'] ??= old?.['ipFamilyPolicy'] ?? (open ? 'RequireDualStack' : 'SingleStack');
  const single = spec['ipFamilyPolicy'] === 'SingleStack';
  const wrong = familyErrors(spec);
  if (wrong.length > 0) return wrong;
  const errors: FieldError[] = [];
  if (old !== null) giveUpSecond(errors, spec, old, single);
  if (single) refuseSecond(errors, spec);
  const served = new Set(addresses.ranges.map((range) => range.family as string));
  inferFamilies(errors, spec, served);
  if (errors.length > 0) return errors;
  const families = [...familiesOf(spec)];
  if (!open) {
    if (spec['ipFamilyPolicy'] === 'RequireDualStack' && served.size < 2) {
      const why = 'this cluster is not configured for dual-stack services';
      errors.push(invalid('spec.ipFamilyPolicy', 'RequireDualStack', why));
    }
    for (const [at, family] of families.entries()) {
      if (served.has(family)) continue;
      errors.push(invalid(`spec.ipFamilies[${at}]`, family, 'not configured on this cluster'));
    }
    if (errors.length > 0) return errors;
  }
  if (families.length === 0) families.push(addresses.ranges[0]!.family);
  if (!single && families.length === 1 && (open || served.size === 2)) {
    families.push(families[0] === 'IPv4' ? 'IPv6' : 'IPv4');
  }
  spec['ipFamilies'] = families;
  return [];
}

/**
 * Whether the Service keeps its families when the cluster's families change. It does until a client changes these
 * fields.
 */
function keepsPreference(spec: ServiceSpec, old: ServiceSpec | null): boolean {
  if (old === null || !needsClusterIp(old) || spec['ipFamilyPolicy'] !== 'PreferDualStack') return false;
  return same(spec, old, 'ipFamilyPolicy') && same(spec, old, 'clusterIPs') && same(spec, old, 'ipFamilies');
}

/** The errors of families and addresses that do not depend on the cluster. */
export function familyErrors(spec: ServiceSpec): readonly FieldError[] {
  if (!needsClusterIp(spec)) return [];
  const errors: FieldError[] = [];
  const ips = ipsOf(spec);
  const families = familiesOf(spec);
  if (ips.length > 0 && text(spec, 'clusterIP') === '') {
    errors.push(invalid('spec.clusterIPs', ips, 'must be empty when `clusterIP` is not specified'));
  } else if (ips.length > 0 && ips[0] !== text(spec, 'clusterIP')) {
    errors.push(invalid('spec.clusterIPs', ips, 'first value must match `clusterIP`'));
  }
  for (const [at, family] of families.entries()) {
    const field = `spec.ipFamilies[${at}]`;
    if (!FAMILIES.includes(family)) errors.push(notSupported(field, family, FAMILIES));
    if (families.indexOf(family) < at) errors.push(duplicate(field, family));
  }
  const policy = spec['ipFamilyPolicy'];
  if (policy !== undefined && !POLICIES.includes(policy as string)) {
    errors.push(notSupported('spec.ipFamilyPolicy', policy, POLICIES));
  }
  let unreadable = false;
  for (const [at, ip] of ips.entries()) {
    const problems = at === 0 && ip === 'None' ? [] : ipProblems(ip);
    for (const problem of problems) errors.push(invalid(`spec.clusterIPs[${at}]`, ip, problem));
    unreadable ||= problems.length > 0;
  }
  if (ips.length > 1 && ips[0] === 'None') {
    errors.push(invalid('spec.clusterIPs', ips, "'None' must be the first and only value"));
    unreadable = true;
  }
  if (ips.length > 2) errors.push(invalid('spec.clusterIPs', ips, 'may only hold up to 2 values'));
  if (unreadable) return errors;
  const ipFamilies = ips.map((ip) => parseIp(ip)?.family);
  if (ips.length > 1 && new Set(ipFamilies).size === 1) {
    errors.push(invalid('spec.clusterIPs', ips, 'may specify no more than one IP for each IP family'));
  }
  if (isHeadless(spec) || errors.length > 0) return errors;
  for (const [at, family] of ipFamilies.entries()) {
    const wanted = families[at];
    if (wanted === undefined || wanted === family) continue;
    const why = `expected an ${wanted} value as indicated by \`ipFamilies[${at}]\``;
    errors.push(invalid(`spec.clusterIPs[${at}]`, ips[at], why));
  }
  return errors;
}

/** An update gives up the second family by saying SingleStack. Without that the family may not be left out. */
function giveUpSecond(errors: FieldError[], spec: ServiceSpec, old: ServiceSpec, single: boolean): void {
  for (const [field, what] of [
    ['clusterIPs', 'cluster IP'],
    ['ipFamilies', 'IP family'],
  ] as const) {
    const now = (spec[field] ?? []) as readonly string[];
    const before = (old[field] ?? []) as readonly string[];
    if (single) {
      if (same(spec, old, field) && now.length > 1) spec[field] = now.slice(0, 1);
    } else if (now.length > 0 && now.length < before.length) {
      const why = `must be 'SingleStack' to release the secondary ${what}`;
      errors.push(invalid('spec.ipFamilyPolicy', spec['ipFamilyPolicy'], why));
    }
  }
}

function refuseSecond(errors: FieldError[], spec: ServiceSpec): void {
  for (const [list, what] of [
    [ipsOf(spec), 'cluster IPs'],
    [familiesOf(spec), 'IP families'],
  ] as const) {
    if (list.length !== 2) continue;
    const why = `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`;
    errors.push(invalid('spec.ipFamilyPolicy', 'SingleStack', why));
  }
}

function inferFamilies(errors: FieldError[], spec: ServiceSpec, served: ReadonlySet<string>): void {
  const families = [...familiesOf(spec)];
  const ips = ipsOf(spec);
  for (let at = families.length; at < ips.length && ips[at] !== 'None'; at++) {
    const { family } = parseIp(ips[at]!)!;
    if (served.has(family)) families.push(family);
    else errors.push(invalid(`spec.clusterIPs[${at}]`, ips, `${family} is not configured on this cluster`));
  }
  spec['ipFamilies'] = families;
}

function chooseIps(
  spec: ServiceSpec,
  old: ServiceSpec | null,
  addresses: ServiceAddresses,
  name: string,
): readonly FieldError[] {
  if (!needsClusterIp(spec)) return [];
  if (isHeadless(spec)) {
    spec['clusterIPs'] = ['None'];
    return [];
  }
  // A Service that a PUT of its status has made has no address, and an update gives it none.
  if (old !== null && needsClusterIp(old) && ipsOf(old).length === 0) return [];
  const ips = [...ipsOf(spec)];
  // An address cannot change once it is given, so only new addresses are validated.
  const known = old === null ? 0 : ipsOf(old).length;
  for (const [at, family] of familiesOf(spec).entries()) {
    if (at < known) continue;
    const ip = ips[at];
    if (ip === undefined) {
      if (addresses.ranges.every((range) => range.family !== family)) continue;
      const free = freeIp(addresses, family);
      if (free === null) {
        throw errorOccurred(`failed to allocate a serviceIP for Service ${JSON.stringify(name)}: ${FULL}`);
      }
      const unnamed = parentErrors(name);
      if (unnamed.length > 0) {
        const shown = ips.length === 0 ? [''] : ips;
        return [invalid('spec.clusterIPs', shown, `failed to allocate IP: ${noIpAddress(free, unnamed)}`)];
      }
      ips.push(free);
      continue;
    }
    const problem = ipProblem(addresses, ip);
    const unnamed = problem === '' ? parentErrors(name) : [];
    const why = unnamed.length === 0 ? problem : noIpAddress(ip, unnamed);
    if (why !== '') return [invalid('spec.clusterIPs', ips, `failed to allocate IP ${ip}: ${why}`)];
  }
  spec['clusterIPs'] = ips;
  spec['clusterIP'] = ips[0] ?? '';
  return [];
}

/**
 * Each cluster IP is an IPAddress object in the real server, which names its Service. These are the errors of that
 * name.
 */
function parentErrors(name: string): readonly FieldError[] {
  const field = 'spec.parentRef.name';
  if (name === '') return [required(field)];
  if (name === '.' || name === '..') return [invalid(field, name, `may not be '${name}'`)];
  return ['/', '%']
    .filter((character) => name.includes(character))
    .map((character) => invalid(field, name, `may not contain '${character}'`));
}

function noIpAddress(ip: string, errors: readonly FieldError[]): string {
  return `IPAddress.networking.k8s.io ${JSON.stringify(ip)} is invalid: ${joinFieldErrors(errors)}`;
}

function chooseNodePorts(
  spec: ServiceSpec,
  old: ServiceSpec | null,
  addresses: ServiceAddresses,
): readonly FieldError[] {
  if (!needsNodePorts(spec)) return [];
  const ports = portsOf(spec);
  const own = new Set(old === null ? [] : portsOf(old).map((port) => port.nodePort ?? 0));
  const taken = new Set<number>();
  const byNumber = new Map<number, number>();
  for (const [at, port] of ports.entries()) {
    const number = port.port ?? 0;
    // Ports of one number share a node port if their protocols differ.
    const shared = byNumber.get(number);
    const wanted = port.nodePort ?? 0;
    if (wanted !== 0) {
      if (wanted !== shared) {
        const problem = taken.has(wanted)
          ? 'provided port is already allocated'
          : own.has(wanted)
            ? ''
            : nodePortProblem(addresses, wanted);
        if (problem !== '') return [invalid(`spec.ports[${at}].nodePort`, wanted, problem)];
      }
    } else if (!wantsNodePorts(spec)) {
      continue;
    } else if (shared === undefined) {
      const asked = ports.find((other) => other.port === port.port && (other.nodePort ?? 0) !== 0)?.nodePort;
      const free = asked ?? freeNodePort(addresses, taken);
      if (free === null) throw errorOccurred(`failed to allocate a nodePort: ${FULL}`);
      port.nodePort = free;
    } else {
      port.nodePort = shared;
    }
    taken.add(port.nodePort!);
    if (shared === undefined) byNumber.set(number, port.nodePort!);
  }
  return [];
}

function chooseHealthCheckPort(
  spec: ServiceSpec,
  old: ServiceSpec | null,
  addresses: ServiceAddresses,
): readonly FieldError[] {
  if (!needsHealthCheckPort(spec)) return [];
  if (old !== null && needsHealthCheckPort(old)) {
    if (same(spec, old, 'healthCheckNodePort')) return [];
    return [forbidden('spec.healthCheckNodePort', 'field is immutable')];
  }
  const wanted = (spec['healthCheckNodePort'] as number | undefined) ?? 0;
  if (wanted === 0) {
    const taken = new Set(portsOf(spec).map((port) => port.nodePort ?? 0));
    const free = freeNodePort(addresses, taken);
    if (free === null) throw errorOccurred(`failed to allocate a HealthCheck NodePort 0: ${FULL}`);
    spec['healthCheckNodePort'] = free;
    return [];
  }
  const problem = nodePortProblem(addresses, wanted);
  if (problem === '') return [];
  throw errorOccurred(`failed to allocate requested HealthCheck NodePort ${wanted}: ${problem}`);
}
