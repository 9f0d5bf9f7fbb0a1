/** What is deployed is held to what the program does. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadAll } from 'js-yaml';
import { leadershipOf } from './support/election-world.ts';
import { createPod, createService, createSim, deleteObject, setPodStatus } from './support/sim.ts';
import type { Exchange } from './support/sim-network.ts';
import { edit, ENDPOINTS, makeEndpoints, SERVICES } from './support/sim-objects.ts';
import { createSliceSim } from './support/sim-slices.ts';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** Never asked for by itself: admission looks whether we might. */
const ASKED_BY_ADMISSION = [
  '/endpoints/restricted create',
  '/endpoints/finalizers update',
  '/services/finalizers update',
];

function granted(): string[] {
  const text = readFileSync(join(import.meta.dirname, '..', 'deploy', 'rbac.yaml'), 'utf8');
  const objects = loadAll(text) as { readonly kind: string; readonly rules?: readonly Rule[] }[];
  const rules = objects
    .filter(({ kind }) => kind === 'ClusterRole' || kind === 'Role')
    .flatMap((role) => role.rules ?? []);
  return rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => `${group}/${resource} ${verb}`))),
  );
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

/** Some of everything: two replicas with all three controllers, what they create, update, delete, read again and tell. */
function life(watchList: boolean): Exchange[] {
  const sim = createSliceSim({
    options: { endpoints: true, slices: true, mirroring: true, watchList },
    leadership: leadershipOf('endpointd'),
  });
  // Another process holds the Lease for a while: it is watched meanwhile.
  const other = createSim({ beside: sim, leadership: leadershipOf('other') });
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

test('deploy/rbac.yaml grants what the three controllers ask for, and nothing more', () => {
  const asked = new Set([true, false].flatMap((watchList) => life(watchList).map(wanted)));
  assert.deepEqual(granted().sort(), [...asked, ...ASKED_BY_ADMISSION].sort());
});
