/** What holds at every moment of a story. The first breach ends it. */
import { nameOf, objectsOf } from './hand.ts';
import { isHeld, type Run } from './run.ts';
import type { SimObserver } from '../support/sim.ts';
import { readInputs } from '../../src/judge/check-inputs.ts';
import type { ControllerState } from '../../src/controller/state.ts';
import type { Reflector } from '../../src/controller/reflectors/reflector.ts';
import {
  MANAGED_BY_LABEL,
  MANAGED_BY_VALUE,
  SERVICE_NAME_LABEL,
  SLICE_MANAGED_BY_LABEL,
  SLICE_MANAGED_BY_VALUE,
  MIRROR_MANAGED_BY_VALUE,
} from '../../src/kube/names.ts';
import type { EndpointSlice, KubeObject } from '../../src/kube/types.ts';
import type { HttpRequest } from '../../src/ports/transport.ts';
import { oracleSlices, portsKey } from '../../src/judge/slices-oracle.ts';

/** No path is asked for more often in ten seconds: a loop without a pause. */
const ASKED_MAX = 150;
const ASKED_WITHIN_MS = 10_000;
/** Streams that have been open for so long are known to be up. */
const STREAM_UP_MS = 1000;
const ECHOES_EXPECTED_MAX = 256;
const BATCHES_IN_FLIGHT_MAX = 2;
/** Watches and lists, reads of the syncs, an event. */
const OTHER_REQUESTS_MAX = 10;

type Resource = Reflector['resource'];
type Versions = Partial<Record<Resource, number>>;

/** @param breach is told each breach, in one line */
export function watchOver(run: Run, breach: (text: string) => void): SimObserver {
  const { sim } = run;
  const views = createViews(run);
  const asked = new Map<string, { sinceMs: number; count: number }>();
  let target: KubeObject | undefined;
  let readyBefore: ReadonlySet<string> = new Set();

  function countAsked({ lane, method, path }: HttpRequest): void {
    if (lane === 'event') return;
    const key = `${method} ${path.split('?')[0]}`;
    const now = sim.nowMs();
    const entry = asked.get(key);
    if (entry === undefined || now - entry.sinceMs > ASKED_WITHIN_MS) asked.set(key, { sinceMs: now, count: 1 });
    else if (++entry.count === ASKED_MAX) breach(`${key} is asked for ${ASKED_MAX} times within ten seconds`);
  }

  return {
    before(request) {
      countAsked(request);
      target = isWrite(request) ? objectAt(run, request) : undefined;
      readyBefore = target === undefined ? new Set() : readyKeys(target);
    },
    after(request, status) {
      if (target === undefined || status >= 300) return;
      const now = objectAt(run, request);
      const name = `${request.method} ${request.path}`;
      const isSame = now?.metadata.resourceVersion === target.metadata.resourceVersion;
      if (request.method === 'PUT' && isSame && !isHeld(run, 'admission')) breach(`${name} changes nothing`);
      if (request.method === 'DELETE' && !isOurs(target)) breach(`${name} deletes what is not ours`);
      if (readyBefore.size === 0) return;
      const left = now === undefined ? new Set<string>() : readyKeys(now);
      const gone = [...readyBefore].filter((key) => !left.has(key));
      const lost = gone.length === 0 ? null : takenAway(run, views.atStartOf(request), target, gone);
      if (lost !== null) breach(`${name} takes ${lost} away, which is in no other slice`);
    },
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

function isWrite({ lane, method, path }: HttpRequest): boolean {
  return lane === 'write' && method !== 'POST' && /\/(endpoints|endpointslices)\//.test(path);
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

/** Ready endpoints of a slice of the EndpointSlice controller: family, ports and address. */
function readyKeys(object: KubeObject): Set<string> {
  const keys = new Set<string>();
  const { metadata, addressType, endpoints, ports } = object as unknown as EndpointSlice;
  if (metadata.labels?.[SLICE_MANAGED_BY_LABEL] !== SLICE_MANAGED_BY_VALUE) return keys;
  for (const { addresses, conditions } of endpoints ?? []) {
    if (conditions?.ready === true) keys.add(`${addressType} ${portsKey(ports ?? [])} ${addresses[0]}`);
  }
  return keys;
}

/**
 * A ready endpoint that was in a slice is never in none by our doing: a write that takes it out of its last slice is wrong
 * where the controller had known, before the sync that planned the write began, that the endpoint is wanted as it is now.
 * What it did not know yet it cannot heed, nor what has become of a write that it has given up. In a namespace that ends
 * nothing can be created.
 */
function takenAway(run: Run, view: Versions | null, slice: KubeObject, gone: readonly string[]): string | null {
  const { sim } = run;
  const { namespace = '', labels = {} } = slice.metadata;
  const service = labels[SERVICE_NAME_LABEL] ?? '';
  if (view === null || isHeld(run, 'restored') || isEnding(run, namespace)) return null;
  const others = objectsOf(sim, 'endpointslices').filter(
    ({ metadata }) => metadata.namespace === namespace && metadata.labels?.[SERVICE_NAME_LABEL] === service,
  );
  if (touchedByOthers(run, namespace, service, view.endpointslices ?? 0)) return null;
  const elsewhere = new Set<string>();
  for (const other of others) for (const key of readyKeys(other)) elsewhere.add(key);
  const wanted = wantedSince(run, `${namespace}/${service}`);
  for (const key of gone) {
    const since = wanted.get(key);
    if (elsewhere.has(key) || since === undefined) continue;
    const known = (['services', 'pods', 'nodes'] as const).every((of) => since <= (view[of] ?? 0));
    if (known) return `${key} of ${namespace}/${service}`;
  }
  return null;
}

function isEnding({ sim }: Run, namespace: string): boolean {
  const object = sim.server.stores.get('namespaces')!.records.get(namespace)?.object;
  return object?.metadata.deletionTimestamp !== undefined;
}

/** What others have done to the service's slices since then the plan could not know, deletions too. */
function touchedByOthers({ sim, ownVersions }: Run, namespace: string, service: string, since: number): boolean {
  const { history, historyStart, droppedRevision } = sim.server.stores.get('endpointslices')!;
  if (droppedRevision > since) return true;
  return history.slice(historyStart).some(({ revision, record, previous }) => {
    if (revision <= since || ownVersions.has(revision)) return false;
    return [record, previous].some((one) => {
      const metadata = one?.object.metadata;
      return metadata?.namespace === namespace && metadata.labels?.[SERVICE_NAME_LABEL] === service;
    });
  });
}

function version({ metadata }: KubeObject): number {
  return Number(metadata.resourceVersion ?? 0);
}

/** Ready endpoints that the service is to have, with the newest version of what they follow from. */
function wantedSince({ sim }: Run, key: string): Map<string, number> {
  const wanted = new Map<string, number>();
  const services = objectsOf(sim, 'services').filter((service) => nameOf(service) === key);
  const [service] = services;
  if (service === undefined) return wanted;
  const pods = objectsOf(sim, 'pods').filter(({ metadata }) => metadata.namespace === service.metadata.namespace);
  const nodes = objectsOf(sim, 'nodes');
  const inputs = readInputs(services, pods, nodes);
  const record = inputs.services.get(key)!;
  if (record.deleting) return wanted;
  const expected = oracleSlices(record, { pods: inputs.podsFor(record), nodes: inputs.nodes });
  const versions = new Map([...pods, ...nodes].map((object) => [nameOf(object), version(object)]));
  for (const { family, groups } of expected?.families ?? []) {
    for (const [ports, endpoints] of groups) {
      for (const { addresses, conditions, targetRef, nodeName } of endpoints) {
        if (conditions?.ready !== true) continue;
        const pod = versions.get(`${targetRef!.namespace}/${targetRef!.name}`) ?? 0;
        const node = versions.get(nodeName ?? '') ?? 0;
        wanted.set(`${family} ${ports} ${addresses[0]}`, Math.max(version(service), pod, node));
      }
    }
  }
  return wanted;
}

/** Which versions the controller had reached, when. */
function createViews({ sim }: Run): {
  note(state: ControllerState): void;
  /** At the start of the sync that planned the write; null = nobody knows any more. */
  atStartOf(request: HttpRequest): Versions | null;
} {
  let of: ControllerState | null = null;
  let views: { readonly atMs: number; readonly versions: Versions }[] = [];
  return {
    note(state) {
      if (of !== state) views = [];
      of = state;
      const last = views.at(-1)?.versions;
      const { reflectors } = state;
      if (last !== undefined && reflectors.every((one) => last[one.resource] === Number(one.resourceVersion))) return;
      const versions = Object.fromEntries(reflectors.map((one) => [one.resource, Number(one.resourceVersion)]));
      views.push({ atMs: sim.processMs(), versions });
    },
    atStartOf({ id }) {
      const purpose = sim.loop?.state.outbox.requests.get(id);
      const sync = purpose?.for === 'write' ? purpose.queued.unit.sync : null;
      if (sync === null || sync === undefined) return null;
      return views.findLast(({ atMs }) => atMs < sync.startedAtMs)?.versions ?? null;
    },
  };
}

/** Every queue has a bound. */
function overBound({ controllers, writes, shards, options, outbox, echoesExpected }: ControllerState): string | null {
  let syncs = 0;
  for (const { name, queue } of controllers) {
    syncs += queue.processing.length;
    if (queue.processing.length > concurrencyOf(options, name)) return `${name}: ${queue.processing.length} syncs`;
  }
  if (writes.inFlight > options.maxWritesInFlight) return `${writes.inFlight} writes in flight`;
  for (const { inFlight } of shards) if (inFlight.size > BATCHES_IN_FLIGHT_MAX) return `${inFlight.size} batches`;
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
