/** What the model is told of a run of `endpointd tune`. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseTuneFlags } from '../../src/cli/tune/tune-flags.ts';
import { tuneInputOf } from '../../src/cli/tune/tune-input.ts';
import type { Run } from '../../src/twin/run.ts';
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
