/** What `endpointd tune --confirm` does when settings cannot be tried, or not to the end. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process, { execPath } from 'node:process';
import { after, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { programsFor } from '../../src/cli/tune/confirm.ts';
import { confirmed, exitStatus } from '../../src/cli/tune/confirmed.ts';
import { busiestPart, PODS_MAX } from '../../src/tune/confirmation.ts';
import { parseObjective } from '../../src/tune/objective.ts';
import { profileStory, STORY_PROFILES } from '../../src/twin/profiles.ts';
import { NOTHING, type Story } from '../../src/twin/story.ts';
import { smallAnswer } from '../support/tune-answer.ts';

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

/** Asks `confirm` alone: nothing is searched. */
const SCRIPT = `
const src = ${JSON.stringify(new URL('../../src/', import.meta.url).href)};
const { confirm } = await import(src + 'cli/tune/confirm.ts');
const { parseObjective } = await import(src + 'tune/objective.ts');
const { profileStory } = await import(src + 'twin/profiles.ts');
const { DEFAULT_CALIBRATION, DEFAULT_SETTINGS } = await import(src + 'twin/settings.ts');
const story = profileStory(${JSON.stringify(PROFILE)}, 1);
const run = { story, controller: 'endpointd', settings: DEFAULT_SETTINGS, calibration: DEFAULT_CALIBRATION, seed: 1 };
await confirm(
  {
    run,
    objective: parseObjective('p99(add)<=1s, min bytes'),
    watchers: { nodes: 1, endpointsWatchers: 1 },
    candidates: [{ ...DEFAULT_SETTINGS, qps: 500 }],
    programs: { server: null, kubeControllerManager: null },
  },
  (text) => console.log(text),
);
`;

describe('settings that are tried for real', () => {
  const directory = mkdtempSync(join(tmpdir(), 'confirm-'));
  after(() => rmSync(directory, { recursive: true }));

  const started = async (): Promise<{ readonly child: ChildProcess; readonly url: string }> => {
    const env = { ...process.env, TMPDIR: directory };
    const child = spawn(execPath, ['--input-type=module', '-e', SCRIPT], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
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
      for (const signal of signals) child.kill(signal);
      const [status] = (await once(child, 'exit')) as [number | null];
      assert.equal(status, signals[0] === 'SIGTERM' ? 143 : 130);
      assert.deepEqual(ownDirectories(), []);
      // What was killed may take a moment over it.
      while (await isServed(url)) await sleep(20);
    });
  }

  it('a confirmation that cannot be done keeps the prediction, and says why', async () => {
    const failing = join(directory, 'failing');
    writeFileSync(failing, '#!/bin/sh\necho no space left\nexit 1\n');
    chmodSync(failing, 0o755);
    const answer = smallAnswer();
    const programs = { server: { etcd: failing, kubeApiserver: failing }, kubeControllerManager: failing };
    const after = await confirmed(answer, OBJECTIVE, { part: PART, programs }, () => undefined);
    assert.deepEqual({ ...after, notes: [] }, { ...answer, notes: [] });
    assert.match(after.notes.at(-1)!, /^nothing was confirmed: kube-apiserver has ended; its log ends: no space left$/);
    assert.deepEqual([exitStatus(answer, false), exitStatus(after, true)], [0, 1]);
  });

  it('there is nothing to try if nothing was searched', async () => {
    const programs = { server: null, kubeControllerManager: null };
    const refused = { ...smallAnswer(), recommendation: null };
    const { notes } = await confirmed(refused, OBJECTIVE, { part: PART, programs }, () => undefined);
    assert.deepEqual(notes, ['nothing was tried for real: nothing is recommended']);
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
