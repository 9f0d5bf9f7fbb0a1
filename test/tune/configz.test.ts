import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configz } from '../../src/cli/configz.ts';
import { parseRunFlags } from '../../src/cli/flags/flags.ts';
import { parseConfigz, parseLimits } from '../../src/tune/configz.ts';

const FLAGS = [
  '--concurrent-endpoint-syncs=7',
  '--concurrent-service-endpoint-syncs=9',
  '--endpoint-updates-batch-period=500ms',
  '--endpointslice-updates-batch-period=1m1s',
  '--max-endpoints-per-slice=50',
  '--kube-api-qps=70.5',
  '--kube-api-burst=99',
  '--adaptive-batch-period-max=2s',
  '--max-writes-in-flight=32',
];

test('configz tells the flags that it has', () => {
  const text = JSON.stringify(configz(parseRunFlags(FLAGS, () => undefined)));
  assert.deepEqual(parseConfigz(text).settings, {
    endpointSyncs: 7,
    serviceEndpointSyncs: 9,
    endpointsBatchMs: 500,
    slicesBatchMs: 61_000,
    endpointsPerSlice: 50,
    qps: 70.5,
    burst: 99,
    adaptiveBatchMs: 2000,
    inFlight: 32,
  });
});

test('the configz of an older endpointd lacks its own flags', () => {
  const { endpointd: own, ...older } = configz(parseRunFlags(FLAGS, () => undefined)) as Record<string, object>;
  const { settings } = parseConfigz(JSON.stringify(older));
  assert.deepEqual([settings.adaptiveBatchMs, settings.inFlight, settings.qps], [undefined, undefined, 70.5]);
  const bad = JSON.stringify({ ...older, endpointd: { ...own, MaxWritesInFlight: 0 } });
  assert.throws(() => parseConfigz(bad), { message: 'MaxWritesInFlight: 0 is no whole number from 1 to 4096' });
});

test('configz tells the syncs of each queue, and what bounds writes', () => {
  const flags = [...FLAGS, '--mirroring-concurrent-service-endpoint-syncs=3'];
  const { endpointd: own, ...upstream } = configz(parseRunFlags(flags, () => undefined)) as Record<string, object>;
  const limits = {
    syncs: { endpoint: 7, endpoint_slice: 9, endpoint_slice_mirroring: 3 },
    qps: 70.5,
    writesInFlight: 32,
  };
  assert.deepEqual(parseLimits(JSON.stringify({ ...upstream, endpointd: own })), limits);
  assert.deepEqual(parseLimits(JSON.stringify(upstream)), { ...limits, writesInFlight: null });
});

test('configz tells which controllers run', () => {
  const flags = parseRunFlags([...FLAGS, '--controllers=*,-endpoints-controller'], () => undefined);
  assert.deepEqual(parseConfigz(JSON.stringify(configz(flags))).controllers, ['*', '-endpoints-controller']);
});

test('before Kubernetes 1.36 the rates have the names of an internal type', () => {
  const [config] = Object.values(configz(parseRunFlags(FLAGS, () => undefined))) as [Record<string, object>];
  const ClientConnection = { Kubeconfig: '', AcceptContentTypes: '', ContentType: '', QPS: 70.5, Burst: 99 };
  const text = JSON.stringify({
    'kubecontrollermanager.config.k8s.io': { ...config, Generic: { ...config['Generic'], ClientConnection } },
  });
  const { qps, burst } = parseConfigz(text).settings;
  assert.deepEqual([qps, burst], [70.5, 99]);
});

test('a configz of other programs is refused, with the field', () => {
  const own = (fields: object): string => JSON.stringify({ 'kubecontrollermanager.config.k8s.io': fields });
  const cases = [
    ['<html>', 'it is no JSON'],
    ['{"kubelet.config.k8s.io":{}}', /^this is the configuration of another program: /],
    ['null', /^this is the configuration of another program: /],
    [own({}), 'EndpointController.ConcurrentEndpointSyncs: nothing is no whole number from 1 to 10000'],
    [
      own({ EndpointController: { ConcurrentEndpointSyncs: 'many' } }),
      'EndpointController.ConcurrentEndpointSyncs: "many" is no whole number from 1 to 10000',
    ],
  ] as const;
  for (const [text, message] of cases) assert.throws(() => parseConfigz(text), { message });
});

/** The text with one other value. */
function told(section: string, name: string, value: unknown): string {
  const whole = configz(parseRunFlags(FLAGS, () => undefined));
  const [config] = Object.values(structuredClone(whole)) as [Record<string, Record<string, object>>];
  const fields = section === 'Generic' ? config['Generic']!['ClientConnection']! : config[section]!;
  return JSON.stringify({
    'kubecontrollermanager.config.k8s.io': {
      ...config,
      [section]:
        section === 'Generic' ? { ClientConnection: { ...fields, [name]: value } } : { ...fields, [name]: value },
    },
  });
}

test("a rate of 0 in a configz is client-go's default, as it is for the flags", () => {
  assert.equal(parseConfigz(told('Generic', 'qps', 0)).settings.qps, 5);
  assert.equal(parseConfigz(told('Generic', 'burst', 0)).settings.burst, 10);
});

test('a number out of bounds is refused, with the field and the bounds', () => {
  const cases = [
    [
      'EndpointSliceController',
      'MaxEndpointsPerSlice',
      0,
      /\.MaxEndpointsPerSlice: 0 is no whole number from 1 to 1000$/,
    ],
    [
      'EndpointSliceController',
      'ConcurrentServiceEndpointSyncs',
      2.5,
      /Syncs: 2\.5 is no whole number from 1 to 10000$/,
    ],
    ['EndpointController', 'ConcurrentEndpointSyncs', 0, /Syncs: 0 is no whole number from 1 to 10000$/],
    ['Generic', 'burst', -1, /\.burst: -1 is no whole number from 0 to /],
  ] as const;
  for (const [section, name, value, message] of cases)
    assert.throws(() => parseConfigz(told(section, name, value)), { message });
});
