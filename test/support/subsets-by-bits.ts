import type { EndpointSubset } from '../../src/kube/types.ts';

/**
 * Subsets that share their ports in as many ways as they can: port `i`, from 1 on, is in subset `j` if bit `j` of `i` is
 * set. The addresses are all different.
 */
export function subsetsByBits(subsets: number, addressesOfEach: number, ports: number): EndpointSubset[] {
  return Array.from({ length: subsets }, (_, subset) => ({
    addresses: Array.from({ length: addressesOfEach }, (_, i) => ({ ip: `10.${subset}.${i >> 8}.${i & 255}` })),
    ports: Array.from({ length: ports }, (_, i) => ({ name: `p-${i + 1}`, port: i + 1, protocol: 'TCP' })).filter(
      ({ port }) => ((port >> subset) & 1) === 1,
    ),
  }));
}
