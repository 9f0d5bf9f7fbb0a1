/** What `endpointd tune --confirm` does when settings cannot be tried, or not to the end. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process, { execPath } from 'node:process';
import { after, describe, it } from 'node:test';
import { programsFor } from '../../src/cli/tune/confirm.ts';
import { confirmed, exitStatus } from '../../src/cli/tune/confirmed.ts';
import { playRounds, type Rounds } from '../../src/cli/tune/rounds.ts';
import type { Program } from '../../src/metrics/program-of.ts';
import { busiestPart, otherVersion, PODS_MAX } from '../../src/tune/confirmation.ts';
import { parseObjective } from '../../src/tune/objective.ts';
import { confirmationText } from '../../src/tune/report-text.ts';
import { profileStory, STORY_PROFILES } from '../../src/twin/profiles.ts';
import { createLedger } from '../../src/twin/ledger.ts';
import { DEFAULT_CALIBRATION, DEFAULT_SETTINGS, type Settings } from '../../src/twin/settings.ts';
import { NOTHING, type Story } from '../../src/twin/story.ts';
import { smallAnswer } from '../support/tune-answer.ts';
import { until } from '../support/until.ts';

const OBJECTIVE = parseObjective('p99(add)<=1s, min bytes');
const PROFILE = { ...STORY_PROFILES[0]!, namespaces: 1, services: [{ count: 1, pods: 2 }], minutes: 1 };
const PART = profileStory(PROFILE, 1);
const READY = { endpoints: 1, slices: 1, isReady: true } as const;

function isServed(url: string): Promise<boolean> {
  return fetch(url).then(
    () => true,
    () => false,
  );
}

/** Nothing is searched. */
const SCRIPT = `
const src = ${JSON.stringify(new URL('../../src/', import.meta.url).href)};
const { confirmed } = await import(src + 'cli/tune/confirmed.ts');
const { parseObjective } = await import(src + 'tune/objective.ts');
const { profileStory } = await import(src + 'twin/profiles.ts');
const { DEFAULT_CALIBRATION, DEFAULT_SETTINGS } = await import(src + 'twin/settings.ts');
const story = profileStory(${JSON.stringify(PROFILE)}, 1);
const { answer, signalled } = await confirmed(
  {
    controller: 'endpointd',
    today: DEFAULT_SETTINGS,
    calibration: DEFAULT_CALIBRATION,
    seed: 1,
    nodes: 1,
    endpointsWatchers: 1,
    recommendation: { candidates: [{ ...DEFAULT_SETTINGS, qps: 500 }] },
    notes: [],
  },
  parseObjective('p99(add)<=1s, min bytes'),
  { part: story, programs: { server: null, kubeControllerManager: null, version: null } },
  (text) => console.log(text),
);
console.log(...answer.notes);
process.exitCode = signalled;
`;

describe('rounds of trials', () => {
  const withQps = (qps: number): Settings => ({ ...DEFAULT_SETTINGS, qps });
  const [today, ...candidates] = [20, 100, 500].map(withQps);
  const question = {
    run: { story: PART, controller: 'endpointd', settings: today!, calibration: DEFAULT_CALIBRATION, seed: 1 },
    objective: OBJECTIVE,
    watchers: { nodes: 1, endpointsWatchers: 1 },
    candidates,
  } as const;
  /** Latencies of other settings than today's jump, so nothing is decided. */
  const playRoundsWith = async (
    each: (settings: Settings, round: number) => { readonly lateMs?: number; readonly isOver?: boolean },
    objective = OBJECTIVE,
  ): Promise<Rounds> => {
    const counts = new Map<Settings, number>();
    let over = false;
    return playRounds(
      { ...question, objective },
      {
        play: async (settings) => {
          const round = (counts.get(settings) ?? 0) + 1;
          counts.set(settings, round);
          const { lateMs = 1, isOver = false } = each(settings, round);
          over ||= isOver;
          if (over) throw new Error('the server\nhas ended');
          const ledger = createLedger(PART.objects);
          ledger.samples.slices.push({
            atMs: 0,
            kind: 'add',
            latencyMs: settings === today || round % 4 < 2 ? 20 : 60,
          });
          ledger.writes.slices.push({ atMs: 0, endpoints: 1 });
          return { ledger, lateMs };
        },
        isOver: () => over,
        say: () => undefined,
      },
    );
  };
  const triedBy = ({ tried }: Rounds): number[][] =>
    tried.map(({ settings, figures }) => [settings.qps, figures[0]!.tried.length]);

  it('a setting that cannot be played is tried no further, and the others are', async () => {
    const rounds = await playRoundsWith(({ qps }, round) => {
      if (qps === 100 && round === 5) throw new Error('the controller\nhas ended');
      if (qps === 500 && round === 2) throw new Error('no');
      return {};
    });
    assert.deepEqual(triedBy(rounds), [[100, 4]]);
    assert.deepEqual(rounds.rounds, 4);
    assert.deepEqual(rounds.notes, [
      '--kube-api-qps=500: tried no further in round 2: no',
      '--kube-api-qps=100: tried no further in round 5: the controller has ended',
    ]);
  });

  it('what ends the trials leaves the pairs that were played, if they are enough', async () => {
    const endsIn = (last: number): Promise<Rounds> => playRoundsWith((_, round) => ({ isOver: round === last }));
    const rounds = await endsIn(5);
    assert.deepEqual(
      [triedBy(rounds), rounds.rounds],
      [
        [
          [100, 4],
          [500, 4],
        ],
        4,
      ],
    );
    assert.deepEqual(rounds.notes, ['the trials ended in round 5: the server has ended']);
    await assert.rejects(endsIn(3), { message: 'the server has ended' });
    const early = playRoundsWith(({ qps }, round) => {
      if (qps === 500) throw new Error('no');
      return { isOver: round === 2 };
    });
    await assert.rejects(early, {
      message: '--kube-api-qps=500: tried no further in round 1: no; the server has ended',
    });
  });

  it('what no run has anything of is told after one round', async () => {
    const objective = parseObjective('min p99(remove)');
    const rounds = await playRoundsWith(() => ({}), objective);
    assert.deepEqual(triedBy(rounds), [
      [100, 1],
      [500, 1],
    ]);
    assert.equal(rounds.tried[0]!.figures[0]!.verdict, 'cannot tell (nothing was measured)');
  });

  it('late rounds do not count, and end the trials if they come in a row', async () => {
    const single = await playRoundsWith((_, round) => ({ lateMs: round % 2 ? 1 : 2000 }));
    assert.deepEqual([single.rounds, single.lateMs, single.notes], [10, 1, []]);
    const inARow = await playRoundsWith((_, round) => ({ lateMs: round <= 3 ? 1 : 2000 }));
    assert.equal(inARow.rounds, 3);
    assert.match(inARow.notes[0]!, /^the trials ended in round 4: cannot confirm: in 4 rounds changes were made up to/);
  });

  it('the status is 1 if the recommended settings are not among those that were tried', () => {
    const answer = smallAnswer();
    const settings = answer.recommendation!.best!.settings;
    const statusOf = (tried: Settings): number => {
      const about = { server: '', version: null, seconds: 1, changes: 1, rounds: 3, lateMs: 1 };
      return exitStatus({ ...answer, confirmation: { ...about, tried: [{ settings: tried, figures: [] }] } }, true);
    };
    assert.deepEqual([statusOf(settings), statusOf({ ...settings, qps: 1 })], [0, 1]);
  });
});

describe('settings that are tried for real', () => {
  const directory = mkdtempSync(join(tmpdir(), 'confirm-'));
  after(() => rmSync(directory, { recursive: true }));

  const started = async (): Promise<{ readonly child: ChildProcess; readonly url: string }> => {
    const env = { ...process.env, TMPDIR: directory };
    const child = spawn(execPath, ['--input-type=module', '-e', SCRIPT], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    await Promise.race([once(child.stdout, 'data'), once(child, 'exit').then(() => assert.fail('it has ended'))]);
    const [serve] = ownDirectories();
    const url = /server: "?(http[^"\s]+)/.exec(readFileSync(join(directory, serve!, 'kubeconfig'), 'utf8'))![1]!;
    assert.ok((await fetch(url)).status > 0);
    return { child, url };
  };
  const ownDirectories = (): string[] => readdirSync(directory).filter((name) => name.startsWith('endpointd-'));

  for (const [count, signals] of [
    ['one signal', ['SIGTERM']],
    ['two signals', ['SIGINT', 'SIGINT']],
  ] as const) {
    it(`a confirmation leaves no process and no directory after ${count}`, { timeout: 60_000 }, async () => {
      const { child, url } = await started();
      let said = '';
      child.stdout!.on('data', (chunk: Buffer) => (said += chunk.toString()));
      for (const signal of signals) child.kill(signal);
      const [status] = (await once(child, 'close')) as [number | null];
      assert.equal(status, signals[0] === 'SIGTERM' ? 143 : 130);
      // One signal leaves the prediction, with the reason.
      if (signals.length === 1) assert.match(said, /^nothing was confirmed: SIGTERM was received$/m);
      assert.deepEqual(ownDirectories(), []);
      // What was killed may take a moment over it.
      await until(async () => !(await isServed(url)), 20);
    });
  }

  it('a confirmation that cannot be done keeps the prediction, and says why', async () => {
    const [failing, waiting] = [join(directory, 'failing'), join(directory, 'waiting')];
    writeFileSync(failing, '#!/bin/sh\necho no space left\nexit 1\n', { mode: 0o755 });
    writeFileSync(waiting, '#!/bin/sh\nexec sleep 60\n', { mode: 0o755 });
    const answer = smallAnswer();
    const programs = {
      server: { etcd: failing, kubeApiserver: waiting },
      kubeControllerManager: failing,
      version: null,
    };
    const { answer: after } = await confirmed(answer, OBJECTIVE, { part: PART, programs }, () => undefined);
    assert.deepEqual({ ...after, notes: [] }, { ...answer, notes: [] });
    assert.match(
      after.notes.at(-1)!,
      /^nothing was confirmed: etcd has ended with status 1; its log ends: no space left$/,
    );
    assert.deepEqual([exitStatus(answer, false), exitStatus(after, true)], [0, 1]);
  });

  it('there is nothing to try if nothing was searched', async () => {
    const programs = { server: null, kubeControllerManager: null, version: null };
    const refused = { ...smallAnswer(), recommendation: null };
    const { answer, signalled } = await confirmed(refused, OBJECTIVE, { part: PART, programs }, () => undefined);
    assert.deepEqual([answer.notes.at(-1), signalled], ['nothing was tried for real: nothing is recommended', null]);
  });

  it('a confirmation tells which kube-controller-manager is tried', async (context) => {
    const assets = join(directory, 'assets');
    const manager = join(assets, 'kube-controller-manager');
    mkdirSync(assets);
    const before = process.env['KUBEBUILDER_ASSETS'];
    context.after(() => {
      if (before === undefined) delete process.env['KUBEBUILDER_ASSETS'];
      else process.env['KUBEBUILDER_ASSETS'] = before;
    });
    process.env['KUBEBUILDER_ASSETS'] = assets;
    const versionBy = async (script: string, controller: Program): Promise<string | null> => {
      writeFileSync(manager, `#!/bin/sh\n${script}\n`);
      chmodSync(manager, 0o755);
      return (await programsFor(controller, PART)).version;
    };
    const tells = '[ "$*" = --version ] && echo Kubernetes v1.34.1';
    assert.equal(await versionBy(tells, 'kube-controller-manager'), 'v1.34.1');
    assert.equal(await versionBy('exit 1', 'kube-controller-manager'), null);
    assert.equal(await versionBy(tells, 'endpointd'), null);
  });

  it('a confirmation with another version than the one that is played says so', () => {
    const note =
      'kube-controller-manager v1.34.1 was tried, and what is predicted is what 1.36 does: --kcm-version says what is played';
    assert.deepEqual(otherVersion({ version: 'v1.34.1' }, 36), [note]);
    for (const version of ['v1.36.3', 'v1.36.0-rc.1', null]) assert.deepEqual(otherVersion({ version }, 36), []);
    const confirmation = { server: 'kube-apiserver', version: 'v1.34.1', seconds: 30, changes: 450, rounds: 3 };
    const text = confirmationText({ ...confirmation, lateMs: 2, tried: [] });
    assert.ok(
      text.includes(' changes, on the kube-apiserver of this machine, kube-controller-manager v1.34.1; '),
      text,
    );
  });

  it('a confirmation begins with the pods of its part, and counts them', async () => {
    const places = Array.from({ length: PODS_MAX + 1 }, () => ({ service: 0, start: NOTHING }));
    const grow = places.map((_, place) => ({ place, wanted: READY }));
    const change = (atMs: number, changed: Story['changes'][number]['places']): Story['changes'][number] => ({
      atMs,
      namespace: 0,
      kind: 'pod',
      places: changed,
      service: -1,
    });
    const late = Array.from({ length: 5 }, (_, i) => change(60_000 + i, [{ place: 0, wanted: READY }]));
    const story = { ...PART, durationMs: 120_000, places, changes: [change(0, grow), ...late] };
    await assert.rejects(programsFor('endpointd', busiestPart(story, 10_000, 'endpointd')), {
      message: `cannot confirm: a test API server is filled with at most ${PODS_MAX} pods, and there are ${PODS_MAX + 1}`,
    });
  });
});
