/** A simulation at rest, and what its controller has asked about pods: for stories about lists and watches. */
import assert from 'node:assert/strict';
import { createPod, createService, createSim, endpointsTable, type Sim, type SimConfig } from './sim.ts';

/** One Service with two ready pods, started and written. */
export function settled(config: SimConfig = {}): Sim {
  const sim = createSim(config);
  createService(sim, { name: 'web' });
  createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
  createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
  sim.start();
  sim.run(2000);
  assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 10.0.0.2 : http:8080/TCP']);
  return sim;
}

/** One Service with a ready pod, started and written. */
export function settledWithOne(config: SimConfig = {}, create: (config: SimConfig) => Sim = createSim): Sim {
  const sim = create(config);
  createService(sim, { name: 'web' });
  createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
  sim.start();
  sim.run(2000);
  return sim;
}

/** Requests to list or watch pods since `from`, without their query's numbers. */
export function podRequests(sim: Sim, from: number): string[] {
  return sim.exchanges
    .slice(from)
    .filter(({ path }) => path.startsWith('/api/v1/pods'))
    .map(({ path, status }) => {
      const query = new URLSearchParams(path.split('?')[1]);
      const kind = query.has('sendInitialEvents') ? 'watch-list' : query.has('watch') ? 'watch' : 'page';
      return `${query.get('limit') === '1' ? 'look' : kind} ${status}`;
    });
}

/** Lines of the log about pods since `from`, as `level message`. */
export function podLines(sim: Sim, from = 0): string[] {
  return sim.logLines
    .slice(from)
    .filter(({ fields }) => fields['resource'] === 'pods')
    .map(({ level, message }) => `${level} ${message}`);
}
