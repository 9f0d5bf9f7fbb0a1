/** Which part of the program a sample of a profile belongs to. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { sharesOf } from '../../bench/account/profile.ts';

const directory = mkdtempSync(join(tmpdir(), 'endpointd-profile-'));
after(() => rmSync(directory, { recursive: true }));

/** The part of a profile that has been in one place all the time. */
function partAt(url: string, place: { functionName?: string; lineNumber?: number } = {}): string | undefined {
  const callFrame = { functionName: 'f', lineNumber: 0, columnNumber: 0, url, ...place };
  const shares = sharesOf({ nodes: [{ id: 1, callFrame }], samples: [1], timeDeltas: [500] });
  return shares.keys().next().value;
}

test('a place in a chunk belongs to the folder of its source', () => {
  const chunk = join(directory, 'chunk.js');
  const table = { sources: ['src/kube/project.ts', 'src/core/plan.ts'], runs: [1, 1, 0, 1, 9, 1, 1, 1] };
  writeFileSync(`${chunk}.lines`, JSON.stringify(table));
  const { href } = pathToFileURL(chunk);
  assert.equal(partAt(href, { lineNumber: 7 }), 'src/kube');
  assert.equal(partAt(href, { lineNumber: 8 }), 'src/core');
});

test('a source belongs to its folder, a library is itself, and Node is two parts', () => {
  assert.equal(partAt('file:///project/src/shard/planner.ts'), 'src/shard');
  assert.equal(partAt('file:///project/node_modules/@scope/name/lib/index.js'), '@scope/name');
  assert.equal(partAt('node:internal/modules/esm/loader'), 'Node: modules');
  assert.equal(partAt('node:net'), 'Node: its JavaScript');
  assert.equal(partAt(''), 'native functions');
});

test('the collector and V8 itself are parts, and a thread that waits is none', () => {
  assert.equal(partAt('', { functionName: '(garbage collector)' }), 'collector');
  assert.equal(partAt('', { functionName: '(program)' }), 'V8 itself, with its compilers');
  assert.equal(partAt('', { functionName: '(idle)' }), undefined);
});
