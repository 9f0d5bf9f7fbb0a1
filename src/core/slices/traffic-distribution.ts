/**
 * Hints by `spec.trafficDistribution`. An endpoint gets its hints without regard to the others
 * (docs/spec/endpointslice.md "Traffic distribution").
 */
import { labelsGet } from '../../kube/labels.ts';
import { TOPOLOGY_HINTS_ANNOTATION, TOPOLOGY_MODE_ANNOTATION } from '../../kube/names.ts';
import type { Endpoint, EndpointHints, ServiceRecord } from '../../kube/types.ts';
import { hasHints, isJust, isReady, withoutHints } from './hint-summary.ts';
import type { HintSlices } from './slice-state.ts';
import type { HintResult, TouchedSlice } from './topology-hints.ts';

export type TrafficDistribution = 'PreferClose' | 'PreferSameZone' | 'PreferSameNode';

/**
 * Which hints a Service asks for. The annotations go before the field, and the deprecated annotation before the other
 * (docs/spec/endpointslice.md "When hints apply").
 */
export function hintsMode(service: ServiceRecord): 'Auto' | TrafficDistribution | 'none' {
  const { annotations, trafficDistribution } = service;
  const mode = labelsGet(annotations, TOPOLOGY_HINTS_ANNOTATION) ?? labelsGet(annotations, TOPOLOGY_MODE_ANNOTATION);
  if (mode === 'Auto' || mode === 'auto') return 'Auto';
  switch (trafficDistribution) {
    case 'PreferClose':
    case 'PreferSameZone':
    case 'PreferSameNode': {
      return trafficDistribution;
    }
    default: {
      return 'none';
    }
  }
}

/**
 * Ready endpoints get their own zone as hint, and with PreferSameNode their own node too. Other endpoints stay as they
 * are.
 */
export function distributeTraffic(slices: HintSlices, mode: TrafficDistribution): HintResult {
  const nodes = mode === 'PreferSameNode';
  const memo: HintsMemo = new Map();
  for (const { endpoints } of slices.created) hintOwnPlaces(endpoints, nodes, memo);
  for (const { endpoints } of slices.updated) hintOwnPlaces(endpoints, nodes, memo);
  const touched: TouchedSlice[] = [];
  for (const stored of slices.unchanged) {
    if (nodes ? stored.summary.ownNodeHints : stored.summary.ownZoneHints) continue;
    const endpoints = [...(stored.object.endpoints ?? [])];
    hintOwnPlaces(endpoints, nodes, memo);
    touched.push({ stored, endpoints });
  }
  return { touched, hints: null, failure: '' };
}

/** Zone -> node -> hints, shared by all endpoints of that place. '' = none. */
type HintsMemo = Map<string, Map<string, EndpointHints>>;

function hintOwnPlaces(endpoints: Endpoint[], nodes: boolean, memo: HintsMemo): void {
  for (let at = 0; at < endpoints.length; at++) {
    const endpoint = endpoints[at]!;
    if (!isReady(endpoint)) continue;
    const zone = endpoint.zone ?? '';
    const node = nodes ? (endpoint.nodeName ?? '') : '';
    if (zone === '' && node === '') {
      if (hasHints(endpoint)) endpoints[at] = withoutHints(endpoint);
    } else if (!isJust(endpoint.hints?.forZones, zone) || !isJust(endpoint.hints?.forNodes, node)) {
      endpoints[at] = { ...endpoint, hints: hintsFor(zone, node, memo) };
    }
  }
}

function hintsFor(zone: string, node: string, memo: HintsMemo): EndpointHints {
  let byNode = memo.get(zone);
  if (byNode === undefined) memo.set(zone, (byNode = new Map<string, EndpointHints>()));
  let hints = byNode.get(node);
  if (hints === undefined) {
    hints = {
      ...(zone === '' ? {} : { forZones: [{ name: zone }] }),
      ...(node === '' ? {} : { forNodes: [{ name: node }] }),
    };
    byNode.set(node, hints);
  }
  return hints;
}
