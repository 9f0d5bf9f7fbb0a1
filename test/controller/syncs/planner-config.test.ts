import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRunFlags } from '../../../src/cli/flags/flags.ts';
import { plannerConfigOf } from '../../../src/controller/syncs/planner-config.ts';

const DEFAULTS = parseRunFlags([], () => undefined).controller;

test('a planner is told the limits and the outputs that it may plan', () => {
  const options = {
    ...DEFAULTS,
    endpoints: false,
    slices: true,
    mirror: true,
    tolerateUnreadyEndpointsAnnotation: true,
    maxEndpointsPerSlice: 7,
    compactSlices: true,
    mirroringMaxEndpointsPerSubset: 8,
    mirroringAllEndpoints: true,
    mirroringZones: true,
  };
  assert.deepEqual(plannerConfigOf(options), {
    tolerateUnreadyEndpointsAnnotation: true,
    outputs: ['slices', 'mirror'],
    maxEndpointsPerSlice: 7,
    compactSlices: true,
    mirroringMaxEndpointsPerSubset: 8,
    mirroringAllEndpoints: true,
    mirroringZones: true,
  });
});

test('only outputs whose controllers run are planned', () => {
  const off = { ...DEFAULTS, endpoints: false, slices: false, mirror: false };
  assert.deepEqual(
    [
      plannerConfigOf(off),
      plannerConfigOf({ ...off, endpoints: true }),
      plannerConfigOf({ ...off, slices: true }),
      plannerConfigOf({ ...off, mirror: true }),
    ].map(({ outputs }) => outputs),
    [[], ['endpoints'], ['slices'], ['mirror']],
  );
});
