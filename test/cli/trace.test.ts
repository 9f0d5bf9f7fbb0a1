/** `run --trace`: a file that Chrome's tracing and Perfetto read. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { after, before, describe, it } from 'node:test';
import { createTrace, noteStep, traceJson, type TraceEvent } from '../../src/controller/reports/trace.ts';
import type { Effect } from '../../src/controller/effect.ts';
import type { Event } from '../../src/controller/event.ts';
import { httpRequest } from '../suites/transport.ts';
import { batchOf } from '../support/batches.ts';
import { startServe, type ServeProcess } from '../../src/testbed/serve-process.ts';
import { BIN, MAIN } from '../support/installed.ts';

/** The 15 s that a stop may take are a second here. */
const SHORT_STOP = `data:text/javascript,
  const { setTimeout: real } = globalThis;
  globalThis.setTimeout = (call, ms, ...more) => real(call, ms === 15_000 ? 1000 : ms, ...more);
`;

interface TraceText {
  readonly traceEvents: readonly TraceEvent[];
  readonly otherData: { readonly dropped: number };
}

describe('endpointd run --trace', () => {
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-trace-'));
  const file = join(directory, 'trace.json');
  let server: ServeProcess;
  before(async () => {
    server = await startServe(['--profile=tiny', '--port=0', '--life=false'], MAIN);
  });
  after(async () => {
    await server.stop();
    rmSync(directory, { recursive: true });
  });

  function run(...flags: string[]): ChildProcess {
    const args = ['run', `--kubeconfig=${server.kubeconfig}`, '--secure-port=0', '--shards=1', ...flags];
    return spawn(execPath, [BIN, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  }

  it('a trace has steps, reflectors, queues, shards and requests in one picture', async () => {
    const said = await stoppedAfter(run(`--trace=${file}`, '--trace-for=1h'), '"All services are synced"');
    assert.ok(said.includes('"Trace is written"'), said);
    const { traceEvents, otherData } = JSON.parse(readFileSync(file, 'utf8')) as TraceText;
    assert.equal(otherData.dropped, 0);
    const kinds = new Set(traceEvents.map(({ cat, name }) => `${cat}: ${name}`));
    for (const kind of [
      'reflector: watch pods',
      'shard: shard 0',
      'write: POST endpoints',
      'write: POST endpointslices',
    ]) {
      assert.ok(kinds.has(kind), `${kind} is in ${[...kinds].join(', ')}`);
    }
    assert.ok(traceEvents.some(({ cat, ph }) => cat === 'step' && ph === 'X'));
    assert.ok(traceEvents.some(({ cat, name }) => cat === 'change' && name === 'tiny-000/app-0000'));
    expectWhole(traceEvents);
  });

  it('a trace is written at the end of its time', async () => {
    // A process that has synced everything has long handled signals.
    await stoppedAfter(run(`--trace=${file}`, '--trace-for=100ms'), '"Trace is written"', '"All services are synced"');
    const { traceEvents } = JSON.parse(readFileSync(file, 'utf8')) as TraceText;
    assert.ok(traceEvents.length > 0);
    expectWhole(traceEvents);
  });

  it('a trace whose file takes no writes holds up no stop', { timeout: 30_000 }, async (t) => {
    const fifo = join(directory, 'fifo');
    execFileSync('mkfifo', [fifo]);
    const full = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK);
    t.after(() => closeSync(full));
    assert.throws(() => {
      for (;;) writeSync(full, Buffer.alloc(4096));
    }, /EAGAIN/);
    const args = ['run', `--kubeconfig=${server.kubeconfig}`, '--secure-port=0', '--shards=0', `--trace=${fifo}`];
    const child = spawn(execPath, ['--import', SHORT_STOP, BIN, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
    t.after(() => child.kill('SIGKILL'));
    const said = await stoppedAfter(child, '"All services are synced"');
    assert.ok(said.includes('"Stopped"'), said);
    assert.ok(!said.includes('"Trace is written"'), said);
  });

  it('a trace is refused at the start if its file cannot be written', async () => {
    const child = run('--trace=/no/such/directory/trace.json');
    let said = '';
    child.stderr!.on('data', (chunk: Buffer) => (said += chunk.toString()));
    assert.deepEqual(await once(child, 'exit'), [1, null]);
    assert.match(said, /^endpointd run: cannot write --trace=\/no\/such\/directory\/trace\.json: ENOENT/);
  });
});

/** Stops the process, which ends in good order, as soon as its log has all these words. Returns the whole log. */
async function stoppedAfter(child: ChildProcess, ...words: readonly string[]): Promise<string> {
  let said = '';
  child.stderr!.on('data', (chunk: Buffer) => {
    said += chunk.toString();
    if (!child.killed && words.every((each) => said.includes(each))) child.kill('SIGTERM');
  });
  assert.deepEqual(await once(child, 'close'), [0, null], said);
  assert.ok(child.killed, said);
  return said;
}

/** Times go forward from the start, and what begins ends. */
function expectWhole(events: readonly TraceEvent[]): void {
  const open = new Map<string, number>();
  let before = 0;
  for (const { ph, ts, cat, id = '', name, dur = 0 } of events) {
    assert.ok(ts >= before && dur >= 0, `${name} at ${ts}`);
    before = ts;
    const key = `${cat} ${id} ${name}`;
    if (ph === 'b') open.set(key, (open.get(key) ?? 0) + 1);
    else if (ph === 'e') open.set(key, (open.get(key) ?? 0) - 1);
  }
  assert.deepEqual(
    [...open].filter(([, count]) => count !== 0),
    [],
  );
}

describe('a trace', () => {
  it('a trace draws a batch from post to plan, in microseconds from the start', () => {
    const trace = createTrace(100, 1000);
    const batch = batchOf();
    const reply = { error: null, results: [] };
    noteStep(trace, [{ type: 'wake' }], [{ type: 'shard.post', shard: 1, batchId: 5, batch }], 1001, 1002.5);
    noteStep(trace, [{ type: 'shard.planned', shard: 1, batchId: 5, reply }], [], 1004, 1004.25);
    const { traceEvents } = JSON.parse(traceJson(trace, [])) as TraceText;
    assert.deepEqual(
      traceEvents.filter(({ ph }) => ph !== 'M').map(({ name, ph, ts, dur = 0 }) => `${name} ${ph} ${ts} ${dur}`),
      ['wake X 1000 1500', 'shard 1 b 2500 0', 'shard.planned X 4000 250', 'shard 1 e 4000 0'],
    );
  });

  it('a trace draws a watch until it ends, and a refused one at once', () => {
    const trace = createTrace(100, 0);
    const ask = (id: number): Effect => {
      return {
        type: 'http',
        request: httpRequest({ id, pool: 'watch', stream: true, path: '/api/v1/pods?watch=true' }),
      };
    };
    const reply = (id: number, status: number): Event => {
      const headers = { contentType: '', retryAfterSeconds: -1, priorityLevel: '' };
      return { type: 'response', id, status, ...headers, body: new Uint8Array() };
    };
    noteStep(trace, [], [ask(1), ask(2)], 1, 1);
    noteStep(trace, [reply(1, 200), reply(2, 410)], [], 2, 2);
    noteStep(trace, [{ type: 'ended', id: 1, error: null }], [], 9, 9);
    const { traceEvents } = JSON.parse(traceJson(trace, [])) as TraceText;
    assert.deepEqual(
      traceEvents
        .filter(({ ph }) => ph === 'b' || ph === 'e')
        .map(({ id, ph, ts, args }) => `${id} ${ph} ${ts} ${args?.['result'] ?? ''}`.trim()),
      ['request 2 b 1000 410', 'request 1 b 1000 ended', 'request 2 e 2000', 'request 1 e 9000'],
    );
  });

  it('a trace has a bound, and counts what found no room', () => {
    const trace = createTrace(2, 0);
    for (let i = 0; i < 5; i++) noteStep(trace, [{ type: 'wake' }], [], i, i + 1);
    const { traceEvents, otherData } = JSON.parse(traceJson(trace, [])) as TraceText;
    assert.deepEqual([traceEvents.filter(({ ph }) => ph === 'X').length, otherData.dropped], [2, 3]);
  });
});
