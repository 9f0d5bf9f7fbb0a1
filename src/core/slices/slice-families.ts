import type { IpFamily, ServiceRecord } from '../../kube/types.ts';
import { parseIp } from '../ip.ts';

/** IPv4 first. */
export const FAMILIES: readonly IpFamily[] = ['IPv4', 'IPv6'];

/** The address types that a service's slices have (docs/spec/endpointslice.md "Address types"). */
export function sliceFamilies(service: ServiceRecord): readonly IpFamily[] {
  const { ipFamilies, clusterIP } = service;
  if (ipFamilies.length > 0) return FAMILIES.filter((family) => ipFamilies.includes(family));
  if (clusterIP === '' || clusterIP === 'None') return FAMILIES;
  return [parseIp(clusterIP)?.family ?? 'IPv4'];
}
