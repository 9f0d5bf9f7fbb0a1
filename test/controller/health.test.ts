import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readiness } from '../../src/controller/health.ts';
import type { ControllerState } from '../../src/controller/state.ts';
import { createSim } from '../support/sim.ts';

/** A controller that has been told to start, and whose reflectors are then set as a case wants them. */
function started(): ControllerState {
  const sim = createSim();
  sim.start();
  sim.run(0.1);
  return sim.loop!.state;
}

function running(): ControllerState {
  const state = started();
  state.phase = 'running';
  for (const reflector of state.reflectors) Object.assign(reflector, { synced: true, downSinceMs: -1 });
  return state;
}

function failing(state: ControllerState, nowMs: number): string[] {
  return readiness(state, nowMs)
    .filter(({ ok }) => !ok)
    .map(({ name, message }) => `${name}: ${message}`);
}

describe('readiness', () => {
  it('fails while caches are being filled', () => {
    assert.deepEqual(failing(started(), 1000), [
      'controller: starting',
      'watch-endpoints: not listed yet',
      'watch-services: not listed yet',
      'watch-pods: not listed yet',
    ]);
  });

  it('holds while every watch runs', () => {
    assert.deepEqual(failing(running(), 1_000_000), []);
  });

  it('holds while a watch is away for a moment, and fails when it stays away', () => {
    const state = running();
    state.reflectors[2]!.downSinceMs = 100_000;
    assert.deepEqual(failing(state, 115_000), []);
    assert.deepEqual(failing(state, 116_000), ['watch-pods: no watch for 16 s']);
  });

  it('fails during a stop', () => {
    const state = running();
    state.phase = 'stopping';
    assert.deepEqual(failing(state, 1000), ['controller: stopping']);
  });
});
