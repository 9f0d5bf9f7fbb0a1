/** Whose object is it, and whose change: foreign edits, orphans, re-creation. */
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
} from '../support/sim.ts';
import { decodeObject } from '../../src/kube/codec.ts';
import { samples } from '../../src/metrics/store.ts';

const ENDPOINTS = '/api/v1/namespaces/default/endpoints';

function editSubsets(sim: Sim): void {
  const object = sim.request('GET', `${ENDPOINTS}/web`);
  sim.request('PUT', `${ENDPOINTS}/web`, {
    ...object,
    subsets: [{ addresses: [{ ip: '9.9.9.9' }], ports: [{ port: 1 }] }],
  });
}

function orphan(name: string, metadata: object): object {
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name, ...metadata },
    subsets: [{ addresses: [{ ip: '10.9.9.9' }], ports: [{ port: 80 }] }],
  };
}

const OURS = { labels: { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' } };

describe('foreign edits', () => {
  it('foreign edits are repaired within a second, but not at once', () => {
    const sim = settledWithOne();
    editSubsets(sim);
    sim.run(800);
    assert.deepEqual(endpointsTable(sim), ['default/web 9.9.9.9 : :1/TCP']);
    sim.run(200);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
  });

  it('foreign edits do not delay a change of a pod', () => {
    const sim = settledWithOne();
    editSubsets(sim);
    createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
    sim.run(100);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 10.0.0.2 : http:8080/TCP']);
  });

  it('annotations, finalizers and owner references of others stay', () => {
    const sim = settledWithOne();
    const object = sim.request('GET', `${ENDPOINTS}/web`);
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'u-1' }];
    sim.request('PUT', `${ENDPOINTS}/web`, {
      ...object,
      metadata: { ...object.metadata, annotations: { mine: 'stays' }, finalizers: ['example.com/f'], ownerReferences },
    });
    createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
    sim.run(5000);
    const { metadata } = sim.request('GET', `${ENDPOINTS}/web`);
    assert.equal(metadata.annotations?.['mine'], 'stays');
    assert.deepEqual(metadata.finalizers, ['example.com/f']);
    assert.deepEqual(metadata.ownerReferences, ownerReferences);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 10.0.0.2 : http:8080/TCP']);
  });
});

describe('an Endpoints object that goes away', () => {
  it('Endpoints that are deleted are made again at once', () => {
    const sim = settledWithOne();
    deleteObject(sim, `${ENDPOINTS}/web`);
    sim.run(100);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
  });

  it('Endpoints go with their Service, without a needless request of ours', () => {
    const sim = settledWithOne();
    const before = sim.exchanges.length;
    deleteObject(sim, '/api/v1/namespaces/default/services/web');
    sim.run(30_000);
    assert.deepEqual(endpointsTable(sim), []);
    assert.deepEqual(sim.exchanges.slice(before), []);
  });

  it('Endpoints come back when the Service is deleted and made again at once', () => {
    const sim = settledWithOne();
    deleteObject(sim, '/api/v1/namespaces/default/services/web');
    createService(sim, { name: 'web' });
    sim.run(3000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
    assert.deepEqual(
      writesOf(sim).filter((line) => line.startsWith('DELETE')),
      [],
    );
  });
});

describe('leftovers without a Service', () => {
  it('own Endpoints without a Service are deleted after the start', () => {
    const sim = createSim();
    sim.request('POST', ENDPOINTS, orphan('old', OURS));
    sim.start();
    sim.run(5000);
    assert.deepEqual(endpointsTable(sim), []);
    const asked = sim.exchanges.map(({ method, path, status }) => `${method} ${path} ${status}`).slice(-2);
    assert.deepEqual(asked, [
      'GET /api/v1/namespaces/default/services/old 404',
      'DELETE /api/v1/namespaces/default/endpoints/old 200',
    ]);
  });

  it('own Endpoints that come without a Service are deleted after a minute', () => {
    const sim = settledWithOne();
    sim.request('POST', ENDPOINTS, orphan('old', OURS));
    sim.run(59_000);
    assert.equal(endpointsTable(sim).length, 2);
    sim.run(2000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
  });

  it('own Endpoints that a restore makes before their Service stay', () => {
    const sim = settledWithOne();
    sim.request('POST', ENDPOINTS, orphan('old', OURS));
    sim.run(30_000);
    createService(sim, { name: 'old', spec: { selector: null } });
    sim.run(120_000);
    assert.deepEqual(endpointsTable(sim), ['default/old 10.9.9.9 : :80/TCP', 'default/web 10.0.0.1 : http:8080/TCP']);
  });

  it('Endpoints are looked up if a Service without a selector goes and they stay', () => {
    const sim = createSim();
    createService(sim, { name: 'old', spec: { selector: null } });
    // The server deletes them with their Service. A finalizer keeps them there, and that is known before their Service goes.
    sim.request('POST', ENDPOINTS, orphan('old', { ...OURS, finalizers: ['example.com/kept'] }));
    sim.lag = ({ stream, path }) => ({ toMs: 0, backMs: stream && path.startsWith('/api/v1/services') ? 100 : 0 });
    sim.start();
    sim.run(5000);
    const from = sim.exchanges.length;
    deleteObject(sim, '/api/v1/namespaces/default/services/old');
    sim.run(5000);
    const asked = sim.exchanges.slice(from).map(({ method, path, status }) => `${method} ${path} ${status}`);
    assert.deepEqual(asked, ['GET /api/v1/namespaces/default/services/old 404']);
  });

  it('Endpoints that were made for a Service that had gone go, if the answer was lost', () => {
    const sim = settledWithOne();
    // The deletion of the Endpoints is told first, so they are made again; that of the Service before another try.
    const lagMs = (path: string): number =>
      path.startsWith('/api/v1/endpoints?') ? 1000 : path.startsWith('/api/v1/services?') ? 1200 : 0;
    sim.lag = ({ stream, path }) => ({ toMs: 0, backMs: stream ? lagMs(path) : 0 });
    sim.script = ({ method, path, body }) => {
      if (method !== 'POST' || path !== ENDPOINTS) return null;
      sim.script = null;
      sim.request('POST', ENDPOINTS, decodeObject(body!));
      return 'reset';
    };
    deleteObject(sim, '/api/v1/namespaces/default/services/web');
    sim.run(1250);
    assert.equal(sim.script, null);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
    sim.run(10_000);
    assert.deepEqual(endpointsTable(sim), []);
  });

  it('Endpoints without the label stay, and are reported once', () => {
    const sim = createSim();
    sim.request('POST', ENDPOINTS, orphan('gluster', {}));
    sim.start();
    sim.run(100_000);
    assert.deepEqual(endpointsTable(sim), ['default/gluster 10.9.9.9 : :80/TCP']);
    const reports = sim.logLines.filter(({ message }) => message === 'Endpoints without a Service are left alone');
    assert.deepEqual(
      reports.map(({ fields }) => fields['endpoints']),
      ['default/gluster'],
    );
  });

  it('Endpoints of a leader election stay, with or without the label', () => {
    const sim = createSim();
    const annotations = { 'control-plane.alpha.kubernetes.io/leader': '{}' };
    sim.request('POST', ENDPOINTS, orphan('leader', { ...OURS, annotations }));
    sim.start();
    sim.run(5000);
    assert.deepEqual(endpointsTable(sim), ['default/leader 10.9.9.9 : :80/TCP']);
  });
});

describe('what upstream leaves alone', () => {
  it('Endpoints of a Service without a selector are left alone', () => {
    const sim = createSim();
    createService(sim, { name: 'db', spec: { selector: undefined } });
    sim.request('POST', ENDPOINTS, orphan('db', {}));
    sim.start();
    sim.run(5000);
    assert.deepEqual(writesOf(sim), []);
  });

  it('Endpoints stay without the selector, and are used again with one', () => {
    const sim = settledWithOne();
    const service = (): object => sim.request('GET', '/api/v1/namespaces/default/services/web');
    const without = structuredClone(service()) as { spec: { selector?: object } };
    delete without.spec.selector;
    sim.request('PUT', '/api/v1/namespaces/default/services/web', without);
    sim.run(1000);
    createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
    sim.run(3000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
    const back = structuredClone(service()) as { spec: { selector?: object } };
    back.spec.selector = { app: 'web' };
    sim.request('PUT', '/api/v1/namespaces/default/services/web', back);
    sim.run(3000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 10.0.0.2 : http:8080/TCP']);
  });
});

describe('admission that changes what we write', () => {
  it('a change of labels by admission is undone when admission stops', () => {
    const sim = createSim({ options: { slices: true } });
    createService(sim, { name: 'web' });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    sim.admission = ({ metadata }) => (metadata.labels = { ...metadata.labels, 'by/admission': '1' });
    sim.start();
    sim.run(2000);
    sim.admission = null;
    sim.run(310_000);
    const objects = [...sim.server.stores.get('endpoints')!.records.values()].concat([
      ...sim.server.stores.get('endpointslices')!.records.values(),
    ]);
    const labelled = objects.filter(({ object }) => object.metadata.labels?.['by/admission'] !== undefined);
    assert.deepEqual(
      labelled.map(({ key }) => key),
      [],
    );
  });

  it('what admission adds to the metadata of a new object stays through later writes', () => {
    const sim = createSim({ options: { slices: true } });
    createService(sim, { name: 'web' });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    sim.admission = ({ metadata }) => {
      metadata.annotations = { ...metadata.annotations, 'example.com/team': 'x' };
      metadata.finalizers = ['example.com/f'];
    };
    sim.start();
    sim.run(2000);
    sim.admission = null;
    for (const ready of [false, true]) {
      setPodStatus(sim, { name: 'web-1', ready });
      sim.run(2000);
    }
    const kept = (['endpoints', 'endpointslices'] as const).map((resource) =>
      [...sim.server.stores.get(resource)!.records.values()]
        .map(({ object }) => object.metadata)
        .filter(({ name }) => name!.startsWith('web'))
        .map(({ annotations, finalizers }) => [annotations?.['example.com/team'], finalizers]),
    );
    assert.deepEqual(kept, [[['x', ['example.com/f']]], [['x', ['example.com/f']]]]);
    const told = sim.logLines.filter(({ message }) => message.startsWith('Admission'));
    assert.deepEqual(told, []);
  });

  it('a change by admission is counted, and fought with the back-off', () => {
    const sim = createSim({ mutateEndpoints: true });
    createService(sim, { name: 'web' });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    sim.start();
    sim.run(600_000);
    const writes = writesOf(sim).length;
    assert.ok(writes >= 3 && writes <= 14, `${writes} writes in ten minutes`);
    const [edits, ...more] = samples(sim.metrics!, 'endpointd_foreign_edits_total', 0);
    assert.deepEqual([edits!.labels, more], [{ manager: 'admission' }, []]);
    assert.ok(edits!.value >= 3, 'edits are counted');
    const warnings = sim.logLines.filter(({ level }) => level === 'warning');
    assert.deepEqual(
      warnings.map(({ message }) => message),
      ['Admission changes what is written'],
    );
  });
});
