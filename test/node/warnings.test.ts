import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWarningFilter } from '../../src/node/warnings.ts';

test('a text is due once an hour', () => {
  const due = createWarningFilter();
  assert.deepEqual(due('299 - "be careful"', 0), ['be careful']);
  assert.deepEqual(due('299 - "be careful"', 3_599_999), []);
  assert.deepEqual(due('299 - "be careful"', 3_600_000), ['be careful']);
});

test('several warnings, several headers, quotes and backslashes are read', () => {
  const due = createWarningFilter();
  const text = String.raw`299 - "a \"b\"", 299 kube "c\\d"`;
  assert.deepEqual(due([text, '299 - "e"'], 0), ['a "b"', String.raw`c\d`, 'e']);
});

test('the deprecation of Endpoints is never due', () => {
  const text = '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"';
  assert.deepEqual(createWarningFilter()(text, 0), []);
});

test('a text that is no warning is ignored, and a long one is cut', () => {
  const due = createWarningFilter();
  assert.deepEqual(due('nonsense', 0), []);
  assert.deepEqual(due('299 - "unterminated', 0), []);
  assert.deepEqual(due(`299 - "${'x'.repeat(1000)}"`, 0), ['x'.repeat(256)]);
});

test('beyond 256 texts the oldest is forgotten', () => {
  const due = createWarningFilter();
  for (let i = 0; i < 257; i++) due(`299 - "${i}"`, 0);
  assert.deepEqual(due('299 - "256"', 1), []);
  assert.deepEqual(due('299 - "0"', 1), ['0']);
});
