/** `endpointd record` as a process, beside a server and a controller, in a cluster whose every text carries a canary. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process, { execPath } from 'node:process';
import type { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { zstdDecompressSync } from 'node:zlib';
import { withRecording } from '../../src/cli/record/recording-file.ts';
import { formatBytes } from '../../src/lib/figures.ts';
import { createApiClient, type ApiClient } from '../../src/node/api-client.ts';
import type { Encoder } from '../../src/recording/encode.ts';
import { figuresOf, type RecordingFigures } from '../../src/recording/figures.ts';
import type { RecordedResource, RecordingHeader } from '../../src/recording/recording.ts';
import { startController, type ControllerProcess } from '../../src/testbed/controller-process.ts';
import { CANARY, CANARY_CLUSTER, CANARY_NAMESPACE, CANARY_POD } from '../recording/canary.ts';
import { HOSTILE, hostileFile, UNPRINTABLE } from '../recording/hostile.ts';
import { fileOf, pod, service } from '../recording/made.ts';
import { startServe, type ServeProcess } from '../../src/testbed/serve-process.ts';
import { BIN, MAIN } from '../support/installed.ts';

const NAMESPACE = CANARY_NAMESPACE;

interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Outcome>;
  readonly said: () => string;
}

function endpointd(args: readonly string[]): Running {
  return running(spawn(execPath, [BIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] }));
}

/**
 * A process whose files have at most so many blocks of 512 bytes: what it writes beyond fails, as on a full disk.
 * @param report the file on its stdout
 */
function endpointdWithin(blocks: number, args: readonly string[], report?: string): Running {
  const to = report === undefined ? '' : ' > "$REPORT"';
  const limited = ['-c', `ulimit -f ${blocks}; exec "$0" "$@"${to}`, execPath, BIN, ...args];
  const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1', REPORT: report };
  return running(spawn('sh', limited, { env, stdio: ['ignore', 'pipe', 'pipe'] }));
}

/** A test that fails leaves its processes behind. */
const started: ChildProcess[] = [];
after(() => started.forEach((child) => child.kill('SIGKILL')));

function running(child: ChildProcessByStdio<null, Readable, Readable>): Running {
  started.push(child);
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk: Buffer) => (texts[name] += chunk.toString()));
  }
  const ended = once(child, 'close').then(([status]) => ({ status: status as number | null, ...texts }));
  return { child, ended, said: () => texts.stderr };
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`waited a minute for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe('endpointd record', () => {
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-record-'));
  const path = join(directory, 'cluster.rec');
  let server: ServeProcess;
  let controller: ControllerProcess;
  let client: ApiClient;
  let recorded: Outcome;

  before(async () => {
    server = await startServe(['--pod-step=1ms', '--nodes=1'], MAIN);
    client = createApiClient({ url: server.url }, 4);
    controller = startController([`--kubeconfig=${server.kubeconfig}`], MAIN);
    await create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
    for (const { resource, ...object } of CANARY_CLUSTER) await create(pathOf(resource), object);
    const { child, ended, said } = endpointd(['record', path, '--v=10', `--kubeconfig=${server.kubeconfig}`]);
    await until('the first lists', () => /recording for/.test(said()));
    const { resource, ...firstPod } = CANARY_POD;
    await create(pathOf(resource), firstPod);
    await until('both outputs', shown);
    await until('the file to show it', () => {
      const { controller: found } = withRecording(path, ({ events }) => figuresOf(events));
      return found.endpoints!.addedMs.count > 0 && found.endpointslices!.addedMs.count > 0;
    });
    child.kill('SIGINT');
    recorded = await ended;
  });

  after(async () => {
    await client.close();
    await controller.stop();
    await server.stop();
    rmSync(directory, { recursive: true });
  });

  /** Of the API, for objects of the canary's namespace. */
  function pathOf(resource: RecordedResource): string {
    if (resource === 'nodes') return '/api/v1/nodes';
    const group = resource === 'endpointslices' ? '/apis/discovery.k8s.io/v1' : '/api/v1';
    return `${group}/namespaces/${NAMESPACE}/${resource}`;
  }

  async function create(collection: string, body: object): Promise<void> {
    await client.send({ method: 'POST', path: collection, body });
  }

  async function shown(): Promise<boolean> {
    const slices = await client.list(`/apis/discovery.k8s.io/v1/namespaces/${NAMESPACE}/endpointslices`);
    const endpoints = await client.list(`/api/v1/namespaces/${NAMESPACE}/endpoints`);
    const all = JSON.stringify([
      slices.items.filter(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === 'canary-web'),
      endpoints.items.filter(({ metadata }) => metadata.name === 'canary-web'),
    ]);
    return all.split('canary-web-1').length > 2 && all.includes('"ready":true');
  }

  it('record says what it has recorded when it is stopped', () => {
    assert.equal(recorded.status, 0, recorded.stderr);
    const [, bytes] = /cluster\.rec: \d+ objects, \d+ changes in \d+ s, ([\d.]+ [KM]?i?B)\n$/.exec(recorded.stderr)!;
    assert.equal(bytes, formatBytes(statSync(path).size));
  });

  it('record shows how long the controller took for each output', async () => {
    const { ended } = endpointd(['record', '--info', path, '-o', 'json']);
    const { stdout, status } = await ended;
    assert.equal(status, 0);
    const { controller: found, contents } = JSON.parse(stdout) as {
      controller: Record<string, { addedMs: { count: number; p50: number }; writes: number }>;
      contents: { ended: boolean };
    };
    for (const kind of ['endpoints', 'endpointslices']) {
      assert.equal(found[kind]!.addedMs.count, 1, kind);
      assert.ok(found[kind]!.writes >= 1, kind);
    }
    assert.equal(contents.ended, true);
  });

  it('record leaves no text of the cluster in the file, its figures or its messages', async () => {
    const text = zstdDecompressSync(readFileSync(path)).toString();
    const info = await endpointd(['record', '--info', path]).ended;
    const json = await endpointd(['record', '--info', path, '--output=json']).ended;
    for (const [what, said] of Object.entries({
      text,
      messages: recorded.stderr,
      info: info.stdout,
      json: json.stdout,
    })) {
      assert.notEqual(said, '', what);
      assert.doesNotMatch(said, CANARY, what);
    }
    assert.match(text, /"service":\d+/);
    assert.match(text, /"endpoints":\d+[^\n]*"by":"other"/);
    assert.match(text, /"addressType":"FQDN"/);
    assert.equal(statSync(path).mode & 0o077, 0);
  });

  it('record leaves no uid and no address of the server in the file', async () => {
    const text = zstdDecompressSync(readFileSync(path)).toString();
    for (const resource of ['pods', 'services', 'nodes', 'endpoints', 'endpointslices'] as const) {
      const { items } = await client.list(pathOf(resource));
      assert.notEqual(items.length, 0, resource);
      for (const { metadata, spec } of items) {
        const { clusterIP } = (spec ?? {}) as { clusterIP?: string };
        for (const own of [metadata.uid!, clusterIP ?? metadata.uid!]) assert.ok(!text.includes(own), own);
      }
    }
  });

  it('tune tells no text of the cluster that was recorded, in any format', async () => {
    const answers = ['text', 'json', 'html'].map((format) => endpointd(['tune', `--from=${path}`, '-o', format]).ended);
    for (const { status, stdout, stderr } of await Promise.all(answers)) {
      assert.equal(status, 1, stderr);
      assert.match(stdout, /fewer than 1000 say too little/);
      assert.doesNotMatch(stdout + stderr, CANARY);
    }
  });

  it('what is said of a damaged recording has no text of the cluster', async () => {
    const damaged = join(directory, 'damaged.rec');
    const bytes = readFileSync(path);
    // In the middle of the first frame, which has the header alone, and in the last one.
    for (const [at, message] of [
      [60, /^endpointd (?:record|tune): cannot read \S+: it is damaged at byte 32, before any change\n$/],
      [bytes.length - 3, /\b(?:is damaged at byte|the recording is broken at byte) \d+/],
    ] as const) {
      const copy = Buffer.from(bytes);
      copy[at]! ^= 0xff;
      writeFileSync(damaged, copy);
      const commands = [endpointd(['record', '--info', damaged]), endpointd(['tune', `--from=${damaged}`])];
      for (const { stdout, stderr } of await Promise.all(commands.map(({ ended }) => ended))) {
        assert.match(stdout + stderr, message);
        assert.doesNotMatch(stdout + stderr, CANARY);
      }
    }
  });

  it('--plain keeps the texts, and --for ends the recording', async () => {
    const plain = join(directory, 'plain.rec');
    const { ended } = endpointd(['record', plain, '--plain', '--for=100ms', `--kubeconfig=${server.kubeconfig}`]);
    const { status } = await ended;
    assert.equal(status, 0);
    const text = zstdDecompressSync(readFileSync(plain)).toString();
    assert.match(text, /canary-web-1/);
    // Never read, whatever is asked for.
    assert.doesNotMatch(text, /canary\/canary:1|CANARY|canary-note|canary-owner/);
  });

  it('a recorder that is killed leaves what it has written, and the report says so', async () => {
    const killed = join(directory, 'killed.rec');
    const { child, ended, said } = endpointd(['record', killed, `--kubeconfig=${server.kubeconfig}`]);
    await until('the first lists', () => /recording for/.test(said()));
    const makeService = (name: string): Promise<void> => {
      const spec = { type: 'ExternalName', externalName: 'example.com' };
      return create(pathOf('services'), { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec });
    };
    const seen = (): number =>
      withRecording(killed, ({ events }) => figuresOf(events)).contents.resources.services.created;
    await makeService('written');
    await until('a frame with it', () => seen() === 1);
    const { size } = statSync(killed);
    await makeService('perhaps-lost');
    child.kill('SIGKILL');
    assert.equal((await ended).status, null);
    const info = async (...flags: string[]): Promise<string> =>
      (await endpointd(['record', '--info', killed, ...flags]).ended).stdout;
    assert.match(await info(), /\nThe recorder was cut off: its last seconds may be missing\.\n/);
    const { broken, contents } = JSON.parse(await info('-o', 'json')) as RecordingFigures & { broken: unknown };
    assert.deepEqual([broken, contents.begun, contents.ended], [null, true, false]);
    assert.ok(contents.resources.services.created >= 1);
    // As if it had been killed while it wrote.
    truncateSync(killed, size - 1);
    assert.match(await info(), /\nThe file ends within a frame at byte \d+\. The report is about the part before\.\n/);
  });

  it('a full disk ends a recording that can be read up to there', async () => {
    const full = join(directory, 'full.rec');
    const { ended, said } = endpointdWithin(8, ['record', full, '--plain', `--kubeconfig=${server.kubeconfig}`]);
    await until('the first lists', () => /recording for/.test(said()));
    for (let i = 0; i < 80; i++) {
      const labels = { random: randomBytes(30).toString('hex') };
      await create(`/api/v1/namespaces/${NAMESPACE}/pods`, { ...CANARY_POD, metadata: { name: `full-${i}`, labels } });
    }
    const { status, stderr } = await ended;
    assert.equal(status, 1);
    assert.match(stderr, /\nendpointd record: cannot write \S+: EFBIG: .*\. What was recorded before can be read\n$/);
    assert.ok(!stderr.includes('    at '), stderr);
    assert.equal(statSync(full).size, 4096);
    const info = await endpointd(['record', '--info', full]).ended;
    assert.equal(info.status, 0);
    assert.match(info.stdout, /\nThe file ends within a frame at byte \d+\. The report is about the part before\.\n/);
  });

  it('record never overwrites a file', async () => {
    const { status, stderr } = await endpointd(['record', path, `--kubeconfig=${server.kubeconfig}`]).ended;
    assert.equal(status, 1);
    assert.match(stderr, /^endpointd record: cannot make .*: the file exists, and a recording is never overwritten\n$/);
  });

  it('--info reports on a cut file up to the cut', async () => {
    const cut = join(directory, 'cut.rec');
    writeFileSync(cut, readFileSync(path));
    truncateSync(cut, statSync(path).size - 3);
    const { status, stdout } = await endpointd(['record', '--info', cut]).ended;
    assert.equal(status, 0);
    assert.match(stdout, /\nThe file ends within a frame at byte \d+\. The report is about the part before\.\n/);
  });

  it('--info refuses what is no recording, with one line', async () => {
    const { status, stderr } = await endpointd(['record', '--info', server.kubeconfig]).ended;
    assert.equal(status, 1);
    assert.match(stderr, /^endpointd record: cannot read \S+: this is no recording of endpointd\n$/);
  });

  it('--info refuses a directory with one line', async () => {
    const { status, stderr } = await endpointd(['record', '--info', directory]).ended;
    assert.equal(status, 1);
    assert.match(stderr, /^endpointd record: cannot read \S+: EISDIR: illegal operation on a directory, read\n$/);
  });
});

describe('endpointd record without rights', () => {
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-refused-'));
  const asked = new Set<string>();
  const server = createServer((request, response) => {
    asked.add(`${request.method} ${request.headers['user-agent']!.split('/')[0]}`);
    response.writeHead(403, { 'content-type': 'application/json', warning: '299 - "canary of a webhook"' });
    response.end(
      JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Forbidden', code: 403 }),
    );
  });
  const path = join(directory, 'none.rec');
  let master: string;
  let refused: Outcome;
  let refusedPlain: Outcome;

  before(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    master = `--master=http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    // Each waits a while for a server that may only have started.
    const plain = ['record', join(directory, 'plain.rec'), '--plain', master];
    [refused, refusedPlain] = await Promise.all([endpointd(['record', path, master]).ended, endpointd(plain).ended]);
  });

  after(() => {
    server.close();
    rmSync(directory, { recursive: true });
  });

  it('record asks under a user agent of its own, with GET alone', () => {
    assert.deepEqual([refused.status, refusedPlain.status], [1, 1]);
    assert.deepEqual([...asked], ['GET endpointd-record']);
  });

  it('record leaves no file where nothing was recorded', async () => {
    assert.match(refused.stderr, /\nendpointd record: the server refuses services and pods: [^\n]+\n$/);
    assert.ok(!existsSync(path));
    const full = await endpointdWithin(0, ['record', path, master]).ended;
    assert.equal(full.status, 1);
    assert.match(full.stderr, /^endpointd record: cannot write \S+\/none\.rec: EFBIG: file too large, write$/m);
    assert.ok(!existsSync(path));
  });

  it('record leaves no file where it is ended before everything was listed', async () => {
    const { child, ended, said } = endpointd(['record', path, master]);
    await until('a try', () => /listing/.test(said()));
    child.kill('SIGINT');
    const { status, stderr } = await ended;
    assert.equal(status, 1);
    assert.match(stderr, /^endpointd record: it was ended before everything was listed, and leaves no file$/m);
    assert.ok(!existsSync(path));
  });

  it("record logs the text of a server's warning with --plain alone", () => {
    assert.match(refused.stderr, /"Warning from the API server" text="not shown without --plain"/);
    assert.ok(!refused.stderr.includes('canary'), refused.stderr);
    assert.match(refusedPlain.stderr, /"Warning from the API server" text="canary of a webhook"/);
  });
});

describe('endpointd record --info', () => {
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-info-'));
  after(() => rmSync(directory, { recursive: true }));

  const RESOURCES = ['pods', 'services', 'nodes', 'endpoints', 'endpointslices'] as const;

  /** The path of a recording of what `tell` tells. */
  const recorded = (name: string, tell: (encoder: Encoder) => void): string => {
    const path = join(directory, name);
    writeFileSync(path, fileOf(tell));
    return path;
  };

  it('--info tells of watches that were lost, and of what was refused at first', async () => {
    const path = recorded('lost.rec', (encoder) => {
      encoder.tell(0, { refused: 'nodes' });
      for (const resource of ['pods', 'services', 'endpoints', 'endpointslices'] as const) {
        encoder.listed(resource, '1', 0);
      }
      encoder.listed('nodes', '1', 3000);
      encoder.tell(4000, { lost: 'services', since: 5000 });
      encoder.tell(4100, { rewatched: 'services' });
      encoder.tell(8000, { lost: 'pods', since: 10_000 });
      encoder.tell(9000, { end: true });
    });
    const { stdout } = await endpointd(['record', '--info', path]).ended;
    const told = /\n1 gap[^]*?\n\n/.exec(stdout)![0].trim().split('\n');
    assert.deepEqual(told.slice(1), [
      '  pods, from second 7.0 to the end: the watch did not come back',
      'The watch of services was lost 1 time without a gap.',
      'The server refused nodes for the first 3.0 s.',
    ]);
    assert.match(stdout, /^A recording of 9 s/);
  });

  it('--info says that a recording ended before everything was listed', async () => {
    const path = recorded('unlisted.rec', (encoder) => {
      for (const resource of ['nodes', 'pods'] as const) encoder.listed(resource, '1', 0);
      for (let i = 0; i < 30; i++) encoder.put('pods', pod(`web-${i}`), 'other', 100 * i);
      encoder.tell(30_000, { end: true });
    });
    const { stdout } = await endpointd(['record', '--info', path]).ended;
    assert.match(stdout, /\nIt ended before everything was listed, so it has no rates and no latencies\.\n/);
    assert.match(stdout, /\nservices +not listed /);
    assert.match(stdout, /\npods +0 +30 +- +30 +0 /);
  });

  it('--info of a cluster without a change says of each thing that there is none', async () => {
    const path = recorded('still.rec', (encoder) => {
      encoder.put('services', service('web', { selector: null }), 'other', 0);
      encoder.put('pods', pod('web-1'), 'other', 0);
      for (const resource of RESOURCES) encoder.listed(resource, '1', 0);
      encoder.tell(60_000, { end: true });
    });
    const { stdout, stderr, status } = await endpointd(['record', '--info', path]).ended;
    assert.deepEqual([status, stderr], [0, '']);
    const said = stdout.split('\n').map((line) => line.replaceAll(/ +/g, ' '));
    assert.deepEqual(said, [
      "A recording of 60 s by endpointd 1.2.3, with the cluster's own names.",
      '',
      'RESOURCE AT FIRST CHANGES A SECOND NEW GONE BY OTHERS NO CHANGE',
      'pods 1 0 0 0 0 - 0',
      'services 1 0 0 0 0 - 0',
      'nodes 0 0 0 0 0 - 0',
      'endpoints 0 0 0 0 0 0 0',
      'endpointslices 0 0 0 0 0 0 0',
      '',
      'There are no gaps.',
      '',
      'Ready addresses of a Service: no Service selects pods; 0 have more than 100, 0 more than 1,000.',
      '',
      'There was no roll-out.',
      '',
      "Time from the event of a pod's or Service's change to the event of the object that shows it, by the recorder's clock:",
      'OUTPUT OF A POD SHOWN P50 P90 P99 MAX WRITES A SECOND CHANGES A WRITE',
      'endpoints additions 0 - - - - 0 0 -',
      '- removals 0 - - - - - - -',
      'endpointslices additions 0 - - - - 0 0 -',
      '- removals 0 - - - - - - -',
      '',
    ]);
    const json = await endpointd(['record', '--info', path, '-o', 'json']).ended;
    const { rollOuts, services, contents, controller } = JSON.parse(json.stdout) as RecordingFigures;
    assert.deepEqual([rollOuts, contents.gaps, services.count, services.p50], [[], [], 0, null]);
    for (const one of [controller.endpoints!, controller.endpointslices!])
      assert.deepEqual([one.addedMs.count, one.addedMs.p50, one.writes, one.changesPerWrite], [0, null, 0, null]);
  });

  it('--info to a disk that fills up says so, and ends with 1', async () => {
    const path = recorded('reported.rec', (encoder) => {
      for (const resource of RESOURCES) encoder.listed(resource, '1', 0);
      encoder.tell(60_000, { end: true });
    });
    const report = join(directory, 'report.txt');
    const whole = await endpointdWithin(100, ['record', '--info', path], report).ended;
    assert.deepEqual([whole.status, whole.stderr], [0, '']);
    assert.match(readFileSync(report, 'utf8'), /^A recording of 60 s [^]*\n$/);
    const { status, stderr } = await endpointdWithin(1, ['record', '--info', path], report).ended;
    assert.equal(status, 1);
    assert.equal(stderr, 'endpointd record: cannot write the report: EFBIG: file too large, write\n');
  });

  it('--info refuses a recording of a newer program, with one line', async () => {
    const path = recorded('newer.rec', (encoder) => encoder.tell(60_000, { end: true }));
    const bytes = readFileSync(path);
    // The version stands behind the title of the first frame.
    bytes.writeUInt32LE(9, 8 + 'endpointd recording\n'.length);
    writeFileSync(path, bytes);
    const { stdout, stderr, status } = await endpointd(['record', '--info', path]).ended;
    assert.deepEqual([status, stdout], [1, '']);
    assert.match(
      stderr,
      /^endpointd record: cannot read \S+newer\.rec: it has version 9 of the format, and this program knows those up to \d+: a newer endpointd reads it\n$/,
    );
  });

  it('--info tells rates below one a second', async () => {
    const path = recorded('quiet.rec', (encoder) => {
      encoder.put('services', service('web'), 'other', 0);
      for (const resource of RESOURCES) encoder.listed(resource, '1', 0);
      for (let i = 0; i < 28; i++) encoder.put('pods', pod(`web-${i}`), 'other', 1000 * i);
      encoder.tell(600_000, { end: true });
    });
    const { stdout } = await endpointd(['record', '--info', path]).ended;
    assert.match(stdout, /\npods +0 +28 +0\.047 /);
  });

  it('--info shows hostile names of a plain recording as escapes', async () => {
    const path = join(directory, 'hostile.rec');
    writeFileSync(path, hostileFile());
    const { stdout, status } = await endpointd(['record', '--info', path]).ended;
    assert.equal(status, 0);
    assert.match(stdout, /\nThere were 1 roll-out:\n/);
    assert.doesNotMatch(stdout, UNPRINTABLE);
    // The namespace and the name of the Service, and the version of the program.
    const escaped = String.raw`<script>alert('1')</script>"\u001b[2J\u202e\u2066\r`;
    assert.equal(stdout.split(escaped).length, 4, stdout);
    const json = await endpointd(['record', '--info', path, '-o', 'json']).ended;
    assert.doesNotMatch(json.stdout, UNPRINTABLE);
    const { rollOuts, recording } = JSON.parse(json.stdout) as RecordingFigures & { recording: RecordingHeader };
    assert.deepEqual([rollOuts[0]!.namespace, rollOuts[0]!.service, recording.program], [HOSTILE, HOSTILE, HOSTILE]);
  });
});
