import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBeginning } from '../../src/cli/record/beginning.ts';
import type { RecorderStatus } from '../../src/recording/recorder.ts';

function status(seconds: number, fields: Partial<RecorderStatus> = {}, pods = 0): RecorderStatus {
  const objects = { pods, services: 0, nodes: 0, endpoints: 0, endpointslices: 0 };
  return {
    seconds,
    waitsFor: '',
    objects,
    changes: 0,
    bytes: 0,
    gaps: 0,
    rewatched: 0,
    refused: [],
    turnedAway: [],
    texts: 0,
    ...fields,
  };
}

/** What is found of each state, one after the other. */
function found(...states: readonly RecorderStatus[]): string[] {
  const beginningOf = createBeginning();
  return states.map((one) => {
    const { begunAt, hopeless } = beginningOf(one);
    const why = hopeless.replace(/:.*|;.*/, '');
    if (begunAt !== null) return `begun at ${begunAt}${why === '' ? '' : `, but ${why}`}`;
    return why === '' ? 'waits' : why;
  });
}

test('a recording begins without nodes or one of the outputs, if they are refused', () => {
  assert.deepEqual(found(status(0.2, { waitsFor: 'services' }), status(0.4, { refused: ['nodes', 'endpoints'] })), [
    'waits',
    'begun at 0.4',
  ]);
});

test('a recording waits a while for what an API server that starts refuses', () => {
  assert.deepEqual(found(status(1, { refused: ['pods'] }), status(8, { refused: ['pods'] }), status(9)), [
    'waits',
    'waits',
    'begun at 9',
  ]);
  for (const refused of [
    ['services', 'pods'],
    ['endpoints', 'endpointslices'],
  ] as const) {
    assert.deepEqual(
      found(
        status(1, { refused }),
        status(6, { waitsFor: 'nodes' }),
        status(9, { refused }),
        status(18.8, { refused }),
        status(19, { refused }),
      ),
      ['waits', 'waits', 'waits', 'waits', `the server refuses ${refused.join(' and ')}`],
    );
  }
});

test('a recording that has begun stays so, whatever is refused or waited for', () => {
  const states = [status(3), status(20, { refused: ['pods'] }), status(400, { waitsFor: 'nodes' })];
  assert.deepEqual(found(...states), ['begun at 3', 'begun at 3', 'begun at 3']);
});

test('a recording ends when what it needs is turned away for two minutes', () => {
  const away = status(100, { turnedAway: ['nodes', 'pods'] });
  const ended = 'begun at 3, but the server has refused pods for 120 s (401 or 403)';
  assert.deepEqual(found(status(3), away, { ...away, seconds: 219 }, { ...away, seconds: 220 }), [
    'begun at 3',
    'begun at 3',
    'begun at 3',
    ended,
  ]);
  const back = status(219);
  const nodes = status(100, { turnedAway: ['nodes', 'endpoints'] });
  for (const states of [
    [away, back, { ...away, seconds: 330 }],
    [nodes, { ...nodes, seconds: 330 }],
  ]) {
    assert.equal(found(status(3), ...states).at(-1), 'begun at 3');
  }
});

test('a recording waits for lists as long as they bring something', () => {
  const waitsFor = 'pods';
  assert.deepEqual(
    found(status(110, { waitsFor }, 500), status(220, { waitsFor }, 500), status(230, { waitsFor }, 500)),
    ['waits', 'waits', 'nothing more of pods could be listed for 120 s'],
  );
});

test('a recording does not wait for a list that breaks off again and again', () => {
  const waitsFor = 'pods';
  assert.deepEqual(found(...[500, 0, 400, 500].map((pods, i) => status(110 + 40 * i, { waitsFor }, pods))), [
    'waits',
    'waits',
    'waits',
    'nothing more of pods could be listed for 120 s',
  ]);
});
