/**
 * Somebody else writes the objects that are kept here: one warning an hour names who, and a metric counts by name. The
 * embedded server keeps no managedFields, so they are put into what the controller is told.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  createPod,
  createService,
  createSim,
  endpointsTable,
  setPodStatus,
  type Sim,
  type SimConfig,
} from '../support/sim.ts';
import { edit, ENDPOINTS } from '../support/sim-objects.ts';
import { leadershipOf } from '../support/election-world.ts';
import { metric } from '../support/sim-reports.ts';
import type { LogEffect } from '../../src/controller/effect.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { formatTime } from '../../src/kube/time.ts';

const HOUR_MS = 3_600_000;
const START_SECONDS = Date.UTC(2026, 0, 1) / 1000;

interface World {
  readonly sim: Sim;
  /** A write of somebody's, by that field manager. */
  readonly writeAs: (manager: string, service: string, change: object) => void;
}

/** Services `web-1` and so on, each with an address; the controller speaks JSON and is told of managedFields. */
function createWorld(services = 1, config: SimConfig = {}): World {
  const sim = createSim({ answersInJson: true, ...config });
  const managers = new Map<string, Map<string, string>>();
  const noteWrite = (name: string, manager: string): void => {
    let times = managers.get(name);
    if (times === undefined) managers.set(name, (times = new Map()));
    times.set(manager, formatTime(START_SECONDS + sim.nowMs() / 1000));
  };
  sim.observer = {
    before() {},
    stepped() {},
    after({ method, path, pool }, status) {
      if (pool === 'write' && status < 300 && method === 'PUT') noteWrite(path.split('/').at(-1)!, 'endpointd');
    },
  };
  sim.tamper = (bytes, { path, stream }) => {
    if (!path.startsWith('/api/v1/endpoints') || !stream) return bytes;
    const event = JSON.parse(Buffer.from(bytes).toString()) as { object: KubeObject };
    const { metadata } = event.object as { metadata: { name?: string; managedFields?: object } };
    metadata.managedFields = [...(managers.get(metadata.name ?? '') ?? [])].map(([manager, time]) => ({
      manager,
      time,
    }));
    return Buffer.from(`${JSON.stringify(event)}\n`);
  };
  createPod(sim, { name: 'pod', ip: '10.0.0.1' });
  for (let i = 1; i <= services; i++) createService(sim, { name: `web-${i}` });
  sim.start();
  sim.run(10_000);
  return {
    sim,
    writeAs(manager, service, change) {
      noteWrite(service, manager);
      edit(sim, `${ENDPOINTS}/${service}`, {}, change);
    },
  };
}

const EMPTIED = { subsets: [] };

/** `tool-1` and so on change the same object, a minute apart. */
function editByTools({ sim, writeAs }: World, first: number, last: number): void {
  for (let i = first; i <= last; i++) {
    writeAs(`tool-${i}`, 'web-1', EMPTIED);
    sim.run(60_000);
  }
}

function warnings({ logLines }: Sim): LogEffect[] {
  return logLines.filter(({ level }) => level === 'warning');
}

const edits = (sim: Sim, manager: string): number => metric(sim, 'endpointd_foreign_edits_total', { manager });

describe('a second writer', () => {
  it('an endpointd that led until now is no second writer for a minute', () => {
    const { sim, writeAs } = createWorld(1, { leadership: leadershipOf('a') });
    const emptyThreeTimes = (): void => {
      for (let i = 0; i < 3; i++) {
        writeAs('endpointd', 'web-1', EMPTIED);
        sim.run(5000);
      }
    };
    emptyThreeTimes();
    assert.deepEqual([warnings(sim).length, edits(sim, 'endpointd')], [0, 0]);
    sim.run(60_000);
    emptyThreeTimes();
    assert.deepEqual(
      warnings(sim).map(({ message }) => message),
      ['Another writer changes the same objects'],
    );
  });

  it('a second writer is named in one warning for any number of services', () => {
    const { sim, writeAs } = createWorld(5);
    for (let i = 1; i <= 5; i++) {
      writeAs('kube-controller-manager', `web-${i}`, EMPTIED);
      sim.run(2000);
    }
    const [warning, ...more] = warnings(sim);
    assert.deepEqual(more, []);
    assert.deepEqual(warning, {
      type: 'log',
      level: 'warning',
      v: 0,
      message: 'Another writer changes the same objects',
      fields: {
        manager: 'kube-controller-manager',
        changes: 3,
        within: '4s',
        controller: 'endpoints',
        service: 'default/web-3',
      },
    });
    assert.equal(edits(sim, 'kube-controller-manager'), 5);
    assert.equal(metric(sim, 'endpointd_foreign_edits_total'), 5);
  });

  it('a second writer between a failed repair and its retry is counted too', () => {
    const { sim, writeAs } = createWorld();
    sim.refuse = ({ method }) => (method === 'PUT' ? 403 : 0);
    writeAs('kubectl-edit', 'web-1', EMPTIED);
    sim.run(10_000);
    writeAs('kubectl-patch', 'web-1', { subsets: [{ addresses: [{ ip: '10.0.0.9' }] }] });
    sim.run(100);
    sim.refuse = () => 0;
    sim.run(60_000);
    assert.deepEqual([edits(sim, 'kubectl-edit'), edits(sim, 'kubectl-patch')], [1, 1]);
  });

  it('a second writer is reported every hour while it writes', () => {
    const { sim, writeAs } = createWorld(2);
    for (let minute = 0; minute < 150; minute++) {
      writeAs('kube-controller-manager', `web-${(minute % 2) + 1}`, EMPTIED);
      sim.run(60_000);
    }
    assert.equal(warnings(sim).length, 3);
    assert.deepEqual(
      warnings(sim).map(({ fields }) => fields['changes']),
      [3, 61, 60],
    );
    sim.run(5 * HOUR_MS);
    assert.equal(warnings(sim).length, 3);
  });

  it('two changes in an hour are a correction by hand, and no warning', () => {
    const { sim, writeAs } = createWorld();
    for (let i = 0; i < 6; i++) {
      writeAs('kubectl-edit', 'web-1', EMPTIED);
      sim.run(HOUR_MS / 2 + 60_000);
    }
    assert.deepEqual(warnings(sim), []);
    assert.equal(edits(sim, 'kubectl-edit'), 6);
  });

  it('beyond the tenth writer the name is `other`', () => {
    const world = createWorld();
    const { sim } = world;
    editByTools(world, 1, 12);
    assert.equal(edits(sim, 'tool-10'), 1);
    assert.equal(edits(sim, 'tool-11'), 0);
    assert.equal(edits(sim, 'other'), 2);
  });

  it('a writer that comes after ten others of long ago is told by its name', () => {
    const world = createWorld();
    const { sim, writeAs } = world;
    editByTools(world, 1, 10);
    sim.run(2 * HOUR_MS);
    for (let i = 1; i <= 3; i++) {
      writeAs('kube-controller-manager', 'web-1', EMPTIED);
      sim.run(60_000);
    }
    assert.deepEqual(
      warnings(sim).map(({ fields }) => fields['manager']),
      ['kube-controller-manager'],
    );
    assert.equal(edits(sim, 'other'), 3);
  });

  it('single edits by more than ten tools are not told as those of one', () => {
    const world = createWorld();
    const { sim } = world;
    editByTools(world, 1, 10);
    sim.run(2 * HOUR_MS);
    editByTools(world, 11, 13);
    assert.deepEqual(warnings(sim), []);
  });

  it('a writer is `unknown` if only an old write of our own is known', () => {
    const { sim } = createWorld();
    setPodStatus(sim, { name: 'pod', ready: false });
    sim.run(60_000);
    edit(sim, `${ENDPOINTS}/web-1`, { labels: {} });
    sim.run(2000);
    assert.equal(edits(sim, 'unknown'), 1);
    assert.equal(metric(sim, 'endpointd_foreign_edits_total'), 1);
  });

  it('a writer that deletes the object is `unknown`', () => {
    const { sim } = createWorld();
    sim.request('DELETE', `${ENDPOINTS}/web-1`);
    sim.run(2000);
    assert.deepEqual(endpointsTable(sim), ['default/web-1 10.0.0.1 : http:8080/TCP']);
    assert.equal(edits(sim, 'unknown'), 1);
  });
});

/** Another process does what the controller is about to do, a moment before it. */
function racedBy({ sim, writeAs }: World, manager: string): void {
  sim.observer = {
    ...sim.observer,
    before(request) {
      const { method, path, body } = request;
      if (method !== 'PUT' || !path.startsWith(ENDPOINTS)) return;
      const { subsets } = sim.request('GET', path);
      // Its own content does not matter: the controller's write is refused for it.
      writeAs(manager, path.split('/').at(-1)!, { subsets: body === null ? subsets : [] });
    },
  };
}

describe('a second endpointd', () => {
  it('a faster second endpointd is named, though its writes never undo ours', () => {
    const world = createWorld(4);
    const { sim } = world;
    sim.run(60_000);
    racedBy(world, 'endpointd');
    setPodStatus(sim, { name: 'pod', ready: false });
    sim.run(3000);
    assert.ok(metric(sim, 'endpointd_write_conflicts_total') >= 4);
    assert.ok(edits(sim, 'endpointd') >= 4);
    const [warning, ...more] = warnings(sim);
    assert.equal(warning?.fields['manager'], 'endpointd');
    assert.deepEqual(more, []);
  });

  it('a second endpointd that writes the same objects is counted too', () => {
    const sim = createSim();
    createPod(sim, { name: 'pod', ip: '10.0.0.1' });
    createService(sim, { name: 'web' });
    sim.start();
    sim.run(60_000);
    let raced = false;
    sim.observer = {
      stepped() {},
      after() {},
      before({ method, path }) {
        if (method !== 'PUT' || raced) return;
        raced = true;
        const stored = sim.request('GET', path);
        const [{ addresses, ports }] = stored['subsets'] as [{ addresses: object[]; ports: object[] }];
        edit(sim, path, {}, { subsets: [{ notReadyAddresses: addresses, ports }] });
      },
    };
    setPodStatus(sim, { name: 'pod', ready: false });
    sim.run(5000);
    assert.ok(raced);
    assert.deepEqual(endpointsTable(sim), ['default/web | 10.0.0.1 : http:8080/TCP']);
    assert.equal(metric(sim, 'endpointd_foreign_edits_total'), 1);
  });
});

describe('nobody else', () => {
  it('lost replies to our own writes are no second writer', () => {
    const sim = createSim({ seed: 7, faults: { loseReply: 0.5 } });
    createPod(sim, { name: 'pod', ip: '10.0.0.1' });
    for (let i = 1; i <= 20; i++) createService(sim, { name: `web-${i}` });
    sim.start();
    for (let i = 0; i < 5; i++) {
      sim.run(120_000);
      setPodStatus(sim, { name: 'pod', ready: i % 2 === 1 });
    }
    sim.run(600_000);
    assert.equal(metric(sim, 'endpointd_foreign_edits_total'), 0);
  });
});
