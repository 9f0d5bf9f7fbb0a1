import assert from 'node:assert/strict';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pid } from 'node:process';
import { test } from 'node:test';
import { strangeLines } from '../support/log-patterns.ts';
import { until } from '../support/until.ts';
import { createLog, formatJson, formatText, type LogLine, type SourcedLine } from '../../src/node/log.ts';

const WALL_MS = Date.UTC(2026, 10, 21, 9, 8, 7, 65);

function line(fields: Partial<LogLine>): SourcedLine {
  return { level: 'info', v: 0, message: 'Synced', fields: {}, source: 'syncs/sync.ts:12', ...fields };
}

test('text is klog text with the file and line of the source', () => {
  assert.equal(
    formatText(line({ fields: { service: 'a/b "c"', writes: 2, ok: true } }), WALL_MS),
    `I1121 09:08:07.065000 ${String(pid).padStart(7)} sync.ts:12] "Synced" service="a/b \\"c\\"" writes=2 ok=true\n`,
  );
  assert.match(formatText(line({ level: 'error' }), WALL_MS), /^E1121/);
  assert.match(formatText(line({ level: 'warning' }), WALL_MS), /^W1121/);
});

test('a text stays one line that collectors can read, whatever its values', () => {
  const text = formatText(line({ message: 'a\nb', fields: { x: 'c\nd', y: ']' } }), WALL_MS);
  assert.equal(text.split('\n').length, 2);
  assert.deepEqual(strangeLines(text), []);
});

test('no value of a line steers the terminal', () => {
  const fields = { service: 'a/b\u009b2J', err: 'no\u202e' };
  const lines = [formatText(line({ fields }), WALL_MS), formatJson(line({ fields }), WALL_MS)];
  for (const text of lines) assert.match(text, /a\/b\\u009b2J.*no\\u202e"/);
  assert.equal((JSON.parse(lines[1]!) as { err: string }).err, fields.err);
});

test('json has the keys of component-base, `v` in information only', () => {
  const text = formatJson(line({ v: 2, fields: { service: 'a/b', controller: 'endpoints' } }), WALL_MS);
  assert.equal(
    text,
    `{"ts":${WALL_MS},"logger":"endpoints-controller","caller":"syncs/sync.ts:12","msg":"Synced","v":2,"service":"a/b"}\n`,
  );
  assert.deepEqual(JSON.parse(formatJson(line({ level: 'error', fields: { err: 'x' } }), WALL_MS)), {
    ts: WALL_MS,
    caller: 'syncs/sync.ts:12',
    level: 'error',
    msg: 'Synced',
    err: 'x',
  });
});

test('the logger of a line is its controller, in text too', () => {
  const text = formatText(line({ fields: { writes: 1, controller: 'endpointslice' } }), WALL_MS);
  assert.match(text, /"Synced" logger="endpointslice-controller" writes=1\n$/);
});

test('a line has its given source, else that of its writer', () =>
  withPath(async (path) => {
    const log = createLog({ verbosity: 0, format: 'json', destination: openSync(path, 'w') });
    log.write({ level: 'info', v: 0, message: 'a', fields: {} });
    log.write(line({}));
    assert.ok(await log.flush(10_000));
    const callers = readFileSync(path, 'utf8').match(/"caller":"[^"]+"/g)!;
    assert.match(callers[0], /"node\/log\.test\.ts:\d+"/);
    assert.equal(callers[1], '"caller":"syncs/sync.ts:12"');
    assert.match(log.sourceOf('info', 0), /^node\/log\.test\.ts:\d+$/);
    assert.equal(log.sourceOf('info', 1), '', 'it is not looked for where nothing is written');
  }));

/** Calls `use` with the path of a log that does not exist yet. */
async function withPath(use: (path: string) => void | Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-log-'));
  try {
    await use(join(directory, 'log'));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test('information is written up to the verbosity, errors and warnings always', () =>
  withPath(async (path) => {
    const log = createLog({ verbosity: 2, format: 'json', destination: openSync(path, 'w') });
    for (const v of [0, 2, 3]) log.write(line({ v }));
    log.write(line({ level: 'error', v: 9 }));
    log.write(line({ level: 'warning', v: 9 }));
    assert.ok(await log.flush(10_000));
    const written = readFileSync(path, 'utf8').trim().split('\n');
    assert.deepEqual(
      written.map((text) => (JSON.parse(text) as LogLine).v ?? (JSON.parse(text) as LogLine).level),
      [0, 2, 'error', 'warning'],
    );
  }));

test('a line is written soon without a flush, also long after the last one', { timeout: 10_000 }, () =>
  withPath(async (path) => {
    const log = createLog({ verbosity: 0, format: 'text', destination: openSync(path, 'w') });
    for (const message of ['first', 'second']) {
      log.write(line({ message }));
      await until(() => readFileSync(path, 'utf8').includes(message));
    }
  }),
);
