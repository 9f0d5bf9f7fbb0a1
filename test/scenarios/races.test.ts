/** Answers, watches, lists and deaths that overtake each other. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settledWithOne } from '../support/settled.ts';
import {
  createPod,
  createService,
  createSim,
  deleteObject,
  endpointsTable,
  setPodStatus,
  writesOf,
  type Sim,
  type SimConfig,
} from '../support/sim.ts';
import { createNode, editService, SLICES } from '../support/sim-objects.ts';
import { namesOf, slicesTable } from '../support/sim-slices.ts';
import type { HttpRequest } from '../../src/ports/transport.ts';

const ENDPOINTS = '/api/v1/namespaces/default/endpoints';
const SERVICE = '/api/v1/namespaces/default/services/web';
const NO_LAG = { toMs: 0, backMs: 0 };

/** The requests since `from` that are no lists, watches or events, as `METHOD kind status`. */
function asked(sim: Sim, from: number): string[] {
  return sim.exchanges
    .slice(from)
    .filter(({ path }) => path.startsWith('/api/v1/namespaces/') && !path.includes('/events'))
    .map(({ method, path, status }) => `${method} ${path.split('/')[5]} ${status}`);
}

function isWrite({ method, path }: HttpRequest): boolean {
  return method !== 'GET' && path.startsWith(ENDPOINTS);
}

describe('what is deleted while its Service is not planned and no slot is free', () => {
  /** One service whose writes take long holds the only slot. */
  function occupied(options: SimConfig['options']): Sim {
    const sim = createSim({ options });
    createNode(sim, { name: 'node-1', zone: 'zone-a' });
    createService(sim, { name: 'web' });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    sim.start();
    sim.run(2000);
    sim.lag = ({ method }) => (method === 'GET' ? NO_LAG : { toMs: 0, backMs: 9000 });
    createService(sim, { name: 'other', spec: { selector: { app: 'other' } } });
    sim.run(10);
    return sim;
  }

  for (const pauseMs of [0, 3000]) {
    it(`the object is made again when the Service comes back after ${pauseMs} ms`, () => {
      const sim = occupied({ concurrentEndpointSyncs: 1 });
      deleteObject(sim, SERVICE);
      sim.run(pauseMs);
      createService(sim, { name: 'web' });
      sim.run(60_000);
      assert.ok(endpointsTable(sim).includes('default/web 10.0.0.1 : http:8080/TCP'));
    });

    it(`the object is made again when the selector comes back after ${pauseMs} ms`, () => {
      const sim = occupied({ endpoints: false, slices: true, concurrentServiceEndpointSyncs: 1 });
      editService(sim, 'web', { selector: null });
      sim.run(10);
      for (const name of namesOf(sim)) deleteObject(sim, `${SLICES}/${name}`);
      sim.run(pauseMs);
      editService(sim, 'web', { selector: { app: 'web' } });
      sim.run(60_000);
      assert.ok(slicesTable(sim).includes('default/web IPv4 10.0.0.1 : http:8080/TCP'), slicesTable(sim).join('\n'));
    });
  }
});

describe('an object that others delete while no watch tells', () => {
  /** No watch tells of it, and none can go on from before. */
  function deleteUnseen(sim: Sim): void {
    sim.cutWatches();
    deleteObject(sim, `${ENDPOINTS}/web`);
    sim.compact();
  }

  it('an object is made again if a list misses it during a write of it', () => {
    const sim = settledWithOne();
    sim.refuse = (request) => (isWrite(request) ? 503 : 0);
    sim.lag = (request) => (isWrite(request) ? { toMs: 0, backMs: 5000 } : NO_LAG);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(10);
    deleteUnseen(sim);
    sim.run(4000);
    setPodStatus(sim, { name: 'web-1', ready: true });
    sim.run(500);
    sim.refuse = () => 0;
    sim.lag = () => NO_LAG;
    sim.run(60_000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
  });

  it('an object is made again if a list without it overtakes the answer to its create', () => {
    const sim = createSim();
    createService(sim, { name: 'web' });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    sim.lag = (request) => (isWrite(request) ? { toMs: 0, backMs: 5000 } : NO_LAG);
    sim.start();
    while (!sim.exchanges.some(({ method }) => method === 'POST')) sim.run(0.1);
    deleteUnseen(sim);
    sim.run(60_000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
  });

  it('an object is made again if its deletion overtakes the GET that found it', () => {
    const sim = createSim();
    sim.start();
    sim.run(2000);
    // The answer to the create is lost, and the watch shows the object only after we began to ask for it.
    sim.lag = ({ method, path, stream }) => {
      if (stream) return { toMs: 0, backMs: path.startsWith('/api/v1/endpoints') && sim.nowMs() < 5000 ? 11_000 : 0 };
      if (method === 'POST') return { toMs: 0, backMs: 60_000 };
      return { toMs: 0, backMs: path === `${ENDPOINTS}/web` ? 3000 : 0 };
    };
    createService(sim, { name: 'web' });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    while (!sim.exchanges.some(({ path, method }) => method === 'GET' && path === `${ENDPOINTS}/web`)) sim.run(1);
    deleteObject(sim, `${ENDPOINTS}/web`);
    sim.run(5000);
    sim.lag = () => NO_LAG;
    sim.run(60_000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
  });
});

describe('a list that comes while a write is under way', () => {
  it('a list does not drop the object whose write is answered after the item', () => {
    const sim = settledWithOne({ serverWatchList: false });
    // A page shows the written object, then comes the answer to the write, then the last page.
    for (let i = 0; i < 600; i++) {
      sim.request('POST', ENDPOINTS, { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: `z-${i}` } });
    }
    sim.run(2000);
    sim.lag = ({ pool, path }) => {
      if (pool === 'write') return { toMs: 0, backMs: 3000 };
      return pool === 'list' && path.includes('continue') ? { toMs: 0, backMs: 5000 } : NO_LAG;
    };
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(20);
    const from = sim.exchanges.length;
    sim.compact();
    sim.run(60_000);
    assert.deepEqual(asked(sim, from), [], 'no request about the object');
  });
});

describe('at every moment of a sync', () => {
  const incidents: readonly [text: string, happen: (sim: Sim) => void][] = [
    ['its shard may die', (sim) => sim.shards!.kill(0, 'exit code 1')],
    ['its shard may hang', (sim) => sim.shards!.hang(0)],
    ['the watches may end', (sim) => sim.cutWatches()],
    ['the watches may end and be too old to go on', (sim) => sim.compact()],
    ['the object may be deleted', (sim) => void sim.tryRequest('DELETE', `${ENDPOINTS}/web`)],
    ['the Service may be made anew', remakeService],
    [
      'the controller may be killed',
      (sim) => {
        sim.kill();
        sim.start();
      },
    ],
    [
      'another writer may change the object',
      (sim) => {
        const object = sim.request('GET', `${ENDPOINTS}/web`);
        sim.request('PUT', `${ENDPOINTS}/web`, { ...object, subsets: [{ addresses: [{ ip: '9.9.9.9' }] }] });
      },
    ],
    [
      'the pod may change back',
      (sim) => {
        setPodStatus(sim, { name: 'web-1', ready: true });
        sim.run(0.3);
        setPodStatus(sim, { name: 'web-1', ready: false });
      },
    ],
  ];

  function remakeService(sim: Sim): void {
    deleteObject(sim, SERVICE);
    createService(sim, { name: 'web' });
  }

  for (const [text, happen] of incidents) {
    it(`${text}: it ends right, nothing is kept, and then all is silent`, () => {
      // A sync is over after about 10 ms: the pod is seen, planned, written, its echo seen.
      for (let atMs = 0; atMs < 14; atMs += 0.7) {
        const sim = settledWithOne({ shards: 1 });
        setPodStatus(sim, { name: 'web-1', ready: false });
        sim.run(atMs);
        happen(sim);
        sim.run(60_000);
        assert.deepEqual(endpointsTable(sim), ['default/web | 10.0.0.1 : http:8080/TCP'], `at ${atMs} ms`);
        const from = sim.exchanges.length;
        sim.run(250_000);
        assert.deepEqual(asked(sim, from), [], `at ${atMs} ms`);
        const { state } = sim.loop!;
        assert.deepEqual(
          [state.controllers[0]!.stuck.size, state.echoesExpected, state.outbox.requests.size],
          [0, 0, 3],
          `at ${atMs} ms`,
        );
      }
    });
  }
});

describe('a slot that is freed', () => {
  it('a slot freed by a service that fits no batch goes to the next at once', () => {
    const sim = createSim({ options: { concurrentEndpointSyncs: 1, maxBatchBytes: 4000 } });
    createService(sim, { name: 'big', spec: { selector: { app: 'big' } } });
    for (let i = 1; i <= 50; i++) createPod(sim, { name: `big-${i}`, ip: `10.0.1.${i}`, labels: { app: 'big' } });
    for (let i = 1; i <= 5; i++) createService(sim, { name: `web-${i}` });
    sim.start();
    sim.run(1000);
    assert.deepEqual(
      endpointsTable(sim).map((line) => line.split(' ')[0]),
      ['default/web-1', 'default/web-2', 'default/web-3', 'default/web-4', 'default/web-5'],
    );
  });
});

describe('a Service that changes its kind', () => {
  const turn = (sim: Sim, type: string): void => {
    const service = sim.request('GET', SERVICE) as unknown as { spec: Record<string, unknown> };
    service.spec['type'] = type;
    if (type === 'ExternalName') service.spec['externalName'] = 'example.com';
    else delete service.spec['externalName'];
    delete service.spec['clusterIP'];
    delete service.spec['clusterIPs'];
    sim.request('PUT', SERVICE, service);
    sim.run(1000);
  };

  it('a Service that is ExternalName for a while finds its object by one GET', () => {
    const sim = settledWithOne();
    turn(sim, 'ExternalName');
    createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
    sim.run(1000);
    const from = sim.exchanges.length;
    turn(sim, 'ClusterIP');
    sim.run(5000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 10.0.0.2 : http:8080/TCP']);
    assert.deepEqual(asked(sim, from), ['GET endpoints 200', 'PUT endpoints 200']);
  });

  it('a Service that changes its kind faster than its object is read ends right', () => {
    for (let gapMs = 0; gapMs <= 12; gapMs++) {
      const sim = settledWithOne();
      sim.shards!.kill(0, 'so that it is read');
      sim.shards!.kill(1, 'so that it is read');
      sim.run(1000);
      for (const type of ['ExternalName', 'ClusterIP', 'ExternalName', 'ClusterIP']) {
        const service = sim.request('GET', SERVICE) as unknown as { spec: Record<string, unknown> };
        const { clusterIP: _, clusterIPs: __, externalName: ___, ...spec } = service.spec;
        sim.request('PUT', SERVICE, { ...service, spec: { ...spec, type, externalName: 'example.com' } });
        sim.run(gapMs);
      }
      createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
      sim.run(5000);
      assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 10.0.0.2 : http:8080/TCP'], `gap ${gapMs} ms`);
    }
  });
});

describe('Services that go away', () => {
  it('Services that go away during a sync leave nothing behind, and cost no delete', () => {
    for (let gapMs = 0; gapMs <= 15; gapMs++) {
      const sim = settledWithOne();
      setPodStatus(sim, { name: 'web-1', ready: false });
      sim.run(gapMs);
      deleteObject(sim, SERVICE);
      sim.run(10_000);
      assert.deepEqual(endpointsTable(sim), [], `gap ${gapMs} ms`);
      assert.equal(sim.loop!.state.serviceCount, 1, `gap ${gapMs} ms: only the API server's own is left`);
      assert.deepEqual(
        writesOf(sim).filter((line) => line.startsWith('DELETE')),
        [],
        `gap ${gapMs} ms`,
      );
    }
  });

  it('Services that go away together are told to the shards in few batches', () => {
    const sim = createSim({ shards: 1, options: { kubeApiQps: 10_000, kubeApiBurst: 10_000 } });
    for (let i = 0; i < 2000; i++) createService(sim, { name: `web-${i}`, spec: { selector: { app: `web-${i}` } } });
    sim.start();
    sim.run(20_000);
    assert.equal(endpointsTable(sim).length, 2000);
    for (let i = 0; i < 2000; i++) deleteObject(sim, `/api/v1/namespaces/default/services/web-${i}`);
    let most = 0;
    for (let i = 0; i < 1000; i++) {
      sim.run(10);
      most = Math.max(most, sim.shards!.waiting(0));
    }
    assert.ok(most <= 2, `${most} batches at once`);
    assert.equal(sim.loop!.state.serviceCount, 1);
  });

  it('Services that go away while their shard is replaced are not asked about', () => {
    const sim = settledWithOne({ shards: 1, batchMs: () => 50 });
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(10);
    sim.shards!.kill(0, 'exit code 1');
    deleteObject(sim, SERVICE);
    const from = sim.exchanges.length;
    sim.run(10_000);
    assert.deepEqual(asked(sim, from), []);
  });
});

describe('a leftover', () => {
  it('a leftover stays when its Service comes between the look and the delete', () => {
    const sim = createSim({ options: { kubeApiQps: 1, kubeApiBurst: 1 } });
    createService(sim, { name: 'other' });
    sim.request('POST', ENDPOINTS, {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'web', labels: { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' } },
      subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ name: 'http', port: 8080 }] }],
    });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    sim.start();
    while (!sim.exchanges.some(({ path }) => path === SERVICE)) sim.run(1);
    sim.run(5);
    createService(sim, { name: 'web' });
    sim.run(60_000);
    assert.equal(endpointsTable(sim).length, 2);
    assert.deepEqual(
      writesOf(sim).filter((line) => line.startsWith('DELETE')),
      [],
    );
  });
});

describe('a stop', () => {
  it('a stop ends watches that were about to be tried again, too', () => {
    const sim = settledWithOne();
    sim.lag = (request) => (isWrite(request) ? { toMs: 0, backMs: 5000 } : NO_LAG);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(50);
    sim.compact();
    sim.run(20);
    sim.stop();
    const from = sim.exchanges.length;
    sim.run(20_000);
    assert.equal(sim.stopped, true);
    assert.deepEqual(sim.exchanges.slice(from), []);
  });

  it('a stop at any moment ends, and the server is asked nothing after it', () => {
    for (let gapMs = 0; gapMs <= 15; gapMs++) {
      const sim = settledWithOne();
      setPodStatus(sim, { name: 'web-1', ready: false });
      sim.run(gapMs);
      sim.stop();
      for (let i = 0; i < 20_000 && !sim.stopped; i++) sim.run(1);
      assert.equal(sim.stopped, true, `gap ${gapMs} ms`);
      const from = sim.exchanges.length;
      sim.run(20_000);
      assert.deepEqual(sim.exchanges.slice(from), [], `gap ${gapMs} ms`);
    }
  });
});
