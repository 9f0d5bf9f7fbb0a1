/** What the tests read from the audit log, and that what those with two replicas read there can be wrong. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { overtakenWrites, writesOf, type ObjectWrite } from './audit.ts';

function write(by: string, key: string, receivedAtMs: number, tookMs = 1, status = 200): ObjectWrite {
  return { verb: 'update', key, status, by, receivedAtMs, answeredAtMs: receivedAtMs + tookMs };
}

/** `a` leads, then `b` from 100 on, then `a` again from 200 on. */
const LEASES = [write('a', 'lease', 0), write('a', 'lease', 50), write('b', 'lease', 100), write('a', 'lease', 200)];

it('a write applied after one of a later leader is found, of the same object', () => {
  const others = [write('b', 'shop/web', 110), write('a', 'shop/api', 120), write('a', 'shop/web', 210)];
  assert.deepEqual(overtakenWrites(LEASES, others), []);
  // It was received in time, and applied too late.
  const late = write('a', 'shop/web', 90, 40);
  assert.deepEqual(overtakenWrites(LEASES, [...others, late]), ['a update shop/web at 130, after b']);
});

it('a write that the server has refused overtakes nothing', () => {
  assert.deepEqual(overtakenWrites(LEASES, [write('b', 'shop/web', 110), write('a', 'shop/web', 120, 1, 409)]), []);
  assert.deepEqual(overtakenWrites(LEASES, [write('b', 'shop/web', 110, 1, 409), write('a', 'shop/web', 120)]), []);
});

it('a line of the audit log that is still being written is no write yet', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'endpointd-audit-'));
  try {
    const auditLogPath = join(directory, 'audit.log');
    const line = JSON.stringify({
      verb: 'update',
      userAgent: 'endpointd/0.1.0',
      user: { username: 'a' },
      objectRef: { resource: 'endpoints', namespace: 'shop', name: 'web' },
      requestReceivedTimestamp: '2026-05-28T20:26:40.000000Z',
      stageTimestamp: '2026-05-28T20:26:40.001000Z',
      responseStatus: { code: 200 },
    });
    await writeFile(auditLogPath, `${line}\n${line.slice(0, -10)}`);
    const writes = await writesOf({ auditLogPath }, 'endpointd', 'endpoints');
    assert.deepEqual(
      writes.map(({ key }) => key),
      ['shop/web'],
    );
  } finally {
    await rm(directory, { recursive: true });
  }
});
