import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MICRO_BENCHES } from '../../bench/micro.ts';
import { runMicroBench } from '../../bench/support/micro-bench.ts';

/** What each benchmark computes, as hashes: a fast wrong answer shows here. */
const EXPECTED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'core/selector-index': {
    'build, per pod': 'ce2312454989aad7',
    'pod turns ready and back': '27badc983df1780b',
    'pod leaves its service and comes back': 'ad57366865126e55',
    'service goes and comes back': 'ce2312454989aad7',
  },
  'core/endpoints/plan': {
    '5 pods: from nothing': 'bcb4e37911d12d1c',
    '5 pods: one turns ready and back': '1cfb115e473826dd',
    '5 pods: nothing to do': 'ad57366865126e55',
    '50 pods: from nothing': '3f8d1dff8e92b71e',
    '50 pods: one turns ready and back': 'b5bf80b1fed06d31',
    '50 pods: nothing to do': 'ad57366865126e55',
  },
  'core/endpoints/repack': {
    '5 addresses, one port': '6a7e392914fac504',
    '50 addresses, one port': 'b49a0445faef29f0',
    '50 addresses, half-way through a roll-out': 'd7e61e428054e1cb',
    '50 addresses, canonical already': 'd7e61e428054e1cb',
  },
  // Of a flip: how many writes it makes and of how many endpoints, so hints change nothing.
  'core/slices/plan': {
    '5 pods: from nothing': '5fc7339643ae4e37',
    '5 pods: one turns ready and back': 'ebbe9bed8a9c9ffa',
    '5 pods with PreferClose: one turns ready and back': 'ebbe9bed8a9c9ffa',
    '5 pods: nothing to do': 'ad57366865126e55',
    '150 pods: from nothing': '6f54d99c1cf7993e',
    '150 pods: one turns ready and back': '2177666fc3171ca7',
    '150 pods with PreferClose: one turns ready and back': '2177666fc3171ca7',
    '150 pods: nothing to do': 'ad57366865126e55',
  },
  'controller/workqueue': {
    '50 keys of 1 namespaces: add, take, done': '8ac9d9a5e56b2ede',
    '50 keys of 20 namespaces: add, take, done': '8ac9d9a5e56b2ede',
    '50 keys with a delay: add three times, take, done': '42c34d73a3caf3e7',
  },
  'controller/journal': {
    'note a change in a journal of 4096': 'c31e185625873b46',
    'observe the 7 stages of a change': 'deeeb5df3f2cee6b',
  },
  'shard/codec': {
    'delta of one pod: encode': '2d8838c6b32033eb',
    'delta of one pod: decode': '2d8838c6b32033eb',
    'snapshot of 5 pods: encode': 'bd5f115ec0f15558',
    'snapshot of 5 pods: decode': 'bd5f115ec0f15558',
  },
  'kube/project': {
    'project a pod in protobuf': '4170ea1d2c2635bb',
    'project a pod in JSON, parsing included': '4170ea1d2c2635bb',
    'read a pod whole, for comparison': '26468720a77a17cb',
  },
};

test('every benchmark is in the list of this test', () => {
  assert.deepEqual(
    MICRO_BENCHES.map(({ name }) => name),
    Object.keys(EXPECTED),
  );
});

for (const bench of MICRO_BENCHES) {
  test(`${bench.name}: the benchmark runs and has its known hash`, async () => {
    const results = await runMicroBench(bench, 'tiny');
    assert.deepEqual(Object.fromEntries(results.map(({ name, hash }) => [name, hash])), EXPECTED[bench.name]);
  });
}
