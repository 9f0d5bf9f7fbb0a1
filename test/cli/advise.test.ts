/** `endpointd advise` as a process: two files, two looks at a server, and sources that are of no use. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { after, describe, it } from 'node:test';
import { BIN } from '../support/installed.ts';

const directory = mkdtempSync(join(tmpdir(), 'endpointd-advise-'));
after(() => rmSync(directory, { recursive: true }));

/** @param tokenSeconds of a sync */
function metrics(syncs: number, tokenSeconds = 0.23): string {
  return `workqueue_depth{name="endpoint"} 0
workqueue_longest_running_processor_seconds{name="endpoint"} 0
workqueue_work_duration_seconds_sum{name="endpoint"} ${syncs * 0.25}
workqueue_work_duration_seconds_count{name="endpoint"} ${syncs}
workqueue_queue_duration_seconds_sum{name="endpoint"} ${syncs * 3}
workqueue_queue_duration_seconds_count{name="endpoint"} ${syncs}
rest_client_rate_limiter_duration_seconds_sum{verb="PUT"} ${syncs * tokenSeconds}
rest_client_request_duration_seconds_sum{verb="PUT"} ${syncs * 0.24}
rest_client_request_duration_seconds_count{verb="PUT"} ${syncs}
rest_client_requests_total{code="200",method="PUT"} ${syncs}
process_cpu_seconds_total 3
process_start_time_seconds 1
go_sched_gomaxprocs_threads 4
`;
}

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

/** @param node arguments of Node.js */
function advise(
  args: readonly string[],
  node: readonly string[] = [],
): Promise<{ status: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(execPath, [...node, BIN, 'advise', ...args], (error, stdout, stderr) => {
      resolve({ status: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    });
  });
}

interface Answer {
  readonly advice: readonly { readonly queue: string; readonly verdict: string }[];
  readonly observation: { readonly queues: readonly { readonly syncsMax: number; readonly emptyShareMost: number }[] };
  readonly syncsFrom: object;
  readonly caveats: readonly string[];
}

const CONFIGZ = JSON.stringify({
  'kubecontrollermanager.config.k8s.io': {
    Generic: { ClientConnection: { qps: 20 } },
    EndpointController: { ConcurrentEndpointSyncs: 15 },
    EndpointSliceController: { ConcurrentServiceEndpointSyncs: 5 },
    EndpointSliceMirroringController: { MirroringConcurrentServiceEndpointSyncs: 5 },
  },
});

/** The port of a server with metrics that grow. Takes the token `secret`, or none. */
async function serve(pageOf: (path: string) => string | null): Promise<number> {
  let looks = 0;
  const server = createServer(({ headers: { authorization = 'Bearer secret' }, url }, response) => {
    assert.equal(authorization, 'Bearer secret');
    response.end(pageOf(url!) ?? metrics(1000 + 20 * looks++));
  }).listen(0, '127.0.0.1');
  server.unref();
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

describe('endpointd advise', () => {
  const before = file('before', metrics(1000));
  const later = file('after', metrics(3000));

  it('advise on two files says which flag helps, and why', async () => {
    const { status, stdout } = await advise([`--before=${before}`, `--after=${later}`, '--interval=100s']);
    assert.equal(status, 0);
    assert.match(stdout, /^kube-controller-manager, two looks 100 s apart: 0\.00 of 4 cores\.\n/);
    assert.match(
      stdout,
      /\nendpoint: its writes wait for tokens\. Raise --kube-api-qps, and its burst\. Every other .* too\.\n {2}a sync takes 250/,
    );
    assert.match(stdout, /\nendpoint +2000 +5\.00 +5 \(not given: assumed\) /);
    assert.match(stdout, /\nNot in these metrics:\n- The syncs .* are assumed .*\n- No metric has the batch period/);
  });

  it('advise assumes nothing where a flag is given', async () => {
    const files = [`--before=${before}`, `--after=${later}`, '--interval=100s'];
    const { stdout } = await advise([...files, '--concurrent-endpoint-syncs=15']);
    assert.match(stdout, /\nendpoint +2000 +5\.00 +15 +60\.00 /);
    assert.doesNotMatch(stdout, /assumed/);
  });

  it("advise reads a server's metrics twice and its syncs, and prints JSON", async () => {
    const port = await serve((path) => (path === '/configz' ? CONFIGZ : null));
    const token = file('token', 'secret\n');
    const { stdout } = await advise([
      `--source=http://127.0.0.1:${port}/metrics`,
      `--token-file=${token}`,
      '--interval=1s',
      '-o',
      'json',
    ]);
    const { advice, syncsFrom, observation } = JSON.parse(stdout) as Answer;
    assert.deepEqual(
      advice.map(({ queue, verdict }) => [queue, verdict]),
      [['endpoint', 'tokens']],
    );
    assert.deepEqual([syncsFrom, observation.queues[0]!.syncsMax], [{ endpoint: '/configz' }, 15]);
    // 20 syncs within a second and a little, at 20 tokens a second.
    const { emptyShareMost } = observation.queues[0]!;
    assert.ok(emptyShareMost > 0 && emptyShareMost <= 1, String(emptyShareMost));
  });

  it('advise refuses two looks between which its machine slept', async () => {
    const port = await serve(() => null);
    // A monotonic clock that stood still for most of the time.
    const faster = 'const { now } = Date, from = now(); Date.now = () => now() + 5 * (now() - from);';
    const node = ['--import', `data:text/javascript,${encodeURIComponent(faster)}`];
    const { status, stdout, stderr } = await advise([`--source=http://127.0.0.1:${port}`, '--interval=1s'], node);
    assert.deepEqual([status, stdout], [1, '']);
    assert.match(
      stderr,
      /^endpointd advise: cannot advise: between the looks this machine slept, or its clock was set: they are \d+ s apart by one of its clocks, and \d+ s by the other\. Look again\.$/m,
    );
  });

  it('advise reads of a client without a limit, which has no metric of tokens', async () => {
    const unlimited = CONFIGZ.replace('"qps":20', '"qps":-1');
    let syncs = 1000;
    const answer = async (config: string): Promise<Awaited<ReturnType<typeof advise>>> => {
      const pageOf = (path: string): string =>
        path === '/configz' ? config : metrics((syncs += 20)).replace(/^rest_client_rate_limiter.*\n/m, '');
      return advise([`--source=http://127.0.0.1:${await serve(pageOf)}`, '--interval=1s']);
    };
    assert.match((await answer(unlimited)).stdout, / and waited 0\.00 s a second for tokens\.\n/);
    assert.match((await answer(CONFIGZ)).stderr, /: cannot advise: these metrics lack rest_client_rate_limiter/);
  });

  it('advise takes the QPS of two files by a flag', async () => {
    const [first, second] = [1000, 3000].map((syncs) =>
      file(`unlimited${syncs}`, metrics(syncs).replace(/^rest_client_rate_limiter.*\n/m, '')),
    );
    const files = [`--before=${first}`, `--after=${second}`, '--interval=100s'];
    assert.match((await advise(files)).stderr, /: cannot advise: these metrics lack rest_client_rate_limiter/);
    const { stdout } = await advise([...files, '--kube-api-qps=-1', '-o', 'json']);
    const { queues } = (JSON.parse(stdout) as Answer).observation;
    assert.deepEqual(
      queues.map(({ emptyShareMost }) => emptyShareMost),
      [0],
    );
  });

  it('advise takes a CPU limit of less than a core', async () => {
    const files = [`--before=${before}`, `--after=${later}`, '--interval=100s'];
    const { status, stdout } = await advise([...files, '--cores=0.5']);
    assert.equal(status, 0);
    assert.match(stdout, /: 0\.00 of 0\.5 cores\.\n/);
  });

  it('advise says why it assumes syncs that a server does not tell', async () => {
    const port = await serve((path) => (path === '/configz' ? '<html>' : null));
    const { stdout } = await advise([`--source=http://127.0.0.1:${port}`, '--interval=1s', '-o', 'json']);
    const { syncsFrom, caveats } = JSON.parse(stdout) as Answer;
    assert.deepEqual(syncsFrom, { endpoint: 'not given: assumed' });
    assert.match(caveats[0]!, /: \/configz: it is no JSON\. With more of them/);
  });

  it("advise says that it assumes endpointd's most writes in flight", async () => {
    const own = 'endpointd_build_info{version="1"} 1\nendpointd_step_duration_seconds_sum 1\n';
    const files = [0, 1000].map((syncs) => file(`own-${syncs}.txt`, metrics(syncs) + own));
    const looks = [`--before=${files[0]}`, `--after=${files[1]}`, '--interval=100s', '-o', 'json'];
    const caveatsWith = async (...flags: string[]): Promise<string[]> => {
      const { stdout, stderr } = await advise([...looks, ...flags]);
      assert.equal(stderr, '');
      return (JSON.parse(stdout) as Answer).caveats.filter((caveat) => caveat.includes('in-flight'));
    };
    const [assumed] = await caveatsWith();
    assert.match(
      assumed!,
      /^Endpointd's --max-writes-in-flight is assumed to be 64, because neither a flag nor \/configz/,
    );
    assert.deepEqual(await caveatsWith('--max-writes-in-flight=8'), []);
  });

  it('advise names what the metrics of this program and version do not show', async () => {
    const own = 'endpointd_build_info{version="1"} 1\nendpointd_step_duration_seconds_sum 1\n';
    const build = (minor: number): string => `kubernetes_build_info{major="1",minor="${minor}"} 1\n`;
    const caveatsOf = async (name: string, more: string, ...flags: string[]): Promise<boolean[]> => {
      const files = [1000, 3000].map((syncs) => file(`${name}-${syncs}.txt`, metrics(syncs) + more));
      const looks = [`--before=${files[0]}`, `--after=${files[1]}`, '--interval=100s', '-o', 'json'];
      const { caveats } = JSON.parse((await advise([...looks, ...flags])).stdout) as Answer;
      return [
        'batch period',
        'CPU limit',
        'queue of pods',
        'all controllers of the process',
        'workqueue_retries_total',
      ].map((said) => caveats.some((caveat) => caveat.includes(said)));
    };
    assert.deepEqual(await caveatsOf('own-version', own), [true, false, false, true, false]);
    assert.deepEqual(await caveatsOf('before-pod-queue', build(34)), [true, true, false, true, true]);
    assert.deepEqual(await caveatsOf('cores-given', build(34), '--cores=1'), [true, false, false, true, true]);
    assert.deepEqual(await caveatsOf('with-pod-queue', build(35)), [true, false, true, true, true]);
  });

  it('advise says what more syncs rest on where it asks for them', async () => {
    const answerWith = async (tokenSeconds: number): Promise<Answer> => {
      const files = [1000, 3000].map((syncs) => file(`${tokenSeconds}-${syncs}.txt`, metrics(syncs, tokenSeconds)));
      const looks = [`--before=${files[0]}`, `--after=${files[1]}`, '--interval=100s', '-o', 'json'];
      return JSON.parse((await advise(looks)).stdout) as Answer;
    };
    for (const [tokenSeconds, verdict] of [
      [0, 'syncs'],
      [0.23, 'tokens'],
    ] as const) {
      const { advice, caveats } = await answerWith(tokenSeconds);
      assert.equal(advice[0]!.verdict, verdict);
      const isSaid = caveats.some((caveat) => caveat.includes('as long as the API server stays as fast'));
      assert.equal(isSaid, verdict === 'syncs');
    }
  });

  it('advise names no flag to raise that allows no more', async () => {
    const slices = (syncs: number): string => metrics(syncs, 0).replaceAll('"endpoint"', '"endpoint_slice"');
    const files = [1000, 3000].map((syncs) => file(`most-${syncs}.txt`, slices(syncs)));
    const looks = [`--before=${files[0]}`, `--after=${files[1]}`, '--interval=10s'];
    const said = async (syncs: number): Promise<string> =>
      (await advise([...looks, `--concurrent-service-endpoint-syncs=${syncs}`])).stdout;
    assert.match(
      await said(49),
      /\nendpoint_slice: all its workers are busy\. Raise --concurrent-service-endpoint-syncs\.\n/,
    );
    const most = await said(50);
    assert.match(
      most,
      /\nendpoint_slice: all its workers are busy, and --concurrent-service-endpoint-syncs allows no more than 50\.\n/,
    );
    assert.doesNotMatch(most, /Raise|More syncs at the same time/);
  });

  it('advise on two files doubts an interval that the figures rule out', async () => {
    const { status, stdout } = await advise([`--before=${before}`, `--after=${later}`, '--interval=30s']);
    assert.equal(status, 0);
    assert.match(
      stdout,
      /\nendpoint: cannot tell\.\n {2}17 of 5 workers of endpoint cannot be busy: the 30 s between the looks or --concurrent-endpoint-syncs is not that of the process, or syncs from before took far longer than the others\.\n/,
    );
  });

  it('advise refuses wrong arguments with one line', async () => {
    const other = file('other', 'up 1\n');
    const idle = file('idle', 'endpointd_build_info{version="1"} 1\nprocess_cpu_seconds_total 1\n');
    const cases = [
      [
        [`--before=${other}`, `--after=${other}`, '--interval=30s'],
        1,
        /^endpointd advise: cannot advise: these are the metrics of another program/,
      ],
      [
        [`--before=${idle}`, `--after=${idle}`, '--interval=30s'],
        1,
        /: cannot advise: these metrics of endpointd have no queue of its controllers$/m,
      ],
      [
        [`--before=${later}`, `--after=${before}`, '--interval=30s'],
        1,
        /: sums have fallen in a process that went on: the looks are in the wrong order$/m,
      ],
      [[`--before=${before}`], 2, /: --before and --after need each other\. Allowed: both, or neither\.\n$/],
      [
        [`--before=${before}`, `--after=${later}`],
        2,
        /: --before and --after need --interval\. Allowed: the time between the two looks\.\n$/,
      ],
      [
        [`--before=${before}`, `--after=${later}`, '--interval=100s', '--token-file=/none'],
        2,
        /: --token-file is for an address, and --before and --after are files\. Allowed: one or the other\.\n$/,
      ],
      [
        [`--before=${before}`, `--after=${later}`, '--interval=100s', '--source=http://127.0.0.1:1'],
        2,
        /: --source is for an address, /,
      ],
      [[`--before=${before}`, '--after=/none', '--interval=30s'], 1, /: cannot read \/none: ENOENT/],
      [['--source=http://127.0.0.1:1'], 1, /: no answer from http:\/\/127\.0\.0\.1:1/],
    ] as const;
    for (const [args, status, message] of cases) {
      const outcome = await advise(args);
      assert.equal(outcome.status, status, args.join(' '));
      assert.match(outcome.stderr, message);
      assert.equal(outcome.stderr.trimEnd().split('\n').length, 1);
    }
  });
});
