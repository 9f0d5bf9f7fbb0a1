/**
 * Faults on demand, as data: which requests they meet, how likely each is, how late what is late comes. The HTTP shell and
 * the simulated network play them; nothing here does anything.
 */
import { JSON_TYPE } from '../kube/media-type.ts';
import type { Status } from '../kube/types.ts';
import { expired, failure } from './api-error.ts';

/** Chances of one exchange, 0 to 1. */
export interface FaultChances {
  /** The request never arrives: the connection is reset. */
  loseRequest: number;
  /** It is done, but the answer never comes. */
  loseReply: number;
  /** 500 or 503 without being done. */
  serverError: number;
  /** 429 with Retry-After: 1, from priority and fairness. */
  tooMany: number;
  /** 410 to a list or watch, as if the history it asks for had been dropped. */
  gone: number;
  /** A watch is cut after a piece of it. */
  cutWatch: number;
  /** A request, or a piece of a watch, is late by the rule's delay. */
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
  /** Empty = all. */
  readonly verbs: readonly Verb[];
  /** Such as `endpoints` or `pods/status`; empty = all. */
  readonly resources: readonly string[];
  /** What the client's user agent starts with; empty = all clients. */
  readonly userAgent: string;
  readonly chances: Readonly<FaultChances>;
  readonly delay: Delay;
}

/** What a rule looks at. */
export interface FaultTarget {
  readonly verb: Verb;
  readonly resource: string;
  readonly userAgent: string;
}

/** The first rule that fits; null = no faults. */
export function ruleFor(rules: readonly FaultRule[], { verb, resource, userAgent }: FaultTarget): FaultRule | null {
  for (const rule of rules) {
    if (rule.verbs.length > 0 && !rule.verbs.includes(verb)) continue;
    if (rule.resources.length > 0 && !rule.resources.includes(resource)) continue;
    if (userAgent.startsWith(rule.userAgent)) return rule;
  }
  return null;
}

/** What happens to one exchange. */
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

export function drawDelayMs(delay: Delay, random: () => number): number {
  switch (delay.kind) {
    case 'fixed':
      return delay.ms;
    case 'uniform':
      return delay.minMs + random() * (delay.maxMs - delay.minMs);
    case 'exponential':
      return -Math.log(1 - random()) * delay.meanMs;
  }
}

/** An answer instead of the one that the request would have had. */
export interface FaultReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The answer of a server that refuses for that reason. */
export function faultReply(fault: 'serverError' | 'tooMany' | 'gone', random: () => number): FaultReply {
  switch (fault) {
    case 'gone':
      return statusAsReply(expired('too old resource version: fault on demand').status);
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

/** As priority and fairness turns a request away: in plain text, and with the ids of what has limited it. */
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
