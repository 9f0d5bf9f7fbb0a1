/**
 * Nodes: their zones, pods on nodes that are not known, hints by CPU and by traffic (docs/spec/endpointslice.md
 * "Nodes", "When hints apply", "Traffic distribution").
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  createPod,
  createService,
  deleteObject,
  endpointsTable,
  setPodStatus,
  type Sim,
  type SimConfig,
} from '../support/sim.ts';
import {
  changeNode,
  createNode,
  edit,
  editService,
  setPodIPs,
  SERVICES,
  syncInVain,
  type NodeText,
} from '../support/sim-objects.ts';
import { asked, eventsOf, metric } from '../support/sim-reports.ts';
import { createSliceSim, slicesOf, slicesTable } from '../support/sim-slices.ts';

const AUTO = { annotations: { 'service.kubernetes.io/topology-mode': 'Auto' } };

/** Two zones of equal CPU, node-1 and node-2 in them. */
function twoZones(config: SimConfig = {}, second: Partial<NodeText> = {}): Sim {
  const sim = createSliceSim(config);
  createNode(sim, { name: 'node-2', zone: 'zone-b', ...second });
  return sim;
}

/** Of service `web`; an odd pod is on node-1, an even one on node-2. */
function pods(sim: Sim, from: number, to: number): void {
  for (let i = from; i <= to; i++) {
    createPod(sim, { name: `web-${i}`, ip: `10.0.0.${i}`, node: i % 2 === 1 ? 'node-1' : 'node-2' });
  }
}

function createAuto(sim: Sim, spec: object = {}): void {
  createService(sim, { name: 'web', spec });
  edit(sim, `${SERVICES}/web`, AUTO);
}

function eventsOfHints(sim: Sim): string[] {
  return eventsOf(sim).map((line) => line.replace('Service web: ', ''));
}

/** How often each event was told. */
function toldOfHints(sim: Sim): string[] {
  const { items } = sim.request('GET', '/api/v1/events') as unknown as {
    items: { reason: string; message: string; count: number }[];
  };
  return items.map(({ reason, message, count }) => `${count} x ${reason}: ${message}`);
}

function zones(sim: Sim): string[] {
  return slicesOf(sim).flatMap(({ endpoints }) => (endpoints ?? []).map(({ zone }) => zone ?? '?'));
}

/** The zone that each endpoint is meant for. */
function hintedZones(sim: Sim): (string | undefined)[] {
  return slicesOf(sim).flatMap(({ endpoints }) =>
    (endpoints ?? []).map((endpoint) => endpoint.hints?.forZones?.[0]?.name),
  );
}

const ENABLED = 'TopologyAwareHintsEnabled: Topology Aware Hints has been enabled, addressType: IPv4';
const INSUFFICIENT =
  'TopologyAwareHintsDisabled: Insufficient Node information: allocatable CPU or zone not specified on one or more ' +
  'nodes, addressType: IPv4';

/** One pod of one Service, in its slice. */
function published(): Sim {
  const sim = createSliceSim();
  createService(sim, { name: 'web' });
  createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
  sim.start();
  sim.run(2000);
  return sim;
}

describe('the zone of a node', () => {
  it('endpoints have the zone of their node, and follow its changes (D16)', () => {
    const sim = published();
    assert.deepEqual(zones(sim), ['zone-a']);
    const from = sim.exchanges.length;
    changeNode(sim, { name: 'node-1', zone: 'zone-b' });
    sim.run(1000);
    assert.deepEqual(zones(sim), ['zone-b']);
    changeNode(sim, { name: 'node-1' });
    sim.run(1000);
    assert.deepEqual(zones(sim), ['?']);
    assert.deepEqual(asked(sim, from), ['PUT endpointslices 200', 'PUT endpointslices 200']);
  });

  it("a node's zone concerns only services with pods there, a heartbeat none", () => {
    const sim = twoZones();
    createService(sim, { name: 'web' });
    createService(sim, { name: 'other', spec: { selector: { app: 'other' } } });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    sim.start();
    sim.run(2000);
    const syncs = metric(sim, 'endpointd_syncs_total');
    changeNode(sim, { name: 'node-2', zone: 'zone-c' });
    changeNode(sim, { name: 'node-1', zone: 'zone-a', ready: false, labels: { heartbeat: '1' } });
    sim.run(5000);
    assert.equal(metric(sim, 'endpointd_syncs_total'), syncs);
    changeNode(sim, { name: 'node-1', zone: 'zone-b' });
    sim.run(5000);
    assert.equal(metric(sim, 'endpointd_syncs_total'), syncs + 1);
  });
});

describe('a pod on a node that is not known', () => {
  function oneUnknown(spec: object = {}): Sim {
    const sim = createSliceSim();
    createService(sim, { name: 'web', spec });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    createPod(sim, { name: 'web-2', ip: '10.0.0.2', node: 'node-new' });
    sim.start();
    sim.run(2000);
    return sim;
  }

  it('a pod on an unknown node is left out and named once until the node appears (D9)', () => {
    const sim = oneUnknown();
    sim.run(600_000);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.1 : http:8080/TCP']);
    assert.deepEqual(asked(sim), ['POST endpointslices 201']);
    assert.equal(eventsOf(sim).length, 1);
    assert.match(eventsOf(sim)[0]!, /^Service web: EndpointOnUnknownNode: .*pod default\/web-2.*node-new/);
    assert.equal(metric(sim, 'endpointd_services_waiting_for_node'), 1);
    assert.equal(metric(sim, 'endpoint_slice_controller_syncs', { result: 'error' }), 0);
    createNode(sim, { name: 'node-new', zone: 'zone-b' });
    sim.run(100);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.1 10.0.0.2 : http:8080/TCP']);
    assert.deepEqual(zones(sim), ['zone-a', 'zone-b']);
    assert.equal(metric(sim, 'endpointd_services_waiting_for_node'), 0);
  });

  it('before the nodes are listed, unknown nodes are no problem', () => {
    const sim = createSliceSim({ options: { endpoints: true } });
    createService(sim, { name: 'web' });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    createPod(sim, { name: 'web-2', ip: '10.0.0.2', node: 'node-new' });
    sim.lag = ({ path }) => ({ toMs: 0, backMs: path.startsWith('/api/v1/nodes') ? 2000 : 0 });
    sim.start();
    sim.run(1000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 10.0.0.2 : http:8080/TCP']);
    assert.deepEqual(slicesTable(sim), []);
    sim.run(10_000);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.1 : http:8080/TCP']);
    // The node of the other pod is missing indeed.
    assert.equal(eventsOf(sim).length, 1);
    assert.match(eventsOf(sim)[0]!, /pod default\/web-2/);
    assert.equal(metric(sim, 'endpointd_problems_total'), 1);
    assert.equal(sim.logLines.filter(({ level }) => level === 'warning').length, 1);
  });

  it('a pod on an unknown node is in, without zone, if unready pods are published', () => {
    const sim = oneUnknown({ publishNotReadyAddresses: true });
    assert.deepEqual(zones(sim), ['zone-a', '?']);
    assert.deepEqual(eventsOf(sim), []);
  });

  it('a pod goes a minute after its node, and comes back with it', () => {
    const sim = published();
    deleteObject(sim, '/api/v1/nodes/node-1');
    sim.run(59_000);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.1 : http:8080/TCP']);
    sim.run(2000);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 -']);
    createNode(sim, { name: 'node-1', zone: 'zone-a' });
    sim.run(1000);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.1 : http:8080/TCP']);
  });

  it('a node that is back within a minute has changed nothing', () => {
    const sim = published();
    const from = sim.exchanges.length;
    deleteObject(sim, '/api/v1/nodes/node-1');
    sim.run(30_000);
    createNode(sim, { name: 'node-1', zone: 'zone-a' });
    sim.run(120_000);
    assert.deepEqual(
      sim.exchanges.slice(from).filter(({ method }) => method !== 'GET'),
      [],
    );
  });

  it('a pod goes a minute after its node also if hints by CPU are wanted', () => {
    const sim = twoZones();
    createNode(sim, { name: 'node-3', zone: 'zone-b' });
    createAuto(sim);
    pods(sim, 1, 1);
    createPod(sim, { name: 'web-3', ip: '10.0.0.3', node: 'node-3' });
    sim.start();
    sim.run(2000);
    const before = slicesTable(sim);
    assert.ok(!before[0]!.includes('>'), 'there are too few endpoints for hints');
    deleteObject(sim, '/api/v1/nodes/node-3');
    sim.run(10_000);
    // Other shares of CPU are no reason either.
    changeNode(sim, { name: 'node-2', zone: 'zone-b', cpu: '8' });
    sim.run(49_000);
    assert.deepEqual(slicesTable(sim), before);
    sim.run(2000);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.1 : http:8080/TCP']);
  });

  it('a pod goes a minute after its node also if hints no longer fit', () => {
    const sim = twoZones();
    createNode(sim, { name: 'node-3', zone: 'zone-a' });
    createNode(sim, { name: 'node-4', zone: 'zone-a' });
    createAuto(sim);
    pods(sim, 1, 10);
    createPod(sim, { name: 'web-11', ip: '10.0.0.11', node: 'node-4' });
    sim.start();
    sim.run(2000);
    const before = slicesTable(sim);
    assert.match(before[0]!, />zone-a/);
    deleteObject(sim, '/api/v1/nodes/node-4');
    deleteObject(sim, '/api/v1/nodes/node-3');
    sim.run(59_000);
    assert.deepEqual(slicesTable(sim), before);
    sim.run(2000);
    assert.ok(!slicesTable(sim)[0]!.includes('10.0.0.11'));
  });

  it('pods stay for a minute also if a list lacks several nodes', () => {
    const sim = twoZones();
    for (const name of ['node-3', 'node-4']) {
      createNode(sim, { name, zone: 'zone-b' });
      createService(sim, { name, spec: { selector: { app: name } } });
      edit(sim, `${SERVICES}/${name}`, AUTO);
      createPod(sim, { name: `${name}-1`, labels: { app: name }, ip: '10.0.0.1', node: name });
    }
    sim.start();
    sim.run(2000);
    const before = slicesTable(sim);
    assert.deepEqual(before, [
      'default/node-3 IPv4 10.0.0.1 : http:8080/TCP',
      'default/node-4 IPv4 10.0.0.1 : http:8080/TCP',
    ]);
    sim.cutWatches();
    for (const name of ['node-3', 'node-4']) deleteObject(sim, `/api/v1/nodes/${name}`);
    sim.compact();
    sim.run(59_000);
    assert.deepEqual(slicesTable(sim), before);
    sim.run(4000);
    assert.deepEqual(slicesTable(sim), ['default/node-3 IPv4 -', 'default/node-4 IPv4 -']);
  });

  it('a pod whose node is gone goes with the next change of its Service, as upstream', () => {
    const sim = published();
    createNode(sim, { name: 'node-9', zone: 'zone-a' });
    sim.run(1000);
    deleteObject(sim, '/api/v1/nodes/node-1');
    createPod(sim, { name: 'web-2', ip: '10.0.0.2', node: 'node-9' });
    sim.run(1000);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.2 : http:8080/TCP']);
  });

  it('a pod waits for its node even if its shard is lost', () => {
    const sim = oneUnknown();
    sim.shards!.kill(0, 'exit code 1');
    sim.shards!.kill(1, 'exit code 1');
    sim.run(10_000);
    createNode(sim, { name: 'node-new' });
    sim.run(1000);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.1 10.0.0.2 : http:8080/TCP']);
  });
});

describe('hints by CPU (topology-mode: Auto)', () => {
  it('hints come with enough endpoints, are told once, and go with the annotation', () => {
    const sim = twoZones();
    createAuto(sim);
    pods(sim, 1, 4);
    sim.start();
    sim.run(2000);
    assert.deepEqual(slicesTable(sim), [
      'default/web IPv4 10.0.0.1>zone-a 10.0.0.2>zone-b 10.0.0.3>zone-a 10.0.0.4>zone-b : http:8080/TCP',
    ]);
    pods(sim, 5, 6);
    sim.run(60_000);
    assert.deepEqual(toldOfHints(sim), [`1 x ${ENABLED}`]);
    editService(sim, 'web', {}, { annotations: {} });
    sim.run(2000);
    assert.ok(!slicesTable(sim)[0]!.includes('>'));
    assert.deepEqual(eventsOfHints(sim), [
      ENABLED,
      'TopologyAwareHintsDisabled: Topology Aware Hints has been disabled, addressType: IPv4',
    ]);
  });

  it('hints that cannot be given are told once with the reason (D14)', () => {
    const sim = twoZones();
    createAuto(sim);
    pods(sim, 1, 1);
    sim.start();
    sim.run(2000);
    for (const ready of [false, true, false, true]) {
      setPodStatus(sim, { name: 'web-1', ready });
      sim.run(1000);
    }
    // Unready, there are none at all: another reason.
    const few = (n: number): string =>
      `TopologyAwareHintsDisabled: Insufficient number of endpoints (${n} endpoints, 2 zones), addressType: IPv4`;
    assert.deepEqual(toldOfHints(sim).sort(), [`2 x ${few(0)}`, `3 x ${few(1)}`]);
    for (let i = 2; i <= 5; i++) {
      createPod(sim, { name: `web-${i}`, ip: `10.0.0.${i}`, ready: false });
      sim.run(1000);
    }
    assert.deepEqual(toldOfHints(sim).sort(), [`2 x ${few(0)}`, `3 x ${few(1)}`]);
  });

  it('nodes without a zone are one warning, however many they are', () => {
    const sim = twoZones();
    createAuto(sim);
    pods(sim, 1, 4);
    sim.start();
    sim.run(2000);
    for (const name of ['node-3', 'node-4', 'node-5']) createNode(sim, { name });
    sim.run(2000);
    const told = sim.logLines.filter(({ message }) => message === 'No topology hints by CPU while this lasts');
    assert.deepEqual(
      told.map(({ fields }) => fields['node']),
      ['node-3'],
    );
  });

  it('hints are given anew if a zone grows and others would be overloaded', () => {
    const sim = twoZones();
    createAuto(sim);
    pods(sim, 1, 10);
    sim.start();
    sim.run(2000);
    const hinted = (zone: string): number => slicesTable(sim)[0]!.split(`>${zone}`).length - 1;
    assert.deepEqual([hinted('zone-a'), hinted('zone-b')], [5, 5]);
    changeNode(sim, { name: 'node-2', zone: 'zone-b', cpu: '12' });
    sim.run(2000);
    assert.deepEqual([hinted('zone-a'), hinted('zone-b')], [3, 7]);
  });

  it('hints come back when the nodes allow them, without a change of a pod (D14)', () => {
    const sim = twoZones();
    createAuto(sim);
    pods(sim, 1, 4);
    sim.start();
    sim.run(2000);
    createNode(sim, { name: 'node-3' });
    sim.run(2000);
    assert.ok(!slicesTable(sim)[0]!.includes('>'));
    deleteObject(sim, '/api/v1/nodes/node-3');
    sim.run(2000);
    assert.ok(slicesTable(sim)[0]!.includes('>zone-a'));
    assert.deepEqual(toldOfHints(sim), [`2 x ${ENABLED}`, `1 x ${INSUFFICIENT}`]);
  });

  it('hints come when the nodes become known (D14)', () => {
    const sim = twoZones({}, { ready: false });
    createAuto(sim);
    pods(sim, 1, 4);
    sim.start();
    sim.run(60_000);
    assert.ok(!slicesTable(sim)[0]!.includes('>'));
    changeNode(sim, { name: 'node-2', zone: 'zone-b' });
    sim.run(1000);
    assert.ok(slicesTable(sim)[0]!.includes('>zone-b'));
  });

  it('hints come when there are no more zones than endpoints (D14)', () => {
    const sim = twoZones();
    createNode(sim, { name: 'node-3', zone: 'zone-c' });
    createAuto(sim);
    pods(sim, 1, 2);
    sim.start();
    sim.run(2000);
    assert.deepEqual(hintedZones(sim), [undefined, undefined]);
    deleteObject(sim, '/api/v1/nodes/node-3');
    sim.run(1000);
    assert.deepEqual(hintedZones(sim), ['zone-a', 'zone-b']);
  });

  it('services with fewer endpoints than zones are left alone when shares change', () => {
    const sim = twoZones();
    createAuto(sim);
    pods(sim, 1, 1);
    sim.start();
    sim.run(2000);
    const added = (): number => metric(sim, 'workqueue_adds_total', { name: 'endpoint_slice' });
    const before = added();
    changeNode(sim, { name: 'node-2', zone: 'zone-b', cpu: '8' });
    sim.run(10_000);
    assert.equal(added(), before);
  });

  it('hints come when other shares of the same zones allow them (D14)', () => {
    const sim = twoZones({}, { cpu: '8' });
    createAuto(sim);
    pods(sim, 1, 2);
    sim.start();
    sim.run(2000);
    assert.deepEqual(hintedZones(sim), [undefined, undefined]);
    changeNode(sim, { name: 'node-2', zone: 'zone-b', cpu: '4' });
    sim.run(1000);
    assert.deepEqual(hintedZones(sim), ['zone-a', 'zone-b']);
  });

  it('hints follow a node that becomes ready, or unready, during the first plan', () => {
    for (const afterMs of [0, 50, 100, 150, 200, 250, 300, 350]) {
      for (const ready of [true, false]) {
        const sim = twoZones({ shards: 1, batchMs: () => 200 }, { ready: !ready });
        pods(sim, 1, 4);
        sim.start();
        sim.run(2000);
        createAuto(sim);
        sim.run(afterMs);
        changeNode(sim, { name: 'node-2', zone: 'zone-b', ready });
        sim.run(5000);
        assert.equal(slicesTable(sim)[0]!.includes('>zone-b'), ready, `${afterMs} ms, ready: ${ready}`);
      }
    }
  });

  it('hints of one family fail alone, without an Event object for each sync (D15)', () => {
    const sim = twoZones({ serviceClusterIPRanges: ['10.96.0.0/12', 'fd00:96::/108'] });
    createAuto(sim, { ipFamilyPolicy: 'RequireDualStack' });
    pods(sim, 1, 8);
    // One endpoint is too few for two zones.
    setPodIPs(sim, 'web-1', ['10.0.0.1', 'fd00::1']);
    sim.start();
    sim.run(2000);
    for (const ready of [false, true, false, true]) {
      setPodStatus(sim, { name: 'web-8', ready });
      sim.run(1000);
    }
    assert.ok(slicesTable(sim)[0]!.includes('>zone-a'));
    assert.equal(slicesTable(sim)[1], 'default/web IPv6 fd00::1 : http:8080/TCP');
    assert.deepEqual(toldOfHints(sim).sort(), [
      '1 x TopologyAwareHintsDisabled: Insufficient number of endpoints (1 endpoints, 2 zones), addressType: IPv6',
      `1 x ${ENABLED}`,
    ]);
  });

  it('an endpoint in a zone without a share has a hint for its own zone (D41)', () => {
    const sim = twoZones();
    createNode(sim, {
      name: 'node-3',
      zone: 'zone-c',
      labels: { 'node-role.kubernetes.io/control-plane': '' },
    });
    createAuto(sim);
    pods(sim, 1, 6);
    createPod(sim, { name: 'web-7', ip: '10.0.0.7', node: 'node-3' });
    sim.start();
    sim.run(2000);
    assert.ok(slicesTable(sim)[0]!.includes('10.0.0.7>zone-c'));
    const from = sim.exchanges.length;
    const syncs = metric(sim, 'endpointd_syncs_total');
    for (let i = 1; i <= 3; i++) {
      syncInVain(sim, 'web');
      sim.run(1000);
    }
    assert.equal(metric(sim, 'endpointd_syncs_total'), syncs + 3);
    assert.deepEqual(asked(sim, from), []);
  });

  it('hints of a deleted Service are forgotten: no node wakes it up (D35)', () => {
    const sim = twoZones();
    createAuto(sim);
    pods(sim, 1, 4);
    sim.start();
    sim.run(2000);
    deleteObject(sim, `${SERVICES}/web`);
    sim.run(2000);
    const { replan } = sim.loop!.state;
    assert.deepEqual([replan.hinted.size, replan.unhinted.size], [0, 0]);
    const syncs = metric(sim, 'endpointd_syncs_total');
    changeNode(sim, { name: 'node-2', zone: 'zone-b', cpu: '32' });
    deleteObject(sim, '/api/v1/nodes/node-2');
    sim.run(5000);
    assert.equal(metric(sim, 'endpointd_syncs_total') - syncs, 0);
  });

  it('hints stay through a restart and the loss of a thread: 0 writes', () => {
    const sim = twoZones({ shards: 1 });
    createAuto(sim);
    pods(sim, 1, 10);
    sim.start();
    sim.run(2000);
    const from = sim.exchanges.length;
    sim.kill();
    sim.start();
    sim.run(60_000);
    sim.shards!.kill(0, 'exit code 1');
    sim.run(1000);
    syncInVain(sim, 'web');
    sim.run(5000);
    assert.deepEqual(asked(sim, from), ['GET endpointslices 200']);
  });
});

describe('hints by trafficDistribution', () => {
  const hinted = (spec: object): string[] => {
    const sim = twoZones();
    createService(sim, { name: 'web', spec });
    pods(sim, 1, 2);
    createPod(sim, { name: 'web-3', ip: '10.0.0.3', ready: false });
    sim.start();
    sim.run(2000);
    assert.deepEqual(eventsOf(sim), []);
    return slicesTable(sim);
  };

  for (const value of ['PreferClose', 'PreferSameZone']) {
    it(`${value}: each ready endpoint serves its zone`, () => {
      assert.deepEqual(hinted({ trafficDistribution: value }), [
        'default/web IPv4 10.0.0.1>zone-a 10.0.0.2>zone-b | 10.0.0.3 : http:8080/TCP',
      ]);
    });
  }

  it('PreferSameNode: each ready endpoint serves its zone and its node', () => {
    assert.deepEqual(hinted({ trafficDistribution: 'PreferSameNode' }), [
      'default/web IPv4 10.0.0.1>zone-a>node-1 10.0.0.2>zone-b>node-2 | 10.0.0.3 : http:8080/TCP',
    ]);
  });

  it('hints come and go with the field, by one write each', () => {
    const sim = twoZones();
    createService(sim, { name: 'web' });
    pods(sim, 1, 2);
    sim.start();
    sim.run(2000);
    for (const [value, text] of [
      ['PreferClose', '10.0.0.1>zone-a 10.0.0.2>zone-b'],
      [null, '10.0.0.1 10.0.0.2'],
    ] as const) {
      const from = sim.exchanges.length;
      editService(sim, 'web', { trafficDistribution: value });
      sim.run(1000);
      assert.deepEqual(slicesTable(sim), [`default/web IPv4 ${text} : http:8080/TCP`]);
      assert.deepEqual(asked(sim, from), ['PUT endpointslices 200']);
    }
  });

  it('hints of trafficDistribution give way to Auto, and come back after it', () => {
    const sim = twoZones();
    createAuto(sim, { trafficDistribution: 'PreferSameNode' });
    pods(sim, 1, 4);
    sim.start();
    sim.run(2000);
    const byZone = '10.0.0.1>zone-a 10.0.0.2>zone-b 10.0.0.3>zone-a 10.0.0.4>zone-b';
    assert.deepEqual(slicesTable(sim), [`default/web IPv4 ${byZone} : http:8080/TCP`]);
    editService(sim, 'web', {}, { annotations: {} });
    sim.run(1000);
    const byNode = '10.0.0.1>zone-a>node-1 10.0.0.2>zone-b>node-2 10.0.0.3>zone-a>node-1 10.0.0.4>zone-b>node-2';
    assert.deepEqual(slicesTable(sim), [`default/web IPv4 ${byNode} : http:8080/TCP`]);
  });
});
