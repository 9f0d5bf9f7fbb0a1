import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { Now } from '../../../src/controller/event.ts';
import { createElector, isLeader, onElectorEvent, wakeElector } from '../../../src/controller/leader/elector.ts';
import { createPrng } from '../../../src/lib/prng.ts';
import type { HttpRequest, TransportEvent } from '../../../src/ports/transport.ts';
import { electionWorld, LEASE, LEASE_PATH, TIMES } from '../../support/election-world.ts';

describe('an elector', () => {
  it('an elector creates a missing Lease, and leads', () => {
    const world = electionWorld(['a']);
    world.run(100);
    assert.deepEqual(world.lease(), { holder: 'a', transitions: 0, seconds: 15 });
    assert.deepEqual(world.candidates[0]!.log, ['info | This process leads | a', 'begins']);
  });

  it('of two electors that start together one leads, and the other names it', () => {
    const world = electionWorld(['a', 'b']);
    world.run(10_000);
    const [leader, standby] = world.candidates.toSorted(
      (x, y) => Number(isLeader(y.elector)) - Number(isLeader(x.elector)),
    );
    const name = leader!.elector.options.identity;
    assert.deepEqual(leader!.log, [`info | This process leads | ${name}`, 'begins']);
    assert.deepEqual(standby!.log, [`info | Another process leads | ${name}`]);
  });

  it('a leader renews every retry period, and changes only the time', () => {
    const world = electionWorld(['a']);
    world.run(100);
    const before = world.request('GET', LEASE_PATH).body;
    world.run(60_000);
    const after = world.request('GET', LEASE_PATH).body;
    const versions = [before, after].map(
      (object) => (object['metadata'] as { resourceVersion: string }).resourceVersion,
    );
    assert.equal(Number(versions[1]) - Number(versions[0]), 30);
    const spec = (object: Record<string, unknown>): object => ({ ...(object['spec'] as object), renewTime: '' });
    assert.deepEqual(spec(after), spec(before));
  });

  it('a leader keeps labels, annotations and unknown fields of the Lease', () => {
    const world = electionWorld(['a']);
    world.run(100);
    const lease = world.request('GET', LEASE_PATH).body as { metadata: object; spec: object };
    const marked = { ...lease, metadata: { ...lease.metadata, annotations: { note: 'kept' } } };
    assert.equal(world.request('PUT', LEASE_PATH, marked).status, 200);
    world.run(20_000);
    const { metadata } = world.request('GET', LEASE_PATH).body as { metadata: { annotations: object } };
    assert.deepEqual(metadata.annotations, { note: 'kept' });
    assert.deepEqual(world.candidates[0]!.log, ['info | This process leads | a', 'begins']);
    assert.equal(world.candidates[0]!.elector.slowPaths, 1);
  });

  it('a standby leads as soon as the Lease of a killed leader runs out', () => {
    const world = electionWorld(['a', 'b']);
    world.run(10_000);
    const leader = world.candidates.find(({ elector }) => isLeader(elector))!;
    leader.kill();
    world.run(12_900);
    assert.equal(
      world.candidates.some((candidate) => candidate.mayWrite()),
      false,
    );
    world.run(2200);
    assert.equal(
      world.candidates.some((candidate) => candidate.mayWrite()),
      true,
    );
    assert.equal(world.lease()!.transitions, 1);
  });

  it('a standby leads within a second of a release', () => {
    const world = electionWorld(['a', 'b']);
    world.run(10_000);
    const leader = world.candidates.find(({ elector }) => isLeader(elector))!;
    const free = new Set<number>();
    world.always = () => {
      const { holder, seconds } = world.lease()!;
      if (holder === '') free.add(seconds);
    };
    leader.release();
    world.run(1000);
    assert.deepEqual([...free], [1], 'the duration while nobody holds it, as client-go has it');
    assert.equal(leader.elector.phase.name, 'released');
    assert.notEqual(world.leader(), null);
    assert.equal(world.lease()!.transitions, 1);
  });

  it('a leader that cannot renew stops at the deadline, and leads again when it can', () => {
    const world = electionWorld(['a']);
    world.run(9000);
    const [a] = world.candidates;
    a!.log.length = 0;
    a!.network.cut = true;
    world.run(9000);
    assert.equal(a!.mayWrite(), true);
    world.run(2100);
    assert.equal(a!.mayWrite(), false);
    assert.deepEqual(a!.log, [
      'warning | Cannot read or write the Lease | kube-system/endpointd | timeout: lost',
      'warning | This process leads no longer | the Lease was not renewed within 10000 ms',
      'ends',
    ]);
    a!.network.cut = false;
    world.run(10_000);
    assert.equal(a!.mayWrite(), true);
    assert.equal(world.lease()!.transitions, 0, 'nobody else has held it');
  });

  it('an elector that stood still may not write, and learns of the other leader', () => {
    const world = electionWorld(['a', 'b']);
    world.run(10_000);
    const leader = world.candidates.find(({ elector }) => isLeader(elector))!;
    leader.freeze();
    world.run(30_000);
    assert.equal(leader.mayWrite(), false, 'the fence holds before it has looked at anything');
    leader.thaw();
    world.run(5000);
    assert.equal(isLeader(leader.elector), false);
    assert.notEqual(world.lease()!.holder, leader.elector.options.identity);
  });

  it('a wall clock stops a leader whose monotonic clock stood still', () => {
    const world = electionWorld(['a']);
    world.run(10_000);
    const [a] = world.candidates;
    a!.log.length = 0;
    a!.shiftMs.wall += 60_000;
    assert.equal(a!.mayWrite(), false);
    world.run(2000);
    const reason = 'the Lease was not renewed within 10000 ms';
    assert.deepEqual(a!.log.slice(0, 2), [`warning | This process leads no longer | ${reason}`, 'ends']);
  });

  it('a standby does not believe its wall clock', () => {
    const world = electionWorld(['a', 'b']);
    world.run(10_000);
    const leader = world.leader();
    for (const candidate of world.candidates) {
      if (candidate.elector.options.identity !== leader) candidate.shiftMs.wall += 3_600_000;
    }
    world.run(10_000);
    assert.equal(world.leader(), leader);
  });

  it('a standby with a silent watch does not take a Lease that is renewed', () => {
    const world = electionWorld(['a', 'b']);
    world.run(10_000);
    const leader = world.leader();
    for (const { network } of world.candidates) network.mute = true;
    world.run(60_000);
    assert.equal(world.leader(), leader);
    assert.equal(world.lease()!.transitions, 0);
  });

  it('the age of a slow read counts from its answer, not from its request', () => {
    const sent: Omit<HttpRequest, 'id'>[] = [];
    const elector = createElector({ ...LEASE, ...TIMES, identity: 'a' }, createPrng(1));
    const hands = handsThat((request) => sent.push(request));
    const at = (nowMs: number): Now => ({ nowMs, wallMs: nowMs });
    wakeElector(elector, hands, at(0));
    onElectorEvent(elector, hands, leaseAnswer(1, { holderIdentity: 'b', leaseDurationSeconds: 15 }), at(4000));
    onElectorEvent(elector, hands, { ...leaseAnswer(2, {}), body: new Uint8Array(0) }, at(4001));
    assert.deepEqual(
      sent.map(({ method, stream }) => `${method}${stream ? ' stream' : ''}`),
      ['GET', 'GET stream'],
    );
    assert.equal(wakeElector(elector, hands, at(18_999)), 19_000);
    wakeElector(elector, hands, at(19_000));
    assert.equal(sent.at(-1)!.method, 'PUT');
  });

  it('a stream that is no watch of the Lease is cancelled', () => {
    const elector = createElector({ ...LEASE, ...TIMES, identity: 'a' }, createPrng(1));
    const cancelled: number[] = [];
    let id = 0;
    const hands = { ...handsThat(() => ++id), cancel: (gone: number) => void cancelled.push(gone) };
    const now = { nowMs: 0, wallMs: 0 };
    wakeElector(elector, hands, now);
    onElectorEvent(elector, hands, leaseAnswer(id, { holderIdentity: 'b', leaseDurationSeconds: 15 }), now);
    const watch = id;
    const page = { ...leaseAnswer(watch, {}), contentType: 'text/plain', body: new Uint8Array(0) };
    onElectorEvent(elector, hands, page, now);
    assert.deepEqual(cancelled, [watch]);
  });

  it('a renewal that is lost is tried again at once, so that slow ones may follow', () => {
    const world = electionWorld(['a']);
    world.run(8100);
    const [a] = world.candidates;
    a!.network.cut = true;
    // The renewal of the tenth second is lost, and given up after five.
    world.run(6000);
    a!.network.cut = false;
    a!.network.backMs = 2000;
    world.run(30_000);
    assert.deepEqual(
      a!.log.filter((line) => line.includes('leads no longer')),
      [],
    );
  });

  it('an elector says that the namespace of the Lease does not exist', () => {
    const { elector, hands, lines, lastId } = telling();
    const message = 'namespaces "kube-sytem" not found';
    const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 404, reason: 'NotFound', message };
    const missing = (): TransportEvent => ({
      ...leaseAnswer(lastId(), {}),
      status: 404,
      body: Buffer.from(JSON.stringify(status)),
    });
    wakeElector(elector, hands, { nowMs: 0, wallMs: 0 });
    onElectorEvent(elector, hands, missing(), { nowMs: 1, wallMs: 1 });
    onElectorEvent(elector, hands, missing(), { nowMs: 2, wallMs: 2 });
    assert.deepEqual(lines, [`Cannot read or write the Lease: ${message}`]);
  });

  it('requests have a pool of their own, and half of the deadline as their time limit', () => {
    const sent: Omit<HttpRequest, 'id'>[] = [];
    const elector = createElector({ ...LEASE, ...TIMES, identity: 'a' }, createPrng(1));
    const hands = handsThat((request) => sent.push(request));
    wakeElector(elector, hands, { nowMs: 0, wallMs: 0 });
    onElectorEvent(elector, hands, leaseAnswer(1, { holderIdentity: '' }), { nowMs: 1, wallMs: 1 });
    assert.deepEqual(
      sent.map(({ method, pool, timeoutMs }) => [method, pool, timeoutMs]),
      [
        ['GET', 'lease', 5000],
        ['PUT', 'lease', 5000],
      ],
    );
  });

  it('a deadline of months gives requests a minute', () => {
    const sent: Omit<HttpRequest, 'id'>[] = [];
    const months = { leaseDurationMs: 6e9, renewDeadlineMs: 5e9, retryPeriodMs: 2000 };
    const elector = createElector({ ...LEASE, ...months, identity: 'a' }, createPrng(1));
    wakeElector(
      elector,
      handsThat((request) => sent.push(request)),
      { nowMs: 0, wallMs: 0 },
    );
    assert.deepEqual(
      sent.map(({ timeoutMs }) => timeoutMs),
      [60_000],
    );
  });

  it('an answer that is no Lease is reported once, and so is its end', () => {
    const lines: string[] = [];
    const elector = createElector({ ...LEASE, ...TIMES, identity: 'a' }, createPrng(1));
    let id = 0;
    const log = (_level: string, _v: number, message: string, fields: object): void => {
      lines.push([message, ...Object.values(fields)].join(' | '));
    };
    const hands = { ...handsThat(() => ++id), log };
    for (const nowMs of [0, 10_000, 20_000]) {
      wakeElector(elector, hands, { nowMs, wallMs: nowMs });
      const page = { ...leaseAnswer(id, {}), contentType: 'text/html', body: Buffer.from('<html>sign in</html>') };
      onElectorEvent(elector, hands, page, { nowMs, wallMs: nowMs });
    }
    wakeElector(elector, hands, { nowMs: 30_000, wallMs: 30_000 });
    const other = { holderIdentity: 'b', leaseDurationSeconds: 15 };
    onElectorEvent(elector, hands, leaseAnswer(id, other), { nowMs: 30_000, wallMs: 30_000 });
    assert.deepEqual(lines, [
      'Cannot read or write the Lease | kube-system/endpointd | HTTP status 200, but not JSON (at byte 0)',
      'Lease answers again | kube-system/endpointd',
      'Another process leads | b',
    ]);
  });

  it('a refusal is reported in the words of the server', () => {
    const lines: string[] = [];
    const elector = createElector({ ...LEASE, ...TIMES, identity: 'a' }, createPrng(1));
    let id = 0;
    const log = (_level: string, v: number, message: string, { err = '' }: { readonly err?: unknown }): void =>
      void lines.push(`${v} ${message} ${String(err)}`.trim());
    const hands = { ...handsThat(() => ++id), log };
    const answer = (nowMs: number, reply: TransportEvent): void =>
      onElectorEvent(elector, hands, reply, { nowMs, wallMs: nowMs });
    wakeElector(elector, hands, { nowMs: 0, wallMs: 0 });
    const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 403, message: 'no right to leases' };
    answer(1, { ...leaseAnswer(id, {}), status: 403, body: Buffer.from(JSON.stringify(status)) });
    wakeElector(elector, hands, { nowMs: 10_000, wallMs: 10_000 });
    answer(10_001, leaseAnswer(id, { holderIdentity: '' }));
    answer(10_002, leaseAnswer(id, { holderIdentity: 'a', leaseDurationSeconds: 15 }));
    wakeElector(elector, hands, { nowMs: 30_000, wallMs: 30_000 });
    assert.deepEqual(lines, [
      '0 Cannot read or write the Lease no right to leases',
      '0 Lease answers again',
      '0 This process leads',
      '0 This process leads no longer',
    ]);
  });

  it('a leader that reads of another holder stops leading', () => {
    const lines: string[] = [];
    const sent: string[] = [];
    const elector = createElector({ ...LEASE, ...TIMES, identity: 'a' }, createPrng(1));
    let id = 0;
    const send = (request: { readonly method: string }): number => {
      sent.push(request.method);
      return ++id;
    };
    const log = (_level: string, _v: number, message: string): void => void lines.push(message);
    const hands = { send, cancel() {}, log, annotations: () => ({}), begin() {}, end() {} };
    const answer = (nowMs: number, reply: TransportEvent): void =>
      onElectorEvent(elector, hands, reply, { nowMs, wallMs: nowMs });
    wakeElector(elector, hands, { nowMs: 0, wallMs: 0 });
    answer(1, leaseAnswer(id, { holderIdentity: '' }));
    answer(2, leaseAnswer(id, { holderIdentity: 'a', leaseDurationSeconds: 15 }));
    wakeElector(elector, hands, { nowMs: 2500, wallMs: 2500 });
    answer(2501, { ...leaseAnswer(id, {}), status: 409 });
    answer(2502, leaseAnswer(id, { holderIdentity: 'b', leaseDurationSeconds: 15 }));
    assert.deepEqual(sent.slice(0, 4), ['GET', 'PUT', 'PUT', 'GET']);
    assert.deepEqual(lines, ['This process leads', 'Another process leads', 'This process leads no longer']);
  });

  it('a lasting refusal is reported every hour', () => {
    const world = electionWorld(['a']);
    const [a] = world.candidates;
    a!.network.cut = true;
    world.run(3 * 3_600_000 + 60_000);
    assert.equal(a!.log.filter((line) => line.includes('Cannot read or write the Lease')).length, 4);
  });

  it('another refusal is reported at once', () => {
    const { elector, hands, lines, lastId } = telling();
    for (const [nowMs, message] of [
      [0, 'no right to leases'],
      [10_000, 'no right to leases'],
      [20_000, 'not today'],
    ] as const) {
      wakeElector(elector, hands, { nowMs, wallMs: nowMs });
      const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 403, message };
      const reply = { ...leaseAnswer(lastId(), {}), status: 403, body: Buffer.from(JSON.stringify(status)) };
      onElectorEvent(elector, hands, reply, { nowMs, wallMs: nowMs });
    }
    assert.deepEqual(lines, [
      'Cannot read or write the Lease: no right to leases',
      'Cannot read or write the Lease: not today',
    ]);
  });

  it('a write whose answer names another holder confirms nothing', () => {
    const world = electionWorld(['a']);
    const [a] = world.candidates;
    a!.network.holderIs = 'somebody';
    world.run(20_000);
    assert.equal(a!.mayWrite(), false);
    assert.deepEqual(a!.log.slice(0, 1), [
      'warning | Cannot read or write the Lease | kube-system/endpointd | what was written names "somebody" as the holder',
    ]);
  });

  it('a leader makes its Lease again at the next renewal after it was removed', () => {
    const world = electionWorld(['a']);
    world.run(10_000);
    world.request('DELETE', LEASE_PATH);
    world.run(2100);
    assert.equal(world.lease()!.holder, 'a');
    assert.deepEqual(world.candidates[0]!.log, ['info | This process leads | a', 'begins']);
  });

  it('a standby makes a removed Lease only after its holder had to notice', () => {
    const world = electionWorld(['a', 'b']);
    world.run(10_000);
    const leader = world.leader();
    world.request('DELETE', LEASE_PATH);
    world.run(10_000);
    assert.equal(world.leader(), leader);
    assert.equal(world.lease()!.holder, leader);
  });

  it('an elector that saw another holder distrusts its own name in a restored Lease', () => {
    const world = electionWorld(['a', 'b']);
    world.run(10_000);
    const first = world.candidates.find(({ elector }) => isLeader(elector))!;
    const other = world.candidates.find((candidate) => candidate !== first)!;
    const { spec } = world.request('GET', LEASE_PATH).body;
    first.network.cut = true;
    world.run(30_000);
    first.network.cut = false;
    world.run(10_000);
    assert.equal(other.mayWrite(), true);
    // The leader learns of it at its next renewal, or when it can reach the server again.
    other.network.cut = true;
    world.request('PUT', LEASE_PATH, { ...world.request('GET', LEASE_PATH).body, spec });
    for (let i = 0; i < 200; i++) {
      world.run(100);
      assert.ok(!(first.mayWrite() && other.mayWrite()), 'two may write');
    }
    assert.equal(first.mayWrite(), true);
  });

  it('a leader whose writes are not all answered lets its Lease run out', () => {
    const world = electionWorld(['a', 'b']);
    world.run(10_000);
    const leader = world.candidates.find(({ elector }) => isLeader(elector))!;
    leader.abandon();
    world.run(12_000);
    assert.equal(world.leader(), null);
    world.run(4000);
    assert.notEqual(world.leader(), null);
  });
});

/** An elector whose log has `message: err` in each line. */
function telling(): {
  readonly elector: ReturnType<typeof createElector>;
  readonly hands: Parameters<typeof wakeElector>[1];
  readonly lines: readonly string[];
  readonly lastId: () => number;
} {
  const lines: string[] = [];
  let id = 0;
  const log = (_level: string, _v: number, message: string, { err = '' }: { readonly err?: unknown }): void =>
    void lines.push(`${message}: ${String(err)}`);
  const elector = createElector({ ...LEASE, ...TIMES, identity: 'a' }, createPrng(1));
  return { elector, hands: { ...handsThat(() => ++id), log }, lines, lastId: () => id };
}

/** Hands that send, and leave all else. */
function handsThat(send: (request: Omit<HttpRequest, 'id'>) => number): Parameters<typeof wakeElector>[1] {
  return { send, cancel() {}, log() {}, annotations: () => ({}), begin() {}, end() {} };
}

function leaseAnswer(id: number, spec: object): TransportEvent & { type: 'response' } {
  const object = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { ...LEASE, resourceVersion: '7' },
    spec,
  };
  const body = Buffer.from(JSON.stringify(object));
  const contentType = 'application/json';
  return { type: 'response', id, status: 200, contentType, retryAfterSeconds: -1, priorityLevel: '', body };
}
