/**
 * Keeps metrics as plain numbers behind handles, so that counting in a hot path is an addition. A caller gets a handle
 * once and keeps it. A value that somebody else keeps is read when metrics are asked for (`readMetric`, `readSeries`).
 */
import { assert } from '../lib/assert.ts';
import { createHistogram, observe, type Histogram } from '../lib/histogram.ts';
import { CATALOGUE, type MetricName, type MetricSpec } from './catalogue.ts';

/** Values by label name. The names are exactly those of the metric in the catalogue. */
export type MetricLabels = Readonly<Record<string, string>>;

export interface Counter {
  readonly value: number;
  /** `n` >= 0. */
  inc(n?: number): void;
}

export interface Gauge {
  readonly value: number;
  set(value: number): void;
  add(n: number): void;
}

export interface HistogramHandle {
  readonly histogram: Histogram;
  observe(value: number): void;
}

export interface Sample {
  readonly labels: MetricLabels;
  readonly value: number;
}

export interface HistogramSample {
  readonly labels: MetricLabels;
  readonly histogram: Histogram;
}

type Series =
  | { readonly kind: 'counter'; readonly labels: MetricLabels; readonly handle: Counter }
  | { readonly kind: 'gauge'; readonly labels: MetricLabels; readonly handle: Gauge }
  | { readonly kind: 'histogram'; readonly labels: MetricLabels; readonly handle: HistogramHandle }
  | { readonly kind: 'read'; readonly labels: MetricLabels; readonly read: (nowMs: number) => number };

interface Family {
  readonly spec: MetricSpec;
  /** By the label values in the order of the catalogue. */
  readonly series: Map<string, Series>;
  list: ((nowMs: number) => Iterable<Sample>) | null;
}

export interface MetricStore {
  readonly families: ReadonlyMap<string, Family>;
}

/**
 * The most label sets of one metric. Labels come from closed lists, so only a hostile or broken server can cause more.
 * Further label sets share one series, whose label values are all `other`.
 */
export const SERIES_MAX = 256;
const OTHER = 'other';

export function createMetricStore(): MetricStore {
  const store = {
    families: new Map(CATALOGUE.map((spec): [string, Family] => [spec.name, { spec, series: new Map(), list: null }])),
  };
  // From the start, because the first count would else be no increase to Prometheus.
  counter(store, 'endpointd_metric_series_refused_total');
  return store;
}

/** The same labels give the same handle. */
export function counter(store: MetricStore, name: MetricName, labels: MetricLabels = {}): Counter {
  const series = seriesOf(store, name, 'counter', labels, (kept) => {
    const handle = {
      value: 0,
      inc(n = 1): void {
        handle.value += n;
      },
    };
    return { kind: 'counter', labels: kept, handle };
  });
  assert(series.kind === 'counter', `metric ${name}: this series is read, not counted`);
  return series.handle;
}

/** The same labels give the same handle. */
export function gauge(store: MetricStore, name: MetricName, labels: MetricLabels = {}): Gauge {
  const series = seriesOf(store, name, 'gauge', labels, (kept) => {
    const handle = {
      value: 0,
      set(value: number): void {
        handle.value = value;
      },
      add(n: number): void {
        handle.value += n;
      },
    };
    return { kind: 'gauge', labels: kept, handle };
  });
  assert(series.kind === 'gauge', `metric ${name}: this series is read, not set`);
  return series.handle;
}

/** The same labels give the same handle. */
export function histogram(store: MetricStore, name: MetricName, labels: MetricLabels = {}): HistogramHandle {
  const { bounds } = familyOf(store, name).spec;
  const series = seriesOf(store, name, 'histogram', labels, (kept) => histogramSeries(kept, createHistogram(bounds)));
  assert(series.kind === 'histogram', `metric ${name}: no histogram`);
  return series.handle;
}

/** Serves a histogram that somebody else fills. Its bounds must be the catalogue's. */
export function attachHistogram(store: MetricStore, name: MetricName, labels: MetricLabels, own: Histogram): void {
  assert(own.bounds.join() === familyOf(store, name).spec.bounds.join(), `metric ${name}: other bounds`);
  seriesOf(store, name, 'histogram', labels, (kept) => histogramSeries(kept, own));
}

/** A counter or gauge whose value is asked for each time. `nowMs` is monotonic. */
export function readMetric(
  store: MetricStore,
  name: MetricName,
  labels: MetricLabels,
  read: (nowMs: number) => number,
): void {
  seriesOf(store, name, familyOf(store, name).spec.type, labels, (kept) => ({ kind: 'read', labels: kept, read }));
}

/** A counter or gauge of which all series are asked for each time. Series beyond SERIES_MAX are left out. */
export function readSeries(store: MetricStore, name: MetricName, list: (nowMs: number) => Iterable<Sample>): void {
  familyOf(store, name).list = list;
}

/** All series of a counter or gauge as they are now. */
export function samples(store: MetricStore, name: string, nowMs: number): Sample[] {
  const family = familyOf(store, name);
  const found: Sample[] = [];
  for (const series of family.series.values()) {
    if (series.kind === 'read') found.push({ labels: series.labels, value: series.read(nowMs) });
    else if (series.kind !== 'histogram') found.push({ labels: series.labels, value: series.handle.value });
  }
  for (const sample of family.list?.(nowMs) ?? []) {
    if (found.length >= SERIES_MAX) break;
    checkLabels(family.spec, sample.labels);
    found.push(sample);
  }
  return found;
}

/** All series of a histogram as they are now. */
export function histogramSamples(store: MetricStore, name: string): HistogramSample[] {
  const found: HistogramSample[] = [];
  for (const series of familyOf(store, name).series.values()) {
    if (series.kind === 'histogram') found.push({ labels: series.labels, histogram: series.handle.histogram });
  }
  return found;
}

function histogramSeries(labels: MetricLabels, own: Histogram): Series {
  return { kind: 'histogram', labels, handle: { histogram: own, observe: (value) => observe(own, value) } };
}

function seriesOf(
  store: MetricStore,
  name: MetricName,
  type: MetricSpec['type'],
  labels: MetricLabels,
  create: (labels: MetricLabels) => Series,
): Series {
  const family = familyOf(store, name);
  const { spec } = family;
  assert(spec.type === type, `metric ${name} is a ${spec.type}, not a ${type}`);
  checkLabels(spec, labels);
  const key = keyOf(spec, labels);
  const known = family.series.get(key);
  if (known !== undefined) return known;
  const full = family.series.size >= SERIES_MAX - 1;
  const kept = full ? Object.fromEntries(spec.labelNames.map((label) => [label, OTHER])) : { ...labels };
  if (full) {
    counter(store, 'endpointd_metric_series_refused_total').inc();
    const other = family.series.get(keyOf(spec, kept));
    if (other !== undefined) return other;
  }
  const series = create(kept);
  family.series.set(keyOf(spec, kept), series);
  return series;
}

function familyOf(store: MetricStore, name: string): Family {
  const family = store.families.get(name);
  assert(family !== undefined, `metric ${name} is not in the catalogue`);
  return family;
}

function checkLabels(spec: MetricSpec, labels: MetricLabels): void {
  const given = Object.keys(labels);
  assert(
    given.length === spec.labelNames.length && spec.labelNames.every((label) => labels[label] !== undefined),
    `metric ${spec.name} has the labels [${spec.labelNames.join()}], not [${given.join()}]`,
  );
}

function keyOf(spec: MetricSpec, labels: MetricLabels): string {
  return spec.labelNames.map((label) => labels[label]).join('\u0000');
}
