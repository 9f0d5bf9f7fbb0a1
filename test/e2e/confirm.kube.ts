/**
 * What `endpointd tune --confirm` does on a real kube-apiserver: kube-controller-manager with today's settings and with
 * others in turns, on the same part of a story. And what the command tells, from the search to its status, where there are
 * no binaries but its own.
 */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { textTable } from '../../src/cli/text-table.ts';
import { confirm } from '../../src/cli/tune/confirm.ts';
import { confirmed, exitStatus } from '../../src/cli/tune/confirmed.ts';
import { busiestPart, type Confirmation, isRefuted } from '../../src/tune/confirmation.ts';
import { versionOf } from '../../src/testbed/test-programs.ts';
import { parseObjective } from '../../src/tune/objective.ts';
import { answerText } from '../../src/tune/report-text.ts';
import { profileStory, STORY_PROFILES } from '../../src/twin/profiles.ts';
import { DEFAULT_CALIBRATION, DEFAULT_SETTINGS, type Settings } from '../../src/twin/settings.ts';
import { answerTo } from '../support/tune-answer.ts';
import { KUBERNETES_VERSION, kubeBinaries } from './binaries.ts';

const SEED = 1;
/** Pods of one Service, which turn unready and back all the time: what a batch period is for. */
const FLAPPING = {
  ...STORY_PROFILES[0]!,
  namespaces: 1,
  services: [{ count: 1, pods: 20 }],
  minutes: 1,
  flipsPerSecond: 20,
  rolloutsPerMinute: 0,
};
const TODAY: Settings = { ...DEFAULT_SETTINGS, qps: 500, burst: 500 };
const BATCHED: Settings = { ...TODAY, endpointsBatchMs: 1000, slicesBatchMs: 1000 };

describe('settings of kube-controller-manager that are tried for real', () => {
  let confirmation: Confirmation;
  const said: string[] = [];

  before(async () => {
    const { etcd, kubeApiserver, kubeControllerManager } = await kubeBinaries();
    const story = busiestPart(profileStory(FLAPPING, SEED), 3000, 'kube-controller-manager');
    ({ confirmation } = await confirm(
      {
        run: {
          story,
          controller: 'kube-controller-manager',
          settings: TODAY,
          calibration: DEFAULT_CALIBRATION,
          seed: SEED,
        },
        objective: parseObjective('p50(add)<=2s, min writes'),
        watchers: { nodes: 1, endpointsWatchers: 1 },
        candidates: [BATCHED],
        programs: {
          server: { etcd, kubeApiserver },
          kubeControllerManager,
          version: await versionOf(kubeControllerManager),
        },
      },
      new Promise<never>(() => undefined),
      (text) => said.push(text),
    ));
  });

  it('both settings are tried on a kube-apiserver, in three to ten pairs', () => {
    const { server, version, rounds, changes, tried } = confirmation;
    assert.deepEqual([server, version], ['kube-apiserver', KUBERNETES_VERSION]);
    assert.ok(rounds >= 3 && rounds <= 10, `${rounds} rounds`);
    assert.ok(changes > 20, `${changes} changes`);
    assert.deepEqual(tried[0]!.settings, BATCHED);
    // A round whose changes were late is played again under the same number.
    assert.equal(new Set(said.filter((line) => line.startsWith('round 1, '))).size, 2);
  });

  it('a batch period of a second saves writes, as predicted', (test) => {
    const writes = confirmation.tried[0]!.figures.find(({ text }) => text.includes('writes'))!;
    test.diagnostic(JSON.stringify({ rounds: confirmation.rounds, ...writes }));
    assert.equal(writes.verdict, 'holds');
    assert.ok(writes.predicted < 0.7, `predicted ${writes.predicted}`);
    for (const [i, today] of writes.today.entries()) assert.ok(writes.tried[i]! < today, JSON.stringify(writes));
    assert.ok(!isRefuted(confirmation, TODAY));
  });

  it('a batch period of a second makes additions later, as predicted', (test) => {
    const added = confirmation.tried[0]!.figures.find(({ text }) => text.startsWith('p50(add)'))!;
    test.diagnostic(JSON.stringify(added));
    assert.equal(added.verdict, 'holds');
    assert.ok(added.predicted > 1, `predicted ${added.predicted}`);
  });
});

it('tune --confirm tells what it has tried, and whether the recommended flags hold', async (test) => {
  const run = {
    story: profileStory(FLAPPING, SEED),
    controller: 'endpointd',
    settings: TODAY,
    calibration: DEFAULT_CALIBRATION,
    seed: SEED,
  } as const;
  const objective = 'p50(add)<=1s, min writes';
  const tries = {
    part: busiestPart(run.story, 2000, 'endpointd'),
    programs: { server: null, kubeControllerManager: null, version: null },
  };
  const { answer, signalled } = await confirmed(
    answerTo(run, null, objective),
    parseObjective(objective),
    tries,
    () => undefined,
  );
  const stdout = answerText(answer, textTable);
  test.diagnostic(stdout);
  const recommended = /^Recommended:\n((?: {2}--\S+\n)+)/m.exec(stdout)?.[1];
  assert.ok(recommended !== undefined, stdout);
  assert.match(stdout, /^Tried for real: 2 s with \d+ changes, on the embedded API server of this machine; /m);
  const table = /^flags +figure +today .* the prediction\n((?:--.*\n)+)/m.exec(stdout)?.[1] ?? '';
  const rows = [...table.matchAll(/^(--.*?) {2,}(\S+) {2,}.* (\d+) +(holds|does not hold|cannot tell(?: \(.*\))?)$/gm)];
  const triedFlags = [...new Set(rows.map(([, line]) => line))];
  assert.ok(triedFlags.length >= 1 && triedFlags.length <= 3, table);
  assert.equal(triedFlags[0], recommended.trim().replaceAll(/\s+/g, ' '));
  for (const [row, , , pairs] of rows) assert.ok(Number(pairs) >= 3 && Number(pairs) <= 10, row);
  const own = rows.filter(([, line]) => line === triedFlags[0]);
  assert.deepEqual(
    own.map(([, , figure]) => figure),
    ['p50(add)', 'writes'],
  );
  const isRefusal = own.some(([, , , , verdict]) => verdict === 'does not hold');
  assert.deepEqual([exitStatus(answer, true), signalled], [isRefusal ? 1 : 0, null]);
});
