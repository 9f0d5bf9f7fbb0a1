import assert from 'node:assert/strict';
import { test } from 'node:test';
import { benchWithData, tableTitles } from './run-bench.ts';

test('the bench of writers measures each way, and each PUT has its answer', async () => {
  const { status, out, data } = await benchWithData('writer');
  assert.equal(status, 0, out);
  const ways = ['transport', 'own writer', 'http2', 'sockets'].flatMap((way) => [`${way}, plain`, `${way}, TLS`]);
  const rows = out.split('\n').filter((line) => /^\w[\w ]*, (?:plain|TLS) +\d+ /.test(line));
  assert.deepEqual(
    rows.map((row) => /^[\w ]*, \w+/.exec(row)?.[0]),
    ways,
  );
  assert.deepEqual(tableTitles(data!), ['CPU of a PUT of 500 bytes, microseconds']);
});
