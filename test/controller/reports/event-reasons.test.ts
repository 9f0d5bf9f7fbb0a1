import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EVENT_REASONS, type EventReasonName } from '../../../src/controller/reports/event-reasons.ts';

/** As kube-controller-manager writes them (docs/spec/endpoints.md "Events", docs/spec/endpointslice.md "Events"). */
const upstream: [EventReasonName, string, 'Warning' | 'Normal', string][] = [
  ['FailedToCreateEndpoint', 'denied', 'Warning', 'Failed to create endpoint for service shop/web: denied'],
  ['FailedToUpdateEndpoint', 'denied', 'Warning', 'Failed to update endpoint shop/web: denied'],
  ['FailedToUpdateEndpointSlices', 'denied', 'Warning', 'Error updating Endpoint Slices for Service shop/web: denied'],
  ['TopologyAwareHintsEnabled', 'IPv4', 'Normal', 'Topology Aware Hints has been enabled, addressType: IPv4'],
];
for (const [reason, detail, type, message] of upstream) {
  test(`${reason} has upstream's words`, () => {
    assert.deepEqual([EVENT_REASONS[reason].type, EVENT_REASONS[reason].message('shop/web', detail)], [type, message]);
  });
}

test('nothing is added to a ready-made text', () => {
  for (const reason of ['TopologyAwareHintsDisabled', 'InvalidIPAddress', 'TooManyAddressesToMirror'] as const) {
    assert.equal(EVENT_REASONS[reason].message('shop/web', 'as it is'), 'as it is');
  }
});

test('every other reason names the service and the problem', () => {
  for (const reason of [
    'EndpointsTruncated',
    'EndpointsStuck',
    'EndpointSlicesStuck',
    'MirroredEndpointSlicesStuck',
    'EndpointOnUnknownNode',
    'EndpointAddressSkipped',
    'ServiceAnnotationIgnored',
  ] as const) {
    const text = EVENT_REASONS[reason].message('shop/web', 'this is wrong');
    assert.ok(text.includes(' shop/web ') && text.endsWith(': this is wrong'), text);
  }
});
