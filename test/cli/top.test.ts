/** `endpointd top` at a terminal, into a pipe, and of sources that are of no use. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { execPath } from 'node:process';
import { after, before, describe, it } from 'node:test';
import { debugJson } from '../../src/cli/live/debug-page.ts';
import { parseMetrics, quantileOf, sumOf } from '../../src/metrics/text.ts';
import { parseTopFlags } from '../../src/cli/live/top.ts';
import { metricsFacts, metricsSections, sourceOf } from '../../src/cli/live/top-metrics.ts';
import type { DebugView } from '../../src/controller/reports/debug-view.ts';
import type { HttpServer } from '../../src/node/serving/http.ts';
import { servePages } from '../support/plain-pages.ts';
import { atTerminal } from '../support/pty.ts';
import { BIN } from '../support/installed.ts';

const VIEW: DebugView = {
  phase: 'running',
  leader: 'this process, without a Lease',
  role: 'leads',
  wallMs: 1_800_000_000_000,
  services: 7,
  queues: [],
  shards: [],
  writes: { fresh: 0, chore: 0, inFlight: 0, inFlightMax: 64, tokens: 30, burst: 30, pauseMs: 0 },
  watches: [{ resource: 'pods', phase: 'watching', lastEventMs: 900, openMs: 60_000, downMs: -1 }],
  stuck: [{ controller: 'endpoints', service: 'shop/web', class: 'invalid', failures: 3, error: 'no\u001B[2J\u202E' }],
  stuckTotal: 1,
  failing: 1,
  stages: [],
  busiest: [],
  changes: [],
};

const METRICS = `# HELP workqueue_depth depth
workqueue_depth{name="endpoint"} 3
workqueue_depth{name="other"} 9
workqueue_adds_total{name="endpoint"} 20
workqueue_queue_duration_seconds_bucket{name="endpoint",le="0.001"} 50
workqueue_queue_duration_seconds_bucket{name="endpoint",le="0.01"} 98
workqueue_queue_duration_seconds_bucket{name="endpoint",le="+Inf"} 100
rest_client_requests_total{code="200",host="h",method="GET"} 5
endpoint_slice_controller_num_endpoint_slices 4
nonsense line
`;

describe('endpointd top', () => {
  let server: HttpServer;
  /** How many further questions for the debug page fail. */
  let failing = 0;
  let shown = VIEW;
  before(async () => {
    server = await servePages({
      '/metrics': () => ({ status: 200, contentType: 'text/plain', body: METRICS }),
      '/debug/endpointd': () => {
        if (failing > 0) {
          failing--;
          throw new Error('broken');
        }
        return { status: 200, contentType: 'application/json', body: debugJson(shown, '1.2.3') };
      },
    });
  });
  after(() => server.close());

  function command(...flags: string[]): string[] {
    return [execPath, BIN, 'top', `--source=http://${server.address}`, ...flags];
  }

  function top(...flags: string[]): Promise<{ status: number; stdout: string; stderr: string }> {
    const [program, ...args] = command(...flags);
    return new Promise((resolve) => {
      execFile(program!, args, (error, stdout, stderr) => {
        resolve({ status: error === null ? 0 : Number(error.code), stdout, stderr });
      });
    });
  }

  it('top draws the debug page in a terminal, again and again, until q', async () => {
    const { status, screen } = await atTerminal(command('--interval=100ms'), /1 stuck[^]*1 stuck/, 'q');
    assert.equal(status, 0);
    assert.match(screen, /shop\/web {2}endpoints {3}invalid {2}3 {9}no\\u001b\[2J\\u202e/);
    assert.match(screen, /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ http:\/\/.*: \/debug\/endpointd of endpointd 1\.2\.3/);
    assert.ok(screen.startsWith('\u001B[?1049h\u001B[?25l'));
    assert.ok(screen.endsWith('\u001B[?25h\u001B[?1049l'));
  });

  for (const { name, key } of [
    { name: 'q', key: 'q' },
    { name: 'Ctrl-C', key: '\u0003' },
  ]) {
    it(`${name} ends top at once while its source does not answer`, async () => {
      const { promise: hangs, resolve } = Promise.withResolvers<void>();
      let asked = 0;
      const source = createServer((_request, response) => {
        if (++asked === 1) response.end(debugJson(VIEW, '1.2.3'));
        else resolve();
      });
      source.listen(0, '127.0.0.1');
      await once(source, 'listening');
      const flags = [`--source=http://127.0.0.1:${(source.address() as AddressInfo).port}`, '--interval=100ms'];
      const { status, screen, endedMs } = await atTerminal([execPath, BIN, 'top', ...flags], /1 stuck/, key, {
        ready: hangs,
      });
      source.close();
      assert.equal(status, 0);
      assert.ok(endedMs < 3000, `${endedMs} ms`);
      assert.ok(screen.endsWith('\u001B[?25h\u001B[?1049l'));
    });
  }

  it('top takes a terminal that does not know its size for 80 by 24', async () => {
    const size = { columns: 0, rows: 0 };
    const { screen } = await atTerminal(command('--interval=100ms'), /Watches[^]*Watches/, 'q', { size });
    // eslint-disable-next-line no-control-regex
    const shown = screen.replaceAll(/\u001B\[\??\d*[A-Z]/gi, '\n').split(/[\r\n]+/);
    assert.ok(shown.every((line) => line.length < 80));
    assert.ok(shown.some((line) => /^pods +watching +900 ms +60 s +-$/.test(line)));
  });

  it('top draws metrics in a terminal, with rates from the second look on', async () => {
    const { status, screen } = await atTerminal(
      command(`--source=http://${server.address}/metrics`, '--interval=100ms'),
      /endpoint +3 +0\.0\/s/,
      '\u0003',
    );
    assert.equal(status, 0);
    assert.match(screen, /metrics of kube-controller-manager/);
  });

  it('top prints one table into a pipe, and ends', async () => {
    const { status, stdout, stderr } = await top();
    assert.deepEqual([status, stderr], [0, '']);
    assert.deepEqual(stdout.split('\n').slice(0, 3), [
      `http://${server.address}: /debug/endpointd of endpointd 1.2.3`,
      '1 stuck: 7 Services, running',
      'leader: this process, without a Lease; writes under way: 0 of 64; writes that wait: 0 fresh, 0 chores; tokens (--kube-api-qps): 30.0 of 30; pause of all writes: none',
    ]);
    // eslint-disable-next-line no-control-regex
    assert.ok(!/[\u0000-\u0009\u000B-\u001F]/.test(stdout));
  });

  it('of many stuck services a terminal shows some, and what comes below them', async () => {
    const [stuck] = VIEW.stuck;
    shown = { ...VIEW, stuck: Array.from({ length: 50 }, () => stuck!), stuckTotal: 60 };
    const { screen } = await atTerminal(command('--interval=100ms'), /Watches[^]*pods/, 'q');
    const piped = (await top()).stdout;
    shown = VIEW;
    const [frame = ''] = screen.split('Watches');
    assert.match(frame, /pause of all writes: none/);
    const lines = frame.split('shop/web').length - 1;
    assert.ok(lines > 0 && lines <= 10, String(lines));
    assert.match(frame, new RegExp(`Stuck services \\(${60 - lines} more\\)`));
    assert.equal(piped.split('shop/web').length - 1, 50, 'a pipe gets all');
  });

  it('top falls back to the metrics, and says why', async () => {
    failing = 1;
    const { status, stdout } = await top();
    assert.equal(status, 0);
    assert.match(stdout, /metrics of kube-controller-manager: .*; \/debug\/endpointd\?format=json: status 500: broken/);
  });

  it('top goes back to the debug page once the server can be asked again', async () => {
    failing = 3;
    const seen = /metrics of kube-controller-manager[^]*1 stuck/;
    assert.equal((await atTerminal(command('--interval=100ms'), seen, 'q')).status, 0);
  });

  it('top ends quietly when its reader is gone', async () => {
    const [program, ...args] = command();
    const child = spawn(program!, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const [status] = (await once(child, 'exit')) as [number];
    assert.deepEqual([status, said], [0, '']);
  });

  it('top says in one line that its output cannot be written', async () => {
    const [program, ...args] = command();
    const full = openSync('/dev/full', 'w');
    const child = spawn(program!, args, { stdio: ['ignore', full, 'pipe'] });
    closeSync(full);
    let said = '';
    child.stderr!.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const [status] = (await once(child, 'close')) as [number];
    assert.match(said, /^endpointd top: cannot write the tables: ENOSPC: .*\n$/);
    assert.equal(status, 1);
  });

  it('top takes no page of another program for the debug page', async () => {
    for (const body of ['null', '{}', '{"queues":[],"writes":null}']) {
      const other = await servePages({
        '/debug/endpointd': () => ({ status: 200, contentType: 'application/json', body }),
      });
      const { status, stdout, stderr } = await top(`--source=http://${other.address}`);
      await other.close();
      assert.deepEqual([status, stdout], [1, ''], stderr);
      assert.match(stderr, /^endpointd top: \/metrics: status 404: .*\n$/);
    }
  });

  it('top says in one line that nothing answers, or that a file is missing', async () => {
    const nobody = await top('--source=127.0.0.1:1');
    assert.match(nobody.stderr, /^endpointd top: no answer from http:\/\/127\.0\.0\.1:1: .*ECONNREFUSED.*\n$/);
    const file = await top('--token-file=/no/such');
    assert.match(file.stderr, /^endpointd top: cannot read --token-file=\/no\/such: ENOENT.*\n$/);
    assert.deepEqual([nobody.status, file.status], [1, 1]);
  });

  it('top takes only URLs as a source', () => {
    assert.throws(() => parseTopFlags(['--source=ftp://x'], () => undefined), /Allowed: an http or https URL/);
    assert.equal(parseTopFlags(['--source=localhost:1'], () => undefined).source, 'http://localhost:1');
  });
});

describe('metrics as text', () => {
  const metrics = parseMetrics(METRICS);

  it('metrics are samples by name and labels, and other lines are skipped', () => {
    assert.equal(sumOf(metrics, 'workqueue_depth', { name: 'endpoint' }), 3);
    assert.equal(sumOf(metrics, 'workqueue_depth', { name: 'none' }), null);
    const escaped = parseMetrics(String.raw`a{b="x\"y\\\n",c="}"} +Inf 17`);
    assert.deepEqual(escaped.get('a'), [{ labels: { b: 'x"y\\\n', c: '}' }, value: Infinity }]);
  });

  it('histograms give quantiles, also of the counts since another look', () => {
    const name = 'workqueue_queue_duration_seconds';
    const labels = { name: 'endpoint' };
    assert.deepEqual(
      [0.5, 0.98, 0.99].map((share) => quantileOf(metrics, null, name, labels, share)),
      [0.001, 0.01, Infinity],
    );
    const later = parseMetrics(METRICS.replace('"0.01"} 98', '"0.01"} 108').replace('"+Inf"} 100', '"+Inf"} 110'));
    assert.equal(quantileOf(later, metrics, name, labels, 0.5), 0.01);
    assert.equal(quantileOf(metrics, metrics, name, labels, 0.5), null);
  });

  it('metrics of another program are reported as such', () => {
    const look = { metrics: parseMetrics('up 1\n'), atMs: 0 };
    assert.match(sourceOf(look), /^metrics of another program/);
    assert.deepEqual(metricsSections(look, null), []);
  });

  it('metrics tell who leads, the pause and the oldest change, where they do', () => {
    const facts = (text: string): string[] =>
      metricsFacts({ metrics: parseMetrics(text), atMs: 0 }).map(({ name, value }) => `${name}: ${value}`);
    assert.deepEqual(facts(METRICS), []);
    assert.deepEqual(facts('leader_election_master_status{name="endpointd"} 1\n'), ['leader: this process']);
    assert.deepEqual(
      facts(
        'leader_election_master_status{name="endpointd"} 0\nendpointd_write_pause_seconds 0\nendpointd_oldest_unwritten_change_seconds 0\n',
      ),
      [
        'leader: another process or nobody, this process stands by',
        'pause of all writes: none',
        'oldest unwritten change: none',
      ],
    );
    assert.deepEqual(
      facts(
        'leader_election_master_status{name="endpointd"} 1\nendpointd_take_over_waiting{manager="m"} 1\nendpointd_write_pause_seconds 2.5\nendpointd_oldest_unwritten_change_seconds 70\n',
      ),
      ['leader: this process, which waits', 'pause of all writes: 2.5 s', 'oldest unwritten change: 70 s'],
    );
  });

  it('more services are stuck than the metrics name: all are counted', () => {
    const stuck = ['a', 'b', 'c'].map((service) => {
      return `endpointd_stuck_service{controller="endpoints",namespace="shop",service="${service}",class="invalid"} 1`;
    });
    const counts = ['endpoints', 'endpointslice'].map((controller) => {
      return `endpointd_services{controller="${controller}",state="stuck"} 200\nendpointd_services{controller="${controller}",state="known"} 900`;
    });
    const noteOf = (lines: readonly string[], stuckMax?: number): string =>
      metricsSections({ metrics: parseMetrics(`${lines.join('\n')}\n`), atMs: 0 }, null, stuckMax)[0]!.note;
    assert.equal(noteOf([...stuck, ...counts]), '397 more');
    assert.equal(noteOf([...stuck, ...counts], 2), '398 more');
    assert.equal(noteOf(stuck), '');
    assert.equal(noteOf(stuck, 2), '1 more');
  });

  it('metrics of endpointd name what only the debug page has', () => {
    const look = { metrics: parseMetrics('endpointd_build_info{version="1"} 1\n'), atMs: 0 };
    assert.match(sourceOf(look), /^metrics of endpointd: without shards/);
  });
});
