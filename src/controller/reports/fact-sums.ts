/** Sums over what the last plans said of all services, for gauges. */
import type { Unit } from '../caches/service-state.ts';
import type { MirrorFacts } from '../../core/mirroring/plan.ts';
import type { SlicesFacts } from '../../core/slices/facts.ts';
import { OUTPUT_ENDPOINTS, OUTPUT_SLICES, type EndpointsFacts } from '../../shard/protocol.ts';

export interface FactSums {
  truncatedServices: number;
  truncatedAddresses: number;
  readonly slices: SliceSums;
  readonly mirror: SliceSums;
  /** Services that leave out pods because their node is not known. */
  waitingForNode: number;
  /** Services by the value of trafficDistribution in effect. */
  readonly trafficDistribution: Map<string, number>;
}

export interface SliceSums {
  endpoints: number;
  slices: number;
  slicesDesired: number;
}

export function createFactSums(): FactSums {
  return {
    truncatedServices: 0,
    truncatedAddresses: 0,
    slices: { endpoints: 0, slices: 0, slicesDesired: 0 },
    mirror: { endpoints: 0, slices: 0, slicesDesired: 0 },
    waitingForNode: 0,
    trafficDistribution: new Map(),
  };
}

/** undefined = there was no plan before, or the unit is not planned any more. */
export function replaceFacts(sums: FactSums, { controller }: Unit, before: Unit['facts'], after: Unit['facts']): void {
  if (before !== undefined) addFacts(sums, controller.output, before, -1);
  if (after !== undefined) addFacts(sums, controller.output, after, 1);
}

function addFacts(sums: FactSums, output: number, facts: NonNullable<Unit['facts']>, sign: 1 | -1): void {
  if (output === OUTPUT_ENDPOINTS) addEndpoints(sums, facts as EndpointsFacts, sign);
  else if (output === OUTPUT_SLICES) addSlices(sums, facts as SlicesFacts, sign);
  else addMirror(sums, facts as MirrorFacts, sign);
}

function addEndpoints(sums: FactSums, { truncated }: EndpointsFacts, sign: 1 | -1): void {
  sums.truncatedAddresses += sign * truncated;
  if (truncated > 0) sums.truncatedServices += sign;
}

function addSlices(sums: FactSums, facts: SlicesFacts, sign: 1 | -1): void {
  for (const { endpoints, slices, slicesDesired } of facts.families) {
    sums.slices.endpoints += sign * endpoints;
    sums.slices.slices += sign * slices;
    sums.slices.slicesDesired += sign * slicesDesired;
  }
  if (facts.waitingForNode > 0) sums.waitingForNode += sign;
  const { trafficDistribution } = facts;
  if (trafficDistribution === '') return;
  const count = (sums.trafficDistribution.get(trafficDistribution) ?? 0) + sign;
  if (count > 0) sums.trafficDistribution.set(trafficDistribution, count);
  else sums.trafficDistribution.delete(trafficDistribution);
}

function addMirror(sums: FactSums, { endpoints, slices, slicesDesired }: MirrorFacts, sign: 1 | -1): void {
  sums.mirror.endpoints += sign * endpoints;
  sums.mirror.slices += sign * slices;
  sums.mirror.slicesDesired += sign * slicesDesired;
}
