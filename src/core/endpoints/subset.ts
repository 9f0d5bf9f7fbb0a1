import type { EndpointAddress, EndpointPort, EndpointSubset } from '../../kube/types.ts';

/** Stands for "no ports" while ports are grouped. No real port equals it. */
export const NO_PORT: EndpointPort = { port: -1 };

/** A list that would be empty is absent. */
export function makeSubset(
  ready: readonly EndpointAddress[],
  notReady: readonly EndpointAddress[],
  ports: readonly EndpointPort[],
): EndpointSubset {
  const subset: { -readonly [K in keyof EndpointSubset]: EndpointSubset[K] } = {};
  if (ready.length > 0) subset.addresses = ready;
  if (notReady.length > 0) subset.notReadyAddresses = notReady;
  if (ports.length > 0) subset.ports = ports;
  return subset;
}
