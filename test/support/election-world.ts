/**
 * Several electors before one embedded API server, in virtual time: each has clocks of its own, and a network that may be
 * cut, slow, or lose answers.
 */
import { apply, createApiServer } from '../../src/apiserver/server.ts';
import type { Watch } from '../../src/apiserver/watch.ts';
import {
  abandonLease,
  createElector,
  fenceOf,
  isLeader,
  onElectorEvent,
  releaseLease,
  wakeElector,
  type ElectionOptions,
  type Elector,
  type ElectorHands,
} from '../../src/controller/leader/elector.ts';
import type { LeadershipOptions } from '../../src/controller/leader/leadership.ts';
import type { Now } from '../../src/controller/event.ts';
import { createHeap, heapFirst, heapPlace, heapRemove, type HeapItem } from '../../src/lib/heap.ts';
import { createPrng, nextFloat } from '../../src/lib/prng.ts';
import type { HttpRequest, TransportEvent } from '../../src/ports/transport.ts';

export const LEASE = { namespace: 'kube-system', name: 'endpointd' };
export const LEASE_PATH = `/apis/coordination.k8s.io/v1/namespaces/${LEASE.namespace}/leases/${LEASE.name}`;
export const TIMES = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2000 };

/** Of a simulated process with that identity. */
export function leadershipOf(identity: string, standby: LeadershipOptions['standby'] = 'warm'): LeadershipOptions {
  return { ...LEASE, ...TIMES, identity, standby };
}

const START_WALL_MS = Date.UTC(2026, 0, 1);

/** Of one candidate: what the world does to it. */
export interface Network {
  /** Requests do not arrive, answers neither. */
  cut: boolean;
  /** Milliseconds there, and back, beyond one each. */
  toMs: number;
  backMs: number;
  /** Watches bring nothing. */
  mute: boolean;
  /** Admission puts this holder into what is written; '' = it alters nothing. */
  holderIs: string;
}

export interface Candidate {
  readonly elector: Elector;
  readonly network: Network;
  readonly log: string[];
  /** Its clocks now. */
  now(): Now;
  /** Added to its clocks from now on. */
  shiftMs: { mono: number; wall: number };
  /** Whether something may be put on a socket: it leads, and its fence is ahead. */
  mayWrite(): boolean;
  /** The process ends without a word. */
  kill(): void;
  /** It stands still (SIGSTOP), and goes on. */
  freeze(): void;
  thaw(): void;
  release(): void;
  abandon(): void;
}

export interface ElectionWorld {
  readonly candidates: readonly Candidate[];
  /** Virtual milliseconds since the start. */
  nowMs(): number;
  run(ms: number): void;
  /** Called after everything that happens. */
  always: () => void;
  lease(): { readonly holder: string; readonly transitions: number; readonly seconds: number } | null;
  request(method: string, path: string, body?: object): { status: number; body: Record<string, unknown> };
  leader(): string | null;
}

interface Task extends HeapItem {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

export function electionWorld(names: readonly string[], seed = 1, times = TIMES): ElectionWorld {
  const prng = createPrng(seed);
  const server = createApiServer({ random: () => nextFloat(prng), startWallMs: START_WALL_MS });
  const tasks = createHeap<Task>((a, b) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order));
  let now = 0;
  let order = 0;
  const at = (atMs: number, run: () => void): Task => {
    const task = { atMs: Math.max(atMs, now), order: order++, run, heapIndex: -1 };
    heapPlace(tasks, task);
    return task;
  };
  const ask = (method: string, path: string, body: Uint8Array | null): ReturnType<typeof apply> =>
    apply(server, START_WALL_MS + now, {
      method,
      path,
      headers: { accept: 'application/json', contentType: 'application/json' },
      body,
    });
  const request: ElectionWorld['request'] = (method, target, body) => {
    const reply = ask(method, target, body === undefined ? null : Buffer.from(JSON.stringify(body)));
    if ('watch' in reply) throw new Error('a test does not watch');
    return { status: reply.status, body: JSON.parse(Buffer.from(reply.body).toString('utf8')) as never };
  };
  const world: ElectionWorld = {
    candidates: names.map((name) => candidate(name)),
    nowMs: () => now,
    always: () => {},
    run(ms) {
      const untilMs = now + ms;
      for (let task = heapFirst(tasks); task !== undefined && task.atMs <= untilMs; task = heapFirst(tasks)) {
        heapRemove(tasks, task);
        now = task.atMs;
        task.run();
        world.always();
      }
      now = untilMs;
    },
    lease() {
      const { status, body } = request('GET', LEASE_PATH);
      if (status !== 200) return null;
      const spec = body['spec'] as Record<string, never>;
      return {
        holder: spec['holderIdentity'] ?? '',
        transitions: spec['leaseTransitions'] ?? 0,
        seconds: spec['leaseDurationSeconds'] ?? 0,
      };
    },
    request,
    leader: () => world.candidates.find(({ elector }) => isLeader(elector))?.elector.options.identity ?? null,
  };
  return world;

  function candidate(identity: string): Candidate {
    const options: ElectionOptions = { ...LEASE, ...times, identity };
    const elector = createElector(options, createPrng(Math.floor(nextFloat(prng) * 2 ** 32)));
    const base = { mono: nextFloat(prng) * 1e6, wall: (nextFloat(prng) - 0.5) * 86_400_000 };
    const network: Network = { cut: false, toMs: 0, backMs: 0, mute: false, holderIs: '' };
    const log: string[] = [];
    const cancelled = new Set<number>();
    const watches = new Map<number, Watch>();
    let nextId = 1;
    let isDead = false;
    let waiting: (() => void)[] | null = null;
    let timer: Task | null = null;
    const self: Candidate = {
      elector,
      network,
      log,
      shiftMs: { mono: 0, wall: 0 },
      now: () => ({
        nowMs: base.mono + now + self.shiftMs.mono,
        wallMs: START_WALL_MS + base.wall + now + self.shiftMs.wall,
      }),
      mayWrite() {
        if (isDead || !isLeader(elector)) return false;
        const fence = fenceOf(elector);
        return self.now().nowMs < fence.nowMs && self.now().wallMs < fence.wallMs;
      },
      kill() {
        isDead = true;
        for (const watch of watches.values()) watch.close();
      },
      freeze: () => (waiting ??= []),
      thaw() {
        const held = waiting ?? [];
        waiting = null;
        for (const run of held) run();
      },
      release: () => enter(() => releaseLease(elector, hands, self.now())),
      abandon: () => enter(() => abandonLease(elector, hands, self.now())),
    };
    const hands: ElectorHands = {
      send(asked) {
        const id = nextId++;
        transmit({ id, ...asked });
        return id;
      },
      cancel(id) {
        cancelled.add(id);
        watches.get(id)?.close();
      },
      log: (level, _v, message, fields) => log.push([level, message, ...Object.values(fields)].join(' | ')),
      annotations: () => ({}),
      begin: () => log.push('begins'),
      end: () => log.push('ends'),
    };

    function enter(run: () => void): void {
      if (isDead) return;
      if (waiting !== null) {
        waiting.push(() => enter(run));
        return;
      }
      run();
      const wakeMs = wakeElector(elector, hands, self.now());
      if (timer !== null) heapRemove(tasks, timer);
      timer = wakeMs === Infinity ? null : at(now + wakeMs - self.now().nowMs + 0.001, () => enter(() => {}));
    }

    function deliver(event: TransportEvent): void {
      enter(() => {
        if (!cancelled.has(event.id)) onElectorEvent(elector, hands, event, self.now());
      });
    }

    function transmit(asked: HttpRequest): void {
      const { id, timeoutMs } = asked;
      const lost = (): void => deliver({ type: 'failure', id, kind: 'timeout', message: 'lost', mayHaveArrived: true });
      if (network.cut) {
        at(now + timeoutMs, lost);
        return;
      }
      const sentAtMs = now;
      const backMs = 1 + network.backMs;
      at(now + 1 + network.toMs, () => {
        const reply = ask(asked.method, asked.path, admitted(asked.body));
        const answer = {
          type: 'response',
          id,
          status: reply.status,
          retryAfterSeconds: -1,
          priorityLevel: '',
        } as const;
        const contentType = reply.headers['content-type'] ?? '';
        if ('watch' in reply) {
          watches.set(id, reply.watch);
          at(now + backMs, () => {
            deliver({ ...answer, contentType, body: new Uint8Array(0) });
            follow(id, reply.watch);
          });
        } else if (network.cut || now + backMs - sentAtMs > timeoutMs) {
          at(sentAtMs + timeoutMs, lost);
        } else {
          at(now + backMs, () => deliver({ ...answer, contentType, body: Buffer.from(reply.body) }));
        }
      });
    }

    function admitted(body: Uint8Array | null): Uint8Array | null {
      if (body === null || network.holderIs === '') return body;
      const object = JSON.parse(Buffer.from(body).toString('utf8')) as { spec: object };
      return Buffer.from(JSON.stringify({ ...object, spec: { ...object.spec, holderIdentity: network.holderIs } }));
    }

    function follow(id: number, watch: Watch): void {
      const pump = (): void => {
        const frames = [...watch.take()];
        if (network.mute || network.cut) return;
        at(now + 1 + network.backMs, () => {
          for (const bytes of frames) deliver({ type: 'chunk', id, bytes });
          if (watch.ended) deliver({ type: 'ended', id, error: null });
        });
      };
      watch.onReady = pump;
      pump();
    }

    at(0, () => enter(() => {}));
    return self;
  }
}
