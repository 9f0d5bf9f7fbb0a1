/** Two simulated replicas before one API server: `a` leads, `b` stands by. */
import { LEASE_PATH, leadershipOf } from './election-world.ts';
import { createPod, createService, createSim, writesOf, type Sim, type SimConfig } from './sim.ts';
import { createNode } from './sim-objects.ts';
import type { LeadershipOptions } from '../../src/controller/leader/leadership.ts';

export interface Replicas {
  readonly leader: Sim;
  readonly standby: Sim;
}

export function replica(identity: string, config: SimConfig, standby: LeadershipOptions['standby'] = 'warm'): Sim {
  const options = { endpoints: true, slices: true, mirror: true, ...config.options };
  return createSim({ ...config, options, leadership: leadershipOf(identity, standby) });
}

/** Makes one service with one pod, and starts the process. */
export function startWithWeb(sim: Sim): void {
  createNode(sim, { name: 'node-1', zone: 'zone-a' });
  createService(sim, { name: 'web' });
  createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
  sim.start();
  sim.run(1000);
}

/** One service with one pod. @param options of the standby, as `config` is */
export function replicas(
  kind: LeadershipOptions['standby'] = 'warm',
  options: SimConfig['options'] = {},
  config: SimConfig = {},
): Replicas {
  const leader = replica('a', {});
  const standby = replica('b', { ...config, beside: leader, seed: 2, options }, kind);
  startWithWeb(leader);
  standby.start();
  leader.run(5000);
  return { leader, standby };
}

/** Writes of the process but those of the Lease. */
export function objectWrites(sim: Sim): string[] {
  return writesOf(sim).filter((line) => !line.includes('/leases'));
}

export function holder(sim: Sim): string {
  const { spec } = sim.request('GET', LEASE_PATH) as unknown as { spec: { holderIdentity: string } };
  return spec.holderIdentity;
}
