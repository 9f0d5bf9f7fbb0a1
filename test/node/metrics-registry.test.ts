import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  exposeEventRecorder,
  exposeTokenBucket,
  exposeWorkQueue,
} from '../../src/controller/reports/machine-metrics.ts';
import { createPrng } from '../../src/lib/prng.ts';
import { createTokenBucket, tryTakeToken } from '../../src/lib/token-bucket.ts';
import { createEventRecorder, recordEvent } from '../../src/controller/reports/event-recorder.ts';
import { addWork, createWorkItem, createWorkQueue, doneWork, takeWork } from '../../src/controller/queues/workqueue.ts';
import { CATALOGUE } from '../../src/metrics/catalogue.ts';
import { counter, createMetricStore, histogram, readSeries, type Sample } from '../../src/metrics/store.ts';
import { createRegistry } from '../../src/node/metrics-registry.ts';

/** The lines of one metric, comments included. */
function linesOf(text: string, name: string): string[] {
  const found = text.split('\n\n').find((block) => block.includes(`# TYPE ${name} `));
  return found === undefined ? [] : found.trim().split('\n');
}

test('a work queue reads as workqueue_* with the names and buckets of upstream', async () => {
  const store = createMetricStore();
  const queue = createWorkQueue<string>('endpoint', 3);
  exposeWorkQueue(store, queue);
  for (const key of ['a', 'b', 'c']) addWork(queue, createWorkItem(key, 'shop'), 'fresh', 0);
  const first = takeWork(queue, 50)!;
  takeWork(queue, 50);
  doneWork(queue, first, 1050);
  const text = await createRegistry(store, () => 3050).text();

  const value = (name: string): string => linesOf(text, name)[2]!;
  assert.equal(value('workqueue_depth'), 'workqueue_depth{name="endpoint"} 1');
  assert.equal(value('workqueue_adds_total'), 'workqueue_adds_total{name="endpoint"} 3');
  assert.equal(value('workqueue_retries_total'), 'workqueue_retries_total{name="endpoint"} 0');
  assert.equal(value('workqueue_unfinished_work_seconds'), 'workqueue_unfinished_work_seconds{name="endpoint"} 3');
  assert.equal(
    value('workqueue_longest_running_processor_seconds'),
    'workqueue_longest_running_processor_seconds{name="endpoint"} 3',
  );
  assert.deepEqual(linesOf(text, 'workqueue_queue_duration_seconds').slice(1), [
    '# TYPE workqueue_queue_duration_seconds histogram',
    ...['1e-08', '1e-07', '1e-06', '9.999999999999999e-06', '9.999999999999999e-05', '0.001', '0.01'].map(
      (le) => `workqueue_queue_duration_seconds_bucket{name="endpoint",le="${le}"} 0`,
    ),
    ...['0.1', '1', '10', '+Inf'].map((le) => `workqueue_queue_duration_seconds_bucket{name="endpoint",le="${le}"} 2`),
    'workqueue_queue_duration_seconds_sum{name="endpoint"} 0.1',
    'workqueue_queue_duration_seconds_count{name="endpoint"} 2',
  ]);
});

test('the token bucket and the recorder have metrics', async () => {
  const store = createMetricStore();
  const bucket = createTokenBucket(1, 4);
  const recorder = createEventRecorder(10, createPrng(1));
  const names = [
    'endpoint_controller_rate_limiter_use',
    'endpoint_slice_mirroring_controller_rate_limiter_use',
  ] as const;
  exposeTokenBucket(store, bucket, names);
  exposeEventRecorder(store, recorder);
  tryTakeToken(bucket, 0);
  const involvedObject = {
    kind: 'Service',
    apiVersion: 'v1',
    namespace: 'shop',
    name: 'web',
    uid: 'u',
    resourceVersion: '',
  };
  for (let n = 0; n < 27; n++) {
    const event = { component: 'endpoint-controller', involvedObject, reason: 'EndpointsStuck', message: 'x' };
    recordEvent(recorder, { ...event, type: 'Warning' }, 0, 0);
  }
  const text = await createRegistry(store, () => 0).text();
  assert.deepEqual(
    text.split('\n').filter((line) => /^endpoint_\w*rate_limiter_use/.test(line)),
    ['endpoint_controller_rate_limiter_use 0.25', 'endpoint_slice_mirroring_controller_rate_limiter_use 0.25'],
    'one bucket, under the name of each controller that runs',
  );
  assert.deepEqual(linesOf(text, 'endpointd_events_total').slice(2), [
    'endpointd_events_total{result="sent"} 0',
    'endpointd_events_total{result="suppressed"} 2',
    'endpointd_events_total{result="dropped"} 0',
    'endpointd_events_total{result="failed"} 0',
  ]);
});

test('no request for the text counts anything twice', async () => {
  const store = createMetricStore();
  const labels = { code: '200', method: 'PUT', host: '10.0.0.1:443' };
  const requests = counter(store, 'rest_client_requests_total', labels);
  const sizes = histogram(store, 'rest_client_request_size_bytes', { verb: 'PUT', host: '10.0.0.1:443' });
  const registry = createRegistry(store, () => 0);
  requests.inc();
  await registry.text();
  requests.inc();
  sizes.observe(2_000_000);
  const text = await registry.text();
  assert.equal(
    linesOf(text, 'rest_client_requests_total')[2],
    'rest_client_requests_total{code="200",method="PUT",host="10.0.0.1:443"} 2',
  );
  assert.match(
    text,
    /rest_client_request_size_bytes_bucket\{verb="PUT",host="10\.0\.0\.1:443",le="4\.194304e\+06"\} 1\n/,
  );
});

test('a gauge without labels is absent until it has a value', async () => {
  const store = createMetricStore();
  const registry = createRegistry(store, () => 0);
  let life: Sample[] = [];
  readSeries(store, 'endpointd_client_certificate_lifetime_seconds', () => life);
  const shown = async (): Promise<string[]> =>
    linesOf(await registry.text(), 'endpointd_client_certificate_lifetime_seconds').slice(2);
  assert.deepEqual(await shown(), []);
  life = [{ labels: {}, value: 3600 }];
  assert.deepEqual(await shown(), ['endpointd_client_certificate_lifetime_seconds 3600']);
  life = [];
  assert.deepEqual(await shown(), []);
});

test('of an empty store only the counter of refused series has a value', async () => {
  const text = await createRegistry(createMetricStore(), () => 0).text();
  const lines = text.split('\n').filter((line) => line !== '' && !/^(# \w+ )?(nodejs|process)_/.test(line));
  assert.deepEqual(
    lines.filter((line) => !line.startsWith('#')),
    ['endpointd_metric_series_refused_total 0'],
  );
});

test('every metric of the catalogue is announced, and the process beside them', async () => {
  const registry = createRegistry(createMetricStore(), () => 0);
  const text = await registry.text();
  for (const { name, type, help } of CATALOGUE) {
    assert.ok(text.includes(`# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`), name);
  }
  assert.match(text, /^process_cpu_seconds_total /m);
  assert.match(text, /^nodejs_eventloop_lag_seconds /m);
  assert.match(registry.contentType, /^text\/plain; version=0\.0\.4/);
});
