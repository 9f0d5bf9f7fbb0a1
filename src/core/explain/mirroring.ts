/** What becomes of each address of Endpoints made by hand in the slices that mirror them. */
import type { Endpoints } from '../../kube/types.ts';
import { desiredGroups, type LeftOut } from '../mirroring/desired.ts';
import type { MirrorConfig } from '../mirroring/plan.ts';

export interface MirroredAddress {
  readonly ip: string;
  readonly state: 'ready' | 'not-ready' | 'left-out';
  /** null = the address is mirrored. */
  readonly reason: LeftOut | null;
  /** Numbers with their protocols, such as `80/TCP`; empty for an address that is left out. */
  readonly ports: readonly string[];
}

/** Mirrored addresses come first, once for each list of ports, then those that are left out. */
export function mirroredAddresses(endpoints: Endpoints, config: MirrorConfig): readonly MirroredAddress[] {
  const { all, endpointsPerSubsetMax: max } = config;
  const addresses: MirroredAddress[] = [];
  const leftOut: MirroredAddress[] = [];
  const { groups } = desiredGroups(endpoints.subsets ?? [], all ? Infinity : max, null, ({ ip }, reason) => {
    leftOut.push({ ip, state: 'left-out', reason, ports: [] });
  });
  for (const group of groups.values()) {
    const ports = group.ports.map(({ port, protocol }) => `${port}/${protocol}`);
    for (const { addresses: ips, conditions } of group.endpoints.values()) {
      for (const ip of ips) {
        addresses.push({ ip, state: conditions?.ready === true ? 'ready' : 'not-ready', reason: null, ports });
      }
    }
  }
  return [...addresses, ...leftOut];
}
