import type { Endpoint } from '../../kube/types.ts';
import type { ZoneCount } from './facts.ts';

/**
 * A summary of the hints of a slice. By its summary a slice that stays as it is can be judged without being read again.
 */
export interface HintSummary {
  /** How many endpoints have the condition ready. All other fields but `anyHints` speak of these alone. */
  readonly ready: number;
  /** Whether any endpoint, ready or not, has hints, even empty ones. */
  readonly anyHints: boolean;
  readonly everyReadyHasZoneHint: boolean;
  /** Whether any endpoint has hints for nodes. */
  readonly nodeHints: boolean;
  /** How many hints name each zone, ascending by zone. */
  readonly hintZones: readonly ZoneCount[];
  /** Zones named in hints of endpoints of other zones, ascending. */
  readonly foreignZones: readonly string[];
  /** Whether each endpoint has only its own zone as a hint, or no hint if it has no zone. */
  readonly ownZoneHints: boolean;
  /**
   * Whether each endpoint has its own zone and its own node as its only hints. One without a zone or a node lacks that
   * hint.
   */
  readonly ownNodeHints: boolean;
}

export function summarizeHints(endpoints: readonly Endpoint[]): HintSummary {
  let ready = 0;
  let anyHints = false;
  let everyReadyHasZoneHint = true;
  let nodeHints = false;
  let ownZoneHints = true;
  let ownNodeHints = true;
  const counts = new Map<string, number>();
  const foreign = new Set<string>();
  for (const endpoint of endpoints) {
    if (hasHints(endpoint)) anyHints = true;
    if (!isReady(endpoint)) continue;
    ready++;
    const zones = endpoint.hints?.forZones ?? [];
    if (zones.length === 0) everyReadyHasZoneHint = false;
    for (const { name } of zones) {
      counts.set(name, (counts.get(name) ?? 0) + 1);
      if (name !== endpoint.zone) foreign.add(name);
    }
    const ownZone = isJust(zones, endpoint.zone);
    const nodes = endpoint.hints?.forNodes ?? [];
    if (nodes.length > 0) nodeHints = true;
    if (!ownZone || nodes.length > 0) ownZoneHints = false;
    if (!ownZone || !isJust(nodes, endpoint.nodeName)) ownNodeHints = false;
  }
  return {
    ready,
    anyHints,
    everyReadyHasZoneHint,
    nodeHints,
    hintZones: zoneCounts(counts),
    foreignZones: [...foreign].sort(),
    ownZoneHints,
    ownNodeHints,
  };
}

/** Whether the condition ready is true. An absent condition is not. */
export function isReady(endpoint: Endpoint): boolean {
  return endpoint.conditions?.ready === true;
}

/** Whether the endpoint has hints, even empty ones. */
export function hasHints(endpoint: Endpoint): boolean {
  return endpoint.hints !== undefined && endpoint.hints !== null;
}

/** Whether `name` is the only hint. Without a name: whether there is no hint. */
export function isJust(hints: readonly { readonly name: string }[] | undefined, name: string | undefined): boolean {
  const count = hints?.length ?? 0;
  if ((name ?? '') === '') return count === 0;
  return count === 1 && hints![0]!.name === name;
}

export function withoutHints(endpoint: Endpoint): Endpoint {
  if (!hasHints(endpoint)) return endpoint;
  const { hints: _, ...rest } = endpoint;
  return rest;
}

/** Ascending by zone, without zones that have none. */
export function zoneCounts(counts: ReadonlyMap<string, number>): readonly ZoneCount[] {
  const list: ZoneCount[] = [];
  for (const [zone, count] of counts) if (count !== 0) list.push({ zone, count });
  return list.sort((a, b) => (a.zone < b.zone ? -1 : 1));
}
