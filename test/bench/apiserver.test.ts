import assert from 'node:assert/strict';
import { test } from 'node:test';
import { weighServerInChild } from '../../bench/apiserver/memory.ts';

/** Objects, the history of their making, and some of their bytes; the larger the cluster, the less of it is history. */
const BYTES_A_POD_MAX = 24_000;

test('a pod of production size takes a bounded number of bytes', async () => {
  const { pods, empty, filled, sent } = await weighServerInChild(1);
  assert.ok(pods > 1000);
  assert.ok((filled - empty) / pods < BYTES_A_POD_MAX, `${(filled - empty) / pods} bytes a pod`);
  assert.ok(sent - empty < 140e6 + pods * BYTES_A_POD_MAX);
});
