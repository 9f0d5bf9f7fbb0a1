import assert from 'node:assert/strict';
import { test } from 'node:test';
import { publishingOf } from '../../src/core/tolerate-unready.ts';
import { makeService } from '../support/records.ts';

const ANNOTATION = 'service.alpha.kubernetes.io/tolerate-unready-endpoints';
const on = { tolerateUnreadyEndpointsAnnotation: true };
const off = { tolerateUnreadyEndpointsAnnotation: false };

function annotated(value: string, publishNotReadyAddresses: boolean): ReturnType<typeof makeService> {
  return makeService({ annotations: { [ANNOTATION]: value }, publishNotReadyAddresses });
}

for (const value of ['1', 't', 'T', 'TRUE', 'true', 'True']) {
  test(`the value "${value}" publishes`, () => {
    assert.deepEqual(publishingOf(annotated(value, false), on), { publishNotReady: true, problem: null });
  });
}

for (const value of ['0', 'f', 'F', 'FALSE', 'false', 'False']) {
  test(`the value "${value}" does not publish, whatever the field says`, () => {
    assert.deepEqual(publishingOf(annotated(value, true), on), { publishNotReady: false, problem: null });
  });
}

for (const value of ['', 'yes', 'tRUE', ' true', 'on', '2']) {
  test(`the value "${value}" is a problem, and the field counts`, () => {
    for (const field of [true, false]) {
      const { publishNotReady, problem } = publishingOf(annotated(value, field), on);
      assert.equal(publishNotReady, field);
      assert.deepEqual(problem, {
        kind: 'bad-annotation',
        object: 'service ns/web',
        field: `metadata.annotations[${ANNOTATION}]`,
        message: `not a boolean, ignored: ${JSON.stringify(value)}`,
      });
    }
  });
}

test('without the flag the annotation has no effect', () => {
  for (const value of ['true', 'false', 'nonsense']) {
    assert.deepEqual(publishingOf(annotated(value, true), off), { publishNotReady: true, problem: null });
    assert.deepEqual(publishingOf(annotated(value, false), off), { publishNotReady: false, problem: null });
  }
});
