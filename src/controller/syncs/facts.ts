/** Sums over what the last plans said of all services, for gauges; and which services ask for topology hints. */
import { noteMirrorNodes } from '../caches/mirror-zones.ts';
import type { ControllerState, FactSums } from '../state.ts';
import type { Unit } from '../caches/service-state.ts';
import type { MirrorFacts } from '../../core/mirroring/plan.ts';
import type { SlicesFacts } from '../../core/slices/facts.ts';
import { OUTPUT_ENDPOINTS, OUTPUT_SLICES, type EndpointsFacts } from '../../shard/protocol.ts';

export function createFactSums(): FactSums {
  return {
    truncatedServices: 0,
    truncatedAddresses: 0,
    slices: { endpoints: 0, slices: 0, slicesDesired: 0 },
    mirror: { endpoints: 0, slices: 0, slicesDesired: 0 },
    waitingForNode: 0,
    trafficDistribution: new Map(),
    hinted: new Set(),
    unhinted: new Set(),
  };
}

/** undefined = the unit is not planned any more. */
export function setFacts(state: ControllerState, unit: Unit, facts: Unit['facts']): void {
  const { sums } = state;
  const before = unit.facts;
  if (before === facts) return;
  unit.facts = facts;
  switch (unit.controller.output) {
    case OUTPUT_ENDPOINTS:
      if (before !== undefined) addEndpoints(sums, before as EndpointsFacts, -1);
      if (facts !== undefined) addEndpoints(sums, facts as EndpointsFacts, 1);
      return;
    case OUTPUT_SLICES:
      sums.hinted.delete(unit);
      sums.unhinted.delete(unit);
      if (before !== undefined) addSlices(sums, before as SlicesFacts, -1);
      if (facts === undefined) return;
      addSlices(sums, facts as SlicesFacts, 1);
      noteHints(sums, unit, facts as SlicesFacts);
      return;
    default:
      noteMirrorNodes(state, unit, before as MirrorFacts | undefined, facts as MirrorFacts | undefined);
      if (before !== undefined) addMirror(sums, before as MirrorFacts, -1);
      if (facts !== undefined) addMirror(sums, facts as MirrorFacts, 1);
  }
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

function noteHints(sums: FactSums, unit: Unit, { families, topology }: SlicesFacts): void {
  if (families.some(({ hints }) => hints !== null)) sums.hinted.add(unit);
  if (topology && families.some(({ hints }) => hints === null)) sums.unhinted.add(unit);
}

function addMirror(sums: FactSums, { endpoints, slices, slicesDesired }: MirrorFacts, sign: 1 | -1): void {
  sums.mirror.endpoints += sign * endpoints;
  sums.mirror.slices += sign * slices;
  sums.mirror.slicesDesired += sign * slicesDesired;
}
