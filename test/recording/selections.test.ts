import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceRecord } from '../../src/kube/types.ts';
import { createSelections, takeSelection } from '../../src/recording/selections.ts';
import type { RecordedEvent } from '../../src/recording/recording.ts';
import { pod, service } from './made.ts';

const CHANGE = { type: 'change', atMs: 0, told: 'watch', by: 'other', id: 1, version: 1 } as const;

test('events that touch more pods and Services than those of a cluster are refused', () => {
  const [web, none] = [service('web'), service('web', { selector: ['app', 'none'] })];
  const changed = (before: ServiceRecord, after: ServiceRecord): RecordedEvent => ({
    ...CHANGE,
    resource: 'services',
    before,
    after,
  });
  const error = {
    name: 'LineError',
    message: '20000 events touch more than 95 pods and Services, as in no cluster',
  };
  const beginning = (): ReturnType<typeof createSelections> => {
    const selections = createSelections(95);
    takeSelection(selections, { ...CHANGE, resource: 'services', before: null, after: web });
    for (let i = 0; i < 10; i++)
      takeSelection(selections, { ...CHANGE, resource: 'pods', before: null, after: pod(`web-${i}`) });
    return selections;
  };
  const selections = beginning();
  for (let i = 0; i < 4; i++) {
    takeSelection(selections, changed(web, none));
    takeSelection(selections, changed(none, web));
  }
  assert.throws(() => takeSelection(selections, changed(web, none)), error);
  // A gap costs its readers a look at each Service.
  const gaps = beginning();
  for (let i = 0; i < 85; i++) takeSelection(gaps, { type: 'rewatched', atMs: 0, resource: 'pods' });
  assert.throws(() => takeSelection(gaps, { type: 'rewatched', atMs: 0, resource: 'pods' }), error);
  // Over a long time there may be as many.
  const slow = beginning();
  for (let i = 0; i < 300_000; i++) {
    if (i % 10_000 === 0) takeSelection(slow, i % 20_000 === 0 ? changed(web, none) : changed(none, web));
    else takeSelection(slow, { type: 'irrelevant', atMs: 0, counts: {} });
  }
});
