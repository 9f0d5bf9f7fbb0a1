/** What the machines of the controller count anyway, served under the names of the catalogue. */
import { attachHistogram, readMetric, type MetricStore } from '../metrics/store.ts';
import type { EventRecorder } from './event-recorder.ts';
import { tokenUse, type TokenBucket } from './rate-limit.ts';
import { longestWorkSeconds, unfinishedWorkSeconds, workDepth, type WorkQueue } from './workqueue.ts';

export function exposeWorkQueue<K>(store: MetricStore, queue: WorkQueue<K>): void {
  const labels = { name: queue.name };
  readMetric(store, 'workqueue_depth', labels, () => workDepth(queue));
  readMetric(store, 'workqueue_adds_total', labels, () => queue.addsTotal);
  readMetric(store, 'workqueue_retries_total', labels, () => queue.retriesTotal);
  readMetric(store, 'workqueue_unfinished_work_seconds', labels, (nowMs) => unfinishedWorkSeconds(queue, nowMs));
  readMetric(store, 'workqueue_longest_running_processor_seconds', labels, (nowMs) => longestWorkSeconds(queue, nowMs));
  attachHistogram(store, 'workqueue_queue_duration_seconds', labels, queue.queueSeconds);
  attachHistogram(store, 'workqueue_work_duration_seconds', labels, queue.workSeconds);
}

export function exposeTokenBucket(store: MetricStore, bucket: TokenBucket): void {
  readMetric(store, 'endpoint_controller_rate_limiter_use', {}, (nowMs) => tokenUse(bucket, nowMs));
}

export function exposeEventRecorder(store: MetricStore, recorder: EventRecorder): void {
  readMetric(store, 'endpointd_events_total', { result: 'sent' }, () => recorder.sentTotal);
  readMetric(store, 'endpointd_events_total', { result: 'suppressed' }, () => recorder.suppressedTotal);
  readMetric(store, 'endpointd_events_total', { result: 'dropped' }, () => recorder.droppedTotal);
  readMetric(store, 'endpointd_events_total', { result: 'failed' }, () => recorder.failedTotal);
}
