import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { liveness, readiness } from '../../../src/controller/reports/health.ts';
import type { ControllerState } from '../../../src/controller/state.ts';
import { createLeadership } from '../../../src/controller/leader/leadership.ts';
import { createPrng } from '../../../src/lib/prng.ts';
import { createPod, createService, createSim } from '../../support/sim.ts';

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
  it('readiness fails while caches are being filled', () => {
    assert.deepEqual(failing(started(), 1000), [
      'controller: starting',
      'watch-endpoints: not listed yet',
      'watch-services: not listed yet',
      'watch-pods: not listed yet',
    ]);
  });

  it('readiness holds while every watch runs', () => {
    assert.deepEqual(failing(running(), 1_000_000), []);
  });

  it('readiness holds while a watch is away for a moment, and fails later', () => {
    const state = running();
    state.reflectors[2]!.downSinceMs = 100_000;
    assert.deepEqual(failing(state, 115_000), []);
    assert.deepEqual(failing(state, 116_000), ['watch-pods: no watch for 16 s']);
  });

  it("readiness tells the age of each stream's last frame", () => {
    const sim = createSim();
    createService(sim, { name: 'web' });
    sim.start();
    sim.run(30_000);
    const pods = (): string | undefined => sim.loop!.readiness().find(({ name }) => name === 'watch-pods')?.message;
    assert.equal(pods(), 'last frame 30 s ago');
    sim.cutWatches();
    sim.run(7000);
    assert.equal(pods(), 'opened 7 s ago, no frame yet');
    createPod(sim, { name: 'web-1' });
    sim.run(2000);
    assert.equal(pods(), 'last frame 2 s ago');
    sim.down();
    sim.run(3000);
    const { ok, message } = sim.loop!.readiness().find(({ name }) => name === 'watch-pods')!;
    assert.deepEqual({ ok, message }, { ok: true, message: 'no watch for 3 s' });
  });

  it('readiness fails during a stop', () => {
    const state = running();
    state.phase = 'stopping';
    assert.deepEqual(failing(state, 1000), ['controller: stopping']);
  });
});

describe('liveness', () => {
  const LAPSED_MS = 15_000 + 20_000;
  const CONFIRMED = { nowMs: 1_000_000, wallMs: 0 };

  /** A process that leads, by a renewal at `CONFIRMED`, or stands by. */
  function elected(leads: boolean): ControllerState {
    const times = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2000 };
    const lease = { namespace: 'kube-system', name: 'endpointd', identity: 'a', standby: 'warm' } as const;
    const leadership = createLeadership({ ...times, ...lease }, [], createPrng(1));
    const leader = {
      name: 'leader',
      since: CONFIRMED,
      isAfterOther: false,
      confirmed: CONFIRMED,
      renewAtMs: 0,
    } as const;
    if (leads) leadership.elector.phase = leader;
    return { ...running(), leadership };
  }

  const at = (state: ControllerState, afterMs: number): object => liveness(state, { nowMs: 1_000_000 + afterMs });

  it('liveness holds without leader election, and on a standby', () => {
    assert.deepEqual(at(running(), 1e9), []);
    assert.deepEqual(at(elected(false), 1e9), [{ name: 'leaderElection', ok: true, message: '' }]);
  });

  it('liveness fails for a leader 20 s after its Lease has run out', () => {
    assert.deepEqual(at(elected(true), LAPSED_MS), [{ name: 'leaderElection', ok: true, message: '' }]);
    const message = 'leads, but has not renewed the Lease kube-system/endpointd for 36 s';
    assert.deepEqual(at(elected(true), LAPSED_MS + 1000), [{ name: 'leaderElection', ok: false, message }]);
  });
});
