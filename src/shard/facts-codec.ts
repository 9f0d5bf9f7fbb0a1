/** The facts of each output as tuples. */
import type { MirrorFacts } from '../core/mirroring/plan.ts';
import type { FamilyFacts, SlicesFacts, ZoneCount } from '../core/slices/facts.ts';
import type { IpFamily } from '../kube/types.ts';
import type { Facts, OutputFacts, OutputKind } from './protocol.ts';
import {
  estimateListBytes,
  HEADER_BYTES,
  list,
  number,
  NUMBER_BYTES,
  SHORT_HEADER_BYTES,
  string,
  strings,
  tuple,
} from './tuples.ts';

interface FactsCodec<K extends OutputKind> {
  toTuple(facts: OutputFacts[K]): unknown[];
  /** @throws CodecError */
  fromTuple(value: unknown): Facts<K>;
  /** An upper bound of the tuple's bytes. */
  estimateBytes(facts: OutputFacts[K]): number;
}

export const FACTS_CODECS: { readonly [K in OutputKind]: FactsCodec<K> } = {
  slices: { toTuple: slicesFactsToTuple, fromTuple: slicesFactsFromTuple, estimateBytes: estimateSlicesFactsBytes },
  mirror: {
    toTuple: mirrorFactsToTuple,
    fromTuple: mirrorFactsFromTuple,
    estimateBytes: ({ nodes = [] }) => SHORT_HEADER_BYTES + NUMBER_BYTES * 7 + estimateListBytes(nodes),
  },
  endpoints: {
    toTuple: ({ ready, notReady, truncated }) => [ready, notReady, truncated],
    fromTuple: endpointsFactsFromTuple,
    estimateBytes: () => SHORT_HEADER_BYTES + NUMBER_BYTES * 3,
  },
};

function endpointsFactsFromTuple(value: unknown): Facts<'endpoints'> {
  const [ready, notReady, truncated] = tuple(value, 3, 'endpoints facts');
  return {
    kind: 'endpoints',
    ready: number(ready, 'ready'),
    notReady: number(notReady, 'notReady'),
    truncated: number(truncated, 'truncated'),
  };
}

function estimateSlicesFactsBytes({ families, trafficDistribution }: SlicesFacts): number {
  let bytes = SHORT_HEADER_BYTES * 5 + NUMBER_BYTES + trafficDistribution.length;
  for (const family of families) {
    bytes +=
      SHORT_HEADER_BYTES * 3 + HEADER_BYTES + NUMBER_BYTES * 6 + family.family.length + family.hintsFailure.length;
    for (const { zone } of family.hints ?? []) bytes += SHORT_HEADER_BYTES + zone.length + NUMBER_BYTES;
  }
  return bytes;
}

function slicesFactsToTuple(slices: SlicesFacts): unknown[] {
  return [
    slices.families.map((family) => [
      family.family,
      family.endpoints,
      family.slices,
      family.slicesDesired,
      family.added,
      family.removed,
      family.writes,
      family.hints === null ? null : family.hints.flatMap(({ zone, count }) => [zone, count]),
      family.hintsFailure,
    ]),
    slices.topology,
    slices.trafficDistribution,
    slices.waitingForNode,
    slices.fragmented ?? null,
  ];
}

function slicesFactsFromTuple(value: unknown): Facts<'slices'> {
  const [families, topology, trafficDistribution, waitingForNode, fragmented] = tuple(value, 5, 'slices facts');
  return {
    kind: 'slices',
    families: list(families, 'families').map(familyFactsFromTuple),
    topology: topology === true,
    trafficDistribution: string(trafficDistribution, 'trafficDistribution'),
    waitingForNode: number(waitingForNode, 'waitingForNode'),
    ...(fragmented === null ? {} : { fragmented: fragmented === true }),
  };
}

function familyFactsFromTuple(value: unknown): FamilyFacts {
  const fields = tuple(value, 9, 'family facts');
  const hints = fields[7];
  return {
    family: string(fields[0], 'family') as IpFamily,
    endpoints: number(fields[1], 'endpoints'),
    slices: number(fields[2], 'slices'),
    slicesDesired: number(fields[3], 'slicesDesired'),
    added: number(fields[4], 'added'),
    removed: number(fields[5], 'removed'),
    writes: number(fields[6], 'writes'),
    hints: hints === null ? null : zoneCountsFromList(list(hints, 'hints')),
    hintsFailure: string(fields[8], 'hintsFailure'),
  };
}

function zoneCountsFromList(values: readonly unknown[]): ZoneCount[] {
  const counts: ZoneCount[] = [];
  for (let i = 0; i < values.length; i += 2) {
    counts.push({ zone: string(values[i], 'zone'), count: number(values[i + 1], 'count') });
  }
  return counts;
}

function mirrorFactsToTuple(mirror: MirrorFacts): unknown[] {
  return [
    mirror.endpoints,
    mirror.slices,
    mirror.slicesDesired,
    mirror.added,
    mirror.updated,
    mirror.removed,
    mirror.skipped,
    mirror.nodes ?? null,
  ];
}

function mirrorFactsFromTuple(value: unknown): Facts<'mirror'> {
  const fields = tuple(value, 8, 'mirror facts');
  return {
    kind: 'mirror',
    endpoints: number(fields[0], 'endpoints'),
    slices: number(fields[1], 'slices'),
    slicesDesired: number(fields[2], 'slicesDesired'),
    added: number(fields[3], 'added'),
    updated: number(fields[4], 'updated'),
    removed: number(fields[5], 'removed'),
    skipped: number(fields[6], 'skipped'),
    ...(fields[7] === null ? {} : { nodes: strings(fields[7], 'mirror nodes') }),
  };
}
