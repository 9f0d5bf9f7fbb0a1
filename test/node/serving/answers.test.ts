import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { createAnswers, type Answers } from '../../../src/node/serving/answers.ts';

describe('answers that cost a request', () => {
  let nowMs: number;
  let asked: string[];
  let answers: Answers<string>;
  beforeEach(() => {
    [nowMs, asked] = [0, []];
    answers = createAnswers({
      keptMax: 2,
      inFlightMax: 2,
      ttlMs: (answer) => (answer === 'no' ? 10 : 100),
      nowMs: () => nowMs,
    });
  });

  function get(key: string, answer = 'yes'): Promise<string> {
    return answers.get(key, () => {
      asked.push(key);
      return Promise.resolve(answer);
    });
  }

  it('answers hold for their time, a yes longer than a no', async () => {
    await get('a');
    await get('b', 'no');
    nowMs = 50;
    assert.deepEqual([await get('a', 'no'), await get('b')], ['yes', 'yes']);
    assert.deepEqual(asked, ['a', 'b', 'b']);
    nowMs = 100;
    assert.equal(await get('a', 'no'), 'no');
  });

  it('the least used answers give way to new ones', async () => {
    for (const key of ['a', 'b', 'a', 'c', 'a', 'b']) await get(key);
    assert.deepEqual(asked, ['a', 'b', 'c', 'b']);
  });

  it('answers to long questions are not kept', async () => {
    const key = 'x'.repeat(3000);
    await get(key);
    await get(key);
    assert.equal(asked.length, 2);
  });

  it('failed answers are not kept, and all who ask meanwhile are told', async () => {
    let asks = 0;
    const fail = (): Promise<string> => {
      asks++;
      return Promise.reject(new Error('away'));
    };
    const both = await Promise.allSettled([answers.get('a', fail), answers.get('a', fail)]);
    assert.deepEqual([both.map(({ status }) => status), asks], [['rejected', 'rejected'], 1]);
    assert.equal(await get('a'), 'yes');
  });

  it('further questions are refused while too many wait', async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const waiting = ['a', 'b'].map((key) => answers.get(key, () => promise));
    await assert.rejects(get('c'), /too many questions/);
    resolve('yes');
    await Promise.all(waiting);
    assert.equal(await get('c'), 'yes');
  });
});
