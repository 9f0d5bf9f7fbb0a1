/** Metrics that parts of the controller count themselves, under the names of the catalogue. */
import { attachHistogram, readMetric, type MetricStore } from '../../metrics/store.ts';
import type { EventRecorder } from './event-recorder.ts';
import type { MetricName } from '../../metrics/catalogue.ts';
import { tokenUse, type TokenBucket } from '../../lib/token-bucket.ts';
import { longestWorkSeconds, unfinishedWorkSeconds, workDepth, type WorkQueue } from '../queues/workqueue.ts';

/** A queue whose work does not count shows as an empty one. */
export function exposeWorkQueue<K>(store: MetricStore, queue: WorkQueue<K>): void {
  const labels = { name: queue.name };
  const gauge = (name: MetricName, read: (nowMs: number) => number): void =>
    readMetric(store, name, labels, (nowMs) => (queue.isCounted() ? read(nowMs) : 0));
  gauge('workqueue_depth', () => workDepth(queue));
  gauge('workqueue_unfinished_work_seconds', (nowMs) => unfinishedWorkSeconds(queue, nowMs));
  gauge('workqueue_longest_running_processor_seconds', (nowMs) => longestWorkSeconds(queue, nowMs));
  readMetric(store, 'workqueue_adds_total', labels, () => queue.addsTotal);
  readMetric(store, 'workqueue_retries_total', labels, () => queue.retriesTotal);
  attachHistogram(store, 'workqueue_queue_duration_seconds', labels, queue.queueSeconds);
  attachHistogram(store, 'workqueue_work_duration_seconds', labels, queue.workSeconds);
}

/** Upstream has a bucket for each controller. Here all running controllers share one, so each of the names shows it. */
export function exposeTokenBucket(store: MetricStore, bucket: TokenBucket, names: readonly MetricName[]): void {
  for (const name of names) readMetric(store, name, {}, (nowMs) => tokenUse(bucket, nowMs));
}

export function exposeEventRecorder(store: MetricStore, recorder: EventRecorder): void {
  readMetric(store, 'endpointd_events_total', { result: 'sent' }, () => recorder.sentTotal);
  readMetric(store, 'endpointd_events_total', { result: 'suppressed' }, () => recorder.suppressedTotal);
  readMetric(store, 'endpointd_events_total', { result: 'dropped' }, () => recorder.droppedTotal);
  readMetric(store, 'endpointd_events_total', { result: 'failed' }, () => recorder.failedTotal);
}
