import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findProfile, PROFILES, sizesOf } from '../../src/workload/profile.ts';

/** Services and pods of a profile. */
function totals(name: string): [services: number, pods: number] {
  const profile = findProfile(name);
  const services = profile.namespaces * profile.servicesPerNamespace;
  return [services, sizesOf(profile, services).reduce((sum, pods) => sum + pods, 0)];
}

test('the profiles of the measured baselines have their numbers of services and pods', () => {
  assert.deepEqual(totals('spread'), [2000, 10_000]);
  assert.deepEqual(totals('onens'), [2000, 10_000]);
  assert.deepEqual(totals('huge'), [1, 5000]);
  assert.deepEqual(totals('large'), [10_934, 100_020]);
});

test('the demo holds a thousand services and between four and five thousand pods', () => {
  assert.deepEqual(totals('demo'), [1000, 4740]);
});

test('in the load profile half of the pods are in groups of 5', () => {
  const profile = findProfile('load');
  const sizes = sizesOf(profile, profile.namespaces * profile.servicesPerNamespace);
  const all = sizes.reduce((sum, pods) => sum + pods, 0);
  const share = (size: number): number => (sizes.filter((pods) => pods === size).length * size) / all;
  assert.deepEqual(
    [250, 30, 5].map((size) => share(size).toFixed(2)),
    ['0.25', '0.25', '0.50'],
  );
});

test('every service has a size, whatever the rounding', () => {
  for (const profile of PROFILES) for (const count of [1, 7, 100]) assert.equal(sizesOf(profile, count).length, count);
});

test('an unknown profile gives an error with all names', () => {
  assert.throws(() => findProfile('giant'), {
    message: 'unknown profile "giant": one of tiny, small, patchy, demo, load, spread, onens, huge, large',
  });
});
