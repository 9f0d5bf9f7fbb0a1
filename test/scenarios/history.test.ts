/**
 * etcd restored from a backup, with and without `--bump-revision --mark-compacted`: what the server holds is older than
 * what was told, and all that is published must follow.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkNothingKept } from '../support/nothing-kept.ts';
import {
  changeNode,
  createNode,
  edit,
  editService,
  ENDPOINTS,
  makeEndpoints,
  PODS,
  removeLabels,
  SERVICES,
  SLICES,
} from '../support/sim-objects.ts';
import { metric } from '../support/sim-reports.ts';
import { slicesOf } from '../support/sim-slices.ts';
import {
  createPod,
  createService,
  createSim,
  deleteObject,
  endpointsTable,
  setPodStatus,
  writesOf,
  type RestoreOptions,
  type Sim,
  type SimConfig,
} from '../support/sim.ts';
import { wrongOf } from '../support/wrong-objects.ts';
import type { Backup } from '../support/sim-backup.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { MANAGED_BY_LABEL, MANAGED_BY_VALUE } from '../../src/kube/names.ts';

const ALL = { endpoints: true, slices: true, mirror: true };
const CHECKS = { endpointsController: true, slicesController: true, mirroringController: true };
const BUMP = 1_000_000;
const RESYNC_MS = 600_000;

/** At rest: `web` with two pods, `db` with one, `hand` with Endpoints made by hand, on two nodes. */
function settled(config: SimConfig = {}): Sim {
  const sim = createSim({ ...config, options: { ...ALL, minResyncPeriodMs: RESYNC_MS, ...config.options } });
  createNode(sim, { name: 'node-1', zone: 'zone-a' });
  createNode(sim, { name: 'node-2', zone: 'zone-b' });
  createService(sim, { name: 'web' });
  createService(sim, { name: 'db', spec: { selector: { app: 'db' } } });
  sim.request('POST', SERVICES, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'hand' },
    spec: { ports: [{ name: 'http', port: 80 }] },
  });
  makeEndpoints(sim, 'hand', [{ addresses: [{ ip: '192.0.2.7' }], ports: [{ name: 'http', port: 80 }] }]);
  createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
  createPod(sim, { name: 'web-2', ip: '10.0.0.2', node: 'node-2' });
  createPod(sim, { name: 'db-1', ip: '10.0.0.3', labels: { app: 'db' } });
  sim.start();
  sim.run(5000);
  assert.deepEqual(wrongOf(sim, CHECKS), []);
  return sim;
}

function resets(sim: Sim): number {
  return metric(sim, 'endpointd_history_resets_total');
}

/** What has happened since the backup, and is undone by its restore. */
const SINCE: Readonly<Record<string, (sim: Sim) => void>> = {
  'a pod came': (sim) => createPod(sim, { name: 'web-3', ip: '10.0.0.9' }),
  'a pod went': (sim) => deleteObject(sim, `${PODS}/web-2`),
  'a pod became not ready': (sim) => setPodStatus(sim, { name: 'web-1', ready: false }),
  'a pod got another address': (sim) => setPodStatus(sim, { name: 'web-1', ip: '10.0.0.77' }),
  'a pod lost its labels': (sim) => removeLabels(sim, 'web-1'),
  'a pod was made again': (sim) => {
    deleteObject(sim, `${PODS}/db-1`);
    createPod(sim, { name: 'db-1', ip: '10.0.0.8', labels: { app: 'db' } });
  },
  'a Service came': (sim) => createService(sim, { name: 'late' }),
  'a Service went': (sim) => deleteObject(sim, `${SERVICES}/db`),
  'a Service got another selector': (sim) => editService(sim, 'web', { selector: { app: 'db' } }),
  'a Service got another port': (sim) => editService(sim, 'web', { ports: [{ port: 81, targetPort: 8081 }] }),
  'a Service lost its selector': (sim) => editService(sim, 'web', { selector: null }),
  'Endpoints made by hand changed': (sim) =>
    edit(sim, `${ENDPOINTS}/hand`, {}, { subsets: [{ addresses: [{ ip: '192.0.2.8' }], ports: [{ port: 80 }] }] }),
  'Endpoints made by hand went': (sim) => deleteObject(sim, `${ENDPOINTS}/hand`),
  'Endpoints were deleted by hand': (sim) => deleteObject(sim, `${ENDPOINTS}/web`),
  'a slice was deleted by hand': (sim) => deleteObject(sim, `${SLICES}/${slicesOf(sim)[0]!.metadata.name}`),
  'a node moved to another zone': (sim) => changeNode(sim, { name: 'node-1', zone: 'zone-c' }),
  'a node went': (sim) => deleteObject(sim, '/api/v1/nodes/node-2'),
  'everything changed': (sim) => {
    createPod(sim, { name: 'web-3', ip: '10.0.0.9' });
    deleteObject(sim, `${PODS}/web-2`);
    editService(sim, 'db', { ports: [{ port: 81, targetPort: 8081 }] });
    deleteObject(sim, `${ENDPOINTS}/hand`);
    changeNode(sim, { name: 'node-1', zone: 'zone-c' });
  },
};

/** Everything is right and known, and nobody writes any more. */
function expectRight(sim: Sim, within: number): void {
  sim.run(within);
  assert.deepEqual(wrongOf(sim, CHECKS), []);
  const writes = writesOf(sim).length;
  // Planned anew, and the planners learn what has become of their last writes.
  sim.run(2 * RESYNC_MS);
  assert.deepEqual(writesOf(sim).slice(writes), []);
  checkNothingKept(sim, 'after the restore');
}

/** The backup of a settled world, and what came after it. */
function livedOn(sim: Sim, since: (sim: Sim) => void): Backup {
  const backup = sim.backup();
  since(sim);
  sim.run(5000);
  return backup;
}

for (const watchList of [true, false]) {
  describe(`a restore of etcd, ${watchList ? 'lists streamed' : 'lists in pages'}`, () => {
    for (const [what, since] of Object.entries(SINCE)) {
      it(`after ${what} all is right 10 s after the connections are back`, () => {
        const sim = settled({ options: { watchList } });
        sim.restore(livedOn(sim, since));
        expectRight(sim, 10_000);
        assert.ok(resets(sim) > 0);
      });

      it(`after ${what} with a bump all is right, and no list is too old`, () => {
        const sim = settled({ options: { watchList } });
        sim.restore(livedOn(sim, since), { bump: BUMP });
        expectRight(sim, 10_000);
        assert.equal(resets(sim), 0);
      });
    }
  });
}

describe('a restore with API servers that end their watches in good order', () => {
  for (const bump of [0, BUMP]) {
    it(`all is right 10 s after such a restore, ${bump === 0 ? 'without' : 'with'} a bump`, () => {
      const sim = settled();
      sim.restore(livedOn(sim, SINCE['everything changed']!), { bump, streams: 'end' });
      expectRight(sim, 10_000);
    });
  }
});

describe('a restore that cuts no connection', () => {
  for (const bump of [0, BUMP]) {
    it(`a restore ${bump === 0 ? 'without' : 'with'} a bump is found when the watches were silent for 150 s`, () => {
      const sim = settled();
      sim.restore(livedOn(sim, SINCE['everything changed']!), { bump, streams: 'mute' });
      expectRight(sim, 160_000);
    });
  }
});

describe('a restore while the API server is away', () => {
  it('a restore during an outage is found, though its watches had ended cleanly', () => {
    const sim = settled();
    const backup = livedOn(sim, SINCE['everything changed']!);
    sim.down();
    sim.restore(backup, { streams: 'mute' });
    sim.run(5000);
    sim.up();
    expectRight(sim, 20_000);
  });
});

describe('a restore in the middle of the first list', () => {
  it('a restore within the first list leaves nothing of what the list had told', () => {
    const sim = createSim({ options: { ...ALL, minResyncPeriodMs: RESYNC_MS } });
    createNode(sim, { name: 'node-1', zone: 'zone-a' });
    createService(sim, { name: 'web' });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    const backup = sim.backup();
    createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
    let pieces = 0;
    sim.tamper = (bytes, { path }) => (path.startsWith('/api/v1/pods') && ++pieces > 2 ? Buffer.from('no') : bytes);
    sim.start();
    sim.run(500);
    assert.ok(pieces > 2, 'both pods were told, and the end of the list was not');
    sim.restore(backup);
    sim.tamper = (bytes) => bytes;
    expectRight(sim, 10_000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
  });
});

describe('history that goes back', () => {
  it('history that goes back is told once for each resource, with both versions', () => {
    const sim = settled();
    sim.restore(livedOn(sim, SINCE['a pod came']!));
    sim.run(10_000);
    const lines = sim.logLines.filter(({ message }) => message.includes('went back'));
    assert.deepEqual(lines.map(({ level, fields }) => `${level} ${fields['resource']}`).toSorted(), [
      'warning endpoints',
      'warning endpointslices',
      'warning pods',
    ]);
    for (const { fields } of lines) assert.ok(Number(fields['reached']) > Number(fields['resourceVersion']));
    assert.equal(metric(sim, 'endpointd_history_resets_total', { resource: 'pods' }), 1);
  });

  it('a restore of the same objects costs no write', () => {
    const sim = settled();
    const backup = sim.backup();
    // A status that nobody reads.
    const pod = sim.request('GET', `${PODS}/web-1`);
    for (let i = 0; i < 5; i++) edit(sim, `${PODS}/web-1`, { annotations: { 'example.com/i': String(i) } });
    assert.notEqual(pod.metadata.resourceVersion, sim.request('GET', `${PODS}/web-1`).metadata.resourceVersion);
    sim.run(5000);
    const writes = writesOf(sim).length;
    sim.restore(backup);
    expectRight(sim, 10_000);
    assert.equal(resets(sim), 1);
    assert.deepEqual(writesOf(sim).slice(writes), []);
  });

  it('each of several restores is followed', () => {
    const sim = settled();
    const backup = sim.backup();
    for (let i = 0; i < 3; i++) {
      createPod(sim, { name: `web-3`, ip: `10.0.0.${i + 10}` });
      sim.run(15_000);
      assert.deepEqual(wrongOf(sim, CHECKS), []);
      sim.restore(backup);
      sim.run(15_000);
      assert.deepEqual(wrongOf(sim, CHECKS), []);
    }
    expectRight(sim, 10_000);
  });

  it('an object that an own write has deleted comes back', () => {
    for (const bump of [0, BUMP]) {
      const sim = settled();
      const backup = livedOn(sim, (one) => deleteObject(one, `${ENDPOINTS}/hand`));
      assert.equal(slicesOf(sim).length, 2, 'the slice that mirrored it is gone');
      sim.restore(backup, { bump });
      expectRight(sim, 10_000);
      assert.equal(slicesOf(sim).length, 3);
    }
  });
});

describe('own writes under way', () => {
  /** The first write that `lag` meets is held up on its way there, or its answer on the way back. */
  function restoredAround(way: 'toMs' | 'backMs', options: RestoreOptions): Sim {
    const sim = settled();
    const backup = sim.backup();
    sim.lag = ({ pool }) => ({ toMs: 0, backMs: 0, ...(pool === 'write' ? { [way]: 3000 } : {}) });
    createPod(sim, { name: 'web-3', ip: '10.0.0.9' });
    sim.run(1000);
    sim.restore(backup, options);
    sim.run(2500);
    sim.lag = () => ({ toMs: 0, backMs: 0 });
    return sim;
  }

  for (const bump of [0, BUMP]) {
    const how = bump === 0 ? 'without' : 'with';
    it(`own writes that arrive after the restore end right, ${how} a bump`, () => {
      expectRight(restoredAround('toMs', { bump }), 15_000);
    });

    it(`own writes whose answers come after the restore end right, ${how} a bump`, () => {
      expectRight(restoredAround('backMs', { bump }), 15_000);
    });
  }

  it('a write with a version below the last one makes its resource be listed again', () => {
    const sim = settled();
    const backup = livedOn(sim, (one) => {
      for (let port = 81; port < 91; port++) editService(one, 'db', { ports: [{ port, targetPort: 8000 + port }] });
    });
    // Only the watch of pods is cut, and no pod has changed since the backup.
    sim.restore(backup, { streams: (path) => (path.startsWith('/api/v1/pods') ? 'cut' : 'mute') });
    sim.run(5000);
    assert.equal(resets(sim), 0);
    setPodStatus(sim, { name: 'web-1', ready: false });
    expectRight(sim, 10_000);
    const lines = sim.logLines.filter(({ message }) => message.startsWith('An own write shows'));
    const resources = lines.map(({ fields }) => String(fields['resource'])).toSorted();
    assert.deepEqual(resources, ['endpoints', 'endpointslices']);
  });

  for (const bump of [0, BUMP]) {
    const how = bump === 0 ? 'without' : 'with';
    it(`own writes that the backup lacks are done again, if late, ${how} a bump`, () => {
      const sim = settled();
      sim.lag = ({ pool }) => (pool === 'write' ? { toMs: 500, backMs: 8000 } : { toMs: 0, backMs: 0 });
      createPod(sim, { name: 'web-3', ip: '10.0.0.9' });
      sim.run(300);
      // It has the pod, and nothing that was written for it.
      const backup = sim.backup();
      sim.run(700);
      sim.restore(backup, { bump });
      sim.lag = () => ({ toMs: 0, backMs: 0 });
      expectRight(sim, 20_000);
    });
  }

  it('writes that admission undoes keep the old version, which shows nothing', () => {
    const sim = settled();
    const before = sim.request('GET', `${ENDPOINTS}/web`) as unknown as {
      subsets: unknown;
      metadata: KubeObject['metadata'];
    };
    // Other Endpoints take the resource to newer versions.
    createService(sim, { name: 'late' });
    sim.run(5000);
    sim.admission = (object) => {
      if (object.metadata.name === 'web') Object.assign(object, before);
    };
    createPod(sim, { name: 'web-3', ip: '10.0.0.9' });
    sim.run(10_000);
    const undone = writesOf(sim).filter((line) => line.startsWith(`PUT ${ENDPOINTS}/web`));
    assert.notDeepEqual(undone, []);
    assert.equal(sim.request('GET', `${ENDPOINTS}/web`).metadata.resourceVersion, before.metadata.resourceVersion);
    assert.deepEqual(
      sim.logLines.filter(({ message }) => message.includes('went back')),
      [],
    );
    assert.equal(resets(sim), 0);
  });

  it('writes are tried again if the restored object is older than the one read', () => {
    const sim = settled();
    const backup = livedOn(sim, (one) => setPodStatus(one, { name: 'web-1', ready: false }));
    sim.restore(backup);
    sim.run(10_000);
    assert.deepEqual(endpointsTable(sim)[2], 'default/web 10.0.0.1 10.0.0.2 : http:8080/TCP');
  });
});

describe('an object that is made after the backup', () => {
  /** A backup with the Service `late`, whose Endpoints and slice are written only after it. */
  function writtenSince(sim: Sim): Backup {
    sim.refuse = ({ pool }) => (pool === 'write' ? 504 : 0);
    createService(sim, { name: 'late' });
    sim.run(500);
    const backup = sim.backup();
    sim.refuse = () => 0;
    sim.run(10_000);
    assert.deepEqual(wrongOf(sim, CHECKS), []);
    return backup;
  }

  for (const streams of ['cut', 'end', 'mute'] as const) {
    it(`an own object known by its answer is made again, connections ${streams}`, () => {
      const sim = settled();
      sim.muteWatches = true;
      makeEndpoints(sim, 'no-service', [{ addresses: [{ ip: '192.0.2.9' }], ports: [{ port: 80 }] }]);
      sim.run(100);
      sim.muteWatches = false;
      sim.restore(writtenSince(sim), { streams });
      assert.equal(sim.tryRequest('GET', `${ENDPOINTS}/late`).status, 404);
      expectRight(sim, streams === 'mute' ? 160_000 : 10_000);
      assert.equal(metric(sim, 'endpointd_history_resets_total', { resource: 'endpoints' }), 1);
    });
  }

  it('an object is told from another of the same version that a second restore brings', () => {
    const sim = settled();
    const backup = writtenSince(sim);
    const { resourceVersion, uid } = sim.request('GET', `${ENDPOINTS}/late`).metadata;
    sim.restore(backup, { streams: 'mute' });
    while (sim.server.revision < Number(resourceVersion) - 1) {
      edit(sim, `${PODS}/web-1`, { annotations: { 'example.com/at': String(sim.server.revision) } });
    }
    makeEndpoints(sim, 'late', [{ addresses: [{ ip: '192.0.2.9' }], ports: [{ port: 80 }] }]);
    const other = sim.request('GET', `${ENDPOINTS}/late`).metadata;
    assert.equal(other.resourceVersion, resourceVersion);
    assert.notEqual(other.uid, uid);
    sim.restore(sim.backup(), { bump: BUMP });
    expectRight(sim, 15_000);
  });
});

describe('an own delete that only its answer has told of', () => {
  /** After this time Endpoints without a Service are looked at. */
  const LOOKED_AT_MS = 60_000;
  const MADE_BY_US = { labels: { [MANAGED_BY_LABEL]: MANAGED_BY_VALUE } };

  /** Endpoints without a Service, and a slice that mirrors nothing: they go after the backup, and no event says so. */
  function deletedUnseen(sim: Sim): Backup {
    sim.lag = ({ pool }) => ({ toMs: pool === 'write' ? 1000 : 0, backMs: 0 });
    makeEndpoints(sim, 'left', [{ addresses: [{ ip: '192.0.2.9' }], ports: [{ port: 80 }] }], MADE_BY_US);
    sim.run(LOOKED_AT_MS - 900);
    deleteObject(sim, `${ENDPOINTS}/hand`);
    sim.run(500);
    sim.muteWatches = true;
    const backup = sim.backup();
    sim.run(2000);
    sim.muteWatches = false;
    sim.lag = () => ({ toMs: 0, backMs: 0 });
    assert.equal(sim.tryRequest('GET', `${ENDPOINTS}/left`).status, 404);
    assert.equal(slicesOf(sim).length, 2);
    return backup;
  }

  for (const streams of ['cut', 'end', 'mute'] as const) {
    for (const bump of [0, BUMP]) {
      it(`an own delete is done again ${bump === 0 ? 'without' : 'with'} a bump, connections ${streams}`, () => {
        const sim = settled();
        sim.restore(deletedUnseen(sim), { bump, streams });
        assert.equal(sim.tryRequest('GET', `${ENDPOINTS}/left`).status, 200);
        assert.equal(slicesOf(sim).length, 3);
        expectRight(sim, LOOKED_AT_MS + (streams === 'mute' ? 160_000 : 10_000));
        assert.equal(sim.tryRequest('GET', `${ENDPOINTS}/left`).status, 404);
        assert.equal(slicesOf(sim).length, 2);
      });
    }
  }

  it('a watch that ends meanwhile goes on, and nothing is listed for the delete', () => {
    const sim = settled();
    deletedUnseen(sim);
    const from = sim.exchanges.length;
    for (const open of sim.connections) open.end();
    sim.run(20_000);
    const asked = sim.exchanges.slice(from).map(({ path }) => path);
    assert.equal(asked.filter((path) => /limit=1(&|$)/.test(path)).length, 5);
    assert.deepEqual(
      asked.filter((path) => /sendInitialEvents|limit=500/.test(path)),
      [],
    );
    assert.equal(sim.loop!.state.serviceCount, 4, 'web, db, hand and kubernetes: left is forgotten');
  });

  it('an own delete is done again if its answer comes after the lists', () => {
    const sim = settled();
    const writes = writesOf(sim).length;
    sim.lag = ({ pool }) => ({ toMs: pool === 'write' ? 500 : 0, backMs: pool === 'write' ? 6000 : 0 });
    makeEndpoints(sim, 'left', [{ addresses: [{ ip: '192.0.2.9' }], ports: [{ port: 80 }] }], MADE_BY_US);
    sim.run(LOOKED_AT_MS - 500);
    const backup = sim.backup();
    sim.run(2000);
    assert.equal(sim.tryRequest('GET', `${ENDPOINTS}/left`).status, 404);
    sim.restore(backup);
    sim.lag = () => ({ toMs: 0, backMs: 0 });
    expectRight(sim, LOOKED_AT_MS + 15_000);
    assert.equal(sim.tryRequest('GET', `${ENDPOINTS}/left`).status, 404);
    assert.equal(writesOf(sim).slice(writes).length, 2);
  });
});

describe('a WatchList with objects that are older than the cached ones', () => {
  it('a WatchList takes older objects at its end; more than 1,000 make it use pages', () => {
    const sim = createSim({ options: { ...ALL, minResyncPeriodMs: RESYNC_MS } });
    createNode(sim, { name: 'node-1', zone: 'zone-a' });
    createService(sim, { name: 'web' });
    const names = Array.from({ length: 1100 }, (_, i) => `web-${i}`);
    for (const [i, name] of names.entries()) createPod(sim, { name, ip: `10.0.${i >> 8}.${i & 255}` });
    sim.start();
    sim.run(5000);
    const backup = sim.backup();
    for (const name of names) setPodStatus(sim, { name, ready: false });
    sim.run(5000);
    const from = sim.exchanges.length;
    sim.restore(backup, { bump: BUMP });
    expectRight(sim, 10_000);
    const pages = sim.exchanges.slice(from).filter(({ path }) => path.startsWith('/api/v1/pods?limit=500'));
    assert.equal(pages.length, 3);
  });
});
