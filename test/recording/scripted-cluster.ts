/** A recorder in front of an API server that says what a test tells it, in a time of the test's own. */
import { ZSTD } from '../../src/cli/record/recording-file.ts';
import type { LogEffect } from '../../src/controller/effect.ts';
import type { HttpRequest, TransportEvent } from '../../src/ports/transport.ts';
import { createRecorder, type Recorder } from '../../src/recording/recorder.ts';
import type { RecordedEvent, RecordedResource } from '../../src/recording/recording.ts';
import { read } from './made.ts';

const KINDS: Readonly<Record<RecordedResource, readonly [apiVersion: string, kind: string]>> = {
  pods: ['v1', 'Pod'],
  services: ['v1', 'Service'],
  nodes: ['v1', 'Node'],
  endpoints: ['v1', 'Endpoints'],
  endpointslices: ['discovery.k8s.io/v1', 'EndpointSlice'],
};

type EventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';

export interface ScriptedCluster {
  readonly recorder: Recorder;
  readonly requests: HttpRequest[];
  /** The ids of the requests that were cancelled. */
  readonly cancelled: number[];
  readonly log: LogEffect[];
  /** Objects that a list tells. */
  readonly objects: Record<RecordedResource, object[]>;
  /** Of a resource: what is answered in place of its list. */
  readonly refusals: Partial<Record<RecordedResource, { status: number; message: string; reason?: string }>>;
  /** Resources whose next list breaks off after all objects, before its last page. */
  readonly cut: Set<RecordedResource>;
  /** Resources whose list tells all objects in its first page, and does not end while they are in here. */
  readonly held: Set<RecordedResource>;
  readonly event: (resource: RecordedResource, type: EventType, object: object) => void;
  /** What comes as bytes on the watch. */
  readonly bytes: (resource: RecordedResource, text: string) => void;
  /** The watch ends, as with an error of 410: the next is a list. */
  readonly expire: (resource: RecordedResource) => void;
  /** The watch ends in order, as at its time limit, or else breaks off. */
  readonly end: (resource: RecordedResource, error: string | null) => void;
  readonly pass: (ms: number) => void;
  /** Time in which the recorder is not called. */
  readonly standStill: (ms: number) => void;
  /** Time that only the clock on the wall counts, as while a machine sleeps. */
  readonly sleep: (ms: number) => void;
  readonly file: () => Buffer;
  readonly events: () => RecordedEvent[];
}

export function scriptedCluster(names: 'pseudonyms' | 'plain', uint32: () => number = () => 7): ScriptedCluster {
  let nowMs = 0;
  let asleepMs = 0;
  let wake: { atMs: number; call: () => void } | null = null;
  let deliver: (events: readonly TransportEvent[]) => void;
  let version = 100;
  const waiting: HttpRequest[] = [];
  const streams = new Map<RecordedResource, number>();
  const requests: HttpRequest[] = [];
  const cancelled: number[] = [];
  const log: LogEffect[] = [];
  const parts: Uint8Array[] = [];
  const objects: ScriptedCluster['objects'] = { pods: [], services: [], nodes: [], endpoints: [], endpointslices: [] };
  const refusals: ScriptedCluster['refusals'] = {};
  const cut = new Set<RecordedResource>();
  const held = new Set<RecordedResource>();
  const lastPages: HttpRequest[] = [];

  function answer(request: HttpRequest): void {
    const resource = /\/(\w+)\?/.exec(request.path)![1] as RecordedResource;
    const refusal = refusals[resource];
    if (refusal !== undefined) respond(request, refusal.status, { kind: 'Status', ...refusal, code: refusal.status });
    else if (request.path.includes('sendInitialEvents')) respond(request, 422, { kind: 'Status', code: 422 });
    else if (request.stream) {
      streams.set(resource, request.id);
      respond(request, 200, null);
    } else if (!request.path.includes('continue=')) {
      list(request, resource, objects[resource], cut.has(resource) || held.has(resource) ? 'more' : '');
    } else if (cut.delete(resource)) respond(request, 500, { kind: 'Status', code: 500 });
    else if (held.has(resource)) lastPages.push(request);
    else list(request, resource, [], '');
  }

  function list(request: HttpRequest, resource: RecordedResource, items: object[], more: string): void {
    const [apiVersion, kind] = KINDS[resource];
    const metadata = { resourceVersion: String(++version), continue: more };
    respond(request, 200, { apiVersion, kind: `${kind}List`, metadata, items });
  }

  function respond({ id }: HttpRequest, status: number, body: object | null): void {
    const bytes = Buffer.from(body === null ? '' : JSON.stringify(body));
    const contentType = 'application/json';
    deliver([{ type: 'response', id, status, contentType, retryAfterSeconds: -1, priorityLevel: '', body: bytes }]);
  }

  function settle(): void {
    for (let request = waiting.shift(); request !== undefined; request = waiting.shift()) answer(request);
  }

  const recorder = createRecorder({
    header: { program: '1', names },
    clock: {
      nowMs: () => nowMs,
      wallMs: () => 1_700_000_000_000 + nowMs + asleepMs,
      wakeAt: (atMs, call) => (wake = { atMs, call }),
    },
    random: { uint32 },
    transport(take) {
      deliver = take;
      return {
        send(request) {
          requests.push(request);
          waiting.push(request);
        },
        cancel: (id) => cancelled.push(id),
      };
    },
    compression: ZSTD,
    write: (bytes) => parts.push(bytes),
    log: (line) => log.push(line),
  });
  const bytes: ScriptedCluster['bytes'] = (resource, text) => {
    deliver([{ type: 'chunk', id: streams.get(resource)!, bytes: Buffer.from(text) }]);
    settle();
  };
  const event = (resource: RecordedResource, type: string, object: object): void => {
    const [apiVersion, kind] = KINDS[resource];
    const { metadata } = object as { metadata: object };
    const told = { ...object, apiVersion, kind, metadata: { ...metadata, resourceVersion: String(++version) } };
    bytes(resource, `${JSON.stringify({ type, object: told })}\n`);
  };
  return {
    recorder: {
      ...recorder,
      start() {
        recorder.start();
        settle();
      },
    },
    requests,
    cancelled,
    log,
    objects,
    refusals,
    cut,
    held,
    event,
    bytes,
    expire: (resource) => event(resource, 'ERROR', { kind: 'Status', metadata: {}, code: 410, reason: 'Expired' }),
    end(resource, error) {
      deliver([{ type: 'ended', id: streams.get(resource)!, error }]);
      settle();
    },
    pass(ms) {
      waiting.push(...lastPages.splice(0));
      settle();
      const until = nowMs + ms;
      while (wake !== null && wake.atMs <= until) {
        const { atMs, call } = wake;
        wake = null;
        nowMs = Math.max(nowMs, atMs);
        call();
        settle();
      }
      nowMs = until;
    },
    standStill: (ms) => (nowMs += ms),
    sleep: (ms) => (asleepMs += ms),
    file: () => Buffer.concat(parts),
    events: () => [...read(Buffer.concat(parts)).events],
  };
}

export function apiService(name: string): object {
  return {
    metadata: { namespace: 'shop', name, uid: `uid-${name}`, resourceVersion: '40' },
    spec: { type: 'ClusterIP', selector: { app: 'web' }, ports: [{ port: 80 }], clusterIP: '10.0.0.1' },
  };
}

export function apiPod(name: string, fields: { ready?: boolean; labels?: object; ip?: string } = {}): object {
  const { ip = '192.0.2.1' } = fields;
  return {
    metadata: {
      namespace: 'shop',
      name,
      uid: `uid-${name}`,
      resourceVersion: '50',
      labels: fields.labels ?? { app: 'web' },
    },
    spec: { nodeName: 'worker-1', containers: [] },
    status: {
      phase: 'Running',
      podIP: ip,
      podIPs: [{ ip }],
      conditions: [{ type: 'Ready', status: fields.ready === false ? 'False' : 'True' }],
    },
  };
}

/** Endpoints that `manager` has written at that second. */
export function apiEndpoints(name: string, manager: string, second: number, ip = '192.0.2.1'): object {
  const time = new Date(Date.UTC(2023, 10, 14, 22, 0, second)).toISOString().replace('.000', '');
  const managers = manager === 'kube-controller-manager' ? [] : [{ manager, time }];
  const managedFields = [{ manager: 'kube-controller-manager', time: '2023-11-14T22:00:00Z' }, ...managers];
  return {
    metadata: { namespace: 'shop', name, uid: `uid-${name}`, resourceVersion: '60', managedFields },
    subsets: [{ addresses: [{ ip }], ports: [{ port: 80 }] }],
  };
}
