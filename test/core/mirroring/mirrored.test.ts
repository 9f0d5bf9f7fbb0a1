import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  isOwnEndpoints,
  type MirrorScope,
  type Unmirrored,
  whyUnmirrored,
} from '../../../src/core/mirroring/mirrored.ts';
import { emptyOutput } from '../../../src/kube/record.ts';
import type { OutputRecord, ServiceRecord } from '../../../src/kube/types.ts';
import { labelsFromRecord } from '../../support/labels.ts';
import { makeService } from '../../support/records.ts';

const byHand = makeService({ selector: null });
const OWN = { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' };
const SKIP = 'endpointslice.kubernetes.io/skip-mirror';

function endpoints(labels: Record<string, string> = {}, leaderElection = false): OutputRecord {
  return { ...emptyOutput(), namespace: 'ns', name: 'web', labels: labelsFromRecord(labels), leaderElection };
}

const cases: [
  title: string,
  service: ServiceRecord | null,
  endpoints: OutputRecord | null,
  scope: Partial<MirrorScope>,
  why: Unmirrored | null,
][] = [
  ['Endpoints made by hand are mirrored', byHand, endpoints(), {}, null],
  ['of an ExternalName too', makeService({ selector: null, type: 'ExternalName' }), endpoints(), {}, null],
  ['without a Service not', null, endpoints(), {}, 'no-service'],
  ['of a Service with a selector not', makeService(), endpoints(), {}, 'selector'],
  ['without Endpoints not', byHand, null, {}, 'no-endpoints'],
  [
    'of a Service that somebody else cares for not',
    byHandWith({ mine: '' }),
    endpoints(),
    { optOutLabel: 'mine' },
    'opted-out',
  ],
  ['what endpointd has left is mirrored', byHand, endpoints(OWN), {}, null],
  ['unless it is cleaned up', byHand, endpoints(OWN), { cleanUpUnselected: true }, 'left-behind'],
  ['such as elect leaders not', byHand, endpoints({}, true), {}, 'leader-election'],
  ['with the label that says so not', byHand, endpoints({ [SKIP]: 'true' }), {}, 'skip-label'],
  ['the label counts to the letter', byHand, endpoints({ [SKIP]: 'True' }), {}, null],
  ['and not by its presence', byHand, endpoints({ [SKIP]: 'false' }), {}, null],
];

function byHandWith(labels: Record<string, string>): ServiceRecord {
  return makeService({ selector: null, labels });
}

for (const [title, service, object, scope, why] of cases) {
  test(title, () => {
    assert.equal(whyUnmirrored(service, object, { optOutLabel: '', cleanUpUnselected: false, ...scope }), why);
  });
}

test('Endpoints of a leader election are not mirrored, whatever their labels say', () => {
  assert.deepEqual([endpoints(OWN), endpoints(), endpoints(OWN, true)].map(isOwnEndpoints), [true, false, false]);
});
