/** What the endpointslice controller reports of its plans (docs/spec/endpointslice.md "Metrics"). */
import { counter, histogram, readMetric, readSeries, type MetricStore } from '../../metrics/store.ts';
import { memo } from '../../lib/memo.ts';
import type { PlannedWrite } from '../../shard/protocol.ts';
import type { OutputReport } from './definition.ts';
import { hintEvents } from './hint-events.ts';
import { addSliceCounts, createSliceCounts } from './slice-counts.ts';

export function createSlicesReport(metrics: MetricStore, isCounted: () => boolean): OutputReport<'slices'> {
  const added = histogram(metrics, 'endpoint_slice_controller_endpoints_added_per_sync');
  const removed = histogram(metrics, 'endpoint_slice_controller_endpoints_removed_per_sync');
  const changes = memo((operation: PlannedWrite['verb']) => {
    const handle = counter(metrics, 'endpoint_slice_controller_changes', { operation });
    readMetric(metrics, 'endpoint_slice_controller_changes_total', { operation }, () => handle.value);
    return handle;
  });
  const syncs = memo((result: 'success' | 'error') => counter(metrics, 'endpoint_slice_controller_syncs', { result }));
  const changedPerSync = (topology: 'Auto' | 'Disabled', traffic_distribution: string) =>
    histogram(metrics, 'endpoint_slice_controller_endpointslices_changed_per_sync', { topology, traffic_distribution });
  const sums = createSliceCounts(metrics, 'endpoint_slice_controller', isCounted);
  const traffic = countByValue(metrics, isCounted);
  const waiting = { services: 0 };
  readMetric(metrics, 'endpointd_services_waiting_for_node', {}, () => waiting.services);
  return {
    sum({ families, trafficDistribution, waitingForNode }, sign) {
      for (const family of families) addSliceCounts(sums, family, sign);
      traffic(trafficDistribution, sign);
      if (waitingForNode > 0) waiting.services += sign;
    },
    planned(facts) {
      for (const family of facts.families) {
        added.observe(family.added);
        removed.observe(family.removed);
      }
    },
    events: (facts, before) => hintEvents(before?.kind === 'slices' ? before : undefined, facts),
    applied: (verb) => changes(verb).inc(),
    synced(isSuccess, _seconds, facts) {
      syncs(isSuccess ? 'success' : 'error').inc();
      if (facts === undefined) return;
      const changed = changedPerSync(facts.topology ? 'Auto' : 'Disabled', facts.trafficDistribution);
      for (const { writes } of facts.families) changed.observe(writes);
    },
    fields({ families }) {
      const sum = { endpoints: 0, slices: 0 };
      for (const { endpoints, slices } of families) {
        sum.endpoints += endpoints;
        sum.slices += slices;
      }
      return sum;
    },
  };
}

/** Services by the value of trafficDistribution in effect. */
function countByValue(metrics: MetricStore, isCounted: () => boolean): (value: string, sign: 1 | -1) => void {
  const services = new Map<string, number>();
  readSeries(metrics, 'endpoint_slice_controller_services_count_by_traffic_distribution', function* () {
    if (!isCounted()) return;
    for (const [value, count] of services) yield { labels: { traffic_distribution: value }, value: count };
  });
  return (value, sign) => {
    if (value === '') return;
    const count = (services.get(value) ?? 0) + sign;
    if (count > 0) services.set(value, count);
    else services.delete(value);
  };
}
