import type { Endpoint, EndpointSlice } from '../../kube/types.ts';
import type { ZoneCount } from './facts.ts';
import type { SliceSummary, StoredSlice } from './slice-state.ts';

export function storeSlice(object: EndpointSlice): StoredSlice {
  return { object, summary: summarizeSlice(object) };
}

export function summarizeSlice({ endpoints }: EndpointSlice): SliceSummary {
  let ready = 0;
  let anyHints = false;
  let everyReadyHasZoneHint = true;
  let rightForZone = true;
  let rightForNode = true;
  let counts: Map<string, number> | null = null;
  let crossZones: Set<string> | null = null;
  for (const endpoint of endpoints ?? []) {
    const zones = endpoint.hints?.forZones ?? [];
    anyHints ||= endpoint.hints !== undefined && endpoint.hints !== null;
    if (endpoint.conditions?.ready !== true) continue;
    ready++;
    if (zones.length === 0) everyReadyHasZoneHint = false;
    const zoneRight = hintIsOwn(zones, endpoint.zone);
    const nodes = endpoint.hints?.forNodes ?? [];
    if (!zoneRight || nodes.length > 0) rightForZone = false;
    if (!zoneRight || !hintIsOwn(nodes, endpoint.nodeName)) rightForNode = false;
    for (const { name } of zones) {
      counts ??= new Map();
      counts.set(name, (counts.get(name) ?? 0) + 1);
      if (name !== endpoint.zone) (crossZones ??= new Set()).add(name);
    }
  }
  return {
    ready,
    anyHints,
    everyReadyHasZoneHint,
    hintZones: counts === null ? NO_ZONE_COUNTS : sortedCounts(counts),
    crossZones: crossZones === null ? NO_ZONES : [...crossZones].sort(),
    rightForZone,
    rightForNode,
  };
}

const NO_ZONE_COUNTS: readonly ZoneCount[] = [];
const NO_ZONES: readonly string[] = [];

/** Exactly one hint where the endpoint has such a place, none where it has none (spec/endpointslice.md 10.1). */
function hintIsOwn(hints: readonly { readonly name: string }[], own: Endpoint['zone']): boolean {
  return own === undefined || own === '' ? hints.length === 0 : hints.length === 1 && hints[0]!.name === own;
}

function sortedCounts(counts: ReadonlyMap<string, number>): ZoneCount[] {
  const zones = [...counts.keys()].sort();
  return zones.map((zone) => ({ zone, count: counts.get(zone)! }));
}
