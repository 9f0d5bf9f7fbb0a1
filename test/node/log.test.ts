import assert from 'node:assert/strict';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pid } from 'node:process';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLog, formatJson, formatText, type LogLine } from '../../src/node/log.ts';

const WALL_MS = Date.UTC(2026, 10, 21, 9, 8, 7, 65);

function line(fields: Partial<LogLine>): LogLine {
  return { level: 'info', v: 0, message: 'synced', fields: {}, ...fields };
}

test('text is klog text', () => {
  assert.equal(
    formatText(line({ fields: { service: 'a/b "c"', writes: 2, ok: true } }), WALL_MS),
    `I1121 09:08:07.065000 ${pid}] "synced" service="a/b \\"c\\"" writes=2 ok=true\n`,
  );
  assert.match(formatText(line({ level: 'error' }), WALL_MS), /^E1121/);
  assert.match(formatText(line({ level: 'warning' }), WALL_MS), /^W1121/);
});

test('text stays one line whatever the values hold', () => {
  assert.equal(formatText(line({ message: 'a\nb', fields: { x: 'c\nd' } }), WALL_MS).split('\n').length, 2);
});

test('json has the keys of component-base', () => {
  assert.deepEqual(JSON.parse(formatJson(line({ v: 2, fields: { service: 'a/b', logger: 'endpoints' } }), WALL_MS)), {
    ts: WALL_MS,
    v: 2,
    msg: 'synced',
    service: 'a/b',
    logger: 'endpoints',
  });
  assert.deepEqual(JSON.parse(formatJson(line({ level: 'error', fields: { err: 'x' } }), WALL_MS)), {
    ts: WALL_MS,
    level: 'error',
    msg: 'synced',
    err: 'x',
  });
});

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

test('a line is written soon without a flush, and so is one that comes long after it', { timeout: 10_000 }, () =>
  withPath(async (path) => {
    const log = createLog({ verbosity: 0, format: 'text', destination: openSync(path, 'w') });
    for (const message of ['first', 'second']) {
      log.write(line({ message }));
      while (!readFileSync(path, 'utf8').includes(message)) await sleep(20);
    }
  }),
);
