/** What a controller's metrics show, endpointd's or kube-controller-manager's, and what they do not show. */
import type { Fact, Section } from '../../page/page.ts';
import { moreNote, pauseFact, time } from './debug-page.ts';
import { STAGE_NAMES } from '../../controller/reports/stages.ts';
import { type Metrics, quantileOf, samplesOf, sumOf } from '../../metrics/text.ts';

export interface MetricsLook {
  readonly metrics: Metrics;
  readonly atMs: number;
}

/** The queues' names, which are the same in kube-controller-manager and endpointd. */
const QUEUES = ['endpoint', 'endpoint_slice', 'endpoint_slice_mirroring'];

/** What is told of the whole process. Metrics that the program does not have are left out. */
export function metricsFacts({ metrics }: MetricsLook): Fact[] {
  const leads = sumOf(metrics, 'leader_election_master_status');
  const waits = (sumOf(metrics, 'endpointd_take_over_waiting') ?? 0) > 0;
  const pauseSeconds = sumOf(metrics, 'endpointd_write_pause_seconds');
  const oldestSeconds = sumOf(metrics, 'endpointd_oldest_unwritten_change_seconds');
  const facts: Fact[] = [];
  if (leads === 0) facts.push({ name: 'leader', value: 'another process or nobody, this process stands by' });
  else if (leads !== null) facts.push({ name: 'leader', value: waits ? 'this process, which waits' : 'this process' });
  if (pauseSeconds !== null) facts.push(pauseFact(pauseSeconds * 1000));
  if (oldestSeconds !== null) {
    const value = oldestSeconds === 0 ? 'none' : time(oldestSeconds * 1000);
    facts.push({ name: 'oldest unwritten change', value });
  }
  return facts;
}

/**
 * @param before the look before, from which rates are computed; null = totals since the start are shown
 * @param stuckMax so many stuck services are shown at most
 */
export function metricsSections(now: MetricsLook, before: MetricsLook | null, stuckMax = Infinity): Section[] {
  return [
    stuckOf(now, stuckMax),
    queuesOf(now, before),
    stagesOf(now, before),
    requestsOf(now, before),
    slicesOf(now),
    watchesOf(now),
  ].filter((section) => section !== null);
}

/** Whose metrics these are, and what they do not show. */
export function sourceOf({ metrics }: MetricsLook): string {
  if (metrics.has('endpointd_build_info')) {
    return 'metrics of endpointd: without shards, errors of stuck services, and single changes (see /debug/endpointd)';
  }
  const queues = QUEUES.filter((name) => sumOf(metrics, 'workqueue_depth', { name }) !== null);
  if (queues.length === 0) return 'metrics of another program: they have no queue of these controllers';
  return 'metrics of kube-controller-manager: queues, requests and slices; without stages, stuck services, watches and shards';
}

function rate(now: MetricsLook, before: MetricsLook | null, value: (metrics: Metrics) => number | null): string {
  const current = value(now.metrics);
  if (current === null) return '';
  if (before === null) return String(current);
  const seconds = (now.atMs - before.atMs) / 1000;
  // A counter that has gone back belongs to a new process.
  return `${(Math.max(0, current - (value(before.metrics) ?? 0)) / seconds).toFixed(1)}/s`;
}

function quantile(now: MetricsLook, before: MetricsLook | null, name: string, labels: Record<string, string>): string {
  const shares = [0.5, 0.99].map((share) => quantileOf(now.metrics, before?.metrics ?? null, name, labels, share));
  return shares.map(boundText).join(' ');
}

function boundText(seconds: number | null): string {
  if (seconds === null) return '-';
  return seconds === Infinity ? 'longer' : `<=${time(seconds * 1000)}`.replace('<=<', '<');
}

function table(title: string, columns: readonly string[], rows: readonly (readonly string[])[]): Section | null {
  return rows.length === 0 ? null : { title, tone: 'plain', note: '', table: { columns, rows } };
}

function queuesOf(now: MetricsLook, before: MetricsLook | null): Section | null {
  const { metrics } = now;
  const rows = QUEUES.filter((name) => sumOf(metrics, 'workqueue_depth', { name }) !== null).map((name) => [
    name,
    String(sumOf(metrics, 'workqueue_depth', { name })),
    rate(now, before, (all) => sumOf(all, 'workqueue_adds_total', { name })),
    rate(now, before, (all) => sumOf(all, 'workqueue_retries_total', { name })),
    quantile(now, before, 'workqueue_queue_duration_seconds', { name }),
    quantile(now, before, 'workqueue_work_duration_seconds', { name }),
    time((sumOf(metrics, 'workqueue_longest_running_processor_seconds', { name }) ?? 0) * 1000),
  ]);
  return table(
    'Queues',
    ['queue', 'depth', 'adds', 'retries', 'waited p50 p99', 'worked p50 p99', 'longest sync'],
    rows,
  );
}

function stagesOf(now: MetricsLook, before: MetricsLook | null): Section | null {
  const name = 'endpointd_pod_change_duration_seconds';
  const controllers = new Set(samplesOf(now.metrics, `${name}_count`).map(({ labels }) => labels['controller'] ?? ''));
  const rows = [...controllers].sort().map((controller) => {
    const stages = STAGE_NAMES.map((stage) => quantile(now, before, name, { controller, stage }));
    return [controller].concat(stages);
  });
  return table('Where the time of changes went, p50 p99', ['controller', ...STAGE_NAMES], rows);
}

function requestsOf(now: MetricsLook, before: MetricsLook | null): Section | null {
  const name = 'rest_client_requests_total';
  const kinds = new Set(samplesOf(now.metrics, name).map(({ labels }) => `${labels['method']} ${labels['code']}`));
  const rows = [...kinds].sort().map((kind) => {
    const [method = '', code = ''] = kind.split(' ');
    return [method, code, rate(now, before, (all) => sumOf(all, name, { method, code }))];
  });
  return table('Requests to the API server', ['method', 'code', 'requests'], rows);
}

function slicesOf({ metrics }: MetricsLook): Section | null {
  const rows = ['endpoint_slice_controller', 'endpoint_slice_mirroring_controller'].flatMap((prefix) => {
    const figures = ['endpoints_desired', 'num_endpoint_slices', 'desired_endpoint_slices'].map((figure) =>
      sumOf(metrics, `${prefix}_${figure}`),
    );
    return figures.every((figure) => figure === null)
      ? []
      : [[prefix, ...figures.map((figure) => String(figure ?? ''))]];
  });
  return table('Slices', ['controller', 'endpoints', 'slices', 'fewest'], rows);
}

function watchesOf({ metrics }: MetricsLook): Section | null {
  const rows = samplesOf(metrics, 'endpointd_watch_up').map(({ labels, value }) => [
    labels['resource'] ?? '',
    value === 1 ? 'up' : 'down',
  ]);
  return table('Watches', ['resource', 'state'], rows);
}

function stuckOf({ metrics }: MetricsLook, stuckMax: number): Section | null {
  const rows = samplesOf(metrics, 'endpointd_stuck_service').map(({ labels }) => [
    `${labels['namespace']}/${labels['service']}`,
    labels['controller'] ?? '',
    labels['class'] ?? '',
  ]);
  const shown = rows.slice(0, stuckMax);
  // Only so many stuck services have a series of their own (SERIES_MAX).
  const total = sumOf(metrics, 'endpointd_services', { state: 'stuck' }) ?? rows.length;
  const section = table('Stuck services', ['service', 'controller', 'class'], shown);
  return section && { ...section, note: moreNote(total - shown.length) };
}
