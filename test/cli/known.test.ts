import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { configz } from '../../src/cli/configz.ts';
import { parseRunFlags } from '../../src/cli/flags/flags.ts';
import { knownOf } from '../../src/cli/tune/known.ts';
import { parseTuneFlags } from '../../src/cli/tune/tune-flags.ts';

const KUBE = 'process_start_time_seconds 1\nworkqueue_work_duration_seconds_count{name="endpoint"} 1\n';

interface Version {
  readonly minor: number;
  readonly value: string | undefined;
  readonly from: string | undefined;
  readonly notes: readonly string[];
}

/** @param minor as the metrics have it; null = no metrics are given */
async function versionBy(minor: string | null, ...flags: readonly string[]): Promise<Version> {
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-known-'));
  try {
    const path = join(directory, 'kcm.txt');
    writeFileSync(path, `${KUBE}kubernetes_build_info{minor="${minor}"} 1\n`);
    const metrics = minor === null ? [] : [`--controller-metrics=${path},${path}`];
    const args = ['--controller=kube-controller-manager', ...metrics, ...flags];
    const { kubeMinor, given, measured } = await knownOf(
      parseTuneFlags(args, () => undefined),
      null,
      0,
    );
    const row = given.find(({ name }) => name === 'version of kube-controller-manager');
    return {
      minor: kubeMinor,
      value: row?.value,
      from: row?.from.replaceAll(directory, ''),
      notes: measured.notes.filter((note) => note.includes('is played')).map((note) => note.replaceAll(directory, '')),
    };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const METRICS = 'kubernetes_build_info in /kcm.txt, /kcm.txt';

for (const [name, minor, flags, expected] of [
  ['nobody tells', null, [], { minor: 36, value: '1.36', from: 'not given: assumed', notes: [] }],
  ['a flag tells', null, ['--kcm-version=34'], { minor: 34, value: '1.34', from: 'given', notes: [] }],
  ['metrics tell', '33+', [], { minor: 33, value: '1.33', from: METRICS, notes: [] }],
  [
    'flag and metrics tell differently',
    '33',
    ['--kcm-version=35'],
    {
      minor: 35,
      value: '1.35',
      from: 'given',
      notes: [`kube-controller-manager is 1.33 by ${METRICS}, and is played as 1.35, as --kcm-version says`],
    },
  ],
  [
    'the model does not know yet',
    '41',
    [],
    {
      minor: 36,
      value: '1.36',
      from: METRICS,
      notes: [`kube-controller-manager is 1.41 by ${METRICS}, and is played as 1.36, the nearest that is known`],
    },
  ],
] as const) {
  test(`the played version is told with its source: ${name}`, async () =>
    assert.deepEqual(await versionBy(minor, ...flags), expected));
}

test('what metrics hide of the cores is noted, unless somebody tells them', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-known-'));
  try {
    const path = join(directory, 'kcm.txt');
    writeFileSync(path, `${KUBE}kubernetes_build_info{minor="34"} 1\ngo_sched_gomaxprocs_threads 64\n`);
    const hintsWith = async (...flags: readonly string[]): Promise<number> => {
      const args = ['--controller=kube-controller-manager', `--controller-metrics=${path},${path}`, ...flags];
      const { measured } = await knownOf(
        parseTuneFlags(args, () => undefined),
        null,
        0,
      );
      return measured.notes.filter((note) => note.includes('CPU limit')).length;
    };
    assert.deepEqual([await hintsWith(), await hintsWith('--cores=4')], [1, 0]);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('the nodes of a recording watch the slices, unless somebody tells how many', async () => {
  const watchers = async (nodes: number, ...flags: readonly string[]): Promise<readonly unknown[]> => {
    const known = await knownOf(
      parseTuneFlags(flags, () => undefined),
      null,
      nodes,
    );
    return [known.nodes, known.given.find(({ name }) => name === 'watchers of slices')!.from];
  };
  assert.deepEqual(await watchers(0), [100, 'not given: assumed']);
  assert.deepEqual(await watchers(7), [7, 'nodes of the recording']);
  assert.deepEqual(await watchers(7, '--nodes=5'), [5, 'given']);
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-known-'));
  try {
    const path = join(directory, 'api.txt');
    writeFileSync(
      path,
      'process_start_time_seconds 1\napiserver_request_duration_seconds_count 1\napiserver_longrunning_requests{verb="WATCH",resource="endpointslices"} 9\n',
    );
    const [, from] = await watchers(7, `--apiserver-metrics=${path},${path}`);
    assert.equal(from, `apiserver_longrunning_requests in ${path}, ${path}, of that API server alone`);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('a configz of the other program is refused, with the name of that program', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-known-'));
  try {
    const { endpointd, ...common } = configz(parseRunFlags([], () => undefined)) as Record<string, object>;
    const [[root, sections]] = Object.entries(common) as [[string, object]];
    const texts = {
      endpointd: { ...common, endpointd },
      'kube-controller-manager': { [root]: { ...sections, JobController: { ConcurrentJobSyncs: 5 } } },
    };
    for (const [told, text] of Object.entries(texts)) {
      const path = join(directory, `${told}.json`);
      writeFileSync(path, JSON.stringify(text));
      for (const asked of Object.keys(texts)) {
        const options = parseTuneFlags([`--controller=${asked}`, `--configz=${path}`], () => undefined);
        const message = `--configz=${path}: this is the configuration of ${told}, and --controller is ${asked}`;
        if (asked === told) await knownOf(options, null, 0);
        else await assert.rejects(knownOf(options, null, 0), { message });
      }
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('an answer on endpointd tells no version of kube-controller-manager', async () => {
  const { given } = await knownOf(
    parseTuneFlags([], () => undefined),
    null,
    0,
  );
  assert.ok(given.length > 0 && given.every(({ name }) => !name.startsWith('version')));
});
