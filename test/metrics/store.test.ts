import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHistogram } from '../../src/lib/histogram.ts';
import { CATALOGUE } from '../../src/metrics/catalogue.ts';
import {
  attachHistogram,
  counter,
  createMetricStore,
  gauge,
  histogram,
  histogramSamples,
  readMetric,
  readSeries,
  samples,
  SERIES_MAX,
  type MetricLabels,
} from '../../src/metrics/store.ts';

test('the same labels give the same handle', () => {
  const store = createMetricStore();
  const written = counter(store, 'endpointd_syncs_total', { controller: 'endpoints', result: 'written' });
  written.inc();
  written.inc(2);
  counter(store, 'endpointd_syncs_total', { controller: 'endpoints', result: 'written' }).inc();
  counter(store, 'endpointd_syncs_total', { controller: 'endpoints', result: 'unchanged' }).inc();
  assert.deepEqual(samples(store, 'endpointd_syncs_total', 0), [
    { labels: { controller: 'endpoints', result: 'written' }, value: 4 },
    { labels: { controller: 'endpoints', result: 'unchanged' }, value: 1 },
  ]);
});

test('gauges are set and moved, histograms observed', () => {
  const store = createMetricStore();
  const up = gauge(store, 'endpointd_watch_up', { resource: 'pods' });
  up.set(1);
  up.add(-1);
  assert.equal(up.value, 0);
  histogram(store, 'endpointd_pod_change_duration_seconds', { controller: 'endpoints', stage: 'plan' }).observe(0.003);
  const [sample] = histogramSamples(store, 'endpointd_pod_change_duration_seconds');
  assert.deepEqual([sample!.labels, sample!.histogram.count], [{ controller: 'endpoints', stage: 'plan' }, 1]);
});

test('a metric that is counted elsewhere is read when it is asked for', () => {
  const store = createMetricStore();
  readMetric(store, 'workqueue_depth', { name: 'endpoint' }, (nowMs) => nowMs * 2);
  assert.deepEqual(samples(store, 'workqueue_depth', 21), [{ labels: { name: 'endpoint' }, value: 42 }]);

  const stuck = [
    { labels: { controller: 'endpoints', namespace: 'shop', service: 'web', class: 'invalid' }, value: 1 },
  ];
  readSeries(store, 'endpointd_stuck_service', () => stuck);
  assert.deepEqual(samples(store, 'endpointd_stuck_service', 0), stuck);
  stuck.length = 0;
  assert.deepEqual(samples(store, 'endpointd_stuck_service', 0), []);
});

test('a metric has a bounded number of series, and the rest is counted together', () => {
  const store = createMetricStore();
  for (let n = 0; n < SERIES_MAX + 100; n++) counter(store, 'endpointd_problems_total', { kind: `k${n}` }).inc();
  const found = samples(store, 'endpointd_problems_total', 0);
  assert.equal(found.length, SERIES_MAX);
  assert.deepEqual(found.at(-1), { labels: { kind: 'other' }, value: 101 });
  assert.equal(samples(store, 'endpointd_metric_series_refused_total', 0)[0]!.value, 101);

  readSeries(store, 'endpointd_stuck_service', () =>
    Array.from({ length: 1000 }, (_, n) => ({
      labels: { controller: 'endpoints', namespace: 'shop', service: `s${n}`, class: 'server' },
      value: 1,
    })),
  );
  assert.equal(samples(store, 'endpointd_stuck_service', 0).length, SERIES_MAX);
});

test('a wrong type, label or bound is a bug and names the metric', () => {
  const store = createMetricStore();
  const wrong = (labels: MetricLabels) => () => counter(store, 'endpointd_syncs_total', labels);
  assert.throws(wrong({}), /metric endpointd_syncs_total has the labels \[controller,result\], not \[\]/);
  assert.throws(wrong({ verb: 'x' }), /not \[verb\]/);
  assert.throws(
    () => gauge(store, 'endpointd_syncs_total', { controller: 'endpoints', result: 'x' }),
    /is a counter, not a gauge/,
  );
  assert.throws(
    () => attachHistogram(store, 'endpointd_step_duration_seconds', {}, createHistogram([1])),
    /metric endpointd_step_duration_seconds: other bounds/,
  );
});

/** Counters that upstream named against the custom. */
const UPSTREAM_WITHOUT_TOTAL = new Set([
  'endpoint_slice_controller_changes',
  'endpoint_slice_controller_syncs',
  'endpoint_slice_mirroring_controller_changes',
]);

test("metrics of slices and mirroring have upstream's names, types and buckets", () => {
  const counts = '2 … 32768';
  assert.deepEqual(
    CATALOGUE.filter(({ name }) => name.startsWith('endpoint_slice_')).map(({ name, type, labelNames, bounds }) =>
      [name, type, labelNames.join(), bounds.length === 0 ? '' : `${bounds[0]} … ${bounds.at(-1)}`].join(' '),
    ),
    [
      'endpoint_slice_controller_rate_limiter_use gauge  ',
      'endpoint_slice_mirroring_controller_rate_limiter_use gauge  ',
      `endpoint_slice_controller_endpoints_added_per_sync histogram  ${counts}`,
      `endpoint_slice_controller_endpoints_removed_per_sync histogram  ${counts}`,
      'endpoint_slice_controller_endpoints_desired gauge  ',
      'endpoint_slice_controller_num_endpoint_slices gauge  ',
      'endpoint_slice_controller_desired_endpoint_slices gauge  ',
      'endpoint_slice_controller_services_count_by_traffic_distribution gauge traffic_distribution ',
      'endpoint_slice_controller_changes counter operation ',
      'endpoint_slice_controller_changes_total counter operation ',
      'endpoint_slice_controller_endpointslices_changed_per_sync histogram topology,traffic_distribution 0.005 … 10',
      'endpoint_slice_controller_syncs counter result ',
      `endpoint_slice_mirroring_controller_endpoints_added_per_sync histogram  ${counts}`,
      `endpoint_slice_mirroring_controller_endpoints_updated_per_sync histogram  ${counts}`,
      `endpoint_slice_mirroring_controller_endpoints_removed_per_sync histogram  ${counts}`,
      `endpoint_slice_mirroring_controller_addresses_skipped_per_sync histogram  ${counts}`,
      'endpoint_slice_mirroring_controller_endpoints_sync_duration histogram  0.001 … 16.384',
      'endpoint_slice_mirroring_controller_endpoints_desired gauge  ',
      'endpoint_slice_mirroring_controller_num_endpoint_slices gauge  ',
      'endpoint_slice_mirroring_controller_desired_endpoint_slices gauge  ',
      'endpoint_slice_mirroring_controller_changes counter operation ',
    ],
  );
});

test('each name is once in the catalogue, and has a unit and a help text', () => {
  const names = CATALOGUE.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  for (const { name, type, help, bounds } of CATALOGUE) {
    assert.match(
      name,
      /^(workqueue|rest_client|endpoint(_slice|_slice_mirroring)?_controller|endpointd|leader_election)_[a-z_]+$/,
    );
    if (!UPSTREAM_WITHOUT_TOTAL.has(name)) assert.equal(name.endsWith('_total'), type === 'counter', name);
    assert.equal(bounds.length > 0, type === 'histogram', name);
    assert.deepEqual(
      [...bounds],
      [...bounds].sort((a, b) => a - b),
      name,
    );
    assert.ok(help.length > 10, name);
  }
});
