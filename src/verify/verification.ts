/**
 * Whether a cluster holds what a controller with the given flags would write. A shadow says what it would write now. A
 * service counts as different only if two things hold: the shadow has planned writes for it for 5 s and for 30 s, and a
 * read of the server at both times shows the same difference. Every other service that differs is moving, or was not
 * looked at when the verification had to end.
 */
import { differencesOf, identityOf, type Difference, type Kind } from './difference.ts';
import { createLookProgress, isLookComplete, noteLookProgress, unplanned, type LookProgress } from './initial-look.ts';
import { beginLook, createLookReads, endLook, noteNoLook, type LookReads } from './look-reads.ts';
import type { ListReader } from '../lists/list-reader.ts';
import { lookAgain, type Scope, type Sight } from './second-look.ts';
import type { ControllerState } from '../controller/state.ts';
import type { ControllerName } from '../controller/options.ts';
import type { ShadowPlan } from '../controller/writes/shadow-plan.ts';
import { problemsEqual, type Problem } from '../core/problem.ts';
import { decodeObject } from '../kube/codec.ts';
import { serviceKey } from '../kube/key.ts';
import type { Endpoints, EndpointSlice } from '../kube/types.ts';
import { plural } from '../lib/figures.ts';

const FIRST_LOOK_MS = 5000;
const SECOND_LOOK_MS = 30_000;
/**
 * A service that changes while it is read is read again after this time, at most so many times. Then it counts as
 * moving.
 */
const AGAIN_MS = 2000;
const TRIES_MAX = 5;
/** The most looks at a time. */
const LOOKS_MAX = 4;
/**
 * If more services than this differ in a namespace, the whole namespace is read at once. With more namespaces than the
 * next, the whole cluster is.
 */
const SERVICES_ALONE_MAX = 4;
const NAMESPACES_ALONE_MAX = 50;
/** The most problems that are kept of one service. */
const PROBLEMS_MAX = 20;
/** The most lags that are kept. They are the last ones. */
const LAGS_MAX = 100_000;

/** What one controller would write for one service, and since when it would. */
export interface Standing {
  readonly controller: ControllerName;
  readonly namespace: string;
  readonly service: string;
  plan: ShadowPlan;
  /** The last writers of its objects at the last look (`Sight.writers`). */
  writers: ReadonlyMap<string, string>;
  /** Monotonic ms. So are all times here. */
  readonly sinceMs: number;
  /** It differed when the caches were filled. Nobody knows for how long it had before. */
  readonly fromStart: boolean;
  /** It began before the end of the verification. What begins later is not looked at. */
  readonly awaited: boolean;
  /** unread: the server could not be read up to the end, so nobody knows. */
  state: 'open' | 'different' | 'moving' | 'unread';
  /** What the first look has found. After the second look, the part that both have found. null = there was no look. */
  differences: readonly Difference[] | null;
  nextLookMs: number;
  looking: boolean;
  tries: number;
}

export interface Verification {
  readonly state: ControllerState;
  readonly reader: ListReader;
  readonly nowMs: () => number;
  /** How long it goes on after everything was listed and planned. */
  readonly watchMs: number;
  /**
   * It gives up if the first look came no further for so long (`noteLookProgress`), or if at the end second looks have
   * read nothing for so long.
   */
  readonly timeoutMs: number;
  readonly standings: Map<string, Standing>;
  /** Units that differed for a while and do not any more. One that differs again is no longer among them. */
  readonly settled: Set<string>;
  /** Problems by service. A planner tells each once, with the first plan of any controller. */
  readonly problems: Map<string, Problem[]>;
  /** Why a unit has no plan, or could not be read. */
  readonly failures: Map<string, string>;
  /** Milliseconds from a pod's change until another writer had written what it asked for. */
  readonly lagsMs: number[];
  plans: number;
  readonly progress: LookProgress;
  readonly reads: LookReads;
  /** Monotonic ms at which everything was listed and planned; Infinity = not yet. */
  plannedAtMs: number;
  /** Monotonic ms from which on nothing new is looked at; Infinity = not yet. */
  closedAtMs: number;
}

export type VerificationConfig = Pick<Verification, 'state' | 'reader' | 'nowMs' | 'watchMs' | 'timeoutMs'>;

export function createVerification(config: VerificationConfig): Verification {
  return {
    ...config,
    standings: new Map(),
    settled: new Set(),
    problems: new Map(),
    failures: new Map(),
    lagsMs: [],
    plans: 0,
    progress: createLookProgress(config.nowMs()),
    reads: createLookReads(),
    plannedAtMs: Infinity,
    closedAtMs: Infinity,
  };
}

function unitKey({ controller, namespace, service }: Pick<Standing, 'controller' | 'namespace' | 'service'>): string {
  return `${controller} ${serviceKey(namespace, service)}`;
}

/** Takes the plan of one unit from the shadow. */
export function takePlan(v: Verification, plan: ShadowPlan): void {
  const nowMs = v.nowMs();
  v.plans++;
  const key = unitKey(plan);
  const standing = v.standings.get(key);
  noteProblems(v, plan);
  if (plan.failure !== null) {
    v.failures.set(key, plan.failure);
    return;
  }
  const couldNotTell = v.failures.delete(key);
  if (plan.writes.length === 0) {
    if (standing !== undefined) settle(v, key, standing, nowMs);
    return;
  }
  // Copies: a view would keep the whole reply of the shard alive. `slice` of a Buffer is a view.
  const writes = plan.writes.map((write) => ({ ...write, body: new Uint8Array(write.body) }));
  if (standing !== undefined) {
    standing.plan = { ...plan, writes, changedAtMs: standing.plan.changedAtMs };
    // The new writes may have another reason. A service that could not be read has had no look.
    const isNews = standing.state === 'unread' || (standing.state === 'different' && v.closedAtMs === Infinity);
    if (isNews) reopen(standing, nowMs);
    return;
  }
  const { controller, namespace, service } = plan;
  v.settled.delete(key);
  v.standings.set(key, {
    controller,
    namespace,
    service,
    plan: { ...plan, writes },
    writers: new Map(),
    sinceMs: nowMs,
    fromStart: v.plannedAtMs === Infinity,
    awaited: v.closedAtMs === Infinity || couldNotTell,
    state: 'open',
    differences: null,
    nextLookMs: nowMs + FIRST_LOOK_MS,
    looking: false,
    tries: 0,
  });
}

function reopen(standing: Standing, nowMs: number): void {
  standing.state = 'open';
  standing.differences = null;
  standing.tries = 0;
  standing.nextLookMs = nowMs + FIRST_LOOK_MS;
}

function noteProblems(v: Verification, { namespace, service, problems: more }: ShadowPlan): void {
  if (more.length === 0) return;
  const key = serviceKey(namespace, service);
  const problems = v.problems.get(key) ?? [];
  v.problems.set(key, problems);
  for (const problem of more) {
    if (problems.length < PROBLEMS_MAX && !problems.some((other) => problemsEqual(other, problem)))
      problems.push(problem);
  }
}

function settle(v: Verification, key: string, { plan, sinceMs, fromStart }: Standing, nowMs: number): void {
  v.standings.delete(key);
  v.settled.add(key);
  if (fromStart) return;
  const startMs = plan.changedAtMs < 0 ? sinceMs : Math.min(sinceMs, plan.changedAtMs);
  if (v.lagsMs.length === LAGS_MAX) v.lagsMs.shift();
  v.lagsMs.push(nowMs - startMs);
}

/** Does what is due. Returns whether the verification is over. The caller calls it now and then. */
export function advance(v: Verification): boolean {
  const nowMs = v.nowMs();
  if (v.plannedAtMs === Infinity) {
    if (!isLookComplete(v.state)) {
      if (!isStuck(v, nowMs)) return false;
      giveUp(v);
      return true;
    }
    v.plannedAtMs = nowMs;
    // They are looked at together. If they are many, the whole cluster is read, and one read is enough.
    for (const standing of v.standings.values()) standing.nextLookMs = nowMs + FIRST_LOOK_MS;
  }
  if (v.closedAtMs === Infinity && nowMs >= v.plannedAtMs + v.watchMs) close(v, nowMs);
  startLooks(v, nowMs);
  const awaited = awaitedOf(v);
  if (awaited.length === 0) noteNoLook(v.reads);
  if (v.closedAtMs === Infinity) return false;
  const isLate = nowMs >= v.closedAtMs + SECOND_LOOK_MS;
  // A unit that could not be planned or read is tried again meanwhile.
  if (!isLate && v.failures.size > 0) return false;
  if (isLate && nowMs - v.reads.nothingSinceMs >= v.timeoutMs) {
    for (const standing of awaited) leaveUnread(v, standing, silenceOf(v));
    return true;
  }
  return awaited.length === 0;
}

/** The standings that wait for a look. */
function awaitedOf({ standings }: Verification): Standing[] {
  return [...standings.values()].filter(({ state, awaited }) => state === 'open' && awaited);
}

function silenceOf({ reads: { failure }, timeoutMs }: Verification): string {
  return `nothing was read for ${timeoutMs / 1000} s${failure === '' ? '' : `; ${failure}`}`;
}

function isStuck(v: Verification, nowMs: number): boolean {
  noteLookProgress(v.progress, v.state, v.plans, nowMs);
  return nowMs - v.progress.atMs >= v.timeoutMs;
}

/** A list that is missing is told by its resource. */
function giveUp(v: Verification): void {
  for (const { name, services } of unplanned(v.state)) {
    v.failures.set(name, `no plan of ${plural(services, 'service')}: nothing came further for ${v.timeoutMs / 1000} s`);
  }
}

/** From now on, what begins to differ is not awaited. What was found before is looked at once more. */
function close(v: Verification, nowMs: number): void {
  v.closedAtMs = nowMs;
  for (const standing of v.standings.values()) {
    if (standing.state !== 'different') continue;
    standing.state = 'open';
    standing.tries = 0;
    standing.nextLookMs = nowMs;
  }
}

function startLooks(v: Verification, nowMs: number): void {
  if (v.reads.underWay >= LOOKS_MAX) return;
  const due: Standing[] = [];
  for (const standing of v.standings.values()) {
    const { state, looking, nextLookMs, awaited } = standing;
    if (state === 'open' && !looking && nextLookMs <= nowMs && awaited) due.push(standing);
  }
  for (const { scope, standings } of scopesOf(due)) {
    if (v.reads.underWay >= LOOKS_MAX) return;
    for (const standing of standings) standing.looking = true;
    lookAgain(v.state, beginLook(v.reads, v.reader, v.nowMs), scope, standings, (sights, failure) => {
      // They all get the same time, so that they are looked at together again.
      const readAtMs = v.nowMs();
      endLook(v.reads, failure, readAtMs);
      for (const standing of standings) {
        standing.looking = false;
        // By the end of a read another standing may have taken the place of this one, or none.
        if (v.standings.get(unitKey(standing)) !== standing) continue;
        const sight = sights.get(serviceKey(standing.namespace, standing.service))!;
        if (failure === null) takeSight(v, standing, sight, readAtMs);
        else readFailed(v, standing, failure, readAtMs);
      }
    });
  }
}

/** As few reads as possible: of one service, of a namespace with several, or of the cluster with many. */
function scopesOf(due: readonly Standing[]): { scope: Scope; standings: readonly Standing[] }[] {
  const byNamespace = Map.groupBy(due, ({ namespace }) => namespace);
  if (byNamespace.size > NAMESPACES_ALONE_MAX) return [{ scope: { namespace: '', service: '' }, standings: due }];
  return [...byNamespace].flatMap(([namespace, standings]) => {
    const byService = Map.groupBy(standings, ({ service }) => service);
    if (byService.size > SERVICES_ALONE_MAX) return [{ scope: { namespace, service: '' }, standings }];
    return [...byService].map(([service, same]) => ({ scope: { namespace, service }, standings: same }));
  });
}

function readFailed(v: Verification, standing: Standing, failure: string, nowMs: number): void {
  standing.nextLookMs = nowMs + AGAIN_MS;
  if (++standing.tries < TRIES_MAX) return;
  if (nowMs < v.closedAtMs + SECOND_LOOK_MS) {
    reopen(standing, nowMs);
    return;
  }
  leaveUnread(v, standing, failure);
}

function leaveUnread(v: Verification, standing: Standing, reason: string): void {
  standing.state = 'unread';
  v.failures.set(unitKey(standing), `it differs, and could not be read again: ${reason}`);
}

/**
 * Compares what was read with what is planned. What the second look has found is compared with what the first one has.
 */
function takeSight(v: Verification, standing: Standing, sight: Sight, nowMs: number): void {
  const found = sight.unsettled ? null : differencesFound(standing, sight);
  standing.writers = sight.writers;
  if (found === null) {
    standing.nextLookMs = nowMs + AGAIN_MS;
    if (++standing.tries >= TRIES_MAX) startOver(v, standing, null, nowMs);
    return;
  }
  if (standing.differences === null) {
    standing.differences = found;
    standing.tries = 0;
    standing.nextLookMs = Math.max(standing.sinceMs + SECOND_LOOK_MS, nowMs + SECOND_LOOK_MS - FIRST_LOOK_MS);
    return;
  }
  const before = new Set(standing.differences.map(identityOf));
  const same = found.filter((difference) => before.has(identityOf(difference)));
  if (same.length === 0) startOver(v, standing, found, nowMs);
  else {
    standing.differences = same;
    standing.state = 'different';
  }
}

/** The service does not stand still. Only another half minute can tell whether it ever does. */
function startOver(v: Verification, standing: Standing, found: readonly Difference[] | null, nowMs: number): void {
  standing.differences = found;
  standing.tries = 0;
  standing.nextLookMs = nowMs + (found === null ? FIRST_LOOK_MS : SECOND_LOOK_MS - FIRST_LOOK_MS);
  if (v.closedAtMs < Infinity) standing.state = 'moving';
}

const KINDS: Readonly<Record<ControllerName, Kind>> = {
  endpoints: 'Endpoints',
  endpointslice: 'EndpointSlice',
  'endpointslice-mirroring': 'mirrored EndpointSlice',
};

/** null = the plan is for other versions than those that were read. */
function differencesFound({ controller, plan }: Standing, { endpoints, slices }: Sight): Difference[] | null {
  const found: Difference[] = [];
  for (const { verb, name, resourceVersion, body } of plan.writes) {
    const stored = controller === 'endpoints' ? endpoints : (slices.get(name) ?? null);
    if ((stored === null) !== (verb === 'create')) return null;
    if (stored !== null && resourceVersion !== '' && stored.metadata.resourceVersion !== resourceVersion) return null;
    const planned = verb === 'delete' ? null : (decodeObject(body) as unknown as Endpoints | EndpointSlice);
    for (const difference of differencesOf(KINDS[controller], name, stored, planned)) found.push(difference);
  }
  return found;
}
