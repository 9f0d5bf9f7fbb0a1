/** `endpointd tune` as a process. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process, { execPath } from 'node:process';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { configz } from '../../src/cli/configz.ts';
import { parseRunFlags } from '../../src/cli/flags/flags.ts';
import { knownOf } from '../../src/cli/tune/known.ts';
import { parseTuneFlags } from '../../src/cli/tune/tune-flags.ts';
import { printable } from '../../src/lib/printable.ts';
import { escape } from '../../src/page/escape.ts';
import type { Answer } from '../../src/tune/answer.ts';
import { profileStory } from '../../src/twin/profiles.ts';
import { DEFAULT_CALIBRATION, DEFAULT_SETTINGS } from '../../src/twin/settings.ts';
import { HOSTILE, hostileFile, UNPRINTABLE } from '../recording/hostile.ts';
import { fileOf, pod, service } from '../recording/made.ts';
import { recordingOf } from '../support/model-recording.ts';
import { BIN } from '../support/installed.ts';
import type { TuneFormats } from '../support/tune-formats.ts';

/** What is there at the begin, in a frame of its own, and then nothing but the end. */
function recorded(isEnded: boolean): Buffer {
  return fileOf((encoder, flush) => {
    encoder.put('services', service('web'), 'other', 0);
    encoder.put('pods', pod('web-1'), 'other', 0);
    for (const resource of ['pods', 'services', 'nodes', 'endpoints', 'endpointslices'] as const) {
      encoder.listed(resource, '1', 0);
    }
    flush();
    if (isEnded) encoder.tell(60_000, { end: true });
  });
}

const FIRST_FRAMES = recorded(false);
const RECORDED = recorded(true);

const BUSY = {
  name: 'busy',
  what: '',
  namespaces: 1,
  services: [{ count: 10, pods: 10 }],
  minutes: 2,
  flipsPerSecond: 6,
  isStorm: false,
  rolloutsPerMinute: 0,
  podsPerSecond: 0,
};

/** 1,000 changes and some more, so that settings are tried. */
const RECORDED_BUSY = recordingOf({
  story: profileStory(BUSY, 1),
  controller: 'kube-controller-manager',
  settings: DEFAULT_SETTINGS,
  calibration: DEFAULT_CALIBRATION,
  seed: 1,
});

/** Runs first in a process whose threads are to have little memory. */
const SMALL_THREADS = `
  import { syncBuiltinESMExports } from 'node:module';
  import threads, { Worker } from 'node:worker_threads';
  threads.Worker = class extends Worker {
    constructor(entry, options) {
      super(entry, { ...options, resourceLimits: { maxOldGenerationSizeMb: 32 } });
    }
  };
  syncBuiltinESMExports();
`;

interface Outcome {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

function tune(...args: readonly string[]): Promise<Outcome> {
  return tuneWith({}, ...args);
}

type Variables = Readonly<Record<string, string>>;

function tuneWith(variables: Variables, ...args: readonly string[]): Promise<Outcome> {
  return runWith(variables, BIN, 'tune', ...args);
}

function runWith(variables: Variables, ...args: readonly string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    const env = { ...process.env, KUBEBUILDER_ASSETS: '', ...variables };
    const options = { env, maxBuffer: 64 << 20 };
    const child = execFile(execPath, args, options, (error, stdout, stderr) =>
      resolve({ status: error === null ? 0 : (child.exitCode ?? -1), stdout, stderr }),
    );
  });
}

const FORMATS = fileURLToPath(new URL('../support/tune-formats.ts', import.meta.url));

async function formatsWith(variables: Variables, kept: string, ...flags: readonly string[]): Promise<TuneFormats> {
  const { status, stdout, stderr } = await runWith(variables, FORMATS, kept, ...flags);
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout) as TuneFormats;
}

describe('endpointd tune', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tune-'));
  after(() => rmSync(directory, { recursive: true }));

  it('tune refuses what is neither a profile nor a recording, with status 1', async () => {
    const path = join(directory, 'not-a-recording');
    writeFileSync(path, 'hello');
    const { status, stderr, stdout } = await tune(`--from=${path}`);
    assert.deepEqual([status, stdout], [1, '']);
    assert.match(stderr, /^endpointd tune: cannot read \S+not-a-recording: /);
  });

  it('tune refuses a recording of a newer program, and a directory, with one line', async () => {
    const newer = join(directory, 'newer.rec');
    const bytes = Buffer.from(RECORDED);
    // The version stands behind the title of the first frame.
    bytes.writeUInt32LE(9, 8 + 'endpointd recording\n'.length);
    writeFileSync(newer, bytes);
    const cases = [
      [
        newer,
        /^endpointd tune: cannot read \S+newer\.rec: it has version 9 of the format, .* a newer endpointd reads it$/,
      ],
      [directory, /^endpointd tune: cannot read \S+: EISDIR: /],
    ] as const;
    for (const [path, message] of cases) {
      const { status, stderr, stdout } = await tune(`--from=${path}`);
      assert.deepEqual([status, stdout], [1, '']);
      assert.match(stderr.trimEnd(), message);
    }
  });

  it('tune says where a recording is cut or damaged, and uses what precedes', async () => {
    const damaged = Buffer.from(RECORDED);
    damaged[damaged.length - 3]! ^= 0xff;
    for (const [name, bytes] of [
      ['cut.rec', RECORDED.subarray(0, -3)],
      ['damaged.rec', damaged],
    ] as const) {
      const path = join(directory, name);
      writeFileSync(path, bytes);
      const { status, stdout } = await tune(`--from=${path}`);
      assert.equal(status, 1);
      assert.match(
        stdout,
        new RegExp(`^Note: the recording is broken at byte ${FIRST_FRAMES.length}: what precedes counts, `, 'm'),
      );
    }
  });

  it('tune uses what precedes a damaged frame in the middle, and nothing behind', async () => {
    const told = (frames: number): Buffer =>
      fileOf((encoder, flush) => {
        encoder.put('services', service('web'), 'other', 0);
        encoder.put('pods', pod('web-1'), 'other', 0);
        for (const resource of ['pods', 'services', 'nodes', 'endpoints', 'endpointslices'] as const)
          encoder.listed(resource, '1', 0);
        flush();
        for (let i = 0; i < 10 * frames; i++) {
          encoder.put('pods', pod('web-1', { ready: i % 2 === 1 }), 'other', 1000 * (i + 1));
          if (i % 10 === 9) flush();
        }
        if (frames === 3) encoder.tell(60_000, { end: true });
      });
    const [one, two, whole] = [1, 2, 3].map(told) as [Buffer, Buffer, Buffer];
    const damaged = Buffer.from(whole);
    damaged[(one.length + two.length) >> 1]! ^= 0xff;
    const answerTo = async (name: string, bytes: Buffer): Promise<Answer> => {
      const path = join(directory, name);
      writeFileSync(path, bytes);
      const { status, stdout, stderr } = await tune(`--from=${path}`, '-o', 'json');
      assert.deepEqual([status, stderr], [1, '']);
      return JSON.parse(stdout) as Answer;
    };
    assert.equal((await answerTo('whole.rec', whole)).from.changes, 30);
    const { from, notes, refusals } = await answerTo('middle.rec', damaged);
    assert.deepEqual([from.changes, Math.round(60 * from.minutes)], [10, 10]);
    const why = `the recording is broken at byte ${one.length}: what precedes counts, and a watch that was lost then is not told`;
    assert.ok(notes.includes(why), notes.join('\n'));
    assert.ok(refusals.includes('the recording has 10 changes, and fewer than 1000 say too little'), refusals.join());
  });

  it('tune has no figure for a recording without changes, and recommends nothing', async () => {
    const path = join(directory, 'quiet.rec');
    writeFileSync(path, RECORDED);
    const { status, stdout } = await tune(`--from=${path}`);
    assert.equal(status, 1);
    assert.match(stdout, /^ {2}the recording has 0 changes, and fewer than 1000 say too little$/m);
    assert.doesNotMatch(stdout, /NaN|Infinity|undefined/);
  });

  it('tune shows a hostile file name as escapes in JSON too', async () => {
    const path = join(directory, 'web\u202Ecer.rec');
    writeFileSync(path, RECORDED);
    const { stdout } = await tune(`--from=${path}`, '-o', 'json');
    assert.ok(!stdout.includes('\u202E'));
    assert.equal((JSON.parse(stdout) as Answer).from.name, path);
  });

  it('tune shows no text of a plain recording, and the name of its file as text', async () => {
    const path = join(directory, '"><img src=x onerror=alert(2)>\u001B[2J\u202E.rec');
    writeFileSync(path, hostileFile('1.2.3'));
    const formats = ['text', 'json', 'html'];
    const answers = await Promise.all(formats.map((format) => tune(`--from=${path}`, '-o', format)));
    for (const { stdout, stderr } of answers) {
      assert.match(stdout, /fewer than 1000 say too little/);
      assert.ok(stdout.includes('img src=x onerror=alert(2)'));
      assert.doesNotMatch(stdout + stderr, UNPRINTABLE);
      assert.doesNotMatch(stdout + stderr, /alert\((?:'|&#39;)1/);
    }
    const page = answers.at(-1)!.stdout;
    assert.ok(!page.includes('<img'));
    assert.equal(page.split('<script>').length, 2);
  });

  it('tune tells the version of the recorder in each format, as text', async () => {
    for (const [name, program] of [
      ['recorder.rec', '1.2.3'],
      ['hostile-recorder.rec', HOSTILE],
    ] as const) {
      const path = join(directory, name);
      writeFileSync(path, hostileFile(program));
      const formats = ['text', 'json', 'html'];
      const answers = await Promise.all(formats.map((format) => tune(`--from=${path}`, '-o', format)));
      const [text, json, page] = answers.map(({ stdout }) => stdout) as [string, string, string];
      assert.equal((JSON.parse(json) as Answer).from.recordedBy, program);
      assert.match(text, /^versions: endpointd \d+\.\d+\.\d+, recorded by endpointd /m);
      assert.ok(text.includes(` recorded by endpointd ${printable(program)}\n`), text);
      assert.ok(page.includes(`<dt>recorded by</dt><dd>endpointd ${escape(program)}</dd>`), page);
      for (const said of [text, json, page]) assert.doesNotMatch(said, UNPRINTABLE);
      assert.equal(page.split('<script>').length, 2);
    }
  });

  it('tune refuses before any work to write a calibration where it cannot', async () => {
    const there = join(directory, 'there.json');
    writeFileSync(there, 'mine');
    const cases = [
      [
        there,
        /^endpointd tune: cannot write the calibration to \S+there\.json: the file exists, and is not overwritten$/,
      ],
      [join(directory, 'none', 'new.json'), /^endpointd tune: cannot write the calibration to \S+new\.json: ENOENT: /],
      [join(there, 'new.json'), /^endpointd tune: cannot write the calibration to \S+new\.json: ENOTDIR: /],
    ] as const;
    for (const [path, message] of cases) {
      // The recording is looked for later, so this is the first complaint.
      const { status, stderr, stdout } = await tune('--from=/nowhere', `--calibrate=${path}`);
      assert.deepEqual([status, stdout], [1, '']);
      assert.match(stderr.trimEnd(), message);
    }
    assert.equal(readFileSync(there, 'utf8'), 'mine');
  });

  it('tune keeps no calibration of a recording that it does not believe', async () => {
    const [path, kept] = [join(directory, 'refused.rec'), join(directory, 'refused.json')];
    writeFileSync(path, RECORDED);
    const { status, stdout, stderr } = await tune(`--from=${path}`, `--calibrate=${kept}`);
    assert.equal(status, 1);
    assert.match(stdout, /^Nothing is recommended:$/m);
    const why = 'its numbers are not to be believed, as the answer says';
    assert.equal(stderr, `endpointd tune: no calibration was written to ${kept}: ${why}\n`);
    assert.ok(!existsSync(kept));
  });

  it('tune names the unknown figure of an objective, with status 2', async () => {
    const { status, stderr } = await tune('--objective=p98<=1s, min bytes');
    assert.equal(status, 2);
    assert.match(stderr, /"p98" is no figure: is p90 meant\?/);
  });

  it('tune refuses a flag of endpointd for the other controller', async () => {
    for (const flag of ['--adaptive-batch-period-max=5s', '--max-writes-in-flight=100']) {
      const { status, stderr } = await tune('--from=huge', '--controller=kube-controller-manager', flag);
      assert.deepEqual([status, /is a flag of endpointd: kube-controller-manager has none/.test(stderr)], [2, true]);
    }
  });

  it('tune refuses a flag that would be ignored', async () => {
    const cases = [
      ['--token-file=/none', /: --token-file needs --configz with a URL: nothing else is asked for\.\n$/],
      ['--confirm-for=5s', /: --confirm-for needs --confirm: else nothing is tried for real\.\n$/],
      [
        '--kcm-version=31',
        /: --kcm-version needs --controller=kube-controller-manager: else no version of it is played\.\n$/,
      ],
    ] as const;
    for (const [flag, message] of cases) {
      const { status, stderr } = await tune('--from=/nowhere', '--configz=/nowhere', flag);
      assert.equal(status, 2);
      assert.match(stderr, message);
    }
  });

  it('tune names the wrong field of a calibration', async () => {
    const path = join(directory, 'calibration.json');
    writeFileSync(path, '{"version":3,"cores":0}');
    const { status, stderr } = await tune('--from=huge', `--calibration=${path}`);
    assert.equal(status, 1);
    assert.match(stderr, /calibration\.json: cores: 0 is no number above 0\n$/);
  });

  it('tune refuses a configz or scrape of other programs, with one line', async () => {
    const file = (name: string, text: string): string => {
      const path = join(directory, name);
      writeFileSync(path, text);
      return path;
    };
    const other = file('other.txt', 'up 1\n');
    const cases = [
      [[`--configz=${file('kubelet.json', '{}')}`], 1, /kubelet\.json: this is the configuration of another program: /],
      [['--configz=http://127.0.0.1:1/configz'], 1, /--configz: no answer from http:\/\/127\.0\.0\.1:1/],
      [[`--controller-metrics=${other},${other}`], 1, /other\.txt: these are the metrics of another program: /],
      [[`--apiserver-metrics=${other},${other}`], 1, /other\.txt: these are the metrics of another program: /],
      [[`--controller-metrics=${other}`], 2, /Allowed: two files, the earlier one first/],
    ] as const;
    for (const [flags, expected, message] of cases) {
      const { status, stderr, stdout } = await tune(...flags);
      assert.deepEqual([status, stdout, stderr.trimEnd().split('\n').length], [expected, '', 1], stderr);
      assert.match(stderr, message);
    }
  });

  it('tune says of each number where it comes from', async () => {
    const config = {
      Generic: { ClientConnection: { qps: 100, burst: 200 } },
      EndpointController: { ConcurrentEndpointSyncs: 10, EndpointUpdatesBatchPeriod: '0s' },
      EndpointSliceController: {
        ConcurrentServiceEndpointSyncs: 10,
        MaxEndpointsPerSlice: 100,
        EndpointUpdatesBatchPeriod: '0s',
      },
    };
    const [from, path] = [join(directory, 'asked.rec'), join(directory, 'configz.json')];
    writeFileSync(from, RECORDED);
    writeFileSync(path, JSON.stringify({ 'kubecontrollermanager.config.k8s.io': config }));
    const flags = [
      `--from=${from}`,
      '--controller=kube-controller-manager',
      `--configz=${path}`,
      '--kube-api-burst=77',
    ];
    const { stdout } = await tune(...flags, '-o', 'json');
    const { numbers, today } = JSON.parse(stdout) as Answer;
    assert.deepEqual([today.qps, today.burst], [100, 77]);
    const toldOf = (name: string): string | undefined => numbers.find((number) => number.name === name)?.from;
    assert.deepEqual(
      [
        '--kube-api-qps',
        '--kube-api-burst',
        'watchers of slices',
        'API latency, median of an object without endpoints',
      ].map(toldOf),
      [path, 'given', 'not given: assumed', 'usual: measured on two cores: the recording does not tell it'],
    );
  });

  describe('in another time zone and language', () => {
    const [HERE, THERE] = [
      { TZ: 'UTC', LC_ALL: 'C' },
      { TZ: 'Asia/Kathmandu', LC_ALL: 'de_DE.UTF-8' },
    ];
    let [here, there] = [{} as TuneFormats, {} as TuneFormats];
    let command: Outcome;
    const calibrated = join(directory, 'calibrated.json');
    before(async () => {
      const [path, kept] = [join(directory, 'busy.rec'), join(directory, 'answer')];
      writeFileSync(path, RECORDED_BUSY);
      const flags = [`--from=${path}`, '--controller=kube-controller-manager', '--nodes=5000', '--cores=3'];
      // A search takes seconds, so there is one in each zone. What it has found here is shown there too.
      [command, here] = await Promise.all([
        tuneWith(THERE, ...flags, '-o', 'json', `--calibrate=${calibrated}`),
        formatsWith(HERE, kept, ...flags),
      ]);
      there = await formatsWith(THERE, kept);
    });

    for (const [format, begin] of [
      ['text', /^kube-controller-manager, /],
      ['json', /^\{/],
      ['html', /^<!doctype html>/i],
    ] as const) {
      it(`${format} is the same to the byte in another time zone and language`, () => {
        assert.match(here[format], begin);
        assert.equal(there[format], here[format]);
      });
    }

    it('the command finds the same in another time zone and language', () => {
      // Settings were tried, and one is recommended.
      assert.equal(command.status, 0, command.stderr);
      assert.equal(command.stdout, here.json);
    });

    it('the file of --calibrate has the numbers of the answer, and is read again', async () => {
      const { calibration, unsure } = JSON.parse(command.stdout) as Answer;
      assert.equal(calibration.cores, 3);
      assert.deepEqual(JSON.parse(readFileSync(calibrated, 'utf8')), { ...calibration, unsure });
      const path = join(directory, 'calibrated.rec');
      // Without changes nothing is fitted, so the numbers stay as the file has them.
      writeFileSync(path, RECORDED);
      const flags = [`--from=${path}`, `--calibration=${calibrated}`, '-o', 'json'];
      const [own, other] = await Promise.all([HERE, THERE].map((zone) => tuneWith(zone, ...flags)));
      assert.equal(own!.stdout, other!.stdout);
      assert.deepEqual((JSON.parse(own!.stdout) as Answer).calibration, calibration);
    });
  });

  it('tune knows from /configz which controllers of endpointd run', async () => {
    const path = join(directory, 'own-configz.json');
    const flags = ['--controllers=*,-endpoints-controller', '--concurrent-endpoint-syncs=7'];
    writeFileSync(path, JSON.stringify(configz(parseRunFlags(flags, () => undefined))));
    const known = async (...args: string[]): Promise<unknown[]> => {
      const { today, given } = await knownOf(
        parseTuneFlags(args, () => undefined),
        null,
        0,
      );
      const row = given.find(({ name }) => name === 'controllers that run');
      return [today.controllers, today.inFlight, row?.value, row?.from];
    };
    assert.deepEqual(await known(`--configz=${path}`, '--max-writes-in-flight=100'), [2, 100, '2', path]);
    assert.deepEqual(await known(), [3, 64, '3', 'not given: assumed']);
  });

  it('tune says in one line that a story takes more memory than a thread may have', async () => {
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(SMALL_THREADS)}`;
    const { status, stdout, stderr } = await tuneWith({ NODE_OPTIONS }, '--from=flap');
    const size = 'flap has 51,583 changes among 51,583 events';
    const mend = 'record a shorter time, or let Node.js have more memory: NODE_OPTIONS=--max-old-space-size=MEBIBYTES';
    assert.deepEqual([status, stdout], [1, ''], stderr);
    assert.ok(stderr.startsWith(`${size}\n`), stderr);
    assert.ok(stderr.endsWith(`\nendpointd tune: out of memory: ${size}; ${mend}\n`), stderr);
    assert.ok(!stderr.includes('    at '), stderr);
  });

  it('tune says before the search why it cannot try settings for real', async () => {
    const { status, stderr } = await tune('--confirm', '--controller=kube-controller-manager', '--from=rollout');
    assert.equal(status, 1);
    assert.match(stderr, /cannot confirm: KUBEBUILDER_ASSETS names no directory with a kube-controller-manager/);
  });
});
