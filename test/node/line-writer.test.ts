import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { createLineWriter, type LineSink, type LineWriter } from '../../src/node/line-writer.ts';

const PAUSE_MS = 100;

/** Stands for a write that has not come back. */
const NEVER = 'never';
/** What the output does with a write: how many bytes it takes, or the code of its error. */
type Answer = number | string;

/** A writer whose output gives `answers`, one a write; after the last one it takes everything. */
function scene(answers: Answer[], bytesMax = 1000) {
  const seen: string[] = [];
  function take(bytes: Uint8Array): number {
    const answer = answers.shift() ?? bytes.length;
    if (typeof answer === 'string') throw Object.assign(new Error(answer), { code: answer });
    seen.push(Buffer.from(bytes.subarray(0, answer)).toString());
    return answer;
  }
  const sink: LineSink = {
    write(bytes, done) {
      if (answers[0] === NEVER) return;
      try {
        const written = take(bytes);
        queueMicrotask(() => done(null, written));
      } catch (error) {
        queueMicrotask(() => done(error as NodeJS.ErrnoException, 0));
      }
    },
    writeSync: take,
  };
  const writer = createLineWriter({ sink, bytesMax, dropNotice: (lines) => `[${lines} dropped]\n` });
  return { ...writer, seen, text: () => seen.join('') };
}

/** Lets the pauses between writes pass, and what they begin end. */
async function pass(): Promise<void> {
  mock.timers.tick(PAUSE_MS);
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

function timed(title: string, story: () => Promise<void> | void): void {
  test(title, async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      await story();
    } finally {
      mock.timers.reset();
    }
  });
}

timed('lines that come together are written together', async () => {
  const { push, seen } = scene([]);
  push('a\n');
  push('b\n');
  assert.deepEqual(seen, []);
  await pass();
  assert.deepEqual(seen, ['a\nb\n']);
});

timed('an output that takes a part gets the rest', async () => {
  const { push, seen } = scene([2, 1]);
  push('abcdef\n');
  await pass();
  assert.deepEqual(seen, ['ab', 'c', 'def\n']);
});

timed('an output that takes nothing now is asked again after a pause', async () => {
  const { push, text, droppedLines, writeErrors } = scene(['EAGAIN', 'EAGAIN']);
  push('a\n');
  await pass();
  await pass();
  assert.equal(text(), '');
  await pass();
  assert.equal(text(), 'a\n');
  assert.deepEqual([droppedLines(), writeErrors()], [0, 0]);
});

timed('lines that cannot be written are counted, and reported when writing works', async () => {
  const { push, text, droppedLines, writeErrors } = scene(['ENOSPC', 'ENOSPC']);
  push('a\n');
  push('b\n');
  await pass();
  push('c\n');
  await pass();
  assert.deepEqual([droppedLines(), writeErrors()], [3, 2]);
  push('d\n');
  await pass();
  assert.equal(text(), '[3 dropped]\nd\n');
  push('e\n');
  await pass();
  assert.equal(text(), '[3 dropped]\nd\ne\n');
});

timed('a notice that cannot be written is repeated, and its lines count once', async () => {
  const { push, text, droppedLines } = scene(['EIO', 'EIO', 'EIO']);
  for (const line of ['a\n', 'b\n', 'c\n', 'd\n']) {
    push(line);
    await pass();
  }
  assert.equal(text(), '[3 dropped]\nd\n');
  assert.equal(droppedLines(), 3);
});

timed('a line that was cut off does not run into the next one', async () => {
  const { push, text, droppedLines } = scene([4, 'ENOSPC']);
  push('ab\n');
  push('cd\n');
  await pass();
  assert.equal(droppedLines(), 1);
  push('ef\n');
  await pass();
  assert.equal(text(), 'ab\nc\n[1 dropped]\nef\n');
});

timed('lines beyond the buffer are dropped, and a notice stands in their place', async () => {
  const { push, text, droppedLines } = scene(['EAGAIN'], 20);
  for (let i = 0; i < 8; i++) push(`line${i}\n`);
  assert.equal(droppedLines(), 5);
  await pass();
  await pass();
  assert.equal(text(), 'line0\nline1\nline2\n[5 dropped]\n');
});

timed('a write that never returns holds no more than the buffer, and no flush', async () => {
  const { push, flush, droppedLines } = scene([NEVER], 20);
  push('line0\n');
  await pass();
  for (let i = 1; i < 10; i++) push(`line${i}\n`);
  assert.equal(droppedLines(), 7);
  const flushed = flush(1000);
  mock.timers.tick(1000);
  assert.equal(await flushed, false);
});

timed('a flush ends when everything is written', async () => {
  const { push, flush, text } = scene([1, 'EAGAIN']);
  push('ab\n');
  const flushed = flush(1000);
  await pass();
  await pass();
  assert.equal(await flushed, true);
  assert.equal(text(), 'ab\n');
});

timed('without waiting lines no timer runs', async () => {
  const { push } = scene([]);
  const timers = mock.method(globalThis, 'setTimeout');
  push('a\n');
  assert.equal(timers.mock.callCount(), 1);
  await pass();
  for (let i = 0; i < 10; i++) await pass();
  assert.equal(timers.mock.callCount(), 1);
  timers.mock.restore();
});

function sync(answers: Answer[], use: (writer: LineWriter & { text: () => string }) => void): void {
  const writer = scene(answers);
  writer.push('a\n');
  writer.push('b\n');
  use(writer);
}

test('flushNow writes at once, past errors and refusals', () =>
  sync([1, 'EAGAIN'], ({ flushNow, text }) => {
    flushNow(10_000);
    assert.equal(text(), 'a\nb\n');
  }));

test('flushNow gives up on an output that takes nothing', () =>
  sync(Array<Answer>(10_000).fill('EAGAIN'), ({ flushNow, text }) => {
    flushNow(20);
    assert.equal(text(), '');
  }));

test('flushNow ends on an output that fails', () =>
  sync(Array<Answer>(10_000).fill('ENOSPC'), ({ flushNow, droppedLines }) => {
    flushNow(10_000);
    assert.equal(droppedLines(), 2);
  }));

test('flushNow writes after a write that waits for a thread, not before it', () => {
  const seen: string[] = [];
  let inThread = '';
  const writer = createLineWriter({
    sink: {
      write: (bytes) => void (inThread = Buffer.from(bytes).toString()),
      writeSync: (bytes) => seen.push(Buffer.from(bytes).toString()) && bytes.length,
    },
    bytesMax: 1000,
    dropNotice: () => '',
  });
  writer.push('a\n');
  void writer.flush(1);
  writer.push('b\n');
  // The thread writes while the main thread waits.
  const waiting = mock.method(Atomics, 'wait', () => {
    seen.push(inThread);
    return 'timed-out';
  });
  try {
    writer.flushNow(1000);
  } finally {
    waiting.mock.restore();
  }
  assert.deepEqual(seen, ['a\n', 'b\n']);
});
