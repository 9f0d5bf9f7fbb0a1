import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpointsLabels } from '../../../src/core/endpoints/labels.ts';
import { makeService } from '../../support/records.ts';

const MANAGED = { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' };
const HEADLESS = { 'service.kubernetes.io/headless': '' };

function check(name: string, service: Parameters<typeof makeService>[0], expected: Record<string, string>): void {
  test(`the labels of Endpoints: ${name}`, () => assert.deepEqual(endpointsLabels(makeService(service)), expected));
}

check('no labels but ours', {}, MANAGED);
check('those of the service', { labels: { a: '1', b: '' } }, { ...MANAGED, a: '1', b: '' });
check('headless', { clusterIP: 'None' }, { ...MANAGED, ...HEADLESS });
check('no cluster IP is headless too', { clusterIP: '' }, { ...MANAGED, ...HEADLESS });
check('a headless label of one that is not goes', { labels: { 'service.kubernetes.io/headless': '' } }, MANAGED);
check(
  'a headless label of one that is has our value',
  { labels: { 'service.kubernetes.io/headless': 'yes' }, clusterIP: 'None' },
  { ...MANAGED, ...HEADLESS },
);
check('nobody else manages it', { labels: { 'endpoints.kubernetes.io/managed-by': 'me' } }, MANAGED);
check('names that JavaScript knows', { labels: { constructor: 'x' } }, { ...MANAGED, constructor: 'x' });
