import type { EndpointAddress, EndpointPort, EndpointSubset } from '../../kube/types.ts';
import { portsInOrder, subsetsInOrder } from './hash-order.ts';
import { addressKey, compareAddresses, portKey, storedPortKeys } from './identity.ts';
import { LAID_OUT_MAX, TooManyAddresses } from './layout-size.ts';
import { groupPorts, type CommonPorts } from './port-groups.ts';
import { makeSubset, NO_PORT } from './subset.ts';

/** Whether each address is ready, by the number of the address. */
type Readiness = Map<number, boolean>;

/**
 * The one canonical layout of what `subsets` say (docs/spec/endpoints.md "Repacking: groups"): ports that are equal are
 * one port.
 * @throws TooManyAddresses
 */
export function repackSubsets(subsets: readonly EndpointSubset[]): EndpointSubset[] {
  return subsetsInOrder(mergeSubsets(subsets, portKey));
}

/**
 * The layout that upstream makes of subsets that the server holds.
 * @throws TooManyAddresses
 */
export function repackStored(subsets: readonly EndpointSubset[]): EndpointSubset[] {
  return subsetsInOrder(mergeStored(subsets));
}

/**
 * How upstream merges the subsets that the server holds, in any order. A port with appProtocol is another port in each
 * of them: two merged subsets may have equal ports, and one may have a port twice.
 * @throws TooManyAddresses
 */
export function mergeStored(subsets: readonly EndpointSubset[]): EndpointSubset[] {
  return mergeSubsets(subsets, storedPortKeys());
}

/**
 * Each port, by its key, is in one subset, together with the ports that have the same addresses in the same states. All
 * lists but the list of subsets are sorted. Of addresses with the same IP and uid, the first is kept. An address that
 * is both ready and not ready for a port is not ready. Ports without addresses vanish. The input never changes; its
 * address and port objects are reused.
 * @throws TooManyAddresses before anything is merged
 */
function mergeSubsets(subsets: readonly EndpointSubset[], keyOf: (port: EndpointPort) => string): EndpointSubset[] {
  const addresses: EndpointAddress[] = [];
  const numbers = new Map<string, number>();
  const numberOf = (address: EndpointAddress): number => {
    const key = addressKey(address);
    let number = numbers.get(key);
    if (number === undefined) {
      number = addresses.push(address) - 1;
      numbers.set(key, number);
    }
    return number;
  };
  const readiness = subsets.map((subset): Readiness => {
    const states: Readiness = new Map();
    for (const address of subset.addresses ?? []) states.set(numberOf(address), true);
    for (const address of subset.notReadyAddresses ?? []) states.set(numberOf(address), false);
    return states;
  });

  // Ports of the same input subsets have the same addresses, which are merged once for all of them. Then ports with
  // equal addresses are put together, whatever their subsets.
  const byAddresses = new Map<string, { states: Readiness; ports: EndpointPort[] }>();
  const ports = subsets.map((subset) =>
    subset.ports === undefined || subset.ports.length === 0 ? [NO_PORT] : subset.ports,
  );
  const groups = groupPorts(ports, keyOf);
  if (sizeToMerge(groups, readiness) > LAID_OUT_MAX) throw new TooManyAddresses();
  for (const { indices, ports: members } of groups) {
    const states = merge(indices.map((index) => readiness[index]!));
    if (states.size === 0) continue;
    const key = [...states]
      .map(([number, ready]) => number * 2 + (ready ? 1 : 0))
      .sort((a, b) => a - b)
      .join(',');
    const group = byAddresses.get(key);
    if (group === undefined) byAddresses.set(key, { states, ports: [...members] });
    else for (const port of members) group.ports.push(port);
  }
  return [...byAddresses.values()].map(({ states, ports }) => {
    const ready: EndpointAddress[] = [];
    const notReady: EndpointAddress[] = [];
    for (const [number, isReady] of states) (isReady ? ready : notReady).push(addresses[number]!);
    ready.sort(compareAddresses);
    notReady.sort(compareAddresses);
    return makeSubset(ready, notReady, portsInOrder(ports.filter((port) => port.port > 0)));
  });
}

/** How many addresses are merged for all groups together. Those of a single subset are taken as they are. */
function sizeToMerge(groups: readonly CommonPorts[], readiness: readonly Readiness[]): number {
  let size = 0;
  for (const { indices } of groups) {
    if (indices.length > 1) for (const index of indices) size += readiness[index]!.size;
  }
  return size;
}

/** Not ready wins. */
function merge(all: readonly Readiness[]): Readiness {
  if (all.length === 1) return all[0]!;
  const merged: Readiness = new Map();
  for (const states of all) {
    for (const [number, ready] of states) merged.set(number, ready && merged.get(number) !== false);
  }
  return merged;
}
