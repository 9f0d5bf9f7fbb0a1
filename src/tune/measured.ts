/**
 * The numbers that two scrapes of the controller's metrics and two of the API server's tell, where a recording leaves
 * them open. A number that they tell as well as a fit does is not fitted. Another one is fitted within what they leave open.
 */
import { refusalsText, refusedOf } from '../metrics/refusals.ts';
import { changesOf } from '../metrics/slice-changes.ts';
import { bucketsOf, sumOf, type Metrics, type Sample } from '../metrics/text.ts';
import { grownBetween, whyNotComparable, whyNotWhole, type Grown } from '../metrics/two-looks.ts';
import { kubeMinorIn, ledAt, type Program, programOf, showsCpuLimit } from '../metrics/program-of.ts';
import { type Output, OUTPUTS } from '../twin/ledger.ts';
import { type LikelyLognormal, lognormalOf, middleOf } from './lognormal.ts';

export interface Scrapes {
  readonly before: Metrics;
  readonly after: Metrics;
  /** The names of the files, for people. */
  readonly from: string;
}

/** A number with its source, for people. */
export interface Source<T> {
  readonly value: T;
  readonly from: string;
}

/** null = the scrapes do not tell it. */
export interface Measured {
  /** Milliseconds from a write to its answer. */
  readonly apiMs: Source<MeasuredLatency> | null;
  readonly cpuMsPerWrite: Source<CpuPerWrite> | null;
  readonly cores: Source<number> | null;
  /** Notes on these cores, for whom they are taken from here. */
  readonly coresNotes: readonly string[];
  /** The minor version of the kube-controller-manager. */
  readonly kubeMinor: Source<number> | null;
  /** How many clients watch one API server. */
  readonly watchers: Source<{ readonly slices: number; readonly endpoints: number }> | null;
  /** Mean milliseconds that a request of a flow schema has waited, of those that these writes may have. */
  readonly flowWaits: Source<readonly { readonly schema: string; readonly ms: number }[]> | null;
  /** What the scrapes would have told: refused writes, and another leader. */
  readonly lookedFor: readonly ('refusals' | 'leader')[];
  /** Reasons not to believe a recommendation. */
  readonly doubts: readonly string[];
  /** Notes for the reader: what could not be used, and why. */
  readonly notes: readonly string[];
}

export interface MeasuredLatency extends LikelyLognormal {
  /** Whether it is of writes of Endpoints and slices alone, or nearly so. */
  readonly isOfOutputs: boolean;
}

/** Milliseconds of the controller's CPU for each of its writes of these outputs. */
export interface CpuPerWrite {
  readonly ms: number;
  readonly of: readonly Output[];
  /** The CPU includes other work of the process, so this is the most that it can be. */
  readonly isMost: boolean;
}

export const NOTHING_MEASURED: Measured = {
  apiMs: null,
  cpuMsPerWrite: null,
  cores: null,
  coresNotes: [],
  kubeMinor: null,
  watchers: null,
  flowWaits: null,
  lookedFor: [],
  doubts: [],
  notes: [],
};

/** Scrapes that cannot be used: of another program, in the wrong order, or of two processes. */
export class ScrapesError extends Error {}

/** A number that only the recording tells, or nothing, may be smaller or larger by this factor. */
export const UNSURE = 1.25;
/** A latency that was measured is unsure by as much at least. */
const UNSURE_MEASURED = 1.15;
/** A figure of fewer writes is chance. */
const WRITES_MIN = 100;

/**
 * The largest share of waits for tokens in the time of requests. client-go counts the wait as part of a request
 * (rest/request.go of 0.36).
 */
const WAITED_MAX = 0.05;

const WRITE_VERBS: readonly string[] = ['PUT', 'POST', 'DELETE', 'PATCH'];

type Part = Partial<Measured> & Pick<Measured, 'apiMs' | 'lookedFor' | 'doubts' | 'notes'>;

const NO_PART: Part = { apiMs: null, lookedFor: [], doubts: [], notes: [] };

/**
 * How many objects of each output the recorded controllers have written, those of mirrored slices too, and those of before the
 * story begins: scrapes count them. What was written before the first list of an output was there nobody has seen.
 */
export interface Recorded extends Readonly<Record<Output, number>> {
  /** How long the first lists took, milliseconds. */
  readonly listsMs: number;
}

/**
 * @param program whose metrics `controller` should be
 * @param recorded null = there is no recording
 * @throws ScrapesError that names the files
 */
export function measuredOf(
  controller: Scrapes | null,
  apiserver: Scrapes | null,
  program: Program,
  recorded: Recorded | null,
): Measured {
  const own = controller === null ? NO_PART : ofController(controller, program, recorded);
  const server = apiserver === null ? NO_PART : ofApiServer(apiserver, program, recorded);
  const [a, b] = [own.apiMs, server.apiMs];
  const apiMs = a === null || b === null ? (a ?? b) : between(a, b);
  const differ =
    a === null || b === null || apiMs !== null
      ? []
      : [
          `the median API latency is ${a.value.median.toFixed(1)} ms by the controller and ${b.value.median.toFixed(1)} ms by the API server: neither is taken`,
        ];
  return {
    ...NOTHING_MEASURED,
    ...own,
    ...server,
    apiMs,
    lookedFor: [...own.lookedFor, ...server.lookedFor],
    doubts: [...own.doubts, ...server.doubts],
    notes: [...own.notes, ...server.notes, ...differ],
  };
}

/**
 * Combines both latencies: each may be so. The server measures only these resources, without the way to it. The controller
 * measures all its writes, with the way. They have the same buckets, so that they agree makes neither surer. If they
 * differ by more than a fit and both of them leave open, neither is believed.
 */
function between(own: NonNullable<Part['apiMs']>, server: NonNullable<Part['apiMs']>): Part['apiMs'] {
  const [a, b] = [own.value, server.value];
  if (middleOf([a, b]).unsure.median > Math.max(UNSURE, a.unsure.median, b.unsure.median)) return null;
  const ends = [a, b].flatMap(({ median, tail, unsure }) => [
    { median: median / unsure.median, tail: tail / unsure.tail },
    { median: median * unsure.median, tail: tail * unsure.tail },
  ]);
  return { value: { ...middleOf(ends), isOfOutputs: true }, from: `${own.from}; ${server.from}` };
}

/** Some clouds write `33+`. endpointd has no such metric. */
function kubeMinorOf(metrics: Metrics, from: string): Measured['kubeMinor'] {
  const minor = kubeMinorIn(metrics);
  return minor === null ? null : { value: minor, from: `kubernetes_build_info in ${from}` };
}

/** Nothing waits for a refused read. '' = no write was refused. */
function refusedWrites(countOf: (code: string, verb: string) => number): string {
  return refusalsText(refusedOf((code) => WRITE_VERBS.reduce((sum, verb) => sum + countOf(code, verb), 0)));
}

/** Scrapes and recording do not begin and end at the same moments, and a write that fails is in a scrape alone. */
const COUNTS_DIFFER_MAX = 1.2;

/**
 * The part of scrapes that count other writes than the recording, so they are of something else; null = they may be of the
 * same. Scrapes do not tell when they were taken, so rates cannot be compared.
 */
function strayOf(
  from: string,
  outputs: readonly Output[],
  counted: number | null,
  recorded: Recorded | null,
  ofWhat: string,
): Part | null {
  if (recorded === null || counted === null) return null;
  const written = writtenIn(recorded, outputs);
  const [less, more] = counted < written ? [counted, written] : [written, counted];
  if (more < WRITES_MIN || more <= COUNTS_DIFFER_MAX * less) return null;
  const what = outputs.includes('endpoints') ? 'Endpoints and slices' : 'slices';
  const lists = `whose first lists took ${(recorded.listsMs / 1000).toFixed(1)} s`;
  const why = `${from}: ${counted} writes of ${what} between the scrapes, ${written} in the recording, ${lists}`;
  return { ...NO_PART, notes: [`${why}: they are of another time or of another ${ofWhat}, and are not taken`] };
}

function writtenIn(recorded: Recorded, outputs: readonly Output[]): number {
  return outputs.reduce((sum, output) => sum + recorded[output], 0);
}

function ofController({ before, after, from }: Scrapes, controller: Program, recorded: Recorded | null): Part {
  const program = programOf(after);
  if (typeof program !== 'string') throw new ScrapesError(`${from}: ${program.why}`);
  if (program !== controller)
    throw new ScrapesError(`${from}: these are the metrics of ${program}, and --controller is ${controller}`);
  const isEndpointd = program === 'endpointd';
  const grown = comparable(before, after, from, [
    'rest_client_request_duration_seconds_count',
    'workqueue_work_duration_seconds_count',
    'process_cpu_seconds_total',
  ]);
  const led = ledAt(before, after, program);
  const ofLeader = led === null ? [] : (['leader'] as const);
  if (led !== null && led.before !== led.after)
    return {
      ...NO_PART,
      lookedFor: ofLeader,
      doubts: [`${from}: the process led at one of the scrapes alone: another leader wrote, too`],
    };
  refuse(from, whyNotWhole(before, after, ['process_cpu_seconds_total', 'rest_client_requests_total']));
  const stray = strayOf(from, SLICES, grownSlices(grown, after), recorded, 'process');
  if (stray !== null) return stray;
  const all = latencyOf(before, after, 'rest_client_request_duration_seconds', [{}]);
  const { count } = all;
  const ofWrites = (sum: string): number => WRITE_VERBS.reduce((all, verb) => all + grown(sum, { verb }), 0);
  const waited = isEndpointd ? 0 : ofWrites('rest_client_rate_limiter_duration_seconds_sum');
  const latency =
    waited > WAITED_MAX * ofWrites('rest_client_request_duration_seconds_sum')
      ? { count, fitted: null, why: 'have waits for tokens in their latency' }
      : all;
  const refused = refusedWrites((code, method) => grown('rest_client_requests_total', { code, method }));
  const whose = isEndpointd ? 'its' : "the process's";
  const cores = gaugeOf(after, 'go_sched_gomaxprocs_threads');
  const cpu = cpuPerWrite(grown, after, isEndpointd, from);
  return {
    apiMs: sourceOf(latency, `${whose} ${count} writes in ${from}`, isEndpointd),
    cpuMsPerWrite: cpu.known,
    cores: cores === null ? null : { value: cores, from: `go_sched_gomaxprocs_threads in ${from}` },
    coresNotes: coresNotesOf(cores, after).map((note) => `${from}: ${note}`),
    kubeMinor: kubeMinorOf(after, from),
    lookedFor: ['refusals', ...ofLeader],
    doubts: refused === '' ? [] : [`${from}: of ${whose} writes the API server refused ${refused}`],
    notes: [...notesOf(latency, `${count} writes`, from), ...(count >= WRITES_MIN ? cpu.notes : [])],
  };
}

/** runtime.GOMAXPROCS of Go 1.25 and later is no less where a container has a CPU limit. */
const GO_THREADS_MIN = 2;
const FEW_CORES =
  'go_sched_gomaxprocs_threads is 2 for any CPU limit up to 2 cores: a smaller limit is played as two cores, and what CPU holds up is not seen';
const NODES_CORES =
  "go_sched_gomaxprocs_threads is the node's before Kubernetes 1.35, whatever the container's CPU limit: if it has one, give it with --cores, or what CPU holds up is not seen";

function coresNotesOf(cores: number | null, look: Metrics): string[] {
  if (cores === null) return [];
  if (!showsCpuLimit(look)) return [NODES_CORES];
  return cores === GO_THREADS_MIN ? [FEW_CORES] : [];
}

/**
 * All CPU of a kube-controller-manager may be that of these controllers, but few of its writes are theirs. It counts those
 * of slices alone, so the most that they can have taken is all CPU for each write of a slice. In endpointd only writes of
 * outputs wait for tokens: renewals of its Lease and Event objects do not.
 */
function cpuPerWrite(
  grown: Grown,
  after: Metrics,
  isEndpointd: boolean,
  from: string,
): { readonly known: Measured['cpuMsPerWrite']; readonly notes: readonly string[] } {
  const cpuMs = grown('process_cpu_seconds_total') * 1000;
  const writes = isEndpointd
    ? grown('rest_client_rate_limiter_duration_seconds_count')
    : (changesOf('endpoint_slice', grown, after) ?? 0);
  if (cpuMs <= 0) return { known: null, notes: [`${from}: process_cpu_seconds_total is not there or has not grown`] };
  const what = isEndpointd ? `its ${writes} writes` : `its ${writes} writes of slices`;
  if (writes < WRITES_MIN) {
    return { known: null, notes: [`${from}: CPU for ${what} tells nothing; at least ${WRITES_MIN} are needed`] };
  }
  const value = { ms: cpuMs / writes, of: isEndpointd ? OUTPUTS : SLICES, isMost: !isEndpointd };
  return { known: { value, from: `CPU of the process and ${what} in ${from}` }, notes: [] };
}

/** Of both controllers that write slices; null = the metrics do not tell those of the first one. */
function grownSlices(grown: Grown, after: Metrics): number | null {
  const own = changesOf('endpoint_slice', grown, after);
  return own === null ? null : own + (changesOf('endpoint_slice_mirroring', grown, after) ?? 0);
}

const SLICES: readonly Output[] = ['slices'];

const OUTPUT_RESOURCES = [
  { group: '', resource: 'endpoints' },
  { group: 'discovery.k8s.io', resource: 'endpointslices' },
] as const;

function ofApiServer({ before, after, from }: Scrapes, program: Program, recorded: Recorded | null): Part {
  if (!after.has('apiserver_request_duration_seconds_count'))
    throw new ScrapesError(`${from}: these are the metrics of another program: they have no requests to an API server`);
  const grown = comparable(before, after, from, ['apiserver_request_duration_seconds_count']);
  refuse(from, whyNotWhole(before, after, ['apiserver_request_total', `${FLOW_WAIT}_count`]));
  const latency = latencyOf(before, after, 'apiserver_request_duration_seconds', OUTPUT_RESOURCES);
  const { count } = latency;
  const written = recorded === null ? 0 : writtenIn(recorded, OUTPUTS);
  // Other clients write them too, so only fewer writes tell.
  const stray = count >= written ? null : strayOf(from, OUTPUTS, count, recorded, 'API server');
  if (stray !== null) return stray;
  const watching = (resource: string): number =>
    gaugeOf(after, 'apiserver_longrunning_requests', { verb: 'WATCH', resource }) ?? 0;
  const slices = watching('endpointslices');
  const rejected = grown('apiserver_flowcontrol_rejected_requests_total');
  const refused = refusedWrites((code, verb) =>
    OUTPUT_RESOURCES.reduce((sum, of) => sum + grown('apiserver_request_total', { ...of, verb, code }), 0),
  );
  return {
    apiMs: sourceOf(latency, `${count} writes of Endpoints and slices in ${from}, at the server`, true),
    // Every node watches slices. If few watch here, another API server has the others.
    watchers:
      slices > 0
        ? {
            value: { slices, endpoints: watching('endpoints') },
            from: `apiserver_longrunning_requests in ${from}, of that API server alone`,
          }
        : null,
    flowWaits: flowWaitsOf(grown, after, program, from),
    lookedFor: ['refusals'],
    doubts: refused === '' ? [] : [`${from}: of the writes of Endpoints and slices the API server refused ${refused}`],
    notes: [
      ...notesOf(latency, `${count} writes of Endpoints and slices`, from),
      ...(rejected > 0 ? [`${from}: flow control rejected ${rejected} requests between the scrapes`] : []),
    ],
  };
}

const FLOW_WAIT = 'apiserver_flowcontrol_request_wait_duration_seconds';

/**
 * The flow schemas that a controller's writes may have: Kubernetes' own, by its user or by those of its service accounts, and
 * those of `deploy/`.
 */
const OWN_SCHEMAS: Readonly<Record<Program, readonly string[]>> = {
  endpointd: ['endpointd', 'endpointd-static-pod', 'kube-system-service-accounts'],
  'kube-controller-manager': ['endpoint-controller', 'kube-controller-manager', 'kube-system-service-accounts'],
};
/** Those that Kubernetes makes, or made, itself. */
const DEFAULT_SCHEMAS: readonly string[] = [
  'exempt',
  'probes',
  'system-leader-election',
  'endpoint-controller',
  'workload-leader-election',
  'system-node-high',
  'system-nodes',
  'kube-controller-manager',
  'kube-scheduler',
  'kube-system-service-accounts',
  'service-accounts',
  'global-default',
  'catch-all',
];
const LONGEST_SHOWN = 3;

function flowWaitsOf(grown: Grown, after: Metrics, program: Program, from: string): Measured['flowWaits'] {
  const schemas = new Set((after.get(`${FLOW_WAIT}_count`) ?? []).map(({ labels }) => labels['flow_schema'] ?? ''));
  if (schemas.size === 0) return null;
  const waits = [...schemas]
    .flatMap((schema) => {
      const count = grown(`${FLOW_WAIT}_count`, { flow_schema: schema });
      return count === 0 ? [] : [{ schema, ms: (grown(`${FLOW_WAIT}_sum`, { flow_schema: schema }) / count) * 1000 }];
    })
    .toSorted((a, b) => b.ms - a.ms);
  const own = waits.filter(({ schema }) => OWN_SCHEMAS[program].includes(schema));
  if (own.length > 0)
    return { value: own, from: `${FLOW_WAIT} in ${from}; part of the API latency of writes with that flow schema` };
  const why = `the longest: which flow schema the writes of ${program} have is not told`;
  // A report is given away, and other schemas have names that somebody has chosen.
  const told = waits.slice(0, LONGEST_SHOWN).map(({ schema, ms }) => ({
    schema: DEFAULT_SCHEMAS.includes(schema) ? schema : 'another flow schema',
    ms,
  }));
  return { value: told, from: `${FLOW_WAIT} in ${from}; ${why}` };
}

function comparable(before: Metrics, after: Metrics, from: string, counters: readonly string[]): Grown {
  refuse(from, whyNotComparable(before, after, counters));
  const grown = grownBetween(before, after);
  return (name, labels) => {
    const by = grown(name, labels);
    if (!Number.isFinite(by)) refuse(from, `${name} is no finite number`);
    return by;
  };
}

/** @throws ScrapesError, unless `why` is null */
function refuse(from: string, why: string | null): void {
  if (why !== null) throw new ScrapesError(`${from}: ${why}`);
}

/** null = the scrape does not tell it. */
function gaugeOf(scrape: Metrics, name: string, labels?: Sample['labels']): number | null {
  const value = sumOf(scrape, name, labels);
  return value !== null && Number.isFinite(value) ? value : null;
}

interface Latency {
  readonly count: number;
  readonly fitted: LikelyLognormal | null;
  /** Why nothing was fitted although there were enough writes. */
  readonly why: string;
}

/** The latency of writes with any of these labels. */
function latencyOf(
  before: Metrics,
  after: Metrics,
  histogram: string,
  selections: readonly Readonly<Record<string, string>>[],
): Latency {
  const counts = new Map<number, number>();
  for (const verb of WRITE_VERBS) {
    for (const labels of selections) {
      const earlier = bucketsOf(before, histogram, { ...labels, verb });
      for (const [bound, count] of bucketsOf(after, histogram, { ...labels, verb }))
        counts.set(bound, (counts.get(bound) ?? 0) + count - (earlier.get(bound) ?? 0));
    }
  }
  let below = 0;
  const bins = [...counts]
    .toSorted(([a], [b]) => a - b)
    .map(([seconds, upTo]) => {
      const bin = { bound: seconds * 1000, count: upTo - below };
      below = upTo;
      return bin;
    });
  return { count: below, fitted: below < WRITES_MIN ? null : lognormalOf(bins), why: ONE_BUCKET };
}

function sourceOf({ fitted }: Latency, what: string, isOfOutputs: boolean): Part['apiMs'] {
  if (fitted === null) return null;
  const unsure = {
    median: Math.max(UNSURE_MEASURED, fitted.unsure.median),
    tail: Math.max(UNSURE_MEASURED, fitted.unsure.tail),
  };
  return { value: { ...fitted, unsure, isOfOutputs }, from: `histogram of ${what}` };
}

const ONE_BUCKET = 'are nearly all in one bucket of the histogram, which tells no median';

function notesOf({ count, fitted, why }: Latency, what: string, from: string): string[] {
  if (count < WRITES_MIN) return [`${from}: ${what} between the scrapes; at least ${WRITES_MIN} are needed`];
  if (fitted !== null) return [];
  return [`${from}: the ${what} ${why}`];
}
