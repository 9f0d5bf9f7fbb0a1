import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBodyCache, keepBody, type Bodies } from '../../src/apiserver/body-cache.ts';

function none(): Bodies {
  return { protobuf: null, json: null, metadataProtobuf: null, metadataJson: null };
}

describe('the cache of encoded bodies', () => {
  it('the cache never holds more than its bytes and one body, and always the youngest', () => {
    const cache = createBodyCache(1000);
    const all: Bodies[] = [];
    for (let i = 0; i < 100; i++) {
      const bodies = none();
      all.push(bodies);
      keepBody(cache, bodies, i % 2 === 0 ? 'json' : 'protobuf', new Uint8Array(90));
      const held = all.filter(({ json, protobuf }) => (json ?? protobuf) !== null).length * 90;
      assert.ok(held <= 1000 + 90, `${held} bytes after ${i + 1}`);
      assert.notEqual(bodies.json ?? bodies.protobuf, null);
    }
  });

  it('the cache holds everything that fits', () => {
    const cache = createBodyCache(1000);
    const all = Array.from({ length: 10 }, none);
    for (const bodies of all) keepBody(cache, bodies, 'metadataJson', new Uint8Array(40));
    assert.ok(all.every(({ metadataJson }) => metadataJson !== null));
  });
});
