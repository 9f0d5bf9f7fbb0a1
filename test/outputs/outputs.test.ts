/** What a fourth output costs: it is added to a copy of the sources, which is compiled and run. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { after, before, describe, it } from 'node:test';
import { EDITS, NEW_FILES } from './fourth-output.ts';
import type { Played } from './play.ts';

const ROOT = join(import.meta.dirname, '../..');
const COPIED = ['src', 'workers', 'test/support', 'test/outputs', 'package.json', 'tsconfig.json'];
const FILES_MAX = 9;
/** This process waits without its event loop, so no limit of the runner would be kept. */
const COMPILED_WITHIN = { timeout: 120_000, killSignal: 'SIGKILL' } as const;
const PLAYED_WITHIN = { timeout: 30_000, killSignal: 'SIGKILL' } as const;

describe('a fourth output', () => {
  let directory: string;

  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'endpointd-output-'));
    for (const path of COPIED) cpSync(join(ROOT, path), join(directory, path), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
    for (const [file, text] of Object.entries(NEW_FILES)) {
      cpSync(join(import.meta.dirname, text), join(directory, file));
    }
    for (const { file, from, to } of EDITS) {
      const path = join(directory, file);
      const text = readFileSync(path, 'utf8');
      assert.ok(text.includes(from), `${file} has no ${JSON.stringify(from)} any more: test/outputs/fourth-output.ts`);
      writeFileSync(path, text.replace(from, to));
    }
  });
  after(() => rmSync(directory, { recursive: true }));

  it(`a fourth output touches at most ${FILES_MAX} source files, and compiles`, (test) => {
    const files = new Set(EDITS.map(({ file }) => file));
    test.diagnostic([...files].join(', '));
    assert.ok(files.size <= FILES_MAX, `${files.size} files`);
    const sources = { extends: './tsconfig.json', include: ['src', 'workers'] };
    writeFileSync(join(directory, 'tsconfig.sources.json'), JSON.stringify(sources));
    execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.sources.json'], {
      cwd: directory,
      stdio: 'pipe',
      encoding: 'utf8',
      ...COMPILED_WITHIN,
    });
  });

  it('a wrongly declared output holds up no other', () => {
    const options = { cwd: directory, encoding: 'utf8', ...PLAYED_WITHIN } as const;
    const text = execFileSync(process.execPath, ['test/outputs/play.ts'], options);
    const { none, ...mistakes } = JSON.parse(text) as Record<string, Played>;
    const ready = ['10.0.0.1 not ready', '10.0.0.2 ready'];
    assert.ok(none !== undefined);
    assert.deepEqual(none, { endpoints: none.endpoints, slices: ready, copy: ready, stuck: [] });
    assert.match(none.endpoints.join(), /10\.0\.0\.2/);
    assert.ok(Object.keys(mistakes).length >= 14);
    for (const [mistake, { endpoints, slices, stuck }] of Object.entries(mistakes)) {
      assert.deepEqual({ endpoints, slices }, { endpoints: none.endpoints, slices: ready }, mistake);
      assert.deepEqual(
        stuck.filter((name) => name !== 'endpointslice-copy'),
        [],
        mistake,
      );
    }
    const stuck = Object.keys(mistakes).filter((mistake) => mistakes[mistake]!.stuck.length > 0);
    assert.deepEqual(stuck, [
      'its state cannot be made',
      'its plan throws',
      'its pods throw',
      'it follows no pods',
      'its facts have no bytes',
    ]);
  });
});
