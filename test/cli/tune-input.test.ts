/** What the model is told of a run of `endpointd tune`. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseTuneFlags } from '../../src/cli/tune/tune-flags.ts';
import { tuneInputOf } from '../../src/cli/tune/tune-input.ts';
import type { Run } from '../../src/twin/run.ts';
import { calibrationText } from '../../src/tune/calibration.ts';
import { GUESSED } from '../../src/tune/numbers.ts';
import { DEFAULT_CALIBRATION, DEFAULT_SETTINGS } from '../../src/twin/settings.ts';
import { recordingOf } from '../support/model-recording.ts';
import { story } from '../support/stories.ts';

async function runFrom(from: string): Promise<Run> {
  const { run } = await tuneInputOf(parseTuneFlags([`--from=${from}`], () => undefined));
  return run;
}

test('a recorded controller was at work before, and one that plays a profile was not', async (context) => {
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-tune-input-'));
  context.after(() => rmSync(directory, { recursive: true }));
  const recording = join(directory, 'recording');
  const one = story({ services: 1, changes: [[1000, 0, 'ready']] });
  const run: Run = {
    story: one,
    controller: 'kube-controller-manager',
    settings: DEFAULT_SETTINGS,
    calibration: DEFAULT_CALIBRATION,
    seed: 1,
  };
  writeFileSync(recording, recordingOf(run));
  assert.equal((await runFrom(recording)).tokensAtStart, 'as left');
  assert.equal((await runFrom('flap')).tokensAtStart, undefined);
});

test('a profile is played with the numbers of a calibration, as unsure as it says', async (context) => {
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-tune-input-'));
  context.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, 'calibration.json');
  const calibration = { ...DEFAULT_CALIBRATION, watchLagMs: 2.5 };
  const unsure = { ...GUESSED, 'watch lag': { down: 1.25, up: 1.25 } };
  writeFileSync(path, calibrationText({ calibration, unsure }));
  const inputWith = async (...flags: readonly string[]): Promise<readonly unknown[]> => {
    const input = await tuneInputOf(parseTuneFlags(['--from=flap', ...flags], () => undefined));
    return [input.run.calibration, input.unsure];
  };
  assert.deepEqual(await inputWith(`--calibration=${path}`), [calibration, unsure]);
  assert.deepEqual(await inputWith(), [DEFAULT_CALIBRATION, GUESSED]);
});
