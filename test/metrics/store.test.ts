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
  const written = counter(store, 'endpointd_syncs_total', { result: 'written' });
  written.inc();
  written.inc(2);
  counter(store, 'endpointd_syncs_total', { result: 'written' }).inc();
  counter(store, 'endpointd_syncs_total', { result: 'unchanged' }).inc();
  assert.deepEqual(samples(store, 'endpointd_syncs_total', 0), [
    { labels: { result: 'written' }, value: 4 },
    { labels: { result: 'unchanged' }, value: 1 },
  ]);
});

test('gauges are set and moved, histograms observed', () => {
  const store = createMetricStore();
  const up = gauge(store, 'endpointd_watch_up', { resource: 'pods' });
  up.set(1);
  up.add(-1);
  assert.equal(up.value, 0);
  histogram(store, 'endpointd_pod_change_duration_seconds', { stage: 'plan' }).observe(0.003);
  const [sample] = histogramSamples(store, 'endpointd_pod_change_duration_seconds');
  assert.deepEqual([sample!.labels, sample!.histogram.count], [{ stage: 'plan' }, 1]);
});

test('what is counted elsewhere is read when it is asked for', () => {
  const store = createMetricStore();
  readMetric(store, 'workqueue_depth', { name: 'endpoint' }, (nowMs) => nowMs * 2);
  assert.deepEqual(samples(store, 'workqueue_depth', 21), [{ labels: { name: 'endpoint' }, value: 42 }]);

  const stuck = [{ labels: { namespace: 'shop', service: 'web', class: 'invalid' }, value: 1 }];
  readSeries(store, 'endpointd_stuck_service', () => stuck);
  assert.deepEqual(samples(store, 'endpointd_stuck_service', 0), stuck);
  stuck.length = 0;
  assert.deepEqual(samples(store, 'endpointd_stuck_service', 0), []);
});

test('a metric has a bounded number of series: the rest is counted together', () => {
  const store = createMetricStore();
  for (let n = 0; n < SERIES_MAX + 100; n++) counter(store, 'endpointd_problems_total', { kind: `k${n}` }).inc();
  const found = samples(store, 'endpointd_problems_total', 0);
  assert.equal(found.length, SERIES_MAX);
  assert.deepEqual(found.at(-1), { labels: { kind: 'other' }, value: 101 });
  assert.equal(samples(store, 'endpointd_metric_series_refused_total', 0)[0]!.value, 101);

  readSeries(store, 'endpointd_stuck_service', () =>
    Array.from({ length: 1000 }, (_, n) => ({
      labels: { namespace: 'shop', service: `s${n}`, class: 'server' },
      value: 1,
    })),
  );
  assert.equal(samples(store, 'endpointd_stuck_service', 0).length, SERIES_MAX);
});

test('a wrong type, label or bound is a bug and names the metric', () => {
  const store = createMetricStore();
  const wrong = (labels: MetricLabels) => () => counter(store, 'endpointd_syncs_total', labels);
  assert.throws(wrong({}), /metric endpointd_syncs_total has the labels \[result\], not \[\]/);
  assert.throws(wrong({ verb: 'x' }), /not \[verb\]/);
  assert.throws(() => gauge(store, 'endpointd_syncs_total', { result: 'x' }), /is a counter, not a gauge/);
  assert.throws(
    () => attachHistogram(store, 'endpointd_step_duration_seconds', {}, createHistogram([1])),
    /metric endpointd_step_duration_seconds: other bounds/,
  );
});

test('the catalogue: no name twice, units and suffixes as Prometheus wants them, help for everyone', () => {
  const names = CATALOGUE.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  for (const { name, type, help, bounds } of CATALOGUE) {
    assert.match(name, /^(workqueue|rest_client|endpoint_controller|endpointd)_[a-z_]+$/);
    assert.equal(name.endsWith('_total'), type === 'counter', name);
    assert.equal(bounds.length > 0, type === 'histogram', name);
    assert.deepEqual(
      [...bounds],
      [...bounds].sort((a, b) => a - b),
      name,
    );
    assert.ok(help.length > 10, name);
  }
});
