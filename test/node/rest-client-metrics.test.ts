import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetricStore, histogramSamples, samples } from '../../src/metrics/store.ts';
import { createRestClientObserver } from '../../src/node/rest-client-metrics.ts';

test('requests are counted by method, host and code, and measured by verb and host', () => {
  const store = createMetricStore();
  const observe = createRestClientObserver(store);
  const request = { host: 'api:6443', durationMs: 20, requestBytes: 100, responseBytes: 300 };
  observe({ ...request, method: 'PUT', code: '200' });
  observe({ ...request, method: 'PUT', code: '200' });
  observe({ ...request, method: 'PUT', code: '409' });
  observe({ ...request, method: 'GET', code: '<error>' });
  assert.deepEqual(samples(store, 'rest_client_requests_total', 0), [
    { labels: { code: '200', method: 'PUT', host: 'api:6443' }, value: 2 },
    { labels: { code: '409', method: 'PUT', host: 'api:6443' }, value: 1 },
    { labels: { code: '<error>', method: 'GET', host: 'api:6443' }, value: 1 },
  ]);
  const [puts, gets] = histogramSamples(store, 'rest_client_request_duration_seconds');
  assert.deepEqual(
    [puts!.labels, puts!.histogram.count, puts!.histogram.sum.toFixed(3)],
    [{ verb: 'PUT', host: 'api:6443' }, 3, '0.060'],
  );
  assert.equal(gets!.histogram.count, 1);
  assert.equal(histogramSamples(store, 'rest_client_request_size_bytes')[0]!.histogram.sum, 300);
  assert.equal(histogramSamples(store, 'rest_client_response_size_bytes')[0]!.histogram.sum, 900);
});
