/**
 * The rules of `endpointd advise`, as data. The first rule that holds for a controller decides. Each names its figures.
 * A rule that cannot exclude another cause says that it cannot tell, because wrong advice costs more than none.
 */
import { type QueueName, SYNCS_MOST } from '../metrics/program-of.ts';
import { REFUSAL_CODES, refusalsText } from '../metrics/refusals.ts';
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
  /** Mean seconds that the writes of a sync take by the mean latency; more than the sync = it is that of slower writes. */
  readonly latencySeconds: number;
  /** The same, as far as a sync has room for it. */
  readonly ioSeconds: number;
  /** Mean seconds of a sync beyond its writes: waiting for tokens and for CPU, and planning. */
  readonly restSeconds: number;
  /** The most seconds of a sync in which the controller's own bucket can have been empty; Infinity = not known. */
  readonly emptySecondsMost: number;
  /** The most seconds of a sync that may be a wait for a token. The limiter's sum is that of all controllers. */
  readonly throttleSecondsMax: number;
  /** The same, less the time of the other queues' syncs beyond their writes, which such waits explain first. */
  readonly throttleSecondsLeft: number;
  /**
   * The largest share of the workers' busy time that may be a wait for a token; null = controllers that are not looked at
   * wait too, and no metric tells theirs apart.
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
/** Where syncs would get faster by less, more tokens alone help little: by 22 % took 0.3 of the delay away. */
const GAIN = 0.25;
/** A smaller share of waits for tokens is that of a burst. */
const BURSTS = 0.05;
/** A latency that is so many times the syncs it should explain is that of other writes. */
const NOT_THEIRS = 1.7;
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
    name: 'the API server refuses requests',
    reason: `A write that is refused (${REFUSAL_CODES}) waits as long as the API server asks, or fails its sync. In client-go that wait is a part of the latency, and in endpointd time of a sync beyond its writes, and a sync that fails is tried again later: no flag takes it away.`,
    holds: ({ of }) => Object.keys(of.refused).length > 0,
    verdict: 'cannot tell',
    because: ({ of }) =>
      `of the writes the API server refused ${refusalsText(of.refused)}, and the waits that follow are in these figures: mend that first`,
  },
  {
    name: 'the main thread is full',
    reason: 'endpointd does all but planning on one thread: while this thread works, nothing else goes on.',
    holds: ({ of }) => of.own !== null && of.own.mainThreadLeast >= SATURATED,
    verdict: 'cpu',
    because: ({ of }) =>
      `the main thread worked ${percent(of.own!.mainThreadLeast)} of the time, and no flag adds a second one`,
  },
  {
    name: 'the CPU is full, and pods may wait where no metric tells',
    reason:
      'From 1.35 on, workers of a queue without metrics match pods to services. They are as many as the syncs. Their own work can keep them all busy if the process uses as many cores, and then more cores leave them as they are. Where waits for a core keep them busy, syncs wait as long for theirs, so most of the workers of the syncs are busy beyond their writes. That is looked for.',
    holds: (seen) =>
      isCpuFull(seen) &&
      mayFillPodWorkers(seen) &&
      seen.restSeconds * seen.syncs < MOST * seen.syncsMax * seen.of.seconds,
    verdict: 'cannot tell',
    because: ({ of, workSeconds, restSeconds, syncsMax }) =>
      `the process used ${round(of.cpu)} of ${of.cores} cores, but of the ${ms(workSeconds)} of a sync at most about ${ms(restSeconds)} is a wait for them: the ${syncsMax} workers of the pod queue, which has no metrics, may be full by work of their own`,
  },
  {
    name: 'the CPU is full',
    reason: 'Work that waits for a core makes every other figure longer, so the CPU is looked at first.',
    holds: isCpuFull,
    verdict: 'cpu',
    because: ({ of }) => `the process used ${round(of.cpu)} of ${of.cores} cores: all its controllers wait for CPU`,
  },
  {
    name: 'the main thread may be full',
    reason:
      'Steps are only a part of what the main thread does. Where no metric tells the rest, the CPU of the process bounds it.',
    holds: ({ of }) => of.own !== null && of.own.mainThreadMost >= SATURATED,
    verdict: 'cannot tell',
    because: ({ of }) =>
      `the process used ${round(of.cpu)} cores, which may all be its main thread: nodejs_eventloop_utilization_histogram, ${of.own!.hasLoop ? `which would tell, has nothing of these ${round(of.seconds)} s: look for longer` : 'which these metrics lack, would tell'}`,
  },
  {
    name: 'too little happened',
    reason: `The mean of fewer than ${SYNCS_MIN} syncs tells nothing. A standby, or a cluster at rest, has no syncs.`,
    holds: ({ syncs }) => syncs < SYNCS_MIN,
    verdict: 'cannot tell',
    because: ({ syncs, of }) => `there were ${syncs} syncs in ${round(of.seconds)} s; at least ${SYNCS_MIN} are needed`,
  },
  {
    name: 'more tokens alone would leave workers short',
    reason:
      'Where keys are added faster than syncs end, the wait grows by the difference. Without waits for tokens each worker does a sync in less time, but all of them may still be too slow. If that leaves most of the difference, tokens and workers are both short, and neither flag alone helps much. The controllers of Endpoints and of slices sync the same Services, so a queue that falls behind, in which changes of a key become one, has to keep up with the other one.',
    holds: (seen) => (isMostlyTokens(seen) || isBucketEmpty(seen)) && leftByTokens(seen) > 1 - LITTLE,
    verdict: 'cannot tell',
    because: (seen) =>
      `a sync takes ${ms(seen.workSeconds)}; without its wait for tokens ${seen.syncsMax} workers would do ${round(rateWithTokens(seen))} syncs a second, and about ${round(rateWanted(seen))} a second are wanted: --kube-api-qps and ${SYNCS_FLAGS[seen.name]} may both be too small`,
  },
  {
    name: 'syncs wait for tokens',
    reason:
      'A worker is held while its write waits for a token. If most of a sync is neither the API server nor CPU, and writes of the process waited about as long for tokens as all its syncs did beyond the API server, the sync has waited for tokens. More workers would only wait too. Other controllers of kube-controller-manager have buckets of their own: where they waited far longer than these syncs can have, the sum tells nothing of these. Where QPS is known, it tells for how long the bucket of these can have been empty.',
    holds: isMostlyTokens,
    verdict: 'tokens',
    because: (seen) =>
      `a sync takes ${ms(seen.workSeconds)}, of which the API server is about ${ms(seen.ioSeconds)}, and writes of the process waited ${round(seen.of.throttled)} s a second for tokens`,
  },
  {
    name: 'all workers are busy, and the bucket is empty',
    reason:
      'A worker waits for a token only while the bucket is empty. If all workers are always busy and wait, endpointd writes as often as QPS lets it: more workers would wait too. More tokens make each sync shorter by its wait.',
    holds: isBucketEmpty,
    verdict: 'tokens',
    because: (seen) =>
      `${round(seen.busy)} of ${seen.syncsMax} workers are busy, ${percent(tokenShareLeast(seen))} of that time they wait for tokens, and ${round(seen.waiting)} keys wait, each for ${ms(seen.waitSeconds)}`,
  },
  {
    name: 'no place among the writes in flight is free',
    reason:
      'endpointd sends no more writes than --max-writes-in-flight without an answer. Syncs wait for a place then, and more of them would wait too.',
    holds: ({ of: { own } }) => own !== null && own.writesInFlight >= SATURATED * own.writesInFlightMax,
    verdict: 'cannot tell',
    because: ({ of: { own } }) =>
      `${round(own!.writesInFlight)} writes had no answer yet on average, and --max-writes-in-flight allows ${own!.writesInFlightMax}: syncs wait for a place`,
  },
  {
    name: 'more workers would soon lack tokens',
    reason:
      'More workers write more often until no token is left. Where busy workers take most of what QPS gives, that is less than twice as often, and how much more there is to write no metric tells.',
    holds: (seen) => areBusy(seen) && waitsForWorkers(seen) && (seen.takenShareLeast ?? 0) >= MOST,
    verdict: 'cannot tell',
    because: ({ busy, syncsMax, takenShareLeast }) =>
      `${round(busy)} of ${syncsMax} workers are busy, but writes take ${percent(takenShareLeast!)} of the tokens that --kube-api-qps gives: more workers alone would soon wait for tokens`,
  },
  {
    name: 'all workers are busy with the API server',
    reason:
      'Workers that are busy nearly all the time make keys wait. If keys wait for longer than for a sync of their own, most of a sync is its write, and no more than a little of it can be a wait for a token, more workers take the wait away, as long as the API server stays as fast. The latency is that of all controllers: it alone does not exclude such a wait, because slow writes of others raise it. QPS does, where it is known and far more than these syncs can have taken: no worker waits while the bucket has tokens.',
    holds: (seen) =>
      areBusy(seen) &&
      seen.restSeconds < MOST * seen.workSeconds &&
      seen.throttleSecondsLeft <= LITTLE * seen.workSeconds &&
      (seen.tokenShare ?? 0) <= BURSTS &&
      waitsForWorkers(seen) &&
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
      areBusy(seen) &&
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
      'From 1.35 on, workers of a queue without metrics match pods to services. They are as many as the syncs, and need CPU only. So they can all be busy only if the process uses as many cores. Each change of a pod that they have matched is a delayed add: if the other controller of the same Services falls far behind in these, and the process uses too few cores for both, only its workers are full.',
    holds: mayFillPodWorkers,
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
    name: 'keys wait for their own sync',
    reason:
      'If hardly any worker is busy, nothing waits for one. A key that is added while it is synced waits for the rest of its own sync, at most for all of it, and no flag shortens that. What waits for longer has waited for something else.',
    holds: (seen) =>
      seen.utilisation <= LITTLE &&
      seen.waitSeconds <= seen.workSeconds &&
      !matters({ ...seen, waitSeconds: 0 }) &&
      hasCpu(seen),
    verdict: 'none',
    because: (seen) =>
      `${percent(seen.utilisation)} of the workers are busy, and a key waits ${ms(seen.waitSeconds)}, no longer than for a sync of its own, which takes ${ms(seen.workSeconds)}, of which at most ${ms(seen.throttleSecondsMax)} can be tokens`,
  },
  {
    name: 'the number of cores is not known',
    reason:
      'If CPU may be short, a wait for CPU looks like any other wait. Go rounds the CPU limit of a container up, and says at least 2.',
    holds: ({ of }) =>
      of.own === null && (of.cores === null || (of.cpu >= CPU_SPARE * of.coresLeast! && of.cpu < CPU_SPARE * of.cores)),
    verdict: 'cannot tell',
    because: ({ of }) =>
      `the process used ${round(of.cpu)} cores, and the metrics do not say ${of.cores === null ? 'how many it has' : `whether it has ${of.cores} or, by a CPU limit, fewer`}: set --cores`,
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

/** Whether most of a sync is a wait for a token. */
function isMostlyTokens(seen: Seen): boolean {
  return (
    seen.writesPerSync !== 0 &&
    seen.restSeconds >= MOST * seen.workSeconds &&
    heldByTokens(seen.of) >= 0.8 * restOf(seen.of) &&
    !isCpu(seen) &&
    !isOfOthers(seen.of) &&
    seen.emptySecondsMost >= 0.8 * seen.restSeconds &&
    matters(seen)
  );
}

/**
 * Whether workers are busy as far as they can be. endpointd keeps one of several for other namespaces, so a namespace alone
 * leaves it idle.
 */
function areBusy({ busy, syncsMax, of }: Seen): boolean {
  const usable = of.own === null || syncsMax === 1 ? syncsMax : syncsMax - 1;
  return busy >= SATURATED * usable;
}

/** Whether all workers are busy, and more than a little of that is a wait for a token. */
function isBucketEmpty(seen: Seen): boolean {
  return (
    seen.writesPerSync !== 0 &&
    areBusy(seen) &&
    tokenShareLeast(seen) >= GAIN * (1 - tokenShareLeast(seen)) &&
    waitsForWorkers(seen) &&
    hasCpu(seen)
  );
}

/** How much of the growth of a queue would be left if no write waited for a token; 0 = its workers would keep up. */
function leftByTokens(seen: Seen): number {
  const wanted = rateWanted(seen);
  const behind = wanted - seen.syncs / seen.of.seconds;
  return behind > 0 ? Math.max(0, wanted - rateWithTokens(seen)) / behind : 0;
}

/** How many syncs a second are wanted, at least. */
function rateWanted({ name, of }: Seen): number {
  const same = of.queues.filter((queue) => queue.name === name || (isOfServices(queue.name) && isOfServices(name)));
  return Math.max(...same.map(({ added }) => added)) / of.seconds;
}

function isOfServices(name: QueueName): boolean {
  return name !== 'endpoint_slice_mirroring';
}

/** How many syncs a second the workers can do if no write waits for a token. */
function rateWithTokens({ syncsMax, workSeconds, ioSeconds, restSeconds, writesPerSync, of }: Seen): number {
  // The writes of a sync wait side by side. kube-controller-manager's waits are those of all its controllers.
  const waited = of.own === null ? restSeconds : Math.min(1, writesPerSync ?? 1) * of.own.tokenSeconds;
  return syncsMax / Math.max(ioSeconds, workSeconds - waited);
}

function isCpuFull({ of }: Seen): boolean {
  return of.cores !== null && of.cpu >= CPU_FULL * of.cores;
}

/** Whether the workers that match pods to services may all be busy by work of their own. It needs nothing but CPU. */
function mayFillPodWorkers(seen: Seen): boolean {
  const { of, syncsMax } = seen;
  return of.hasPodQueue && of.cpu >= PODS_FULL * syncsMax && !areOnlyOthersFull(seen);
}

/**
 * Whether the other controller of the same Services alone can have full pod workers: it falls far behind in the same
 * changes of pods, and the CPU is too little for both.
 */
function areOnlyOthersFull({ name, of, syncsMax, delayedAdds }: Seen): boolean {
  return of.queues.some(
    (other) =>
      other.name !== name &&
      isOfServices(other.name) &&
      isOfServices(name) &&
      other.delayedAdds < (1 - LITTLE) * delayedAdds &&
      of.cpu < PODS_FULL * (syncsMax + other.syncsMax),
  );
}

/** Whether the process used so much CPU that it may be what these syncs do beyond their writes. */
function isCpu({ of, restSeconds, syncs }: Seen): boolean {
  return of.cpu * of.seconds >= MOST * restSeconds * syncs;
}

/** Whether most of the waits for tokens are of other controllers, because these had no time for them. */
function isOfOthers(of: Observation): boolean {
  return of.own === null && of.throttled * of.seconds > OTHERS * restOf(of);
}

/** Event objects of these controllers wait for tokens too. */
const OTHERS = 3;

/** A wait of a larger share of a sync is a long one. */
const LONG = 0.75;

/** Whether the waits are longer than most of a sync without any wait. */
function matters({ waitSeconds, throttleSecondsMax, latencySeconds, workSeconds, restSeconds }: Seen): boolean {
  // A latency that is none of theirs does not exclude that syncs wait for tokens.
  const rest = latencySeconds >= NOT_THEIRS * workSeconds ? workSeconds : restSeconds;
  const tokens = Math.min(throttleSecondsMax, rest);
  return waitSeconds + tokens > LONG * Math.max(workSeconds - tokens, 0.001);
}

/**
 * Whether keys wait for a worker, and for long. A key that is added while it is synced waits for its own sync first, at
 * most for all of it, and no worker more shortens that.
 */
function waitsForWorkers({ waitSeconds, workSeconds }: Seen): boolean {
  return waitSeconds - workSeconds > LONG * workSeconds;
}

/** CPU-bound work that uses a smaller share of all cores hardly waits for one. */
const CPU_SPARE = 0.8;

/** Whether nothing can have waited for a core for long. */
function hasCpu({ of }: Seen): boolean {
  return of.coresLeast === null ? of.own !== null : of.cpu < CPU_SPARE * of.coresLeast;
}

/** What cannot be, and what it proves; '' = every figure is possible. */
function impossibleOf({ seconds, queues, cpu, cores, own }: Observation): string {
  // A sync that began before the first look counts whole at its end.
  const queue = queues.find(
    ({ busy, syncsMax, workSeconds }) => busy > syncsMax * (POSSIBLE_MAX + workSeconds / seconds),
  );
  const interval = `the ${round(seconds)} s between the looks`;
  if (queue !== undefined) {
    return `${round(queue.busy)} of ${queue.syncsMax} workers of ${queue.name} cannot be busy: ${interval} or ${SYNCS_FLAGS[queue.name]} is not that of the process, or syncs from before took far longer than the others`;
  }
  if (own !== null && own.mainThreadLeast > POSSIBLE_MAX) {
    return `the main thread cannot have worked ${percent(own.mainThreadLeast)} of the time: ${interval} are not those of the process`;
  }
  if (cores !== null && cpu > POSSIBLE_MAX * cores) {
    return `the process cannot have used ${round(cpu)} of ${cores} cores: ${interval} or --cores is not that of the process`;
  }
  return '';
}

/** The flag of each controller's syncs. */
export const SYNCS_FLAGS: Readonly<Record<QueueName, string>> = {
  endpoint: '--concurrent-endpoint-syncs',
  endpoint_slice: '--concurrent-service-endpoint-syncs',
  endpoint_slice_mirroring: '--mirroring-concurrent-service-endpoint-syncs',
};

export function adviseOn(observation: Observation): Advice[] {
  return observation.queues.map((queue) => {
    const seen = seenOf(queue, observation);
    const rule = RULES.find(({ holds }) => holds(seen))!;
    return {
      queue: queue.name,
      verdict: rule.verdict,
      flag: flagOf(rule.verdict, queue),
      because: rule.because(seen),
    };
  });
}

function flagOf(verdict: Verdict, { name, syncsMax }: QueueObservation): string {
  if (verdict === 'tokens') return '--kube-api-qps';
  return verdict === 'syncs' && syncsMax < SYNCS_MOST[name] ? SYNCS_FLAGS[name] : '';
}

/** endpointd sends the writes of a sync at once, and kube-controller-manager one after the other. */
function latencySecondsOf({ writesPerSync, apiSeconds }: QueueObservation, { own }: Observation): number {
  const writes = writesPerSync ?? 1;
  return (apiSeconds ?? 0) * (own === null ? writes : Math.min(1, writes));
}

function restSecondsOf(queue: QueueObservation, of: Observation): number {
  return Math.max(0, queue.workSeconds - latencySecondsOf(queue, of));
}

/** Seconds that the syncs of these queues took beyond their writes, together. */
function restOf(of: Observation, queues: readonly QueueObservation[] = of.queues): number {
  return queues.reduce((sum, queue) => sum + restSecondsOf(queue, of) * queue.syncs, 0);
}

/**
 * Seconds that waits for tokens held syncs, together. In endpointd the writes of a sync wait side by side. They get
 * tokens one after the other, so the last one, which ends the sync, waits twice as long as their mean.
 */
function heldByTokens({ own, throttled, seconds, queues }: Observation): number {
  const held = throttled * seconds;
  if (own === null) return held;
  const writesOf = ({ syncs, writesPerSync }: QueueObservation): number => syncs * (writesPerSync ?? 1);
  const all = queues.reduce((sum, queue) => sum + writesOf(queue), 0);
  const holding = queues.reduce((sum, queue) => sum + Math.min(writesOf(queue), 2 * queue.syncs), 0);
  return all === 0 ? held : (held * holding) / all;
}

function seenOf(queue: QueueObservation, of: Observation): Seen {
  const { workSeconds, syncs, busy, syncsMax, emptyShareMost } = queue;
  const latencySeconds = latencySecondsOf(queue, of);
  const restSeconds = restSecondsOf(queue, of);
  const throttled = of.throttled * of.seconds;
  const others = of.queues.filter((other) => other !== queue);
  const emptySecondsMost = emptyShareMost === null ? Infinity : (emptyShareMost * syncsMax * of.seconds) / syncs;
  const each = (seconds: number): number =>
    syncs > 0 ? Math.min(workSeconds, emptySecondsMost, Math.max(0, seconds) / syncs) : 0;
  return {
    ...queue,
    of,
    utilisation: busy / syncsMax,
    latencySeconds,
    ioSeconds: Math.min(workSeconds, latencySeconds),
    restSeconds,
    emptySecondsMost,
    throttleSecondsMax: each(throttled),
    throttleSecondsLeft: each(throttled - restOf(of, others)),
    tokenShare: of.own === null ? null : shareOfBusy(throttled, of),
  };
}

/** The share of the workers' busy time in which they waited for tokens; 0 = no metric tells it apart. */
function tokenShareLeast({ of }: Seen): number {
  return of.own === null ? 0 : shareOfBusy(heldByTokens(of), of);
}

function shareOfBusy(held: number, { queues, seconds }: Observation): number {
  const busy = queues.reduce((sum, queue) => sum + queue.busy, 0) * seconds;
  return busy > 0 ? Math.min(1, held / busy) : 0;
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
