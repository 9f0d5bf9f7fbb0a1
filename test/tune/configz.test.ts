import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configz } from '../../src/cli/configz.ts';
import { parseRunFlags } from '../../src/cli/flags/flags.ts';
import { parseConfigz } from '../../src/tune/configz.ts';

const FLAGS = [
  '--concurrent-endpoint-syncs=7',
  '--concurrent-service-endpoint-syncs=9',
  '--endpoint-updates-batch-period=500ms',
  '--endpointslice-updates-batch-period=1m1s',
  '--max-endpoints-per-slice=50',
  '--kube-api-qps=70.5',
  '--kube-api-burst=99',
];

test('configz tells each flag that it has', () => {
  const text = JSON.stringify(configz(parseRunFlags(FLAGS, () => undefined)));
  assert.deepEqual(parseConfigz(text), {
    endpointSyncs: 7,
    serviceEndpointSyncs: 9,
    endpointsBatchMs: 500,
    slicesBatchMs: 61_000,
    endpointsPerSlice: 50,
    qps: 70.5,
    burst: 99,
  });
});

test('what is no configz of these controllers is refused, with the field', () => {
  const own = (fields: object): string => JSON.stringify({ 'kubecontrollermanager.config.k8s.io': fields });
  const cases = [
    ['<html>', 'it is no JSON'],
    ['{"kubelet.config.k8s.io":{}}', /^this is the configuration of something else: /],
    ['null', /^this is the configuration of something else: /],
    [own({}), 'EndpointController.ConcurrentEndpointSyncs: nothing is no number'],
    [
      own({ EndpointController: { ConcurrentEndpointSyncs: 'many' } }),
      'EndpointController.ConcurrentEndpointSyncs: "many" is no number',
    ],
  ] as const;
  for (const [text, message] of cases) assert.throws(() => parseConfigz(text), { message });
});
