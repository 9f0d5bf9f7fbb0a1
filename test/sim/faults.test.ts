/**
 * A seeded cluster under churn and faults, in virtual time. Safety: nothing wrong is ever deleted, nothing crashes.
 * Liveness: when the faults end, every object becomes what the slow oracle says, and then nobody writes any more.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSim, deleteObject, pick, writesOf, type Sim } from '../support/sim.ts';
import { NO_FAULTS, type FaultChances } from '../../src/apiserver/faults.ts';
import { expectedEndpoints, wrongEndpoints } from '../../src/cli/endpoints-check.ts';
import { nextFloat, createPrng, nextInt, type Prng } from '../../src/lib/prng.ts';
import { MANAGED_BY_LABEL, MANAGED_BY_VALUE } from '../../src/kube/names.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { CHURN_MIXES, createChurn, nextChange } from '../../src/workload/churn.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
import { findProfile } from '../../src/workload/profile.ts';
import { clusterRequests } from '../../src/workload/request.ts';

function itemsOf(sim: Sim, path: string): KubeObject[] {
  return (sim.request('GET', path) as unknown as { items: KubeObject[] }).items;
}

function wrongOf(sim: Sim): string[] {
  const expected = expectedEndpoints(itemsOf(sim, '/api/v1/services'), itemsOf(sim, '/api/v1/pods'));
  return wrongEndpoints(expected, itemsOf(sim, '/api/v1/endpoints'));
}

/** A mix of faults drawn from the seed: each kind may be missing, rare or frequent. */
function drawFaults(prng: Prng): FaultChances {
  const draw = (): number => [0, 0.01, 0.1][nextInt(prng, 3)]!;
  return {
    loseRequest: draw(),
    loseReply: draw(),
    serverError: draw(),
    tooMany: draw() / 2,
    gone: draw() / 2,
    cutWatch: draw() / 10,
    lag: draw(),
  };
}

interface Story {
  readonly sim: Sim;
  readonly log: string;
  /** What the seed has drawn, for who reads a failure. */
  readonly mix: string;
}

function play(seed: number): Story {
  const prng = createPrng(seed);
  const faults = drawFaults(prng);
  const shards = 1 + nextInt(prng, 3);
  const serverWatchList = nextInt(prng, 3) > 0;
  const batchMs = [1, 1, 30, 300][nextInt(prng, 4)]!;
  const options = {
    kubeApiQps: [200, 200, 20][nextInt(prng, 3)]!,
    kubeApiBurst: 300,
    concurrentEndpointSyncs: 1 + nextInt(prng, 8),
    endpointUpdatesBatchPeriodMs: nextInt(prng, 2) * 100,
    shardDeadlineMs: 5000,
  };
  const mix = JSON.stringify({ ...faults, shards, serverWatchList, batchMs, ...options });
  const sim = createSim({
    seed,
    faults,
    shards,
    serverWatchList,
    options,
    batchMs: () => nextFloat(prng) * 2 * batchMs,
  });
  const cluster = makeCluster(findProfile('tiny'), seed);
  for (const { method, path, body, contentType } of clusterRequests(cluster))
    sim.tryRequest(method, path, body, contentType);
  const churn = createChurn(cluster, CHURN_MIXES.steady, seed);
  const others = createOthers(sim, prng, cluster.namespaces);
  sim.start();
  for (let i = 0; i < 300; i++) {
    sim.run(nextFloat(prng) * 100);
    const change = nextChange(churn, Date.UTC(2026, 0, 1) + sim.nowMs());
    if (change !== null) {
      const { method, path, body, contentType } = change.request;
      sim.tryRequest(method, path, body, contentType);
    }
    trouble(sim, prng);
    if (nextInt(prng, 10) === 0) others.act();
  }
  Object.assign(sim.faults, NO_FAULTS);
  sim.up();
  others.rest();
  sim.run(400_000);
  const log = [
    ...sim.exchanges.map(({ atMs, method, path, status }) => `${atMs} ${method} ${path} ${status}`),
    ...sim.logLines.map((line) => JSON.stringify(line)),
  ].join('\n');
  return { sim, log, mix };
}

function trouble(sim: Sim, prng: Prng): void {
  const what = nextInt(prng, 200);
  const shard = sim.shards === null ? 0 : nextInt(prng, sim.shards.count);
  if (what === 0) sim.down();
  else if (what < 8) sim.up();
  else if (what === 8) sim.shards?.kill(shard, 'simulated death');
  else if (what === 9) sim.shards?.hang(shard);
  else if (what === 10) {
    sim.kill();
    sim.start();
  } else if (what === 11) sim.compact();
  else if (what === 12) {
    sim.stop();
    sim.at(sim.nowMs() + nextFloat(prng) * 12_000, () => sim.start());
  }
}

/** Other writers: what they do to Services and Endpoints, at once and without faults. */
interface Others {
  act(): void;
  /** Puts back what would leave Endpoints that nobody owns. */
  rest(): void;
}

function createOthers(sim: Sim, prng: Prng, namespaces: readonly string[]): Others {
  let orphans = 0;
  const turned: string[] = [];

  function some(resource: string): string | null {
    const items = itemsOf(sim, `/api/v1/${resource}`).filter(({ metadata }) => metadata.name !== 'kubernetes');
    if (items.length === 0) return null;
    const { namespace, name } = pick(prng, items).metadata;
    return `/api/v1/namespaces/${namespace}/${resource}/${name}`;
  }

  function edit(path: string | null, change: (object: KubeObject) => void): void {
    if (path === null) return;
    const { status, body } = sim.tryRequest('GET', path);
    if (status !== 200) return;
    change(body);
    sim.tryRequest('PUT', path, body);
  }

  function recreateService(path: string | null): void {
    if (path === null) return;
    const { metadata, spec } = sim.request('GET', path) as KubeObject & { spec: Record<string, unknown> };
    sim.request('DELETE', path);
    const { clusterIP: _, clusterIPs: __, ...kept } = spec;
    const { name, labels } = metadata;
    sim.request('POST', path.slice(0, path.lastIndexOf('/')), {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, labels },
      spec: spec['clusterIP'] === 'None' ? { ...kept, clusterIP: 'None' } : kept,
    });
  }

  /** To a type that is not planned, or back. */
  function turn(path: string, type: string): void {
    edit(path, (service) => {
      const spec = service['spec'] as Record<string, unknown>;
      spec['type'] = type;
      if (type === 'ExternalName') spec['externalName'] = 'example.com';
      else delete spec['externalName'];
      delete spec['clusterIP'];
      delete spec['clusterIPs'];
    });
  }

  function makeOrphan(): void {
    const labels = nextInt(prng, 2) === 0 ? { [MANAGED_BY_LABEL]: MANAGED_BY_VALUE } : {};
    sim.request('POST', `/api/v1/namespaces/${pick(prng, namespaces)}/endpoints`, {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: `${Object.keys(labels).length > 0 ? 'ours' : 'theirs'}-${orphans++}`, labels },
      subsets: [{ addresses: [{ ip: '10.9.9.9' }], ports: [{ port: 80 }] }],
    });
  }

  const deeds: readonly (() => void)[] = [
    () => edit(some('endpoints'), (object) => (object['subsets'] = [{ addresses: [{ ip: '9.9.9.9' }] }])),
    () => edit(some('endpoints'), ({ metadata }) => (metadata.labels = { ...metadata.labels, 'they/were': 'here' })),
    () => {
      const path = some('endpoints');
      if (path !== null && !path.includes('/theirs-')) deleteObject(sim, path);
    },
    makeOrphan,
    () => recreateService(some('services')),
    () => {
      const path = some('services');
      if (path === null) return;
      turned.push(path);
      turn(path, 'ExternalName');
    },
    () => {
      const path = turned.pop();
      if (path !== undefined) turn(path, 'ClusterIP');
    },
  ];
  return {
    act: () => pick(prng, deeds)(),
    rest() {
      for (const path of turned) turn(path, 'ClusterIP');
      const left = itemsOf(sim, '/api/v1/endpoints').filter((object) => keyOf(object).includes('/theirs-'));
      theirs.set(sim, left.length);
    },
  };
}

/** How many Endpoints without a Service and without our label a world had before it settled. */
const theirs = new WeakMap<Sim, number>();

function check(seed: number): void {
  const { sim, mix } = play(seed);
  const told = `seed ${seed} with ${mix}`;
  assert.deepEqual(wrongOf(sim), [], told);
  const left = itemsOf(sim, '/api/v1/endpoints').filter((object) => keyOf(object).includes('/theirs-'));
  assert.equal(left.length, theirs.get(sim), `what is not ours stays: ${told}`);
  const writes = writesOf(sim).length;
  sim.run(3_600_000);
  assert.equal(writesOf(sim).length, writes, `a settled world is left alone: ${told}`);
  checkNothingKept(sim, told);
}

/** Nothing is kept of what is over. */
function checkNothingKept(sim: Sim, told: string): void {
  const { state } = sim.loop!;
  assert.equal(state.phase, 'running', told);
  const keys = new Set(['services', 'endpoints'].flatMap((resource) => itemsOf(sim, `/api/v1/${resource}`).map(keyOf)));
  assert.equal(state.serviceCount, keys.size, `services: ${told}`);
  assert.deepEqual(
    [...state.requests.values()].map((purpose) => purpose.for),
    Array(3).fill('reflector'),
    told,
  );
  for (const { stuck } of state.controllers) assert.equal(stuck.size, 0, `stuck: ${told}`);
  assert.equal(state.echoesExpected, 0, `echoes: ${told}`);
  assert.equal(state.writes.inFlight, 0, `writes: ${told}`);
  for (const { inFlight } of state.shards) assert.equal(inFlight.size, 0, `batches: ${told}`);
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** `SIM_SEED=n` plays one seed, `SIM_RUNS=n` that many from the first (or from `SIM_SEED`) on. */
const FIRST = Number(process.env['SIM_SEED'] ?? 1);
const RUNS = Number(process.env['SIM_RUNS'] ?? (process.env['SIM_SEED'] === undefined ? 60 : 1));

describe('under faults from a seed', () => {
  for (let seed = FIRST; seed < FIRST + RUNS; seed++) {
    it(`seed ${seed}: ends right, then silent`, () => check(seed));
  }

  it('the same seed twice gives the same log', () => {
    assert.equal(play(7).log, play(7).log);
  });
});
