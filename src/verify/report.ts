/** The result of a verification as data. Programs get it as JSON, and the text and the page are made from it. */
import { reasonOf, withPortsOnce, type Difference } from './difference.ts';
import { listedDifference, type Circumstances } from './listed-difference.ts';
import { objectKey } from './second-look.ts';
import type { Standing, Verification } from './verification.ts';
import type { ControllerName, ControllerOptions } from '../controller/options.ts';
import { readiness } from '../controller/reports/health.ts';
import { getPod, podCount } from '../core/selector-index.ts';
import { hasEnded } from '../core/pod-endpoint.ts';
import { serviceKey } from '../kube/key.ts';
import { percentile } from '../lib/percentile.ts';

export interface Report {
  readonly server: string;
  /** RFC 3339. */
  readonly startedAt: string;
  readonly seconds: number;
  /** different: status 1. unknown: status 2, also when something is different besides. */
  readonly verdict: 'same' | 'different' | 'unknown';
  readonly seen: { readonly services: number; readonly pods: number; readonly nodes: number; readonly plans: number };
  /** What could not be seen, and which controllers have no answer for it. */
  readonly unseen: readonly Unseen[];
  /** Services without an answer. */
  readonly failed: readonly { readonly unit: string; readonly reason: string }[];
  /** The most frequent reason first. */
  readonly reasons: readonly Reason[];
  readonly different: readonly DifferentUnit[];
  /**
   * How many units had writes planned when it gave up, or could not be read again. Nobody knows whether the writes would
   * be made.
   */
  readonly notLookedAt: number;
  /** Units (`<controller> <namespace>/<name>`) that differed and came right, or did not stand still. */
  readonly moving: { readonly count: number; readonly units: readonly string[] };
  readonly cost: Cost;
  /** The lag of another writer, from a pod's change to the write that followed; null = none was seen. */
  readonly lag: Lag | null;
}

export interface Unseen {
  readonly resource: string;
  readonly reason: string;
  readonly controllers: readonly ControllerName[];
}

export interface Reason {
  readonly reason: string;
  /** The id of the listed difference behind it; null = there is none. */
  readonly listed: string | null;
  readonly title: string;
  readonly units: number;
}

export interface DifferentUnit {
  readonly controller: ControllerName;
  readonly namespace: string;
  readonly service: string;
  /** How many writes a controller would make for the service. */
  readonly writes: number;
  readonly bytes: number;
  /** Seconds for which it has been seen to differ. */
  readonly seconds: number;
  /** At most a hundred of them. Up to a hundred reasons have one each. */
  readonly differences: readonly NamedDifference[];
  readonly differencesTotal: number;
}

export interface NamedDifference extends Difference {
  /** The field manager that has written the object last; '' = there is no object, or it does not tell. */
  readonly writer: string;
  readonly reason: string;
  readonly listed: string | null;
  /** The title of the listed difference. */
  readonly title: string;
}

/** The cost of a switch. */
export interface Cost {
  readonly writes: number;
  readonly bytes: number;
  /** For how long the limit holds the writes up; null = there is no limit. */
  readonly seconds: number | null;
  /** The limit of all controllers together; -1 = no limit. */
  readonly requestsPerSecond: number;
}

export interface Lag {
  readonly count: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

const DIFFERENCES_MAX = 100;
const MOVING_MAX = 100;

export function reportOf(
  v: Verification,
  about: { readonly server: string; readonly startedAt: string; readonly startedMs: number },
): Report {
  const { state } = v;
  const nowMs = v.nowMs();
  const standings = [...v.standings].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const different = standings.filter(([, { state: is }]) => is === 'different').map(([, one]) => unitOf(v, one, nowMs));
  const notLookedAt = standings.filter(([, one]) => lacksLook(one)).length;
  const stillMoving = standings.filter(([, one]) => one.state !== 'different' && !lacksLook(one)).map(([key]) => key);
  const moving = [...stillMoving, ...v.settled];
  const unseen = unseenOf(v, nowMs);
  const failed = [...v.failures].map(([unit, reason]) => ({ unit, reason }));
  return {
    server: about.server,
    startedAt: about.startedAt,
    seconds: Math.round((nowMs - about.startedMs) / 100) / 10,
    verdict: unseen.length + failed.length + notLookedAt > 0 ? 'unknown' : different.length > 0 ? 'different' : 'same',
    seen: {
      services: countServices(v),
      pods: podCount(state.index),
      nodes: state.nodes.nodes.size,
      plans: v.plans,
    },
    unseen,
    failed,
    reasons: reasonsOf(different),
    different,
    notLookedAt,
    moving: { count: moving.length, units: moving.slice(0, MOVING_MAX) },
    cost: costOf(different, state.options, state.controllers.length),
    lag: lagOf(v.lagsMs),
  };
}

/** It differed and should have been looked at, but the verification had to end before. */
function lacksLook({ state, awaited }: Standing): boolean {
  return state === 'unread' || (state === 'open' && awaited);
}

function countServices({ state }: Verification): number {
  let count = 0;
  for (const names of state.services.values()) for (const { record } of names.values()) if (record !== null) count++;
  return count;
}

function unitOf({ state, problems }: Verification, standing: Standing, nowMs: number): DifferentUnit {
  const { controller, namespace, service, plan, writers, sinceMs } = standing;
  const circumstances = {
    problems: problems.get(serviceKey(namespace, service)) ?? [],
    hasEnded(name: string): boolean {
      const pod = getPod(state.index, namespace, name);
      return pod !== undefined && hasEnded(pod);
    },
  };
  const differences = withPortsOnce(standing.differences ?? []);
  return {
    controller,
    namespace,
    service,
    writes: plan.writes.length,
    bytes: plan.writes.reduce((sum, { body }) => sum + body.length, 0),
    seconds: Math.round((nowMs - sinceMs) / 1000),
    differences: shownOf(
      differences.map((difference) => {
        const { kind, name } = difference;
        const writer = writers.get(objectKey(kind === 'Endpoints' ? kind : 'EndpointSlice', name)) ?? '';
        return named(difference, { ...circumstances, writer });
      }),
    ),
    differencesTotal: differences.length,
  };
}

/** A difference of another kind is not hidden by a hundred of one. */
function shownOf(differences: readonly NamedDifference[]): readonly NamedDifference[] {
  if (differences.length <= DIFFERENCES_MAX) return differences;
  const firsts = [...Map.groupBy(differences, reasonKey).values()].map(([first]) => first!);
  const shown = new Set([...new Set([...firsts, ...differences])].slice(0, DIFFERENCES_MAX));
  return differences.filter((difference) => shown.has(difference));
}

function reasonKey({ listed, reason }: NamedDifference): string {
  return `${listed} ${reason}`;
}

function named(difference: Difference, about: Circumstances): NamedDifference {
  const listed = listedDifference(difference, about);
  const { writer } = about;
  return {
    ...difference,
    writer,
    reason: reasonOf(difference),
    listed: listed?.id ?? null,
    title: listed?.title ?? '',
  };
}

function reasonsOf(different: readonly DifferentUnit[]): Reason[] {
  const reasons = new Map<string, { reason: string; listed: string | null; title: string; units: number }>();
  for (const { differences } of different) {
    const ofUnit = new Set<string>();
    for (const difference of differences) {
      const { reason, listed, title } = difference;
      const key = reasonKey(difference);
      if (ofUnit.has(key)) continue;
      ofUnit.add(key);
      const known = reasons.get(key);
      if (known === undefined) reasons.set(key, { reason, listed, title, units: 1 });
      else known.units++;
    }
  }
  return [...reasons.values()].sort((a, b) => b.units - a.units || (a.reason < b.reason ? -1 : 1));
}

/** Resources that were refused, were not listed in time, or had no watch at the end. */
function unseenOf({ state }: Verification, nowMs: number): Unseen[] {
  const health = new Map(readiness(state, nowMs).map(({ name, ok, message }) => [name, ok ? '' : message]));
  return state.reflectors.flatMap(({ resource, failure }) => {
    const message = health.get(`watch-${resource}`) ?? '';
    if (message === '') return [];
    const controllers = state.controllers.filter((controller) => controller.caches(state.options).includes(resource));
    return [{ resource, reason: failure === '' ? message : failure, controllers: controllers.map(({ name }) => name) }];
  });
}

function costOf(different: readonly DifferentUnit[], options: ControllerOptions, controllers: number): Cost {
  const writes = different.reduce((sum, unit) => sum + unit.writes, 0);
  const bytes = different.reduce((sum, unit) => sum + unit.bytes, 0);
  if (options.kubeApiQps <= 0) return { writes, bytes, seconds: null, requestsPerSecond: -1 };
  const requestsPerSecond = options.kubeApiQps * controllers;
  const waiting = Math.max(0, writes - options.kubeApiBurst * controllers);
  return { writes, bytes, seconds: Math.ceil(waiting / requestsPerSecond), requestsPerSecond };
}

function lagOf(lagsMs: readonly number[]): Lag | null {
  if (lagsMs.length === 0) return null;
  const at = (share: number): number => Math.round(percentile(lagsMs, share) * 10) / 10;
  return { count: lagsMs.length, p50Ms: at(0.5), p90Ms: at(0.9), p99Ms: at(0.99), maxMs: at(1) };
}
