import { ENDPOINTS_ADDRESSES_MAX } from '../../kube/names.ts';
import type { EndpointSubset } from '../../kube/types.ts';
import { assert } from '../../lib/assert.ts';
import { makeSubset } from './subset.ts';

export interface Capped {
  readonly subsets: readonly EndpointSubset[];
  /** How many addresses are kept. An address in two subsets counts twice, here and for the limit. */
  readonly ready: number;
  readonly notReady: number;
  /** How many addresses were cut off. */
  readonly truncated: number;
}

/**
 * Leaves at most 1,000 addresses (docs/spec/endpoints.md "Over capacity"). Ready ones go first, and each subset keeps
 * its share, rounded up, of the front of its list. Unlike upstream, a subset without an address goes too, because the
 * API server rejects it.
 */
export function capAddresses(subsets: readonly EndpointSubset[]): Capped {
  let ready = 0;
  let notReady = 0;
  for (const subset of subsets) {
    ready += subset.addresses?.length ?? 0;
    notReady += subset.notReadyAddresses?.length ?? 0;
  }
  if (ready + notReady <= ENDPOINTS_ADDRESSES_MAX) return { subsets, ready, notReady, truncated: 0 };

  const cutReady = ready > ENDPOINTS_ADDRESSES_MAX;
  const total = cutReady ? ready : notReady;
  const budget = cutReady ? ENDPOINTS_ADDRESSES_MAX : ENDPOINTS_ADDRESSES_MAX - ready;
  let left = budget;
  const kept: EndpointSubset[] = [];
  for (const { addresses = [], notReadyAddresses = [], ports = [] } of subsets) {
    const list = cutReady ? addresses : notReadyAddresses;
    // The order of operations matters: the rounding of doubles is part of the contract.
    const share = Math.ceil((list.length / total) * budget);
    const some = list.slice(0, Math.min(share, left));
    left -= some.length;
    const keptReady = cutReady ? some : addresses;
    const keptNotReady = cutReady ? [] : some;
    if (keptReady.length + keptNotReady.length > 0) kept.push(makeSubset(keptReady, keptNotReady, ports));
  }
  assert(left === 0, 'shares that are rounded up use up the budget');
  const keptReady = cutReady ? budget : ready;
  const keptNotReady = cutReady ? 0 : budget;
  return {
    subsets: kept,
    ready: keptReady,
    notReady: keptNotReady,
    truncated: ready + notReady - keptReady - keptNotReady,
  };
}
