/** CPU and heap profiles on demand: short, one at a time, no longer than their client stays. */
import assert from 'node:assert/strict';
import { afterEach, before, beforeEach, describe, it, mock } from 'node:test';
import type { Gate, Question } from '../../../src/node/serving/gate.ts';
import type { HttpServer } from '../../../src/node/serving/http.ts';
import { startHttp } from '../../../src/node/serving/http.ts';
import { createProfiler, profilePages, type ProfileKind } from '../../../src/node/serving/profile-pages.ts';
import { connect } from 'node:net';
import { once } from 'node:events';

describe('a profile', () => {
  let server: HttpServer;
  let begun: { kind: ProfileKind; ended: Promise<void> }[];
  let onBegin: () => void;
  let gate: Gate;

  beforeEach(async () => {
    begun = [];
    onBegin = () => undefined;
    gate = () => Promise.resolve(null);
    server = await startHttp({
      host: '127.0.0.1',
      port: 0,
      handshakes: null,
      gate: (question) => gate(question),
      pages: profilePages({
        async sample(kind, ended) {
          begun.push({ kind, ended });
          onBegin();
          await ended;
          return '{}';
        },
      }),
      onAcceptError: assert.fail,
      onPageError: assert.fail,
    });
  });
  afterEach(async () => {
    await server.close();
    mock.timers.reset();
  });

  const get = (path: string): Promise<Response> => fetch(`http://${server.address}${path}`);
  const begins = (): Promise<void> => new Promise((resolve) => (onBegin = resolve));

  it('a profile is a file, named by its format', async () => {
    const answer = await get('/debug/pprof/heap?seconds=0.01');
    assert.equal(answer.headers.get('content-disposition'), 'attachment; filename="endpointd.heapprofile"');
    assert.deepEqual([answer.status, await answer.text(), begun[0]!.kind], [200, '{}', 'heap']);
  });

  for (const seconds of ['0', '61', '-1', '1e9', 'x', '']) {
    it(`a profile of ${JSON.stringify(seconds)} seconds is refused`, async () => {
      const answer = await get(`/debug/pprof/profile?seconds=${seconds}`);
      assert.equal(answer.status, 400);
      assert.match(await answer.text(), /at most 60/);
      assert.deepEqual(begun, []);
    });
  }

  it('profiles are taken one at a time, one after the other', async () => {
    const began = begins();
    const left = new AbortController();
    const first = fetch(`http://${server.address}/debug/pprof/profile?seconds=60`, { signal: left.signal });
    await began;
    assert.equal((await get('/debug/pprof/heap?seconds=1')).status, 429);
    left.abort();
    await assert.rejects(first);
    await begun[0]!.ended;
    for (let i = 0; i < 2; i++) assert.equal((await get('/debug/pprof/heap?seconds=0.01')).status, 200);
  });

  it('a profile outlives the ten seconds of other requests, and keeps its place', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    const began = begins();
    const answer = get('/debug/pprof/profile?seconds=60');
    await began;
    const port = Number(server.address.split(':')[1]);
    const idle = Array.from({ length: 20 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
    await Promise.all(idle.map((socket) => once(socket, 'connect')));
    mock.timers.tick(59_999);
    assert.equal((await get('/debug/pprof/heap?seconds=1')).status, 429);
    mock.timers.tick(1);
    assert.equal((await answer).status, 200);
    for (const socket of idle) socket.destroy();
  });

  it('a profile ends when its client goes', async () => {
    const began = begins();
    const left = new AbortController();
    const answer = fetch(`http://${server.address}/debug/pprof/profile?seconds=60`, { signal: left.signal });
    await began;
    left.abort();
    await assert.rejects(answer);
    await begun[0]!.ended;
  });

  it('no profile is taken for a client that goes while the gate asks', async () => {
    const [asked, allowed] = [Promise.withResolvers<Question>(), Promise.withResolvers<null>()];
    gate = (question): Promise<null> => {
      asked.resolve(question);
      return allowed.promise;
    };
    const left = new AbortController();
    const answer = fetch(`http://${server.address}/debug/pprof/profile?seconds=60`, { signal: left.signal });
    const { request } = await asked.promise;
    const closed = new Promise((resolve) => request.on('error', () => undefined).once('close', resolve));
    left.abort();
    await assert.rejects(answer);
    await closed;
    allowed.resolve(null);
    gate = () => Promise.resolve(null);
    assert.equal((await get('/debug/pprof/heap?seconds=0.01')).status, 200);
    assert.deepEqual(
      begun.map(({ kind }) => kind),
      ['heap'],
    );
  });

  it('no profile is taken for HEAD', async () => {
    const { status, headers } = await fetch(`http://${server.address}/debug/pprof/profile`, { method: 'HEAD' });
    assert.deepEqual([status, headers.get('allow'), begun], [405, 'GET', []]);
  });
});

describe('the profiler of the process', () => {
  // Once it is loaded, sampling begins before any timer fires.
  before(() => import('node:inspector/promises'));

  it('a CPU profile tells where the time went', async () => {
    const taken = createProfiler().sample('cpu', soon().then(busyForProfile));
    const { nodes, samples } = JSON.parse(await taken) as {
      nodes: { callFrame: { functionName: string } }[];
      samples: number[];
    };
    assert.ok(samples.length > 0);
    assert.ok(nodes.some(({ callFrame }) => callFrame.functionName === 'busyForProfile'));
  });

  it('a heap profile is given', async () => {
    const kept: string[][] = [];
    const ended = soon().then(() => {
      for (let i = 0; i < 2000; i++) kept.push(Array.from({ length: 100 }, String));
      return undefined;
    });
    const { head } = JSON.parse(await createProfiler().sample('heap', ended)) as { head: { children: unknown[] } };
    assert.ok(head.children.length > 0 && kept.length === 2000);
  });
});

/** When sampling has begun. */
function soon(): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, 100));
}

function busyForProfile(): void {
  const begun = process.threadCpuUsage();
  while (process.threadCpuUsage(begun).user < 100_000) JSON.stringify({ busy: [1, 2, 3] });
}
