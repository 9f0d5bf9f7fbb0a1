/** The gauges that are read from the state of the controllers when the metrics are asked for. */
import { exposeEventRecorder, exposeTokenBucket, exposeWorkQueue } from './machine-metrics.ts';
import { isLeader } from '../leader/elector.ts';
import { waitsToWrite, type Leadership } from '../leader/leadership.ts';
import { roleOf } from './role.ts';
import type { ControllerState } from '../state.ts';
import { pauseSecondsLeft } from '../writes/write-pause.ts';
import { allServices, allSlices } from '../caches/services.ts';
import { oldestUnwrittenMs } from './oldest-change.ts';
import type { Controller } from '../caches/service-state.ts';
import { isInPlanner } from '../syncs/planner-view.ts';
import { readMetric, readSeries, type MetricStore } from '../../metrics/store.ts';
import { podCount } from '../../core/selector-index.ts';
import { allNodes } from '../../core/node-table.ts';

/** Registers these gauges. */
export function readState(store: MetricStore, state: ControllerState): void {
  exposeTokenBucket(
    store,
    state.writes.tokens,
    state.controllers.flatMap(({ tokenUse }) => tokenUse ?? []),
  );
  exposeEventRecorder(store, state.eventRecorder);
  readMetric(store, 'endpointd_oldest_unwritten_change_seconds', {}, (nowMs) => oldestChangeSeconds(state, nowMs));
  if (state.leadership !== null) readElection(store, state.leadership);
  readMetric(store, 'endpointd_write_pause_seconds', {}, (nowMs) => pauseSecondsLeft(state.writes.pause, nowMs));
  for (const controller of state.controllers) readController(store, state, controller);

  readSeries(store, 'endpointd_stuck_service', function* () {
    // In turns, because a metric has a bounded number of series: none of the controllers hides the others.
    let open = state.controllers.map(({ name, stuck }) => ({ name, entries: stuck.entries() }));
    while (open.length > 0) {
      const going: typeof open = [];
      for (const one of open) {
        const next = one.entries.next();
        if (next.done === true) continue;
        const [{ service }, failure] = next.value;
        const { namespace, name } = service;
        yield { labels: { controller: one.name, namespace, service: name, class: failure.class }, value: 1 };
        going.push(one);
      }
      open = going;
    }
  });

  readSeries(store, 'endpointd_watch_up', function* () {
    for (const { resource, downSinceMs } of state.reflectors) {
      yield { labels: { resource }, value: downSinceMs < 0 ? 1 : 0 };
    }
  });
  readSeries(store, 'endpointd_shard_services', () => {
    const counts = state.shards.map(() => 0);
    for (const { shard, view } of allServices(state)) if (isInPlanner(view)) counts[shard]!++;
    return counts.map((value, shard) => ({ labels: { shard: String(shard) }, value }));
  });
  readSeries(store, 'endpointd_cache_objects', () => {
    const counts = { pods: podCount(state.index), services: 0, endpoints: 0, endpointslices: 0, nodes: 0 };
    for (const { record, endpoints } of allServices(state)) {
      if (record !== null) counts.services++;
      if (endpoints.record !== null) counts.endpoints++;
    }
    for (const { record } of allSlices(state)) if (record !== null) counts.endpointslices++;
    for (const _ of allNodes(state.nodes)) counts.nodes++;
    return state.reflectors.map(({ resource }) => ({ labels: { resource }, value: counts[resource] }));
  });
}

function readElection(store: MetricStore, leadership: Leadership): void {
  const { elector, behind, takeOver } = leadership;
  const { name } = elector.options;
  readMetric(store, 'leader_election_master_status', { name }, () => Number(isLeader(elector)));
  readMetric(store, 'leader_election_slowpath_total', { name }, () => elector.slowPaths);
  readMetric(store, 'endpointd_standby_services_behind', {}, () => {
    let count = 0;
    // What a Service lacks that hangs in deletion may be refused to the leader too.
    for (const { service } of behind.keys()) if (service.record?.deleting !== true) count++;
    return count;
  });
  if (takeOver === null) return;
  const waits = (): boolean => roleOf(leadership) === 'waits';
  readMetric(store, 'endpointd_take_over_waiting', { manager: takeOver.from }, () => Number(waits()));
  readMetric(store, 'endpointd_take_over_longest_due_seconds', {}, (nowMs) => {
    const [longest] = takeOver.due.values();
    return longest === undefined || !waits() ? 0 : (nowMs - longest) / 1000;
  });
}

function oldestChangeSeconds(state: ControllerState, nowMs: number): number {
  if (waitsToWrite(state)) return 0;
  const changes = state.controllers.map(oldestUnwrittenMs).filter((changedMs) => changedMs >= 0);
  return changes.length === 0 ? 0 : (nowMs - Math.min(...changes)) / 1000;
}

function readController(store: MetricStore, state: ControllerState, { name, queue, stuck }: Controller): void {
  const labels = { controller: name };
  exposeWorkQueue(store, queue);
  readMetric(store, 'endpointd_services', { ...labels, state: 'known' }, () => state.existingServices);
  readMetric(store, 'endpointd_services', { ...labels, state: 'syncing' }, () => queue.processing.length);
  readMetric(store, 'endpointd_services', { ...labels, state: 'stuck' }, () => stuck.size);
}
