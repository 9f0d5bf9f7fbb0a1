import assert from 'node:assert/strict';
import process from 'node:process';
import { test } from 'node:test';
import { onStopSignals } from '../../src/node/signals.ts';

for (const [signal, status] of [
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const) {
  test(`the first ${signal} stops, the second ends with ${status}`, () => {
    const seen: (string | number)[] = [];
    const off = onStopSignals(
      (name) => seen.push(name),
      (code) => seen.push(code),
    );
    process.emit(signal, signal);
    process.emit(signal, signal);
    off();
    assert.deepEqual(seen, [signal, status]);
  });
}

test('a second signal of the other kind counts too', () => {
  const seen: (string | number)[] = [];
  const off = onStopSignals(
    (name) => seen.push(name),
    (code) => seen.push(code),
  );
  process.emit('SIGINT', 'SIGINT');
  process.emit('SIGTERM', 'SIGTERM');
  off();
  assert.deepEqual(seen, ['SIGINT', 143]);
});
