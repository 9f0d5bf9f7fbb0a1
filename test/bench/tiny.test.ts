import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MICRO_BENCHES } from '../../bench/micro.ts';
import { runMicroBench } from '../../bench/support/micro-bench.ts';

/** What each benchmark computes, as hashes: a fast wrong answer shows here. */
const EXPECTED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'core/selector-index': {
    'build, per pod': '6ab14306e23dbaf3',
    'pod turns ready and back': '27badc983df1780b',
    'pod leaves its service and comes back': 'ad57366865126e55',
    'service goes and comes back': '6ab14306e23dbaf3',
  },
  'core/endpoints/plan': {
    '5 pods: from nothing': 'ce6566e52c3b85c4',
    '5 pods: one turns ready and back': '1cfb115e473826dd',
    '5 pods: nothing to do': 'ad57366865126e55',
    '50 pods: from nothing': '4a29ee3171796fa2',
    '50 pods: one turns ready and back': 'b5bf80b1fed06d31',
    '50 pods: nothing to do': 'ad57366865126e55',
  },
  'core/endpoints/repack': {
    '5 addresses, one port': '062573d9cd9abb76',
    '50 addresses, one port': '5e6b54d9eab62f8e',
    '50 addresses, half-way through a roll-out': 'ea16da74a9ddcbae',
    '50 addresses, canonical already': 'ea16da74a9ddcbae',
  },
  'controller/workqueue': {
    '50 keys of 1 namespaces: add, take, done': '8ac9d9a5e56b2ede',
    '50 keys of 20 namespaces: add, take, done': '8ac9d9a5e56b2ede',
    '50 keys with a delay: add three times, take, done': '42c34d73a3caf3e7',
  },
  'shard/codec': {
    'delta of one pod: encode': 'a50d7df768aa252a',
    'delta of one pod: decode': 'a50d7df768aa252a',
    'snapshot of 5 pods: encode': '92b6881a580c04ef',
    'snapshot of 5 pods: decode': '92b6881a580c04ef',
  },
  'kube/project': {
    'project a pod in protobuf': 'b9ce440a9fe9e51f',
    'project a pod in JSON, parsing included': 'b9ce440a9fe9e51f',
    'read a pod whole, for comparison': '8759f52a71c0110e',
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
