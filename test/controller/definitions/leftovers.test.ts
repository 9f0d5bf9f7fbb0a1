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
      : {
          namespace: 'shop',
          name: 'web',
          uid: 'u',
          resourceVersion: '1',
          labels,
          leaderElection: false,
          deleting: false,
        };
  return endpointsDefinition.hasLeftovers({ record, endpoints: { record: endpoints } }, options);
}

describe('Endpoints are left over', () => {
  it('Endpoints are left over if there is no Service', () => assert.equal(leftOver(null, OURS, false), true));
  it('own Endpoints are left over with the flag if the Service lost its selector', () =>
    assert.equal(leftOver(UNSELECTED, OURS), true));
});

describe('Endpoints are not left over', () => {
  it('Endpoints that do not exist are not left over', () => assert.equal(leftOver(null, null), false));
  it('Endpoints are not left over without the flag', () => assert.equal(leftOver(UNSELECTED, OURS, false), false));
  it('Endpoints of another maker are not left over', () => assert.equal(leftOver(UNSELECTED, []), false));
  it('Endpoints of a planned Service are not left over, whoever has made them', () => {
    assert.equal(leftOver(SELECTED, OURS), false);
    assert.equal(leftOver(SELECTED, []), false);
  });
  it('Endpoints of a Service that is left to others are not left over', () =>
    assert.equal(leftOver({ ...UNSELECTED, labels: [OPT_OUT, ''] }, OURS), false));
});
