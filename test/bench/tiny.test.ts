import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MICRO_BENCHES } from '../../bench/micro.ts';
import { runMicroBench } from '../../bench/support/micro-bench.ts';

/** What each benchmark computes, as hashes: a fast wrong answer shows here. */
const EXPECTED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'core/selector-index': {
    'build, per pod': '1e3c29c2724b55d2',
    'pod turns ready and back': '27badc983df1780b',
    'pod leaves its service and comes back': 'ad57366865126e55',
    'service goes and comes back': '1e3c29c2724b55d2',
  },
  'core/endpoints/plan': {
    '5 pods: from nothing': '14622736a2731a1a',
    '5 pods: one turns ready and back': '1cfb115e473826dd',
    '5 pods: nothing to do': 'ad57366865126e55',
    '50 pods: from nothing': '06e6aa3810dadbd3',
    '50 pods: one turns ready and back': 'b5bf80b1fed06d31',
    '50 pods: nothing to do': 'ad57366865126e55',
  },
  'core/endpoints/repack': {
    '5 addresses, one port': '0396ee78cac80382',
    '50 addresses, one port': 'bfff166bc61b2682',
    '50 addresses, half-way through a roll-out': '5c43bd8532673a6b',
    '50 addresses, canonical already': '5c43bd8532673a6b',
  },
  'controller/workqueue': {
    '50 keys of 1 namespaces: add, take, done': '8ac9d9a5e56b2ede',
    '50 keys of 20 namespaces: add, take, done': '8ac9d9a5e56b2ede',
    '50 keys with a delay: add three times, take, done': '42c34d73a3caf3e7',
  },
  'shard/codec': {
    'delta of one pod: encode': '7acf788ed2821a12',
    'delta of one pod: decode': '7acf788ed2821a12',
    'snapshot of 5 pods: encode': '8a0ad6b68cb8dc52',
    'snapshot of 5 pods: decode': '8a0ad6b68cb8dc52',
  },
  'kube/project': {
    'project a pod in protobuf': '7e1eab352809a994',
    'project a pod in JSON, parsing included': '7e1eab352809a994',
    'read a pod whole, for comparison': '32c26926c373fd7e',
  },
};

test('every benchmark is known here', () => {
  assert.deepEqual(
    MICRO_BENCHES.map(({ name }) => name),
    Object.keys(EXPECTED),
  );
});

for (const bench of MICRO_BENCHES) {
  test(`${bench.name}: the benchmark runs and computes what it did`, async () => {
    const results = await runMicroBench(bench, 'tiny');
    assert.deepEqual(Object.fromEntries(results.map(({ name, hash }) => [name, hash])), EXPECTED[bench.name]);
  });
}
