/** Who asks for patience: the API server, and all writes pause; anybody else, and one object waits. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { turnedAway, type FaultReply } from '../../src/apiserver/faults.ts';
import { makeStatus } from '../../src/kube/status.ts';
import type { Status } from '../../src/kube/types.ts';
import type { HttpRequest } from '../../src/ports/transport.ts';
import {
  createPod,
  createService,
  createSim,
  endpointsTable,
  setPodStatus,
  type Sim,
  type SimConfig,
} from '../support/sim.ts';
import { metric } from '../support/sim-reports.ts';

const NAMES = ['a', 'b', 'c', 'd', 'e'] as const;
const DAY_SECONDS = 86_400;

/** Services `a` to `e` with a pod each, all right. */
function settled(options: SimConfig['options'] = {}): Sim {
  // One more slot than services, so that all of the one namespace are written together.
  const sim = createSim({ options: { concurrentEndpointSyncs: NAMES.length + 1, ...options } });
  for (const [i, name] of NAMES.entries()) {
    createService(sim, { name, spec: { selector: { app: name } } });
    createPod(sim, { name, labels: { app: name }, ip: `10.0.0.${i + 1}` });
  }
  sim.start();
  sim.run(2000);
  return sim;
}

/** The pods of these services are not ready any more. */
function change(sim: Sim, names: readonly string[] = NAMES): void {
  for (const name of names) setPodStatus(sim, { name, ready: false });
}

/** Endpoints that say so. */
function right(sim: Sim): number {
  return endpointsTable(sim).filter((line) => line.includes('|')).length;
}

const isWrite = ({ method, path }: HttpRequest): boolean => method !== 'GET' && path.includes('/endpoints');

/** The first `count` writes that fit are answered so. */
function refuseFirst(sim: Sim, count: number, answer: Status | FaultReply, name = ''): void {
  let refused = 0;
  sim.refuse = (request) => (isWrite(request) && request.path.endsWith(name) && refused++ < count ? answer : 0);
}

/** Times of all writes since then, in ms after it. */
function writesSince(sim: Sim, startMs: number): number[] {
  return sim.exchanges
    .filter(({ method, path, atMs }) => method === 'PUT' && path.includes('/endpoints') && atMs >= startMs)
    .map(({ atMs }) => atMs - startMs);
}

const lines = (sim: Sim, message: string): number => sim.logLines.filter((line) => line.message === message).length;

/** As an admission webhook's refusal arrives: a Status, of a request that priority and fairness has let in. */
const WEBHOOK: FaultReply = {
  status: 429,
  headers: {
    'content-type': 'application/json',
    'retry-after': String(DAY_SECONDS),
    'x-kubernetes-pf-prioritylevel-uid': 'p-1',
  },
  body: JSON.stringify(
    makeStatus(429, 'TooManyRequests', 'admission webhook "quota.example.com" denied the request: come tomorrow', {
      retryAfterSeconds: DAY_SECONDS,
    }),
  ),
};

const SHUTDOWN_TEXT: FaultReply = {
  status: 429,
  headers: { 'content-type': 'text/plain; charset=utf-8', 'retry-after': '5' },
  body: 'The apiserver is shutting down, please try again later.\n',
};

const SHUTDOWN_STATUS = makeStatus(503, 'ServiceUnavailable', 'apiserver is shutting down', { retryAfterSeconds: 1 });

describe('the Retry-After of an admission webhook', () => {
  it('Retry-After of a webhook delays its object alone, for half a minute at most', () => {
    const sim = settled();
    refuseFirst(sim, 1, WEBHOOK, '/a');
    change(sim);
    sim.run(1000);
    assert.equal(right(sim), 4, 'the others are written at once');
    assert.equal(metric(sim, 'endpointd_write_pause_seconds'), 0);
    sim.run(28_000);
    assert.equal(right(sim), 4, 'its own patience is asked for');
    sim.run(2000);
    assert.equal(right(sim), 5);
    assert.equal(lines(sim, 'All writes wait, as the API server asks'), 0);
  });

  it('Retry-After of a webhook holds for the object even if its pods change', () => {
    const sim = settled();
    refuseFirst(sim, 1, WEBHOOK, '/a');
    change(sim, ['a']);
    sim.run(10_000);
    const startMs = sim.nowMs();
    setPodStatus(sim, { name: 'a', ready: true, ip: '10.0.0.9' });
    sim.run(15_000);
    assert.deepEqual(writesSince(sim, startMs), []);
  });
});

describe('priority and fairness that turns a write away', () => {
  it('priority and fairness pauses all writes, then one goes out as a trial', () => {
    const sim = settled();
    const startMs = sim.nowMs();
    sim.lag = (request) => ({ toMs: 0, backMs: isWrite(request) ? 100 : 0 });
    refuseFirst(sim, 5, turnedAway(8));
    change(sim);
    sim.run(4000);
    assert.equal(writesSince(sim, startMs).length, 5, 'those that were under way');
    const left = metric(sim, 'endpointd_write_pause_seconds');
    assert.ok(left > 4 && left < 5, `${left} s are left`);
    sim.run(20_000);
    assert.equal(right(sim), 5);
    const [trial, next] = writesSince(sim, startMs).slice(5);
    assert.ok(trial! >= 8000, `the trial is sent after ${trial} ms`);
    assert.ok(next! >= trial! + 100, `${next! - trial!} ms after the trial, which is answered after 100`);
    assert.equal(metric(sim, 'endpointd_write_pause_seconds'), 0);
    assert.deepEqual(
      [lines(sim, 'All writes wait, as the API server asks'), lines(sim, 'Writes go on')].map((n) => n > 0),
      [true, true],
    );
  });

  it('a refused trial prolongs the pause, with one line for each pause', () => {
    const sim = settled();
    refuseFirst(sim, 8, turnedAway(1));
    const startMs = sim.nowMs();
    change(sim);
    sim.run(60_000);
    assert.equal(right(sim), 5);
    const trials = writesSince(sim, startMs).slice(5, 8);
    for (const [i, atMs] of trials.entries()) assert.ok(atMs - (trials[i - 1] ?? 0) >= 1000, trials.join(' '));
    const loud = sim.logLines.filter(({ v, message }) => v === 0 && message.startsWith('All writes wait'));
    assert.equal(loud.length, 1);
  });

  it('a trial that hangs, as behind a webhook, holds up the others for 3.5 s alone', () => {
    const sim = settled();
    refuseFirst(sim, 5, turnedAway(1));
    let hanging = '';
    sim.lag = (request) => {
      if (isWrite(request) && sim.nowMs() > startMs + 900 && hanging === '') hanging = request.path;
      return { toMs: isWrite(request) && request.path === hanging ? 12_000 : 0, backMs: 0 };
    };
    const startMs = sim.nowMs();
    change(sim);
    sim.run(1500);
    assert.notEqual(hanging, '');
    assert.equal(right(sim), 0);
    sim.run(3000);
    assert.equal(right(sim), 0);
    sim.run(1500);
    assert.equal(right(sim), 4);
    sim.run(30_000);
    assert.equal(right(sim), 5);
  });

  it('a pause lasts at most 32 s, whatever Retry-After says', () => {
    const sim = settled();
    refuseFirst(sim, 5, turnedAway(DAY_SECONDS));
    change(sim);
    sim.run(31_000);
    assert.equal(right(sim), 0);
    sim.run(4000);
    assert.equal(right(sim), 5);
  });

  it('a pause stops neither reads nor Event objects', () => {
    const sim = settled({ tolerateUnreadyEndpointsAnnotation: true });
    sim.refuse = (request) => (isWrite(request) ? turnedAway(30) : 0);
    change(sim, ['a', 'b', 'c']);
    sim.run(100);
    const before = sim.exchanges.length;
    sim.compact();
    // Planning it is worth an event: the value of the annotation makes no sense.
    const annotations = { 'service.alpha.kubernetes.io/tolerate-unready-endpoints': 'perhaps' };
    sim.request('POST', '/api/v1/namespaces/default/services', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'odd', annotations },
      spec: { selector: { app: 'a' }, ports: [{ port: 80 }] },
    });
    sim.run(10_000);
    assert.ok(metric(sim, 'endpointd_write_pause_seconds') > 0);
    const asked = sim.exchanges.slice(before);
    assert.ok(asked.some(({ path }) => path.startsWith('/api/v1/pods')));
    assert.ok(asked.some(({ method, path }) => method === 'POST' && path.endsWith('/events')));
    assert.ok(!asked.some(({ method, path }) => method !== 'GET' && path.includes('/endpoints')));
  });
});

describe('an API server that shuts down', () => {
  for (const [how, answer] of [
    ['in plain text', SHUTDOWN_TEXT],
    ['in a Status', SHUTDOWN_STATUS],
  ] as const) {
    it(`a server that shuts down and says so ${how} delays no other write`, () => {
      const sim = settled();
      refuseFirst(sim, 1, answer, '/a');
      change(sim, ['a', 'b', 'c', 'd', 'e']);
      sim.run(1000);
      assert.equal(right(sim), 5, 'another server has taken it');
      assert.equal(lines(sim, 'All writes wait, as the API server asks'), 0);
    });
  }
});
