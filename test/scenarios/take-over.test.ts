/**
 * The take-over from a controller that knows nothing of the Lease. It is played by a second process without a Lease. The
 * embedded server keeps no managedFields, so they are put into what endpointd is told.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LEASE_PATH, leadershipOf } from '../support/election-world.ts';
import {
  createPod,
  createService,
  createSim,
  endpointsTable,
  pick,
  setPodStatus,
  writesOf,
  type Sim,
  type SimConfig,
} from '../support/sim.ts';
import { createNode, edit, ENDPOINTS, SERVICES } from '../support/sim-objects.ts';
import { asked, eventsOf, metric } from '../support/sim-reports.ts';
import { seeds } from '../support/runs.ts';
import { NO_FAULTS } from '../../src/apiserver/faults.ts';
import type { LeadershipOptions } from '../../src/controller/leader/leadership.ts';
import { formatTime } from '../../src/kube/time.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { createPrng, nextInt } from '../../src/lib/prng.ts';

const MANAGER = 'kube-controller-manager';
const START_SECONDS = Date.UTC(2026, 0, 1) / 1000;
const ALL = { endpoints: true, slices: true, mirror: true };

interface World {
  readonly manager: Sim;
  readonly endpointd: Sim;
  /** Who has written, by resourceVersion. */
  readonly writers: Map<string, string>;
  /** A further replica of endpointd, with the same flags. */
  readonly replica: (identity: string, seed: number) => Sim;
}

/** Two services with a pod each; both controllers run. */
function world(standby: LeadershipOptions['standby'] = 'warm', seed = 2): World {
  const manager = createSim({ options: ALL });
  const writers = new Map<string, string>();
  manager.observer = {
    before() {},
    stepped() {},
    after({ pool }, status) {
      if (pool === 'write' && status < 300) writers.set(String(manager.server.revision), MANAGER);
    },
  };
  const replica = (identity: string, seed: number): Sim => {
    const takeOver = { from: MANAGER, afterMs: 30_000 };
    const leadership = { ...leadershipOf(identity, standby), takeOver };
    const config: SimConfig = { beside: manager, seed, options: ALL, answersInJson: true, leadership };
    const sim = createSim(config);
    sim.tamper = (bytes, { path, stream }) => {
      if (!stream || !/\/endpoint(s|slices)\?/.test(path)) return bytes;
      const event = JSON.parse(Buffer.from(bytes).toString()) as { object: KubeObject };
      const { metadata } = event.object as unknown as { metadata: { resourceVersion: string; managedFields?: object } };
      const time = formatTime(START_SECONDS + sim.nowMs() / 1000);
      metadata.managedFields = [{ manager: writers.get(metadata.resourceVersion) ?? 'kubectl', time }];
      return Buffer.from(`${JSON.stringify(event)}\n`);
    };
    return sim;
  };
  const endpointd = replica('a', seed);
  createNode(manager, { name: 'node-1', zone: 'zone-a' });
  for (const [i, name] of ['web', 'api'].entries()) {
    createService(manager, { name, spec: { selector: { app: name } } });
    createPod(manager, { name: `${name}-1`, labels: { app: name }, ip: `10.0.0.${i + 1}` });
  }
  manager.start();
  manager.run(2000);
  endpointd.start();
  manager.run(5000);
  return { manager, endpointd, writers, replica };
}

function setReady(sim: Sim, service: string, ready: boolean): void {
  setPodStatus(sim, { name: `${service}-1`, ready });
}

/** Requests of the process that change an object. */
function written(sim: Sim): string[] {
  return writesOf(sim).filter((line) => !line.includes('/leases'));
}

function lease(sim: Sim): { holder: string; annotations: Record<string, string> } {
  const { metadata, spec } = sim.request('GET', LEASE_PATH) as unknown as {
    metadata: { annotations: Record<string, string> };
    spec: { holderIdentity: string };
  };
  return { holder: spec.holderIdentity, annotations: metadata.annotations };
}

function lines(sim: Sim, start: string): string[] {
  return sim.logLines.filter(({ message }) => message.startsWith(start)).map(({ message }) => message);
}

/** Whether endpointd has begun. */
const hasBegun = (sim: Sim): boolean => metric(sim, 'endpointd_take_over_waiting') === 0;

const WAITS = 'Holds the Lease and writes nothing';
const NOT_READY = ['default/api 10.0.0.2 : http:8080/TCP', 'default/web | 10.0.0.1 : http:8080/TCP'];

describe('while the manager writes, endpointd', () => {
  it('while the manager writes, endpointd holds the Lease and reports every minute', () => {
    const { manager, endpointd } = world();
    for (let i = 0; i < 30; i++) {
      setReady(manager, 'web', i % 2 === 1);
      manager.run(10_000);
    }
    assert.equal(lease(manager).holder, 'a-1');
    assert.deepEqual(written(endpointd), []);
    assert.equal(hasBegun(endpointd), false);
    assert.equal(lines(endpointd, WAITS).length, 6);
    const [check] = endpointd.loop!.readiness();
    assert.deepEqual(check, {
      name: 'controller',
      ok: true,
      message: 'this process, a-1, which writes nothing: it waits to take over from kube-controller-manager',
    });
  });

  it('in a cluster at rest endpointd says that nothing is due, and waits', () => {
    const { manager, endpointd } = world();
    manager.kill();
    manager.run(600_000);
    assert.deepEqual(written(endpointd), []);
    assert.equal(hasBegun(endpointd), false);
    assert.deepEqual(new Set(lines(endpointd, WAITS).slice(1)), new Set([`${WAITS}: nothing is due, so it waits on`]));
  });

  it('endpointd says if its own caches are not up to date', () => {
    const { manager, endpointd } = world();
    endpointd.refuse = ({ path }) => (path.includes('/pods') ? 503 : 0);
    endpointd.cutWatches();
    manager.run(125_000);
    const told = lines(endpointd, WAITS);
    assert.equal(told.at(-1), `${WAITS}: its caches are not up to date`);
  });

  it('endpointd forgets the due writes of a deleted Service', () => {
    const { manager, endpointd } = world();
    manager.kill();
    setReady(manager, 'web', false);
    manager.run(10_000);
    assert.ok(metric(endpointd, 'endpointd_take_over_longest_due_seconds') > 9);
    manager.request('DELETE', `${SERVICES}/web`);
    manager.run(60_000);
    assert.equal(metric(endpointd, 'endpointd_take_over_longest_due_seconds'), 0);
    assert.equal(hasBegun(endpointd), false);
  });

  it('what a Service lacks that hangs in deletion is not due', () => {
    const { manager, endpointd } = world();
    edit(manager, `${SERVICES}/web`, { finalizers: ['example.com/load-balancer'] });
    manager.request('DELETE', `${SERVICES}/web`);
    manager.run(5000);
    manager.kill();
    // Its namespace is being deleted, and took them along.
    manager.request('DELETE', `${ENDPOINTS}/web`);
    manager.run(120_000);
    assert.equal(metric(endpointd, 'endpointd_take_over_longest_due_seconds'), 0);
    assert.equal(hasBegun(endpointd), false);
  });

  it('endpointd warns which controllers the manager leaves on', () => {
    const { manager, endpointd } = world();
    setReady(manager, 'api', false);
    manager.run(5000);
    // Its slices are switched off: that of `api` stays behind.
    manager.refuse = ({ path, method }) => (method !== 'GET' && path.includes('/endpointslices') ? 503 : 0);
    setReady(manager, 'api', true);
    for (let i = 0; i < 30; i++) {
      setReady(manager, 'web', i % 2 === 1);
      manager.run(10_000);
    }
    assert.deepEqual(written(endpointd), []);
    const told = endpointd.logLines.filter(({ message }) => message.startsWith(WAITS));
    assert.deepEqual(
      told.map(({ level, fields }) => [level, fields?.['managerStillWrites']]),
      [
        ['info', undefined],
        ['info', undefined],
        ['info', undefined],
        ['warning', 'endpoints'],
        ['warning', 'endpoints'],
        ['warning', 'endpoints'],
      ],
    );
    assert.match(told[5]!.message, /the manager still writes objects of some controllers/);
    assert.match(
      String(told[5]!.fields?.['managerWrote']),
      /endpoints \d+m?s ago \(default\/web\), endpointslice 4m\d+s ago \(default\/api\)/,
    );
    assert.ok(metric(endpointd, 'endpointd_take_over_longest_due_seconds') > 290);
  });

  it('a write in the name of the manager is told with its Service', () => {
    const { manager, endpointd, writers } = world();
    manager.kill();
    setReady(manager, 'web', false);
    for (let i = 0; i < 12; i++) {
      edit(manager, `${ENDPOINTS}/api`, { annotations: { theirs: String(i) } });
      writers.set(String(manager.server.revision), MANAGER);
      manager.run(20_000);
    }
    assert.equal(hasBegun(endpointd), false);
    const told = endpointd.logLines.findLast(({ message }) => message.startsWith(WAITS))!;
    assert.equal(told.fields['managerStillWrites'], 'endpoints');
    assert.match(String(told.fields['managerWrote']), /endpoints \d+s ago \(default\/api\)/);
  });

  it('a cold endpointd fills its caches and waits too', () => {
    const { manager, endpointd } = world('cold');
    assert.equal(hasBegun(endpointd), false);
    manager.kill();
    setReady(manager, 'web', false);
    manager.run(36_000);
    assert.deepEqual(endpointsTable(manager), NOT_READY);
  });

  it('endpointd waits on if a due write is done at the last moment', () => {
    const { manager, endpointd } = world();
    manager.refuse = ({ path }) => (path.includes('/web') ? 503 : 0);
    setReady(manager, 'web', false);
    manager.run(29_000);
    assert.ok(metric(endpointd, 'endpointd_take_over_longest_due_seconds') > 28);
    manager.refuse = () => 0;
    // The manager backs off. A change makes it try at once.
    setPodStatus(manager, { name: 'web-1', ip: '10.0.0.9', ready: false });
    manager.run(100_000);
    assert.deepEqual(endpointsTable(manager)[1], 'default/web | 10.0.0.9 : http:8080/TCP');
    assert.deepEqual(written(endpointd), []);
  });

  it('endpointd waits on after the Lease was lost and regained', () => {
    const { manager, endpointd } = world();
    endpointd.refuse = ({ path }) => (path.includes('/leases') ? 503 : 0);
    manager.run(30_000);
    endpointd.refuse = () => 0;
    setReady(manager, 'web', false);
    manager.run(60_000);
    assert.equal(lease(manager).holder, 'a-1');
    assert.deepEqual(written(endpointd), []);
  });
});

describe('endpointd begins', () => {
  it('endpointd begins if a write was due all the time and the manager was silent', () => {
    const { manager, endpointd } = world();
    manager.kill();
    manager.run(60_000);
    setReady(manager, 'web', false);
    manager.run(29_900);
    assert.deepEqual(written(endpointd), []);
    assert.equal(lease(manager).annotations['endpointd/took-over-from'], undefined);
    manager.run(4000);
    assert.deepEqual(endpointsTable(manager), NOT_READY);
    assert.equal(lease(manager).annotations['endpointd/took-over-from'], MANAGER);
    assert.equal(hasBegun(endpointd), true);
    const decided = endpointd.logLines.find(({ message }) => message.startsWith('Takes over'));
    const { manager: from, controller, service, dueFor } = decided!.fields;
    assert.deepEqual([from, controller, service, dueFor], [MANAGER, 'endpointslice', 'default/web', '33s']);
    assert.deepEqual(
      eventsOf(manager).filter((line) => line.startsWith('Lease')),
      [
        'Lease endpointd: LeaderElection: a-1 became leader',
        'Lease endpointd: LeaderElection: a-1 took over from kube-controller-manager',
      ],
    );
  });

  it('endpointd tells what it left out while it waited', () => {
    const { manager, endpointd } = world();
    createPod(manager, { name: 'web-2', labels: { app: 'web' }, ip: '127.0.0.1' });
    manager.run(600_000);
    manager.kill();
    setReady(manager, 'web', false);
    const problems = (): string[] => lines(endpointd, 'Part of an object cannot be used');
    assert.deepEqual(problems(), []);
    const from = endpointd.exchanges.length;
    manager.run(40_000);
    assert.equal(hasBegun(endpointd), true);
    assert.equal(problems().length, 1);
    const events = endpointd.exchanges.slice(from).filter(({ path }) => path.includes('/default/events'));
    assert.deepEqual(
      events.map(({ method, status }) => `${method} ${status}`),
      ['POST 201'],
    );
  });

  it('for half a minute endpointd lists the slices of a service before it makes one', () => {
    const { manager, endpointd } = world();
    manager.kill();
    setReady(manager, 'web', false);
    manager.run(36_000);
    assert.equal(hasBegun(endpointd), true);
    /** What it asks of slices for a further service. */
    const askedFor = (name: string): string[] => {
      const from = endpointd.exchanges.length;
      createService(manager, { name, spec: { selector: { app: 'web' } } });
      manager.run(2000);
      return asked(endpointd, from).filter((line) => line.includes('endpointslices'));
    };
    manager.run(20_000);
    assert.deepEqual(askedFor('soon'), ['GET endpointslices 200', 'POST endpointslices 201']);
    manager.run(10_000);
    assert.deepEqual(askedFor('later'), ['POST endpointslices 201']);
  });

  it('endpointd begins as soon as somebody sets the annotation of the Lease', () => {
    const { manager, endpointd } = world();
    manager.kill();
    setReady(manager, 'web', false);
    manager.run(2000);
    assert.equal(hasBegun(endpointd), false);
    const { metadata, ...rest } = manager.request('GET', LEASE_PATH);
    const annotations = { ...lease(manager).annotations, 'endpointd/took-over-from': MANAGER };
    manager.request('PUT', LEASE_PATH, { ...rest, metadata: { ...metadata, annotations } });
    manager.run(5000);
    assert.deepEqual(endpointsTable(manager), NOT_READY);
    assert.equal(lines(endpointd, 'Waits for nobody').length, 1);
  });

  it('endpointd does not begin while the manager writes something else', () => {
    const { manager, endpointd } = world();
    manager.refuse = ({ path }) => (path.includes('/web') ? 503 : 0);
    setReady(manager, 'web', false);
    for (let i = 0; i < 10; i++) {
      manager.run(20_000);
      setReady(manager, 'api', i % 2 === 1);
    }
    manager.run(25_000);
    assert.deepEqual(written(endpointd), []);
    manager.run(10_000);
    assert.ok(written(endpointd).length > 0);
  });

  it('endpointd begins whatever others write meanwhile', () => {
    const { manager, endpointd } = world();
    manager.kill();
    setReady(manager, 'web', false);
    for (let i = 0; i < 8; i++) {
      edit(manager, `${ENDPOINTS}/api`, { annotations: { theirs: String(i) } });
      manager.run(4000);
    }
    manager.run(2000);
    assert.equal(hasBegun(endpointd), true);
    assert.deepEqual(endpointsTable(manager), NOT_READY);
  });

  it('endpointd does not begin for the deletion of unwanted objects', () => {
    const { manager, endpointd } = world();
    manager.kill();
    manager.request('POST', ENDPOINTS, {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'orphan', labels: { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' } },
    });
    manager.run(120_000);
    assert.equal(hasBegun(endpointd), false);
  });

  it('endpointd does not begin because the manager has lost its Lease in an outage', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const { manager, endpointd } = world('warm', seed);
      manager.kill();
      setReady(manager, 'web', false);
      manager.run(1000);
      endpointd.down();
      manager.run(60_000);
      endpointd.up();
      manager.run(18_000);
      manager.start();
      manager.run(60_000);
      assert.deepEqual(endpointsTable(manager), NOT_READY, `SEED=${seed}`);
      assert.deepEqual(written(endpointd), [], `SEED=${seed}`);
      assert.equal(hasBegun(endpointd), false, `SEED=${seed}`);
    }
  });

  it('nor does it begin where etcd alone stood still, and no watch ended', () => {
    const { manager, endpointd } = world();
    manager.kill();
    setReady(manager, 'web', false);
    manager.run(1000);
    endpointd.refuse = ({ stream }) => (stream ? 0 : 504);
    manager.run(60_000);
    endpointd.refuse = () => 0;
    manager.run(18_000);
    manager.start();
    manager.run(60_000);
    assert.deepEqual(endpointsTable(manager), NOT_READY);
    assert.deepEqual(written(endpointd), []);
  });

  it('nor does a standby that takes the Lease after the outage', () => {
    const { manager, endpointd, replica } = world();
    const standby = replica('b', 3);
    standby.start();
    manager.run(5000);
    manager.kill();
    setReady(manager, 'web', false);
    manager.run(3000);
    standby.down();
    endpointd.kill();
    manager.run(60_000);
    standby.up();
    manager.run(18_000);
    manager.start();
    manager.run(60_000);
    assert.equal(lease(manager).holder, 'b-1');
    assert.deepEqual(endpointsTable(manager), NOT_READY);
    assert.deepEqual(written(standby), []);
  });

  it('endpointd does not begin because both it and the manager stood still', () => {
    const { manager, endpointd } = world();
    // It loses its Lease by standing still, and ends.
    manager.kill();
    setReady(manager, 'web', false);
    manager.run(3000);
    endpointd.freeze();
    manager.run(60_000);
    endpointd.thaw();
    manager.run(18_000);
    manager.start();
    manager.run(60_000);
    assert.equal(lease(manager).holder, 'a-1');
    assert.deepEqual(endpointsTable(manager), NOT_READY);
    assert.deepEqual(written(endpointd), []);
  });

  it('endpointd does not begin because its own watches are silent', () => {
    const { manager, endpointd } = world();
    // What is written does not come through: the manager seems to leave everything undone.
    const silent = new Set(endpointd.streams().map(({ path }) => path));
    endpointd.lag = ({ path }) => ({
      toMs: 0,
      backMs: silent.has(path) && /\/endpoint(s|slices)\?/.test(path) ? 3_600_000 : 0,
    });
    setReady(manager, 'web', false);
    manager.run(140_000);
    assert.deepEqual(endpointsTable(manager), NOT_READY);
    assert.deepEqual(written(endpointd), []);
    assert.equal(hasBegun(endpointd), false);
  });
});

describe('once endpointd has begun', () => {
  function begun(): World {
    const all = world();
    all.manager.kill();
    setReady(all.manager, 'web', false);
    all.manager.run(40_000);
    assert.equal(hasBegun(all.endpointd), true);
    return all;
  }

  it('after it has begun, endpointd writes at once after a restart', () => {
    const { manager, endpointd } = begun();
    endpointd.kill();
    endpointd.start();
    manager.run(17_000);
    setReady(manager, 'web', true);
    const from = written(endpointd).length;
    manager.run(500);
    assert.equal(written(endpointd).length, from + 2);
    assert.equal(lines(endpointd, 'Waits for nobody').length, 1);
  });

  it('after a begin, the replica that takes over writes at once', () => {
    const { manager, endpointd, replica } = begun();
    const other = replica('b', 3);
    other.start();
    manager.run(5000);
    setReady(manager, 'web', true);
    manager.run(1000);
    setReady(manager, 'web', false);
    endpointd.stop();
    manager.run(1000);
    assert.equal(lease(manager).holder, 'b-1');
    const from = written(other).length;
    setReady(manager, 'web', true);
    manager.run(500);
    assert.equal(written(other).length, from + 2);
  });

  it('a removed Lease tells again that the take-over is done', () => {
    const { manager, endpointd } = begun();
    manager.request('DELETE', LEASE_PATH);
    manager.run(5000);
    assert.equal(lease(manager).annotations['endpointd/took-over-from'], MANAGER);
    assert.equal(hasBegun(endpointd), true);
  });

  it('a new process waits again if somebody has removed the annotation', () => {
    const { manager, endpointd } = begun();
    endpointd.kill();
    const { metadata, ...rest } = manager.request('GET', LEASE_PATH);
    manager.request('PUT', LEASE_PATH, { ...rest, metadata: { ...metadata, annotations: {} } });
    endpointd.start();
    manager.run(20_000);
    assert.equal(lease(manager).holder, 'a-3');
    assert.equal(hasBegun(endpointd), false);
  });
});

/** What befalls the way of endpointd to the server, for some seconds at a time. */
const FAULTS: readonly ((sim: Sim) => unknown)[] = [
  ({ faults }) => (faults.cutWatch = 0.3),
  ({ faults }) => (faults.loseReply = 0.2),
  ({ faults }) => (faults.serverError = 0.3),
  ({ faults }) => (faults.lag = 0.1),
  // Watches that have something to say within that time say nothing ever after. New ones do.
  (sim) => {
    sim.muteWatches = true;
    sim.at(sim.nowMs() + 3000, () => (sim.muteWatches = false));
  },
  (sim) => (sim.keepEndsBack = true),
];

function heal(sim: Sim): void {
  Object.assign(sim.faults, NO_FAULTS);
  sim.muteWatches = false;
  sim.keepEndsBack = false;
}

it('with any network faults endpointd begins only after the manager has stopped', () => {
  const { first, count } = seeds({ first: 1, count: 10 });
  for (let seed = first; seed < first + count; seed++) {
    const prng = createPrng(seed);
    const { manager, endpointd } = world(seed % 3 === 0 ? 'cold' : 'warm', seed + 1);
    for (let i = 0; i < 25; i++) {
      heal(endpointd);
      if (nextInt(prng, 2) === 0) pick(prng, FAULTS)(endpointd);
      setReady(manager, pick(prng, ['web', 'api']), nextInt(prng, 2) === 0);
      manager.run(nextInt(prng, 60_000));
    }
    assert.deepEqual(written(endpointd), [], `SEED=${seed}`);
    heal(endpointd);
    manager.kill();
    setReady(manager, 'api', true);
    setReady(manager, 'web', true);
    manager.run(1000);
    setReady(manager, 'web', false);
    // A stream that fell silent is noticed after 150 s.
    manager.run(200_000);
    assert.deepEqual(endpointsTable(manager), NOT_READY, `SEED=${seed}`);
  }
});
