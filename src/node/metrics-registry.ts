/** Shows the metric store in Prometheus' text format. Only this file knows prom-client. */
import process from 'node:process';
import { collectDefaultMetrics, Registry, type Counter, type Metric, type PrometheusContentType } from 'prom-client';
import type { Histogram } from '../lib/histogram.ts';
import { CATALOGUE, type MetricSpec } from '../metrics/catalogue.ts';
import { formatGoFloat } from '../metrics/go-float.ts';
import { histogramSamples, samples, type MetricLabels, type MetricStore } from '../metrics/store.ts';

export interface MetricsRegistry {
  readonly contentType: string;
  /** All metrics now. Rejects when a function that reads a metric throws. */
  text(): Promise<string>;
}

/** How often the lag of the event loop is sampled. Every 10 ms, the default, is most of what an idle process costs. */
const EVENT_LOOP_LAG_MS = 100;
/** How often the share of time that the event loop works is sampled. Each sample costs a place in a digest. */
const EVENT_LOOP_SHARE_MS = 1000;

/** @param nowMs the monotonic clock for the functions of the store that read a metric */
export function createRegistry(store: MetricStore, nowMs: () => number): MetricsRegistry {
  const registry = new Registry<PrometheusContentType>();
  collectDefaultMetrics({
    register: registry,
    eventLoopMonitoringPrecision: EVENT_LOOP_LAG_MS,
    eventLoopUtilizationTimeout: EVENT_LOOP_SHARE_MS,
  });
  countCpuSinceStart(registry);
  for (const spec of CATALOGUE) register(registry, store, spec, nowMs);
  return { contentType: registry.contentType, text: () => registry.metrics() };
}

/** The default metrics count from the moment they are registered, which may be long after the start of the process. */
function countCpuSinceStart(registry: Registry<PrometheusContentType>): void {
  const { user, system } = process.cpuUsage();
  for (const [name, micros] of [
    ['process_cpu_user_seconds_total', user],
    ['process_cpu_system_seconds_total', system],
    ['process_cpu_seconds_total', user + system],
  ] as const) {
    (registry.getSingleMetric(name) as Counter).inc(micros / 1e6);
  }
}

/**
 * The registry asks a metric for no more than its lines. prom-client's own metrics do not fit: a gauge without labels would
 * be 0 where it is to be absent, and a histogram takes single observations only.
 */
function register(
  registry: Registry<PrometheusContentType>,
  store: MetricStore,
  { name, help, type }: MetricSpec,
  nowMs: () => number,
): void {
  const values = (): Line[] =>
    type === 'histogram'
      ? histogramSamples(store, name).flatMap(({ labels, histogram }) => lines(name, labels, histogram))
      : samples(store, name, nowMs()).map(({ labels, value }) => ({ metricName: name, labels, value }));
  const get = (): Promise<object> => Promise.resolve({ name, help, type, aggregator: 'sum', values: values() });
  registry.registerMetric({ name, get } as unknown as Metric);
}

interface Line {
  readonly metricName: string;
  readonly labels: MetricLabels;
  readonly value: number;
}

function lines(name: string, labels: MetricLabels, histogram: Histogram): Line[] {
  const found: Line[] = [];
  let below = 0;
  for (const [index, bound] of histogram.bounds.entries()) {
    below += histogram.counts[index]!;
    found.push({ metricName: `${name}_bucket`, labels: { ...labels, le: formatGoFloat(bound) }, value: below });
  }
  found.push(
    { metricName: `${name}_bucket`, labels: { ...labels, le: '+Inf' }, value: histogram.count },
    { metricName: `${name}_sum`, labels: { ...labels }, value: histogram.sum },
    { metricName: `${name}_count`, labels: { ...labels }, value: histogram.count },
  );
  return found;
}
