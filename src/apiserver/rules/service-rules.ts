import { child, items, type ApiObject } from '../object.ts';
import { formatIp, parseIp } from './ip.ts';
import { labelName } from './name-rules.ts';
import type { Rules } from './rules.ts';
import { allocate } from './service-allocation.ts';
import {
  hasSelector,
  isBalancer,
  isExternal,
  needsClusterIp,
  needsHealthCheckPort,
  needsNodePorts,
  portsOf,
  same,
  type ServiceSpec,
} from './service-spec.ts';
import { validateService, validateServiceStatus } from './service-validation.ts';

const AFFINITY_SECONDS = 10_800;

/** core/v1 Service. Addresses are chosen before all validation, and taken when the object is written. */
export const SERVICE_RULES: Rules = {
  name: labelName,
  allocate: (object, old, context) => {
    const spec = serviceDefaults(child(object, 'spec'));
    object['spec'] = spec;
    // A PUT of the status of a missing Service creates it, without addresses.
    if (context.status) return [];
    return allocate(object.metadata.name ?? '', spec, old === null ? null : child(old, 'spec'), context.addresses);
  },
  prepareCreate: (object) => {
    const spec = child(object, 'spec');
    if (!needsClusterIp(spec)) delete spec['internalTrafficPolicy'];
    object['status'] = { loadBalancer: {} };
  },
  prepareUpdate: (object, old, context) => {
    if (context.status) {
      object['spec'] = old['spec'];
      object['status'] = statusDefaults({ loadBalancer: {}, ...child(object, 'status') });
      return;
    }
    const spec = child(object, 'spec');
    dropWhatDoesNotApply(spec, child(old, 'spec'));
    object['status'] = isBalancer(spec) ? old['status'] : { ...child(old, 'status'), loadBalancer: {} };
  },
  validateCreate: (object) => validateService(child(object, 'spec'), null),
  validateUpdate: (object, old, context) =>
    context.status ? validateServiceStatus(object) : validateService(child(object, 'spec'), child(old, 'spec')),
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

/** In canonical spelling: a client may write an IPv6 address in several ways. */
function ownIps(object: ApiObject): readonly string[] {
  const ips = items<string>(child(object, 'spec'), 'clusterIPs').map((ip) => parseIp(ip));
  return ips.flatMap((ip) => (ip === null ? [] : formatIp(ip.bytes)));
}

function ownNodePorts(object: ApiObject): readonly number[] {
  const spec = child(object, 'spec');
  // If the type needs no node ports, a node port is only a number.
  if (!needsNodePorts(spec)) return [];
  const health = (spec['healthCheckNodePort'] as number | undefined) ?? 0;
  return [health, ...portsOf(spec).map(({ nodePort = 0 }) => nodePort)].filter((port) => port !== 0);
}

function serviceDefaults(given: ServiceSpec): ServiceSpec {
  const spec: ServiceSpec = { ...given };
  spec['type'] ??= 'ClusterIP';
  spec['sessionAffinity'] ??= 'None';
  if (spec['sessionAffinity'] === 'None') delete spec['sessionAffinityConfig'];
  if (spec['sessionAffinity'] === 'ClientIP') {
    const { timeoutSeconds } = child(child(spec, 'sessionAffinityConfig'), 'clientIP');
    spec['sessionAffinityConfig'] = { clientIP: { timeoutSeconds: timeoutSeconds ?? AFFINITY_SECONDS } };
  }
  if (!hasSelector(spec)) delete spec['selector'];
  for (const port of portsOf(spec)) {
    port.protocol ??= 'TCP';
    const { targetPort } = port;
    if (targetPort === undefined || targetPort === 0 || targetPort === '') port.targetPort = port.port ?? 0;
  }
  if (portsOf(spec).length === 0) delete spec['ports'];
  if (needsClusterIp(spec)) spec['internalTrafficPolicy'] ??= 'Cluster';
  if (isExternal(spec)) spec['externalTrafficPolicy'] ??= 'Cluster';
  if (isBalancer(spec)) spec['allocateLoadBalancerNodePorts'] ??= true;
  return spec;
}

/** Drops fields that only the old type has and that the client has left unchanged. */
function dropWhatDoesNotApply(spec: ServiceSpec, old: ServiceSpec): void {
  const drop = (applies: (spec: ServiceSpec) => boolean, fields: readonly string[]): void => {
    if (!applies(old) || applies(spec)) return;
    for (const field of fields) if (same(spec, old, field)) delete spec[field];
  };
  if (needsClusterIp(old) && !needsClusterIp(spec) && same(spec, old, 'clusterIPs')) {
    delete spec['clusterIP'];
    delete spec['clusterIPs'];
  }
  drop(needsClusterIp, ['ipFamilies', 'ipFamilyPolicy']);
  if (needsNodePorts(old) && !needsNodePorts(spec)) {
    const given = new Set(portsOf(old).map((port) => port.nodePort));
    const untouched = portsOf(spec).every(({ nodePort }) => nodePort === undefined || given.has(nodePort));
    if (untouched) for (const port of portsOf(spec)) delete port.nodePort;
  }
  drop(needsHealthCheckPort, ['healthCheckNodePort']);
  drop(isBalancer, ['allocateLoadBalancerNodePorts', 'loadBalancerClass']);
  drop(isExternal, ['externalTrafficPolicy']);
  if (!needsClusterIp(spec)) delete spec['internalTrafficPolicy'];
}

function statusDefaults(status: Record<string, unknown>): Record<string, unknown> {
  const ingress = items<{ ip?: string; ipMode?: string }>(child(status, 'loadBalancer'), 'ingress');
  for (const item of ingress) if ((item.ip ?? '') !== '') item.ipMode ??= 'VIP';
  for (const condition of items<{ lastTransitionTime?: unknown }>(status, 'conditions')) {
    condition.lastTransitionTime ??= null;
  }
  return status;
}
