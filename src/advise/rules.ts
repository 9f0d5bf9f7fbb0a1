/**
 * The rules of `endpointd advise`, as data: the first that holds for a controller decides. Each says what it rests on. A
 * rule that cannot exclude another cause says that it cannot tell: advice that is wrong costs more than none.
 */
import type { Observation, QueueName, QueueObservation } from './observation.ts';

export type Verdict = 'tokens' | 'syncs' | 'cpu' | 'none' | 'cannot tell';

export interface Advice {
  readonly queue: QueueName;
  readonly verdict: Verdict;
  /** The flag to change; '' = none helps. */
  readonly flag: string;
  /** What the verdict rests on, with its figures. */
  readonly because: string;
}

/** What a rule looks at. */
export interface Seen extends QueueObservation {
  readonly of: Observation;
  /** The share of the time that workers were busy. */
  readonly utilisation: number;
  /** Mean seconds of a sync that its write accounts for: API latency. */
  readonly ioSeconds: number;
  /** Mean seconds of a sync beyond that: tokens, waiting for CPU, planning. */
  readonly restSeconds: number;
  /** The most of a sync that can have been waiting for a token, in seconds: the limiter's sum is that of all controllers. */
  readonly throttleSecondsMax: number;
}

export interface Rule {
  readonly name: string;
  /** Why it holds, for the documents. */
  readonly reason: string;
  readonly holds: (seen: Seen) => boolean;
  readonly verdict: Verdict;
  readonly because: (seen: Seen) => string;
}

/** Fewer syncs are chance. */
const SYNCS_MIN = 20;
/** Workers that are busy for more of the time make keys wait for them. */
const SATURATED = 0.85;
const CPU_FULL = 0.97;
/** Work that is CPU alone and takes less than this of as many cores cannot wait for long. */
const PODS_FULL = 0.7;
/** Of the mean sync: it is mostly that. */
const MOST = 0.5;
const LITTLE = 0.3;

export const RULES: readonly Rule[] = [
  {
    name: 'the main thread is full',
    reason: 'endpointd does all but planning on one thread: while it works nothing else goes on.',
    holds: ({ of }) => of.mainThread !== null && of.mainThread >= SATURATED,
    verdict: 'cpu',
    because: ({ of }) => `the main thread worked ${percent(of.mainThread ?? 0)} of the time, and no flag makes it two`,
  },
  {
    name: 'the CPU is full',
    reason: 'Work that waits for a core makes every other figure longer, so it is looked at first.',
    holds: ({ of }) => of.cores !== null && of.cpu >= CPU_FULL * of.cores,
    verdict: 'cpu',
    because: ({ of }) => `the process used ${round(of.cpu)} of ${of.cores} cores: all its controllers wait for CPU`,
  },
  {
    name: 'too little happened',
    reason: `Of fewer than ${SYNCS_MIN} syncs a mean tells nothing. A process that stands by, or a cluster at rest, has none.`,
    holds: ({ syncs }) => syncs < SYNCS_MIN,
    verdict: 'cannot tell',
    because: ({ syncs, of }) => `there were ${syncs} syncs in ${round(of.seconds)} s; at least ${SYNCS_MIN} are needed`,
  },
  {
    name: 'syncs wait for tokens',
    reason:
      'A worker is held while its write waits for a token. If most of a sync is neither the API server nor CPU, and requests of the process waited for tokens at least as long, these are the tokens. More workers would only wait beside them.',
    holds: (seen) =>
      seen.restSeconds >= MOST * seen.workSeconds && seen.throttleSecondsMax >= 0.8 * seen.restSeconds && matters(seen),
    verdict: 'tokens',
    because: (seen) =>
      `a sync takes ${ms(seen.workSeconds)}, of which the API server is about ${ms(seen.ioSeconds)}, and requests of the process waited ${round(seen.of.throttled)} s a second for tokens`,
  },
  {
    name: 'all workers are busy with the API server',
    reason:
      'Workers that are busy nearly all the time make keys wait. If a sync is hardly more than its write, and the limiter cannot be it, more of them at a time take the wait away, as long as the API server answers as fast.',
    holds: (seen) =>
      seen.utilisation >= SATURATED &&
      Math.min(seen.throttleSecondsMax, seen.restSeconds) <= LITTLE * seen.workSeconds &&
      hasCpu(seen),
    verdict: 'syncs',
    because: (seen) =>
      `${round(seen.busy)} of ${seen.syncsMax} workers are busy, ${round(seen.waiting)} keys wait, each for ${ms(seen.waitSeconds)}, and about ${ms(seen.ioSeconds)} of the ${ms(seen.workSeconds)} of a sync is the API server`,
  },
  {
    name: 'pods may wait where no metric tells',
    reason:
      'From 1.35 on pods are matched to services by as many workers as there are syncs, out of a queue without metrics. Their work is CPU alone, so they can be full only if the process uses as many cores.',
    holds: (seen) => seen.of.program !== 'endpointd' && seen.of.cpu >= PODS_FULL * seen.syncsMax,
    verdict: 'cannot tell',
    because: ({ of, syncsMax }) =>
      `the process used ${round(of.cpu)} cores, so the ${syncsMax} workers of the pod queue, which has no metrics, may be full`,
  },
  {
    name: 'nothing waits',
    reason:
      'If keys wait for no longer than a sync that waits for nothing would take, no flag can take off more than that.',
    holds: (seen) => seen.utilisation < SATURATED && !matters(seen) && hasCpu(seen),
    verdict: 'none',
    because: (seen) =>
      `a key waits ${ms(seen.waitSeconds)} and is synced in ${ms(seen.workSeconds)}, of which at most ${ms(seen.throttleSecondsMax)} can be tokens: beyond the batch period no flag takes off more than ${ms(seen.waitSeconds + seen.throttleSecondsMax)}`,
  },
  {
    name: 'nobody says how many cores there are',
    reason: 'Where CPU may be short, waiting for it looks like any other wait.',
    holds: ({ of }) => of.cores === null && of.mainThread === null,
    verdict: 'cannot tell',
    because: ({ of }) =>
      `the process used ${round(of.cpu)} cores, and the metrics do not say of how many: --cores tells it`,
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

/** What waits is more than a sync without any waiting would take. */
function matters({ waitSeconds, throttleSecondsMax, ioSeconds, workSeconds, restSeconds }: Seen): boolean {
  const idle = Math.max(ioSeconds, workSeconds - restSeconds, workSeconds - throttleSecondsMax, 0.001);
  return waitSeconds + Math.min(throttleSecondsMax, restSeconds) > 0.75 * idle;
}

/** Nothing can have waited for a core for long. */
function hasCpu({ of }: Seen): boolean {
  return of.cores === null ? of.mainThread !== null : of.cpu < 0.8 * of.cores;
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

function seenOf(queue: QueueObservation, of: Observation): Seen {
  const { workSeconds, syncs, busy, syncsMax, writesPerSync } = queue;
  const ioSeconds = Math.min(workSeconds, (of.apiSeconds ?? 0) * (writesPerSync ?? 1));
  const throttledEach = syncs > 0 ? (of.throttled * of.seconds) / syncs : 0;
  return {
    ...queue,
    of,
    utilisation: busy / syncsMax,
    ioSeconds,
    restSeconds: workSeconds - ioSeconds,
    throttleSecondsMax: Math.min(workSeconds, throttledEach),
  };
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
