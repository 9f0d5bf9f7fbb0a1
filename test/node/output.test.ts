import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { writeReport } from '../../src/node/output.ts';

test('a report in parts is made at the pace of its reader', async () => {
  const story: string[] = [];
  function* report(): Generator<string> {
    for (const part of ['a', 'b', 'c']) {
      story.push(`${part} made`);
      yield part;
    }
  }
  const output = new Writable({
    decodeStrings: false,
    write(part: string, _encoding, done) {
      setImmediate(() => {
        story.push(`${part} taken`);
        done();
      });
    },
  });
  await writeReport(output, report());
  assert.deepEqual(story, ['a made', 'a taken', 'b made', 'b taken', 'c made', 'c taken']);
});

test('a report that cannot be made, or written, is told', async () => {
  const take = new Writable({ write: (_part, _encoding, done) => done() });
  const broken = (function* (): Generator<string> {
    yield 'a';
    throw new Error('broken');
  })();
  await assert.rejects(writeReport(take, broken), /broken/);
  const full = new Writable({ write: (_part, _encoding, done) => done(new Error('full')) });
  await assert.rejects(writeReport(full, ['a', 'b']), /full/);
});
