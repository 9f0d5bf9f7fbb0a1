import { child, equal, items, text } from '../object.ts';

export type ServiceSpec = Record<string, unknown>;

export interface SpecPort {
  name?: string;
  protocol?: string;
  port?: number;
  targetPort?: number | string;
  nodePort?: number;
  appProtocol?: string;
}

export function typeOf(spec: ServiceSpec): string {
  return text(spec, 'type');
}

export function portsOf(spec: ServiceSpec): readonly SpecPort[] {
  return items<SpecPort>(spec, 'ports');
}

export function ipsOf(spec: ServiceSpec): readonly string[] {
  return items<string>(spec, 'clusterIPs');
}

export function familiesOf(spec: ServiceSpec): readonly string[] {
  return items<string>(spec, 'ipFamilies');
}

export function needsClusterIp(spec: ServiceSpec): boolean {
  return typeOf(spec) !== 'ExternalName';
}

export function needsNodePorts(spec: ServiceSpec): boolean {
  return ['NodePort', 'LoadBalancer'].includes(typeOf(spec));
}

/** Whether every port gets a node port. A load balancer may forgo them. */
export function wantsNodePorts(spec: ServiceSpec): boolean {
  return typeOf(spec) === 'NodePort' || (isBalancer(spec) && spec['allocateLoadBalancerNodePorts'] !== false);
}

export function isBalancer(spec: ServiceSpec): boolean {
  return typeOf(spec) === 'LoadBalancer';
}

/** Whether the Service is reached from outside of the cluster, so that a traffic policy applies. */
export function isExternal(spec: ServiceSpec): boolean {
  return needsNodePorts(spec) || (typeOf(spec) === 'ClusterIP' && items(spec, 'externalIPs').length > 0);
}

export function needsHealthCheckPort(spec: ServiceSpec): boolean {
  return isBalancer(spec) && spec['externalTrafficPolicy'] === 'Local';
}

export function isHeadless(spec: ServiceSpec): boolean {
  return ipsOf(spec)[0] === 'None';
}

export function hasSelector(spec: ServiceSpec): boolean {
  return Object.keys(child(spec, 'selector')).length > 0;
}

export function same(spec: ServiceSpec, old: ServiceSpec, field: string): boolean {
  return equal(spec[field], old[field]);
}
