/**
 * Faults on demand, as data: which requests they concern, how likely each fault is, and how long a delay lasts. The
 * HTTP shell and the simulated network carry them out.
 */
import { JSON_TYPE } from '../kube/media-type.ts';
import type { Status } from '../kube/types.ts';
import { TIMER_MS_MAX } from '../lib/duration.ts';
import { ApiError, expired, failure } from './api-error.ts';
import { negotiate } from './negotiate.ts';
import { errorFrame, watchType } from './watch-frames.ts';

/** The chances of each fault in one exchange, 0 to 1. */
export interface FaultChances {
  /** The request never arrives: the connection is reset. */
  loseRequest: number;
  /** The request is carried out, but the answer never comes. */
  loseReply: number;
  /** 500 or 503, and the request is not carried out. */
  serverError: number;
  /** 429 with Retry-After: 1, as from priority and fairness. */
  tooMany: number;
  /** 410 to a list, or in the stream of a watch, as if its history had been dropped. */
  gone: number;
  /** A watch is cut after one piece of its stream. */
  cutWatch: number;
  /** A request, or a piece of a watch's stream, is late by the rule's delay. */
  lag: number;
}

export const NO_FAULTS: Readonly<FaultChances> = {
  loseRequest: 0,
  loseReply: 0,
  serverError: 0,
  tooMany: 0,
  gone: 0,
  cutWatch: 0,
  lag: 0,
};

export type Delay =
  | { readonly kind: 'fixed'; readonly ms: number }
  | { readonly kind: 'uniform'; readonly minMs: number; readonly maxMs: number }
  | { readonly kind: 'exponential'; readonly meanMs: number };

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

export const FAULTY_VERBS: readonly Verb[] = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
];

export interface FaultRule {
  /** [] = all verbs. */
  readonly verbs: readonly Verb[];
  /** Resources such as `endpoints` or `pods/status`; [] = all. */
  readonly resources: readonly string[];
  /** A prefix of the client's user agent; '' = all clients. */
  readonly userAgent: string;
  readonly chances: Readonly<FaultChances>;
  readonly delay: Delay;
}

/** The properties of a request that rules compare. */
export interface FaultTarget {
  readonly verb: Verb;
  readonly resource: string;
  readonly userAgent: string;
}

/** The first rule that fits; null = no rule fits, so there are no faults. */
export function ruleFor(rules: readonly FaultRule[], { verb, resource, userAgent }: FaultTarget): FaultRule | null {
  for (const rule of rules) {
    if (rule.verbs.length > 0 && !rule.verbs.includes(verb)) continue;
    if (rule.resources.length > 0 && !rule.resources.includes(resource)) continue;
    if (userAgent.startsWith(rule.userAgent)) return rule;
  }
  return null;
}

/** The faults of one exchange. */
export interface Fate {
  readonly delayMs: number;
  readonly fault: 'none' | 'loseRequest' | 'loseReply' | 'serverError' | 'tooMany' | 'gone';
}

/** @param random uniform in [0, 1) */
export function drawFate({ chances, delay }: FaultRule, verb: Verb, random: () => number): Fate {
  const chance = (p: number): boolean => p > 0 && random() < p;
  const delayMs = chance(chances.lag) ? drawDelayMs(delay, random) : 0;
  for (const fault of ['loseRequest', 'serverError', 'tooMany', 'loseReply'] as const) {
    if (chance(chances[fault])) return { delayMs, fault };
  }
  const reads = verb === 'list' || verb === 'watch';
  return { delayMs, fault: reads && chance(chances.gone) ? 'gone' : 'none' };
}

/** No longer than a timer of Node.js waits. */
export function drawDelayMs(delay: Delay, random: () => number): number {
  return Math.min(drawMs(delay, random), TIMER_MS_MAX);
}

function drawMs(delay: Delay, random: () => number): number {
  switch (delay.kind) {
    case 'fixed':
      return delay.ms;
    case 'uniform':
      return delay.minMs + random() * (delay.maxMs - delay.minMs);
    case 'exponential':
      return -Math.log(1 - random()) * delay.meanMs;
  }
}

/** An answer that takes the place of the real one. */
export interface FaultReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** The answer of a server with this fault. To a watch 410 is `goneWatch`. */
export function faultReply(fault: 'serverError' | 'tooMany' | 'gone', random: () => number): FaultReply {
  switch (fault) {
    case 'gone':
      return statusAsReply(gone());
    case 'tooMany':
      return turnedAway(1);
    case 'serverError':
      return statusAsReply(
        random() < 0.5
          ? failure(500, 'InternalError', 'Internal error occurred: fault on demand')
          : failure(503, 'ServiceUnavailable', 'fault on demand'),
      );
  }
}

/** The whole answer to a watch whose history is gone: a stream of one frame. */
export function goneWatch(accept: string): FaultReply {
  try {
    const { encoding } = negotiate(accept);
    return { status: 200, headers: { 'content-type': watchType(encoding) }, body: errorFrame(encoding, gone()) };
  } catch (error) {
    if (error instanceof ApiError) return statusAsReply(error.status);
    throw error;
  }
}

function gone(): Status {
  return expired('too old resource version: fault on demand').status;
}

/** The answer of priority and fairness that refuses a request: plain text, with the ids of the limits. */
export function turnedAway(retryAfterSeconds: number): FaultReply {
  return {
    status: 429,
    headers: {
      'content-type': 'text/plain; charset=utf-8',
      'retry-after': String(retryAfterSeconds),
      'x-kubernetes-pf-flowschema-uid': '5a2f5d4e-3d39-4d58-9b44-1a3c58ad3a10',
      'x-kubernetes-pf-prioritylevel-uid': 'f0a3f5cf-8a2a-4f5a-8c0e-5d60a0a6f2f1',
    },
    body: 'Too many requests: fault on demand\n',
  };
}

function statusAsReply(status: Status): FaultReply {
  return { status: status.code, headers: { 'content-type': JSON_TYPE }, body: JSON.stringify(status) };
}
