/** Which rights the requests of two replicas want, in a life that has some of everything. */
import assert from 'node:assert/strict';
import type { ControllerOptions } from '../../src/controller/options.ts';
import { leadershipOf } from './election-world.ts';
import { createPod, createService, createSim, deleteObject, setPodStatus } from './sim.ts';
import type { Exchange } from './sim-network.ts';
import { edit, ENDPOINTS, makeEndpoints, SERVICES } from './sim-objects.ts';
import { createSliceSim } from './sim-slices.ts';

type LifeOptions = Partial<ControllerOptions>;

/** `<group>/<resource> <verb>` of every request, with WatchList and without. */
export function askedBy(options: LifeOptions): Set<string> {
  return new Set([true, false].flatMap((watchList) => life({ ...options, watchList }).map(wanted)));
}

/** `<group>/<resource> <verb>`, as an API server with RBAC names what a request wants. */
function wanted({ method, path }: Exchange): string {
  const url = new URL(path, 'http://server');
  const match = /^\/(?:api|apis\/([^/]+))\/v1(?:\/namespaces\/[^/]+)?\/([^/]+)(\/.+)?$/.exec(url.pathname);
  assert.ok(match !== null, path);
  const [, group = '', resource, name] = match;
  const read = url.searchParams.has('watch') ? 'watch' : name === undefined ? 'list' : 'get';
  const verbs: Readonly<Record<string, string>> = {
    GET: read,
    POST: 'create',
    PUT: 'update',
    PATCH: 'patch',
    DELETE: 'delete',
  };
  return `${group}/${resource} ${verbs[method]}`;
}

/** Some of everything: two replicas, what they create, update, delete, read again and tell. */
function life(options: LifeOptions): Exchange[] {
  const sim = createSliceSim({
    options,
    leadership: leadershipOf('endpointd'),
  });
  // Another process holds the Lease for a while: it is watched meanwhile.
  const other = createSim({ beside: sim, options, leadership: leadershipOf('other') });
  other.start();
  other.run(1000);
  createService(sim, { name: 'web' });
  createPod(sim, { name: 'web-1', ip: '10.0.0.1', node: 'node-1' });
  createService(sim, { name: 'made', spec: { selector: null } });
  makeEndpoints(sim, 'made', [{ addresses: [{ ip: '10.1.0.1' }], ports: [{ port: 80 }] }]);
  makeEndpoints(sim, 'left', [], { labels: { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' } });
  sim.start();
  sim.run(5000);
  other.stop();
  sim.run(10_000);
  setPodStatus(sim, { name: 'web-1', ip: '10.0.0.1', ready: false });
  edit(sim, `${ENDPOINTS}/made`, {}, { subsets: [] });
  sim.run(5000);
  // A pod on a node that is not known, over and over: an event, and then how often.
  for (let i = 0; i < 3; i++) {
    createPod(sim, { name: 'web-2', ip: '10.0.0.2', node: 'nowhere' });
    sim.run(5000);
    deleteObject(sim, '/api/v1/namespaces/default/pods/web-2');
    sim.run(5000);
  }
  // Replies get lost: Endpoints are read again, and slices listed.
  sim.faults.loseReply = 1;
  setPodStatus(sim, { name: 'web-1', ip: '10.0.0.1', ready: true });
  sim.run(20_000);
  sim.faults.loseReply = 0;
  deleteObject(sim, `${SERVICES}/web`);
  sim.run(60_000);
  return [...sim.exchanges, ...other.exchanges];
}
