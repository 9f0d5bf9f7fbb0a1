import assert from 'node:assert/strict';
import { test } from 'node:test';
import { story } from '../support/stories.ts';
import { ownPart } from '../../src/tune/strangers.ts';
import type { Program } from '../../src/metrics/program-of.ts';

test('what another controller has written is no recording of this one', () => {
  const none = { samples: { endpoints: [], slices: [] }, writes: { endpoints: [], slices: [] } };
  const played = story({ services: 1, changes: [[0, 0, 'ready']] });
  const refusalsOf = (endpoints: readonly Program[], slices: readonly Program[]): readonly string[] =>
    ownPart(played, none, { endpoints, slices }, 'endpointd').refusals;
  assert.deepEqual(refusalsOf([], []), []);
  assert.deepEqual(refusalsOf(['endpointd'], ['endpointd']), []);
  assert.deepEqual(refusalsOf(['endpointd'], []), []);
  assert.deepEqual(refusalsOf(['kube-controller-manager'], ['kube-controller-manager']), [
    'kube-controller-manager has written what was recorded, and not endpointd: name it with --controller',
  ]);
  assert.deepEqual(refusalsOf(['endpointd', 'kube-controller-manager'], ['endpointd']), [
    'endpointd and kube-controller-manager have both written endpoints: the recording tells of neither alone',
  ]);
});
