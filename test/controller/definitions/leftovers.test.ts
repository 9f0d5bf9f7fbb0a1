/** Whether Endpoints are left over from a Service that does not write them any more. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { endpointsDefinition } from '../../../src/controller/definitions/endpoints.ts';
import { MANAGED_BY_LABEL, MANAGED_BY_VALUE } from '../../../src/kube/names.ts';
import type { ServiceRecord } from '../../../src/kube/types.ts';
import { serviceRecord } from '../../support/batches.ts';
import { DEFAULT_OPTIONS } from '../../support/sim.ts';

const OPT_OUT = 'example.com/leave-me';
const UNSELECTED = serviceRecord({ selector: null });
const SELECTED = serviceRecord({ selector: ['app', 'web'] });
const OURS = [MANAGED_BY_LABEL, MANAGED_BY_VALUE];

/** @param labels of the Endpoints; null = there are none */
function leftOver(record: ServiceRecord | null, labels: readonly string[] | null, cleanUpUnselected = true): boolean {
  const options = { ...DEFAULT_OPTIONS, cleanUpUnselected, optOutLabel: OPT_OUT };
  const endpoints =
    labels === null
      ? null
      : { namespace: 'shop', name: 'web', uid: 'u', resourceVersion: '1', labels, leaderElection: false };
  return endpointsDefinition.hasLeftovers({ record, endpoints: { record: endpoints } }, options);
}

describe('Endpoints are left over', () => {
  it('where there is no Service', () => assert.equal(leftOver(null, OURS, false), true));
  it('where the Service has lost its selector, the flag asks for it and they are ours', () =>
    assert.equal(leftOver(UNSELECTED, OURS), true));
});

describe('Endpoints are not left over', () => {
  it('where they do not exist', () => assert.equal(leftOver(null, null), false));
  it('where the flag does not ask for it', () => assert.equal(leftOver(UNSELECTED, OURS, false), false));
  it('where somebody else has made them', () => assert.equal(leftOver(UNSELECTED, []), false));
  it('where the Service is planned, ours or not', () => {
    assert.equal(leftOver(SELECTED, OURS), false);
    assert.equal(leftOver(SELECTED, []), false);
  });
  it('where the Service is left to somebody else', () =>
    assert.equal(leftOver({ ...UNSELECTED, labels: [OPT_OUT, ''] }, OURS), false));
});
