/**
 * The rules of `endpointd advise`, as data. The first rule that holds for a controller decides. Each names its figures.
 * A rule that cannot exclude another cause says that it cannot tell, because wrong advice costs more than none.
 */
import type { QueueName } from '../metrics/controller-of.ts';
import type { Observation, QueueObservation } from './observation.ts';

export type Verdict = 'tokens' | 'syncs' | 'cpu' | 'none' | 'cannot tell';

export interface Advice {
  readonly queue: QueueName;
  readonly verdict: Verdict;
  /** The flag to change; '' = no flag helps. */
  readonly flag: string;
  /** The figures on which the verdict rests. */
  readonly because: string;
}

/** The figures that rules compare. */
export interface Seen extends QueueObservation {
  readonly of: Observation;
  /** The share of the time that workers were busy. */
  readonly utilisation: number;
  /** Mean seconds of a sync that its writes take: API latency. */
  readonly ioSeconds: number;
  /** Mean seconds of a sync beyond its writes: waiting for tokens and for CPU, and planning. */
  readonly restSeconds: number;
  /** The most seconds of a sync that may be a wait for a token. The limiter's sum is that of all controllers. */
  readonly throttleSecondsMax: number;
  /** The same, less the time of the other queues' syncs beyond their writes, which such waits explain first. */
  readonly throttleSecondsLeft: number;
  /**
   * The share of the workers' busy time that is a wait for a token; null = controllers that are not looked at wait too,
   * and no metric tells theirs apart.
   */
  readonly tokenShare: number | null;
}

export interface Rule {
  readonly name: string;
  /** Why the rule is right. */
  readonly reason: string;
  readonly holds: (seen: Seen) => boolean;
  readonly verdict: Verdict;
  readonly because: (seen: Seen) => string;
}

/** The mean of fewer syncs is chance. */
const SYNCS_MIN = 20;
/** Workers that are busy for a larger share of the time make keys wait. */
const SATURATED = 0.85;
const CPU_FULL = 0.97;
/** CPU-bound work that uses a smaller share of its cores cannot wait for long. */
const PODS_FULL = 0.7;
/** A part that has at least this share of the mean sync is most of it. */
const MOST = 0.5;
const LITTLE = 0.3;
/** Where syncs would get faster by less, more tokens alone help little. */
const GAIN = 0.2;
/** A smaller share of waits for tokens is that of a burst. */
const BURSTS = 0.05;
/** Syncs that run for a larger share of the time are no short ones. */
const HANGS = 0.1;
/** By Markov's inequality, a look sees a depth that is the mean over this only so rarely. */
const CHANCE = 0.01;
/** The clocks of two looks, and the rounding of an interval, explain no more than this. */
const POSSIBLE_MAX = 1.05;

export const RULES: readonly Rule[] = [
  {
    name: 'a figure is impossible',
    reason:
      'No process has more busy workers than workers, nor uses more CPU than it has. If one figure shows that the interval or a setting is not that of the process, all figures rest on a doubt.',
    holds: ({ of }) => impossibleOf(of) !== '',
    verdict: 'cannot tell',
    because: ({ of }) => impossibleOf(of),
  },
  {
    name: 'the main thread is full',
    reason: 'endpointd does all but planning on one thread: while this thread works, nothing else goes on.',
    holds: ({ of }) => of.mainThread !== null && of.mainThread >= SATURATED,
    verdict: 'cpu',
    because: ({ of }) =>
      `the main thread worked ${percent(of.mainThread ?? 0)} of the time, and no flag adds a second one`,
  },
  {
    name: 'the CPU is full',
    reason: 'Work that waits for a core makes every other figure longer, so the CPU is looked at first.',
    holds: ({ of }) => of.cores !== null && of.cpu >= CPU_FULL * of.cores,
    verdict: 'cpu',
    because: ({ of }) => `the process used ${round(of.cpu)} of ${of.cores} cores: all its controllers wait for CPU`,
  },
  {
    name: 'too little happened',
    reason: `The mean of fewer than ${SYNCS_MIN} syncs tells nothing. A standby, or a cluster at rest, has no syncs.`,
    holds: ({ syncs }) => syncs < SYNCS_MIN,
    verdict: 'cannot tell',
    because: ({ syncs, of }) => `there were ${syncs} syncs in ${round(of.seconds)} s; at least ${SYNCS_MIN} are needed`,
  },
  {
    name: 'syncs wait for tokens',
    reason:
      'A worker is held while its write waits for a token. If most of a sync is neither the API server nor CPU, and writes of the process waited about as long for tokens, the sync has waited for tokens. More workers would only wait too. Other controllers of kube-controller-manager have buckets of their own: where they waited far longer than these syncs can have, the sum tells nothing of these.',
    holds: (seen) =>
      seen.restSeconds >= MOST * seen.workSeconds &&
      seen.throttleSecondsMax >= 0.8 * seen.restSeconds &&
      !isCpu(seen) &&
      !isOfOthers(seen.of) &&
      matters(seen),
    verdict: 'tokens',
    because: (seen) =>
      `a sync takes ${ms(seen.workSeconds)}, of which the API server is about ${ms(seen.ioSeconds)}, and writes of the process waited ${round(seen.of.throttled)} s a second for tokens`,
  },
  {
    name: 'all workers are busy, and the bucket is empty',
    reason:
      'A worker waits for a token only while the bucket is empty. If all workers are always busy and wait, endpointd writes as often as QPS lets it: more workers would wait too. More tokens make each sync shorter by its wait.',
    holds: (seen) =>
      seen.utilisation >= SATURATED &&
      seen.tokenShare !== null &&
      seen.tokenShare >= GAIN * (1 - seen.tokenShare) &&
      hasCpu(seen),
    verdict: 'tokens',
    because: (seen) =>
      `${round(seen.busy)} of ${seen.syncsMax} workers are busy, ${percent(seen.tokenShare ?? 0)} of that time they wait for tokens, and ${round(seen.waiting)} keys wait, each for ${ms(seen.waitSeconds)}`,
  },
  {
    name: 'all workers are busy with the API server',
    reason:
      'Workers that are busy nearly all the time make keys wait. If most of a sync is its write, and no more than a little of it can be a wait for a token, more workers take the wait away, as long as the API server stays as fast. The latency is that of all controllers: it alone does not exclude such a wait, because slow writes of others raise it.',
    holds: (seen) =>
      seen.utilisation >= SATURATED &&
      seen.restSeconds < MOST * seen.workSeconds &&
      seen.throttleSecondsLeft <= LITTLE * seen.workSeconds &&
      (seen.tokenShare ?? 0) <= BURSTS &&
      hasCpu(seen),
    verdict: 'syncs',
    because: (seen) =>
      `${round(seen.busy)} of ${seen.syncsMax} workers are busy, ${round(seen.waiting)} keys wait, each for ${ms(seen.waitSeconds)}, and about ${ms(seen.ioSeconds)} of the ${ms(seen.workSeconds)} of a sync is the API server`,
  },
  {
    name: 'syncs wait for what no metric tells',
    reason:
      'If most of a sync is neither its write nor a wait for a token, and the process leaves CPU of its own unused, other programs may have the cores of the machine. More workers would wait for them too.',
    holds: (seen) =>
      seen.utilisation >= SATURATED &&
      seen.restSeconds >= MOST * seen.workSeconds &&
      seen.throttleSecondsMax <= LITTLE * seen.workSeconds &&
      hasCpu(seen),
    verdict: 'cannot tell',
    because: (seen) =>
      `${round(seen.busy)} of ${seen.syncsMax} workers are busy, but of the ${ms(seen.workSeconds)} of a sync about ${ms(seen.ioSeconds)} is the API server and at most ${ms(seen.throttleSecondsMax)} can be tokens: other programs may take the CPU of the machine, and then more workers do not help`,
  },
  {
    name: 'pods may wait where no metric tells',
    reason:
      'From 1.35 on, workers of a queue without metrics match pods to services. They are as many as the syncs, and need CPU only. So they can all be busy only if the process uses as many cores.',
    holds: (seen) => seen.of.program !== 'endpointd' && seen.of.cpu >= PODS_FULL * seen.syncsMax,
    verdict: 'cannot tell',
    because: ({ of, syncsMax }) =>
      `the process used ${round(of.cpu)} cores, so the ${syncsMax} workers of the pod queue, which has no metrics, may be full`,
  },
  {
    name: 'what has not ended is in no sum',
    reason:
      'A key counts when it is taken, and a sync when it ends. Syncs that hang, and keys that wait behind them, are in no sum.',
    holds: ({ of, depth, waiting, longestSeconds }) =>
      longestSeconds >= HANGS * of.seconds || (depth >= SYNCS_MIN && waiting <= CHANCE * depth),
    verdict: 'cannot tell',
    because: ({ depth, longestSeconds, waiting }) => {
      const sync = longestSeconds > 0 ? `, and the oldest sync has run for ${round(longestSeconds)} s` : '';
      return `${depth} keys wait now${sync}. The sums, which have only what has ended, say that ${round(waiting)} keys waited`;
    },
  },
  {
    name: 'nothing waits',
    reason: 'If keys wait no longer than a sync without any wait would take, no flag can save more than that.',
    holds: (seen) => seen.utilisation < SATURATED && !matters(seen) && hasCpu(seen),
    verdict: 'none',
    because: (seen) =>
      `a key waits ${ms(seen.waitSeconds)} and is synced in ${ms(seen.workSeconds)}, of which at most ${ms(seen.throttleSecondsMax)} can be tokens: beyond the batch period no flag saves more than ${ms(seen.waitSeconds + seen.throttleSecondsMax)}`,
  },
  {
    name: 'the number of cores is not known',
    reason: 'If CPU may be short, a wait for CPU looks like any other wait.',
    holds: ({ of }) => of.cores === null && of.mainThread === null,
    verdict: 'cannot tell',
    because: ({ of }) =>
      `the process used ${round(of.cpu)} cores, and the metrics do not say how many it has: set --cores`,
  },
  {
    name: 'several causes fit',
    reason: 'What is left fits more than one cause.',
    holds: () => true,
    verdict: 'cannot tell',
    because: (seen) =>
      `a key waits ${ms(seen.waitSeconds)}, ${percent(seen.utilisation)} of the workers are busy, and of the ${ms(seen.workSeconds)} of a sync at most ${ms(seen.throttleSecondsMax)} can be tokens: more than one cause fits`,
  },
];

/** Whether the process used so much CPU that it may be what these syncs do beyond their writes. */
function isCpu({ of, restSeconds, syncs }: Seen): boolean {
  return of.cpu * of.seconds >= MOST * restSeconds * syncs;
}

/** Whether most of the waits for tokens are of other controllers, because these had no time for them. */
function isOfOthers(of: Observation): boolean {
  return of.throttled * of.seconds > OTHERS * restOf(of.queues);
}

/** Event objects of these controllers wait for tokens too. */
const OTHERS = 3;

/** Whether the waits are longer than most of a sync without any wait. */
function matters({ waitSeconds, throttleSecondsMax, ioSeconds, workSeconds, restSeconds }: Seen): boolean {
  const idle = Math.max(ioSeconds, workSeconds - restSeconds, workSeconds - throttleSecondsMax, 0.001);
  return waitSeconds + Math.min(throttleSecondsMax, restSeconds) > 0.75 * idle;
}

/** Whether nothing can have waited for a core for long. */
function hasCpu({ of }: Seen): boolean {
  return of.cores === null ? of.mainThread !== null : of.cpu < 0.8 * of.cores;
}

/** What cannot be, and what it proves; '' = every figure is possible. */
function impossibleOf({ seconds, queues, cpu, cores, mainThread }: Observation): string {
  // A sync that began before the first look counts whole at its end.
  const queue = queues.find(
    ({ busy, syncsMax, workSeconds }) => busy > syncsMax * (POSSIBLE_MAX + workSeconds / seconds),
  );
  const interval = `the ${round(seconds)} s between the looks`;
  if (queue !== undefined) {
    return `${round(queue.busy)} of ${queue.syncsMax} workers of ${queue.name} cannot be busy: ${interval} or ${FLAGS[queue.name]} is not that of the process, or syncs from before took far longer than the others`;
  }
  if (mainThread !== null && mainThread > POSSIBLE_MAX) {
    return `the main thread cannot have worked ${percent(mainThread)} of the time: ${interval} are not those of the process`;
  }
  if (cores !== null && cpu > POSSIBLE_MAX * cores) {
    return `the process cannot have used ${round(cpu)} of ${cores} cores: ${interval} or --cores is not that of the process`;
  }
  return '';
}

const FLAGS: Readonly<Record<QueueName, string>> = {
  endpoint: '--concurrent-endpoint-syncs',
  endpoint_slice: '--concurrent-service-endpoint-syncs',
  endpoint_slice_mirroring: '--mirroring-concurrent-service-endpoint-syncs',
};

export function adviseOn(observation: Observation): Advice[] {
  return observation.queues.map((queue) => {
    const seen = seenOf(queue, observation);
    const rule = RULES.find(({ holds }) => holds(seen))!;
    const flag = { tokens: '--kube-api-qps', syncs: FLAGS[queue.name], cpu: '', none: '', 'cannot tell': '' }[
      rule.verdict
    ];
    return { queue: queue.name, verdict: rule.verdict, flag, because: rule.because(seen) };
  });
}

function ioSecondsOf({ workSeconds, writesPerSync, apiSeconds }: QueueObservation): number {
  return Math.min(workSeconds, (apiSeconds ?? 0) * (writesPerSync ?? 1));
}

/** Seconds that the syncs of these queues took beyond their writes, together. */
function restOf(queues: readonly QueueObservation[]): number {
  return queues.reduce((sum, queue) => sum + (queue.workSeconds - ioSecondsOf(queue)) * queue.syncs, 0);
}

function seenOf(queue: QueueObservation, of: Observation): Seen {
  const { workSeconds, syncs, busy, syncsMax } = queue;
  const ioSeconds = ioSecondsOf(queue);
  const throttled = of.throttled * of.seconds;
  const left = throttled - restOf(of.queues.filter((other) => other !== queue));
  const each = (seconds: number): number => (syncs > 0 ? Math.min(workSeconds, Math.max(0, seconds) / syncs) : 0);
  return {
    ...queue,
    of,
    utilisation: busy / syncsMax,
    ioSeconds,
    restSeconds: workSeconds - ioSeconds,
    throttleSecondsMax: each(throttled),
    throttleSecondsLeft: each(left),
    tokenShare: tokenShareOf(of),
  };
}

function tokenShareOf({ program, throttled, queues }: Observation): number | null {
  const busy = queues.reduce((sum, queue) => sum + queue.busy, 0);
  if (program !== 'endpointd' || busy === 0) return null;
  // The writes of one sync wait at the same time.
  return Math.min(1, throttled / busy);
}

function ms(seconds: number): string {
  const value = seconds * 1000;
  return `${value.toFixed(value < 10 ? 1 : 0)} ms`;
}

function round(value: number): string {
  return value.toFixed(value < 10 ? 2 : 0);
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
