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

test('one listener hears a signal, and gives it back to who had it before', () => {
  const seen: string[] = [];
  const ignore = (): void => undefined;
  const listeners = process.listenerCount('SIGTERM');
  const offOuter = onStopSignals((name) => seen.push(`outer ${name}`), ignore);
  const offInner = onStopSignals((name) => seen.push(`inner ${name}`), ignore);
  process.emit('SIGTERM', 'SIGTERM');
  offInner();
  process.emit('SIGTERM', 'SIGTERM');
  offOuter();
  assert.deepEqual(seen, ['inner SIGTERM', 'outer SIGTERM']);
  assert.equal(process.listenerCount('SIGTERM'), listeners);
});
