/** What holds at every moment of a story. The first breach ends it. */
import { watchLostAnswers } from './lost-answers.ts';
import { readyKeys, takenAway, type Versions } from './ready-endpoints.ts';
import { isHeld, type Run } from './run.ts';
import type { Sim } from '../support/sim.ts';
import type { SimObserver } from '../support/sim-network.ts';
import type { Sync } from '../../src/controller/caches/service-state.ts';
import type { ControllerState } from '../../src/controller/state.ts';
import {
  MANAGED_BY_LABEL,
  MANAGED_BY_VALUE,
  SLICE_MANAGED_BY_LABEL,
  SLICE_MANAGED_BY_VALUE,
  MIRROR_MANAGED_BY_VALUE,
} from '../../src/kube/names.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import type { HttpRequest } from '../../src/ports/transport.ts';

/** One process asks for no path more often in ten seconds: a loop without a pause. */
const ASKED_MAX = 150;
const ASKED_WITHIN_MS = 10_000;
/** Streams that have been open for so long are known to be up. */
const STREAM_UP_MS = 1000;
const ECHOES_EXPECTED_MAX = 256;
const SET_ASIDE_MAX = 1000;
const BATCHES_IN_FLIGHT_MAX = 2;
/** Watches and lists, reads of the syncs, an event. */
const OTHER_REQUESTS_MAX = 10;

/** @param breach is told each breach, in one line */
export function watchOver(run: Run, breach: (text: string) => void): SimObserver {
  const { sim } = run;
  const views = createViews(run);
  const lostAnswers = watchLostAnswers(run, breach);
  let asked = new Map<string, { sinceMs: number; count: number }>();
  let process: Sim['loop'] = null;
  let target: KubeObject | undefined;
  let hadReady = false;

  function countAsked({ pool, method, path }: HttpRequest): void {
    if (pool === 'event') return;
    // A new process lists everything anew: a story of restarts is no loop of any of them.
    if (sim.loop !== process) asked = new Map();
    process = sim.loop;
    const key = `${method} ${path.split('?')[0]}`;
    const now = sim.nowMs();
    const entry = asked.get(key);
    if (entry === undefined || now - entry.sinceMs > ASKED_WITHIN_MS) asked.set(key, { sinceMs: now, count: 1 });
    else if (++entry.count === ASKED_MAX) breach(`${key} is asked for ${ASKED_MAX} times within ten seconds`);
  }

  return {
    before(request) {
      countAsked(request);
      lostAnswers.before(request);
      target = isWrite(request) ? objectAt(run, request) : undefined;
      hadReady = target !== undefined && readyKeys(target).size > 0;
    },
    after(request, status) {
      lostAnswers.after(request, status);
      if (target === undefined || status >= 300) return;
      const now = objectAt(run, request);
      const name = `${request.method} ${request.path}`;
      const isSame = now?.metadata.resourceVersion === target.metadata.resourceVersion;
      if (request.method === 'PUT' && isSame && !isHeld(run, 'admission')) breach(`${name} changes nothing`);
      if (request.method === 'DELETE' && !isOurs(target)) breach(`${name} deletes what is not ours`);
      if (!hadReady) return;
      const lost = takenAway(run, views.atStartOf(request), target, now);
      if (lost !== null) breach(`${name} takes ${lost} away, which is in no other slice`);
    },
    lost: lostAnswers.lost,
    stepped() {
      if (sim.loop === null) return;
      const { state } = sim.loop;
      views.note(state);
      const over = overBound(state);
      if (over !== null) breach(over);
      const unready = unreadyWithoutReason(run, state);
      if (unready !== null) breach(unready);
    },
  };
}

function isWrite({ pool, method, path }: HttpRequest): boolean {
  return pool === 'write' && method !== 'POST' && /\/(endpoints|endpointslices)\//.test(path);
}

function objectAt({ sim }: Run, { path }: HttpRequest): KubeObject | undefined {
  const [, namespace, resource, name] = /\/namespaces\/([^/]+)\/(endpoints|endpointslices)\/([^/?]+)/.exec(path)!;
  const store = sim.server.stores.get(resource as 'endpoints' | 'endpointslices')!;
  return store.records.get(`${namespace}/${name}`)?.object as unknown as KubeObject | undefined;
}

function isOurs({ metadata: { labels = {} }, ...object }: KubeObject): boolean {
  if (object['addressType'] === undefined) return labels[MANAGED_BY_LABEL] === MANAGED_BY_VALUE;
  return [SLICE_MANAGED_BY_VALUE, MIRROR_MANAGED_BY_VALUE].includes(labels[SLICE_MANAGED_BY_LABEL] ?? '');
}

/** Which versions the controller had reached at the start of each sync. */
function createViews({ sim }: Run): {
  /** To be told of every step. */
  note(state: ControllerState): void;
  /** Of the sync that planned the write; null = nobody knows any more. */
  atStartOf(request: HttpRequest): Versions | null;
} {
  const views = new WeakMap<Sync, Versions>();
  return {
    note({ controllers, reflectors }) {
      for (const { queue } of controllers) {
        for (let item = queue.processing.first; item !== null; item = item.next) {
          const { sync } = item.key;
          if (sync === null || views.has(sync)) continue;
          const versions = reflectors.map((one) => [one.resource, Number(one.resourceVersion)]);
          views.set(sync, Object.fromEntries(versions) as Versions);
        }
      }
    },
    atStartOf({ id }) {
      const purpose = sim.loop?.state.outbox.requests.get(id);
      const sync = purpose?.for === 'write' ? purpose.queued.unit.sync : null;
      return sync === null ? null : (views.get(sync) ?? null);
    },
  };
}

/** Every queue has a bound. */
function overBound(state: ControllerState): string | null {
  const { controllers, writes, shards, options, outbox, echoesExpected, serviceCount } = state;
  let syncs = 0;
  for (const { name, queue } of controllers) {
    syncs += queue.processing.length;
    const waiting = queue.fresh.depth + queue.chore.depth;
    if (waiting > serviceCount) return `${name}: ${waiting} of ${serviceCount} services wait`;
    if (queue.processing.length > concurrencyOf(options, name)) return `${name}: ${queue.processing.length} syncs`;
  }
  if (writes.inFlight > options.maxWritesInFlight) return `${writes.inFlight} writes in flight`;
  for (const { inFlight } of shards) if (inFlight.size > BATCHES_IN_FLIGHT_MAX) return `${inFlight.size} batches`;
  for (const { resource, phase } of state.reflectors) {
    const aside = phase.name === 'initial' ? phase.aside.length : 0;
    if (aside > SET_ASIDE_MAX) return `${aside} ${resource} of a WatchList are set aside`;
  }
  const events = state.eventRecorder.queue.length;
  if (events > options.eventQueueSize) return `${events} events wait`;
  if (echoesExpected > ECHOES_EXPECTED_MAX) return `${echoesExpected} echoes are waited for`;
  const requestsMax = writes.inFlight + 2 * syncs + OTHER_REQUESTS_MAX;
  return outbox.requests.size > requestsMax ? `${outbox.requests.size} requests with ${syncs} syncs` : null;
}

function concurrencyOf(options: ControllerState['options'], name: string): number {
  if (name === 'endpoints') return options.concurrentEndpointSyncs;
  return name === 'endpointslice'
    ? options.concurrentServiceEndpointSyncs
    : options.mirroringConcurrentServiceEndpointSyncs;
}

/** Ready does not depend on a backlog: caches were filled once, and the streams are up. */
function unreadyWithoutReason({ sim }: Run, state: ControllerState): string | null {
  if (state.phase !== 'running' || state.reflectors.some(({ synced }) => !synced)) return null;
  const streams = sim.streams();
  if (streams.length < state.reflectors.length) return null;
  if (streams.some(({ openedAtMs }) => sim.nowMs() - openedAtMs < STREAM_UP_MS)) return null;
  if (state.reflectors.some(({ phase }) => phase.name !== 'watching')) return null;
  const failed = sim.loop!.readiness().find(({ ok }) => !ok);
  return failed === undefined ? null : `not ready though all streams are up: ${failed.name}: ${failed.message}`;
}
