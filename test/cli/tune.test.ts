/** `endpointd tune` as a process. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { after, describe, it } from 'node:test';

const BIN = join(import.meta.dirname, '..', '..', 'bin', 'endpointd.js');

interface Outcome {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

function tune(...args: readonly string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(execPath, [BIN, 'tune', ...args], (error, stdout, stderr) =>
      resolve({ status: error === null ? 0 : (child.exitCode ?? -1), stdout, stderr }),
    );
  });
}

describe('endpointd tune', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tune-'));
  after(() => rmSync(directory, { recursive: true }));

  it('refuses what is neither a profile nor a recording, with status 1', async () => {
    const path = join(directory, 'not-a-recording');
    writeFileSync(path, 'hello');
    const { status, stderr, stdout } = await tune(`--from=${path}`);
    assert.deepEqual([status, stdout], [1, '']);
    assert.match(stderr, /^endpointd tune: cannot read \S+not-a-recording: /);
  });

  it('says which figure of an objective is not known, with status 2', async () => {
    const { status, stderr } = await tune('--objective=p98<=1s, min bytes');
    assert.equal(status, 2);
    assert.match(stderr, /"p98" is no figure: is p90 meant\?/);
  });

  it('names the field of a calibration that is wrong', async () => {
    const path = join(directory, 'calibration.json');
    writeFileSync(path, '{"version":1,"cores":0}');
    const { status, stderr } = await tune('--from=huge', `--calibration=${path}`);
    assert.equal(status, 1);
    assert.match(stderr, /calibration\.json: cores: 0 is no number above 0\n$/);
  });
});
