import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sliceIsOurs, sliceLabels, sliceLabelsAreRight } from '../../../src/core/slices/slice-labels.ts';
import { labelsFromRecord } from '../../support/labels.ts';
import { makeService } from '../../support/records.ts';
import { sliceLabelsOf } from './slices-world.ts';

const HEADLESS = { 'service.kubernetes.io/headless': '' };
type Labels = Readonly<Record<string, string>>;

// What is written

function writes(name: string, labels: Labels, clusterIP: string, expected: Labels): void {
  test(`the plan writes the labels: ${name}`, () =>
    assert.deepEqual(sliceLabels(makeService({ labels, clusterIP })), expected));
}

writes('the two of its own', {}, '10.0.0.1', sliceLabelsOf('web'));
writes('those of the service', { a: '1', b: '' }, '10.0.0.1', sliceLabelsOf('web', { a: '1', b: '' }));
writes('headless', {}, 'None', sliceLabelsOf('web', HEADLESS));
writes('headless, without any cluster IP', { a: '1' }, '', sliceLabelsOf('web', { a: '1', ...HEADLESS }));
writes(
  'its own in place of the same ones of the service',
  { a: '1', ...sliceLabelsOf('hijack') },
  '10.0.0.1',
  sliceLabelsOf('web', { a: '1' }),
);
writes('no headless label because the service has one', HEADLESS, '10.0.0.1', sliceLabelsOf('web'));

// What is reason to write

function check(name: string, slice: Labels | undefined, service: Labels, expected: 'right' | 'wrong'): void {
  test(`the labels are ${expected}: ${name}`, () => {
    assert.equal(sliceLabelsAreRight(slice, labelsFromRecord(service)), expected === 'right');
  });
}

check('no labels on either', undefined, {}, 'right');
check('only its own', sliceLabelsOf('web'), {}, 'right');
check('its own missing, which alone is no reason', {}, {}, 'right');
check('headless missing or too much, which alone is no reason', sliceLabelsOf('web', HEADLESS), {}, 'right');
check('the label of the service', sliceLabelsOf('web', { a: '1' }), { a: '1' }, 'right');
check('the same in another order', { b: '2', ...sliceLabelsOf('web'), a: '1' }, { a: '1', b: '2' }, 'right');
check('reserved ones on the service', sliceLabelsOf('web'), { ...sliceLabelsOf('hijack'), ...HEADLESS }, 'right');
check('a label is missing', sliceLabelsOf('web'), { a: '1' }, 'wrong');
check('no labels at all where there should be', undefined, { a: '1' }, 'wrong');
check('a label has another value', sliceLabelsOf('web', { a: '2' }), { a: '1' }, 'wrong');
check('a label has another key', sliceLabelsOf('web', { b: '1' }), { a: '1' }, 'wrong');
check('a label too much, somebody`s own', sliceLabelsOf('web', { a: '1' }), {}, 'wrong');
check('a label that every object inherits', sliceLabelsOf('web'), { toString: '' }, 'wrong');

test("our slices have the name of the service and our controller's label", () => {
  assert.equal(sliceIsOurs(sliceLabelsOf('web'), 'web'), true);
  assert.equal(sliceIsOurs(sliceLabelsOf('other'), 'web'), false);
  assert.equal(
    sliceIsOurs({ ...sliceLabelsOf('web'), 'endpointslice.kubernetes.io/managed-by': 'somebody' }, 'web'),
    false,
  );
  assert.equal(sliceIsOurs(undefined, 'web'), false);
});
