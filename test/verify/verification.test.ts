/** What counts as a difference, what is moving, and what could not be told. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  createPod,
  createService,
  createSim,
  deleteObject,
  setPodStatus,
  type Sim,
  type SimConfig,
} from '../support/sim.ts';
import { createNode, edit, ENDPOINTS, makeEndpoints, PODS, SERVICES } from '../support/sim-objects.ts';
import { differenceLines } from '../support/difference-lines.ts';
import { startVerify } from '../support/sim-verify.ts';
import { type Lag, NO_LAG } from '../support/sim-network.ts';
import type { EndpointAddress, Endpoints, EndpointSubset } from '../../src/kube/types.ts';
import { reportText } from '../../src/verify/report-text.ts';

const TEAM_MISSING = 'Endpoints web metadata.labels[team]: (none) -> a';

/** One service with two pods, written by a controller that has ended. */
function cluster(config: SimConfig = {}): Sim {
  const sim = createSim({ ...config, options: { slices: true, mirror: true, ...config.options } });
  createNode(sim, { name: 'node-1', zone: 'zone-a' });
  createService(sim, { name: 'web', labels: { team: 'a' } });
  for (const n of [1, 2]) createPod(sim, { name: `web-${n}`, ip: `10.0.0.${n}` });
  sim.start();
  sim.run(10_000);
  sim.kill();
  return sim;
}

const dropLabel = (sim: Sim): void => void edit(sim, `${ENDPOINTS}/web`, { labels: managedBy });
const giveLabel = (sim: Sim): void => void edit(sim, `${ENDPOINTS}/web`, { labels: { ...managedBy, team: 'a' } });
const managedBy = { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' };

describe('a cluster that is right', () => {
  it('a right cluster is the same, told at once, by reads alone', () => {
    const sim = cluster();
    const before = sim.exchanges.length;
    const report = startVerify(sim).report();
    assert.equal(report.verdict, 'same');
    assert.deepEqual(report.seen, { services: 2, pods: 2, nodes: 1, plans: 2 });
    assert.equal(report.seconds < 1, true);
    assert.deepEqual([...new Set(sim.exchanges.slice(before).map(({ method }) => method))], ['GET']);
  });
});

describe('a difference', () => {
  it('a difference counts when it has stood for 30 s', () => {
    const sim = cluster();
    dropLabel(sim);
    const report = startVerify(sim).report();
    assert.equal(report.verdict, 'different');
    assert.deepEqual(differenceLines(report), [TEAM_MISSING]);
    assert.equal(Math.floor(report.seconds), 30);
    assert.equal(report.moving.count, 0);
  });

  it('a difference is not hidden by a hundred of another kind', () => {
    const sim = cluster();
    for (let n = 3; n <= 120; n++) createPod(sim, { name: `web-${n}`, ip: `10.0.0.${n}` });
    sim.start();
    sim.run(10_000);
    sim.kill();
    const { subsets } = sim.request('GET', `${ENDPOINTS}/web`) as unknown as Endpoints;
    const [{ addresses, ports }] = subsets as [Required<EndpointSubset>];
    const moved: EndpointAddress[] = [];
    for (const address of addresses.slice(0, -1)) moved.push({ ...address, nodeName: 'node-2' });
    edit(sim, `${ENDPOINTS}/web`, {}, { subsets: [{ addresses: moved, ports }] });

    const report = startVerify(sim).report();
    assert.deepEqual(
      report.reasons.map(({ reason }) => reason),
      ['Endpoints: subsets.addresses[*] is missing', 'Endpoints: subsets.addresses[*].nodeName differs'],
    );
    const [unit] = report.different;
    assert.deepEqual([unit!.differences.length, unit!.differencesTotal], [100, 120]);
    assert.match(reportText(report), /\n {4}\.\.\. 20 more differences of this service left out\n/);
  });

  it('a difference is the same on a server that speaks JSON', () => {
    const sim = cluster({ answersInJson: true });
    dropLabel(sim);
    assert.deepEqual(differenceLines(startVerify(sim).report()), [TEAM_MISSING]);
  });

  it('a page that is too big is read in smaller ones', () => {
    const sim = cluster();
    dropLabel(sim);
    sim.pageBytesMax = ({ path }) => (/limit=(500|250|125)/.test(path) ? 10 : 1_000_000);
    const report = startVerify(sim).report();
    assert.deepEqual(differenceLines(report), [TEAM_MISSING]);
    assert.deepEqual(report.failed, []);
  });

  it('a difference that comes right meanwhile is moving', () => {
    const sim = cluster();
    dropLabel(sim);
    const verify = startVerify(sim);
    sim.at(sim.nowMs() + 12_000, () => giveLabel(sim));
    const report = verify.report();
    assert.equal(report.verdict, 'same');
    assert.deepEqual(report.moving, { count: 1, units: ['endpoints default/web'] });
  });

  it('an object that is missing all the time is different, whatever its pods do', () => {
    const sim = cluster();
    deleteObject(sim, `${ENDPOINTS}/web`);
    const verify = startVerify(sim);
    sim.at(sim.nowMs() + 12_000, () => createPod(sim, { name: 'web-3', ip: '10.0.0.3' }));
    const report = verify.report();
    assert.deepEqual(
      differenceLines(report).filter((line) => line.startsWith('Endpoints ')),
      ['Endpoints web: (none) -> 3 endpoints: 10.0.0.1 10.0.0.2 10.0.0.3'],
    );
  });

  it('a difference that is another one after 30 s is moving', () => {
    const sim = cluster();
    dropLabel(sim);
    const verify = startVerify(sim);
    sim.at(sim.nowMs() + 12_000, () => edit(sim, `${ENDPOINTS}/web`, { labels: { ...managedBy, team: 'b' } }));
    const report = verify.report();
    assert.equal(report.verdict, 'same');
    assert.equal(report.moving.count, 1);
  });

  it('a difference is told without a moving one beside it', () => {
    const sim = cluster();
    dropLabel(sim);
    const verify = startVerify(sim);
    createPod(sim, { name: 'web-3', ip: '10.0.0.3' });
    sim.at(sim.nowMs() + 12_000, () => setPodStatus(sim, { name: 'web-3', ready: false }));
    const report = verify.report();
    assert.deepEqual(
      differenceLines(report).filter((line) => line.startsWith('Endpoints ')),
      [TEAM_MISSING],
    );
  });

  it('a service that never stands still while it is read has no difference', () => {
    const sim = cluster();
    dropLabel(sim);
    const verify = startVerify(sim);
    // Each second pod event comes through the watch a second late: what is read is ahead of what was planned from.
    sim.lag = ({ path }) => (path.includes('/pods?watch') ? { toMs: 0, backMs: 900 } : { toMs: 0, backMs: 0 });
    for (let ms = 500; ms < 60_000; ms += 500) {
      sim.at(sim.nowMs() + ms, () => edit(sim, `${PODS}/web-1`, { annotations: { tick: String(ms) } }));
    }
    const report = verify.report();
    assert.equal(report.verdict, 'same');
    assert.equal(report.moving.count, 1);
  });

  for (const { what, happens } of [
    { what: 'a pod has changed', happens: (sim: Sim) => setPodStatus(sim, { name: 'web-1', ready: false }) },
    { what: 'there is a pod', happens: (sim: Sim) => createPod(sim, { name: 'web-3', ip: '10.0.0.3' }) },
    { what: 'a pod is gone', happens: (sim: Sim) => deleteObject(sim, `${PODS}/web-2`) },
    {
      what: 'the Service has changed',
      happens: (sim: Sim) => void edit(sim, `${SERVICES}/web`, { annotations: { a: 'b' } }),
    },
    {
      what: 'the object has changed',
      happens: (sim: Sim) => void edit(sim, `${ENDPOINTS}/web`, { annotations: { a: 'b' } }),
    },
  ]) {
    it(`a service of which no watch has told that ${what} has no difference`, () => {
      const sim = cluster();
      dropLabel(sim);
      const verify = startVerify(sim);
      sim.run(1000);
      sim.muteWatches = true;
      happens(sim);
      const report = verify.report();
      assert.deepEqual([report.verdict, report.moving.count], ['same', 1]);
    });
  }

  it('the cost of a switch is in writes and bytes, at the rate of the flags', () => {
    const sim = cluster({ options: { kubeApiQps: 1, kubeApiBurst: 1 } });
    for (const n of [1, 2, 3, 4, 5, 6]) createService(sim, { name: `more-${n}`, spec: { selector: { app: 'none' } } });
    const { cost } = startVerify(sim).report();
    assert.deepEqual(
      { ...cost, bytes: cost.bytes > 1000 },
      { writes: 12, bytes: true, seconds: 3, requestsPerSecond: 3 },
    );
  });

  it('the cost of a switch has no time without a limit', () => {
    const sim = cluster({ options: { kubeApiQps: -1 } });
    dropLabel(sim);
    const { cost } = startVerify(sim).report();
    assert.deepEqual([cost.writes, cost.seconds, cost.requestsPerSecond], [1, null, -1]);
  });
});

describe('many differences', () => {
  it('many differences are read a namespace at a time, or a cluster at a time', () => {
    const sim = createSim({ options: { slices: true } });
    for (let ns = 0; ns < 60; ns++) {
      sim.request('POST', '/api/v1/namespaces', {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: `ns-${ns}` },
      });
      for (const name of ['a', 'b', 'c', 'd', 'e', 'f'].slice(0, ns === 0 ? 6 : 1)) {
        createService(sim, { name, namespace: `ns-${ns}`, spec: { selector: { app: name } } });
      }
    }
    const report = startVerify(sim).report();
    assert.equal(report.different.length, 130);
    const lists = sim.exchanges.filter(({ path }) => path.includes('limit=') && path.includes('/services?'));
    assert.ok(lists.length <= 4, lists.map(({ path }) => path).join('\n'));
  });
});

describe('beside a controller that runs', () => {
  it('a difference that comes right by the end does not count, and the lag is told', () => {
    const sim = cluster();
    const verify = startVerify(sim, { watchMs: 120_000 });
    sim.at(sim.nowMs() + 10_000, () => dropLabel(sim));
    sim.at(sim.nowMs() + 70_000, () => giveLabel(sim));
    const report = verify.report();
    assert.equal(report.verdict, 'same');
    assert.equal(Math.floor(report.seconds), 120);
    assert.deepEqual(report.moving, { count: 1, units: ['endpoints default/web'] });
    assert.equal(report.lag?.count, 1);
    assert.equal(Math.round(report.lag.maxMs / 1000), 60);
  });

  it('a service that came right once and differs at the end is not moving', () => {
    const sim = cluster();
    const verify = startVerify(sim, { watchMs: 180_000 });
    sim.at(sim.nowMs() + 10_000, () => dropLabel(sim));
    sim.at(sim.nowMs() + 70_000, () => giveLabel(sim));
    sim.at(sim.nowMs() + 100_000, () => dropLabel(sim));
    const report = verify.report();
    assert.deepEqual(differenceLines(report), [TEAM_MISSING]);
    assert.deepEqual(report.moving, { count: 0, units: [] });
  });

  it('the end waits for differences that stand, not for new ones', () => {
    const sim = cluster();
    const verify = startVerify(sim, { watchMs: 60_000 });
    sim.at(sim.nowMs() + 59_000, () => dropLabel(sim));
    sim.at(sim.nowMs() + 62_000, () => createService(sim, { name: 'late', spec: { selector: { app: 'none' } } }));
    const report = verify.report();
    assert.deepEqual(differenceLines(report), [TEAM_MISSING]);
    assert.equal(Math.floor(report.seconds), 89);
    assert.deepEqual(report.moving.units, ['endpoints default/late', 'endpointslice default/late']);
  });

  it('a difference is looked at again if another write is planned', () => {
    const sim = cluster();
    dropLabel(sim);
    const verify = startVerify(sim, { watchMs: 120_000 });
    sim.at(sim.nowMs() + 60_000, () => {
      edit(sim, `${ENDPOINTS}/web`, { labels: { ...managedBy, team: 'a', more: 'x' } });
    });
    assert.deepEqual(differenceLines(verify.report()), ['Endpoints web metadata.labels[more]: x -> (none)']);
  });
});

describe('what cannot be seen', () => {
  for (const { resource, controllers, answered } of [
    { resource: 'nodes', controllers: ['endpointslice'], answered: [TEAM_MISSING] },
    { resource: 'pods', controllers: ['endpoints', 'endpointslice'], answered: [] },
    { resource: 'endpointslices', controllers: ['endpointslice', 'endpointslice-mirroring'], answered: [TEAM_MISSING] },
  ]) {
    it(`${resource} is named with its controllers, and the rest is answered`, () => {
      const sim = cluster();
      dropLabel(sim);
      sim.refuse = ({ path }) => (path.includes(`/${resource}?`) ? 403 : 0);
      const report = startVerify(sim).report();
      assert.equal(report.verdict, 'unknown');
      assert.deepEqual(
        report.unseen.map((one) => [one.resource, one.controllers]),
        [[resource, controllers]],
      );
      assert.match(report.unseen[0]!.reason, /403/);
      assert.deepEqual(differenceLines(report), answered);
    });
  }

  it('an absent server is given up after the timeout', () => {
    const sim = cluster();
    sim.down();
    const report = startVerify(sim, { timeoutMs: 5000 }).report();
    assert.equal(report.verdict, 'unknown');
    assert.deepEqual(
      report.unseen.map(({ resource }) => resource),
      ['endpoints', 'endpointslices', 'services', 'nodes', 'pods'],
    );
  });

  /** Answers of these requests take their time, and the server fails those until it is up again. */
  function failSlowly(sim: Sim, isSlow: (path: string) => boolean, isFailing = isSlow, lagMs = 1000): void {
    const upAtMs = sim.nowMs() + 300_000;
    sim.lag = ({ path }) => (isSlow(path) ? { toMs: 0, backMs: lagMs } : NO_LAG);
    sim.refuse = ({ path }) => (isFailing(path) && sim.nowMs() < upAtMs ? 500 : 0);
  }

  it('a server that fails slowly is given up after the timeout', () => {
    const sim = cluster();
    failSlowly(sim, () => true);
    const report = startVerify(sim).report();
    assert.deepEqual([report.verdict, Math.floor(report.seconds)], ['unknown', 60]);
  });

  it('a list that comes no further in any try is given up after the timeout', () => {
    const sim = cluster({ options: { watchList: false } });
    // Two pages. The first one comes in each try.
    for (let n = 1; n <= 550; n++) createPod(sim, { name: `other-${n}`, ip: '', labels: { app: 'other' } });
    failSlowly(
      sim,
      (path) => path.includes('/pods?'),
      (path) => path.includes('continue='),
    );
    const report = startVerify(sim).report();
    assert.equal(report.verdict, 'unknown');
    assert.ok(report.seconds > 60 && report.seconds < 80, `${report.seconds} s`);
  });

  it('a list that never comes is given up though plans go on, which have no look', () => {
    const sim = cluster();
    dropLabel(sim);
    failSlowly(sim, (path) => path.includes('/nodes?'));
    const verify = startVerify(sim);
    for (let n = 1; n < 60; n++) {
      sim.at(sim.nowMs() + n * 5000, () => setPodStatus(sim, { name: 'web-1', ready: n % 2 === 0 }));
    }
    const report = verify.report();
    assert.deepEqual([report.verdict, Math.floor(report.seconds)], ['unknown', 60]);
    assert.deepEqual([report.different.length, report.notLookedAt, report.moving.count], [0, 1, 0]);
    assert.match(reportText(report), /^could not tell everything: 1 planned change not looked at\n/);
  });

  it('lists and plans that go on slowly are not given up', () => {
    let batchMs = 1;
    const sim = cluster({ shards: 1, batchMs: () => batchMs, options: { watchList: false } });
    for (let n = 1; n <= 1100; n++) createPod(sim, { name: `other-${n}`, ip: '', labels: { app: 'other' } });
    for (let n = 1; n <= 20; n++) createService(sim, { name: `more-${n}`, spec: { selector: { app: 'none' } } });
    sim.lag = ({ path }) => (path.includes('/pods?') ? { toMs: 0, backMs: 4000 } : NO_LAG);
    batchMs = 4000;
    const report = startVerify(sim, { timeoutMs: 5000 }).report();
    assert.deepEqual([report.unseen, report.failed, report.notLookedAt], [[], [], 0]);
    assert.equal(report.verdict, 'different');
  });

  it('services that are not planned within the timeout leave no answer', () => {
    let batchMs = 1;
    const sim = cluster({ shards: 1, batchMs: () => batchMs });
    dropLabel(sim);
    batchMs = 20_000;
    const report = startVerify(sim, { timeoutMs: 5000 }).report();
    assert.equal(report.verdict, 'unknown');
    const reason = 'no plan of 1 service: nothing came further for 5 s';
    assert.deepEqual(report.failed, [
      { unit: 'endpoints', reason },
      { unit: 'endpointslice', reason },
    ]);
  });

  it('a service that cannot be planned is named', () => {
    const sim = cluster({ options: { maxBatchBytes: 200 } });
    const report = startVerify(sim).report();
    assert.equal(report.verdict, 'unknown');
    assert.match(report.failed[0]!.unit, /^endpoint(s|slice) default\/web$/);
    assert.match(report.failed[0]!.reason, /over --max-batch-bytes=200/);
  });

  it('a service that cannot be planned for a moment is awaited', () => {
    const sim = cluster();
    let answers = 0;
    // Whether its Service is really gone only the server can say.
    sim.refuse = ({ path, method }) => (method === 'GET' && path.endsWith('/orphan') && answers++ < 3 ? 500 : 0);
    makeEndpoints(sim, 'orphan', [], { labels: managedBy });
    const report = startVerify(sim).report();
    assert.equal(answers > 3, true);
    assert.deepEqual([report.verdict, report.failed], ['different', []]);
  });

  const refuseReads = (sim: Sim, service: string, untilMs: number): void => {
    const before = sim.refuse;
    sim.refuse = (request) =>
      sim.nowMs() < untilMs && request.path.includes(`metadata.name%3D${service}`) ? 500 : before(request);
  };

  for (const watchMs of [0, 120_000]) {
    it(`a service that cannot be read for 20 s is read later; watch ${watchMs} ms`, () => {
      const sim = cluster();
      dropLabel(sim);
      const verify = startVerify(sim, { watchMs });
      refuseReads(sim, 'web', sim.nowMs() + 20_000);
      const report = verify.report();
      assert.deepEqual([differenceLines(report), report.failed], [[TEAM_MISSING], []]);
    });
  }

  /** `count` namespaces with two services each, of which nothing is written. Each service is read alone. */
  function unwritten(count: number): Sim {
    const sim = createSim({ options: { slices: true } });
    for (let ns = 0; ns < count; ns++) {
      const metadata = { name: `ns-${ns}` };
      sim.request('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata });
      for (const name of ['a', 'b'])
        createService(sim, { name, namespace: `ns-${ns}`, spec: { selector: { app: name } } });
    }
    return sim;
  }

  /** A request of a list ends by its own limit before. */
  const NEVER: Lag = { toMs: 0, backMs: 61_000 };
  const isLook = (path: string): boolean => path.includes('limit=');

  const fallSilent = (sim: Sim): void => {
    sim.lag = ({ path }) => (isLook(path) ? NEVER : NO_LAG);
  };

  for (const { what, breaks } of [
    { what: 'never answers a look', breaks: fallSilent },
    {
      what: 'fails the end of each look',
      breaks: (sim: Sim) => failSlowly(sim, (path) => isLook(path) && path.includes('/pods?'), undefined, 20_000),
    },
  ]) {
    it(`a server that ${what} is given up after the timeout`, () => {
      const sim = unwritten(30);
      const verify = startVerify(sim);
      sim.run(1000);
      breaks(sim);
      const report = verify.report();
      assert.deepEqual([report.verdict, report.different.length, report.moving.count], ['unknown', 0, 0]);
      assert.equal(report.notLookedAt, 120);
      assert.ok(report.seconds > 60 && report.seconds < 150, `${report.seconds} s`);
      assert.match(report.failed[0]!.reason, /^it differs, and could not be read again: nothing was read for 60 s/);
    });
  }

  it('a server that falls silent after the first of two looks is given up', () => {
    const sim = unwritten(2);
    const verify = startVerify(sim);
    sim.at(sim.nowMs() + 15_000, () => fallSilent(sim));
    const report = verify.report();
    assert.deepEqual([report.verdict, report.notLookedAt], ['unknown', 8]);
    assert.ok(report.seconds > 60 && report.seconds < 120, `${report.seconds} s`);
  });

  it('second looks that go on slowly are not given up', () => {
    const sim = unwritten(2);
    const verify = startVerify(sim, { timeoutMs: 5000 });
    sim.run(1000);
    sim.lag = ({ path }) => (isLook(path) ? { toMs: 0, backMs: 4000 } : NO_LAG);
    const report = verify.report();
    assert.deepEqual([report.verdict, report.different.length, report.failed], ['different', 8, []]);
  });

  it('a service that could not be read is read if it is planned again', () => {
    const sim = cluster();
    dropLabel(sim);
    createService(sim, { name: 'more', spec: { selector: { app: 'none' } } });
    const verify = startVerify(sim);
    // The other service is still looked at when this one is given up.
    refuseReads(sim, 'more', sim.nowMs() + 28_000);
    refuseReads(sim, 'web', sim.nowMs() + 45_000);
    sim.at(sim.nowMs() + 45_000, () => {
      assert.match(verify.verification.failures.get('endpoints default/web')!, /could not be read again/);
      edit(sim, `${ENDPOINTS}/web`, { labels: { ...managedBy, more: 'x' } });
    });
    const report = verify.report();
    assert.deepEqual(
      differenceLines(report).filter((line) => line.startsWith('Endpoints web')),
      ['Endpoints web metadata.labels[more]: x -> (none)', TEAM_MISSING],
    );
    assert.deepEqual(report.failed, []);
  });

  it('a watch that is down at the end leaves no answer', () => {
    const sim = cluster();
    dropLabel(sim);
    const verify = startVerify(sim, { watchMs: 60_000 });
    sim.run(1000);
    sim.down();
    const report = verify.report();
    assert.equal(report.verdict, 'unknown');
    assert.equal(report.unseen.length, 5);
    assert.match(report.failed[0]!.reason, /could not be read again/);
    assert.deepEqual([report.notLookedAt, report.moving.count], [1, 0]);
  });
});
