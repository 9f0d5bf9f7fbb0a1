/** Somebody else undoes what is written, again and again (D39): how often that is repaired, and what is no fight. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
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
import { createNode, edit, ENDPOINTS, makeEndpoints, SERVICES, SLICES } from '../support/sim-objects.ts';
import { metric } from '../support/sim-reports.ts';
import { namesOf, slicesOf, slicesTable } from '../support/sim-slices.ts';
import type { LogEffect } from '../../src/controller/effect.ts';
import { SERVICE_NAME_LABEL, SLICE_MANAGED_BY_LABEL, SLICE_MANAGED_BY_VALUE } from '../../src/kube/names.ts';
import type { EndpointSlice } from '../../src/kube/types.ts';
import { endNamespace } from '../../src/workload/end-namespace.ts';

const RIGHT = 'default/web 10.0.0.1 : http:8080/TCP';
const RIGHT_SLICE = 'default/web IPv4 10.0.0.1 : http:8080/TCP';
const RIGHT_MIRROR = 'default/hand (mirror) IPv4 192.0.2.1 : http:8080/TCP';
const WARNING = 'Another writer changes the same objects';

/** A Service `web` with a pod, and `hand` without a selector, whose Endpoints are made by hand. */
function settled(config: SimConfig = {}): Sim {
  const sim = createSim({ ...config, options: { slices: true, mirror: true, ...config.options } });
  createNode(sim, { name: 'node-1', zone: 'zone-a' });
  createService(sim, { name: 'web' });
  createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
  createService(sim, { name: 'hand', spec: { selector: null } });
  makeHand(sim);
  sim.start();
  sim.run(2000);
  return sim;
}

function makeHand(sim: Sim): void {
  const ports = [{ name: 'http', port: 8080, protocol: 'TCP' }];
  makeEndpoints(sim, 'hand', [{ addresses: [{ ip: '192.0.2.1' }], ports }]);
}

/** A kind of objects: what somebody may do to those of the service, and how one sees that it is repaired. */
interface Kind {
  readonly title: string;
  readonly path: string;
  readonly service: { readonly name: string; readonly spec?: object };
  readonly controller: string;
  readonly isRight: (sim: Sim) => boolean;
  readonly delete: (sim: Sim) => void;
  readonly edit: (sim: Sim) => void;
}

const ENDPOINTS_KIND: Kind = {
  title: 'Endpoints',
  path: '/endpoints',
  service: { name: 'web' },
  controller: 'endpoints',
  isRight: (sim) => endpointsTable(sim).includes(RIGHT),
  delete: (sim) => deleteObject(sim, `${ENDPOINTS}/web`),
  edit: (sim) => void edit(sim, `${ENDPOINTS}/web`, {}, { subsets: [] }),
};

function slicesKind({ service, ...rest }: Omit<Kind, 'path' | 'isRight' | 'delete' | 'edit'>, right: string): Kind {
  const paths = (sim: Sim): string[] =>
    namesOf(sim)
      .filter((name) => name.startsWith(`${service.name}-`))
      .map((name) => `${SLICES}/${name}`);
  return {
    ...rest,
    service,
    path: '/endpointslices',
    isRight: (sim) => slicesTable(sim).includes(right),
    delete: (sim) => {
      for (const path of paths(sim)) deleteObject(sim, path);
    },
    edit: (sim) => {
      for (const path of paths(sim)) edit(sim, path, {}, { endpoints: [] });
    },
  };
}

const SLICES_KIND = slicesKind(
  { title: 'a slice', service: { name: 'web' }, controller: 'endpointslice' },
  RIGHT_SLICE,
);
const MIRROR_KIND = slicesKind(
  {
    title: 'a mirrored slice',
    service: { name: 'hand', spec: { selector: null } },
    controller: 'endpointslice-mirroring',
  },
  RIGHT_MIRROR,
);

const KINDS = [ENDPOINTS_KIND, SLICES_KIND, MIRROR_KIND] as const;

/** For so long `act` follows each repair within `stepMs`. Returns after which time each repair came, in ms. */
function fight(sim: Sim, kind: Kind, act: (sim: Sim) => void, seconds: number, stepMs = 50): number[] {
  const untilMs = sim.nowMs() + seconds * 1000;
  const waits: number[] = [];
  act(sim);
  let actedMs = sim.nowMs();
  while (sim.nowMs() < untilMs) {
    sim.run(stepMs);
    if (!kind.isRight(sim)) continue;
    waits.push(lastWriteMs(sim, kind) - actedMs);
    act(sim);
    actedMs = sim.nowMs();
  }
  return waits;
}

function lastWriteMs(sim: Sim, { path }: Kind): number {
  return sim.exchanges.findLast((done) => done.method !== 'GET' && done.path.includes(path))!.atMs;
}

const rounded = (waits: readonly number[]): number[] => waits.map((ms) => Math.round(ms / 100) / 10);

function warnings(sim: Sim): LogEffect[] {
  return sim.logLines.filter(({ level, v, message }) => level === 'warning' && v === 0 && message === WARNING);
}

describe('objects that somebody deletes as soon as they are there', () => {
  it('deleted Endpoints are made again at once, then ever later, up to ten seconds', () => {
    const waits = rounded(fight(settled(), ENDPOINTS_KIND, ENDPOINTS_KIND.delete, 300));
    assert.deepEqual(waits.slice(0, 7), [0.1, 1.8, 3.6, 7.2, 10, 10, 10]);
    assert.equal(waits.length, 32, 'writes in 300 s');
  });

  it('a deleted slice is made again in a second, then ever later, up to ten', () => {
    const waits = rounded(fight(settled(), SLICES_KIND, SLICES_KIND.delete, 300));
    assert.deepEqual(waits.slice(0, 7), [0.9, 1.8, 3.6, 7.2, 10, 10, 10]);
    assert.equal(waits.length, 32, 'writes in 300 s');
  });

  for (const kind of KINDS) {
    it(`${kind.title} with a label from admission are no exception`, () => {
      const sim = settled();
      sim.admission = ({ metadata }) => {
        metadata.labels = { ...metadata.labels, 'by/admission': '1' };
      };
      const waits = rounded(fight(sim, kind, kind.delete, 300));
      const first = kind === ENDPOINTS_KIND ? 0.1 : 0.9;
      // What admission does is looked at again too: that comes in between once.
      assert.deepEqual(waits.slice(0, 7), [first, 0.9, 1.8, 3.6, 7.2, 10, 10]);
      assert.equal(waits.length, 33, 'writes in 300 s');
    });
  }

  it('a mirrored slice is made again too; Endpoints that go and come are no fight', () => {
    const sim = settled();
    for (let i = 0; i < 5; i++) {
      deleteObject(sim, `${ENDPOINTS}/hand`);
      sim.run(2000);
      makeHand(sim);
      sim.run(2000);
      assert.ok(MIRROR_KIND.isRight(sim));
    }
    assert.equal(metric(sim, 'endpointd_foreign_edits_total'), 0);
    const waits = rounded(fight(sim, MIRROR_KIND, MIRROR_KIND.delete, 300));
    assert.deepEqual(waits.slice(0, 6), [0.9, 1.8, 3.6, 7.2, 10, 10]);
    assert.equal(waits.length, 32, 'writes in 300 s');
  });

  it('many slices deleted together are one round', () => {
    const sim = settled({ options: { maxEndpointsPerSlice: 1 } });
    for (let i = 2; i <= 5; i++) createPod(sim, { name: `web-${i}`, ip: `10.0.0.${i}` });
    sim.run(5000);
    const full = (): boolean => slicesTable(sim).length === 6;
    for (const waitMs of [1000, 1900, 3700]) {
      SLICES_KIND.delete(sim);
      sim.run(waitMs);
      assert.ok(full(), `all are there again after ${waitMs} ms`);
    }
  });
});

describe('slices that somebody takes by their labels', () => {
  /** Those that proxies read for the Service, whoever manages them. */
  const published = (sim: Sim): EndpointSlice[] =>
    slicesOf(sim).filter(({ metadata }) => metadata.labels?.[SERVICE_NAME_LABEL] === 'web');
  const othersOf = (sim: Sim): EndpointSlice[] =>
    published(sim).filter(({ metadata }) => metadata.labels?.[SLICE_MANAGED_BY_LABEL] !== SLICE_MANAGED_BY_VALUE);
  const SLICES_MAX = 20;

  function relabel(sim: Sim): void {
    const others = new Set(othersOf(sim).map(({ metadata }) => metadata.name));
    for (const { metadata } of published(sim)) {
      if (others.has(metadata.name)) continue;
      const labels = { ...metadata.labels, [SLICE_MANAGED_BY_LABEL]: 'somebody' };
      edit(sim, `${SLICES}/${metadata.name}`, { labels });
    }
  }

  it('slices that are given another manager at once are few in an hour, and named', () => {
    const sim = settled();
    for (let i = 0; i < 1800; i++) {
      relabel(sim);
      sim.run(2000);
    }
    const { length } = published(sim);
    assert.ok(length > 5 && length <= SLICES_MAX, `${length} slices`);
    const told = sim.logLines
      .filter(({ message }) => message.startsWith('Service is stuck'))
      .map(({ fields }) => fields['err']);
    assert.match(String(told.at(-1)), /^EndpointSlice web-\w+ lives on with endpointslice\S+managed-by=somebody, so/);
    // Somebody has read that, and deletes them.
    for (const { metadata } of othersOf(sim)) deleteObject(sim, `${SLICES}/${metadata.name}`);
    sim.run(400_000);
    assert.ok(SLICES_KIND.isRight(sim));
    assert.equal(published(sim).length, 1);
  });

  it('a slice that names another Service is replaced within 10 s, each time', () => {
    const sim = settled();
    for (let i = 0; i < 30; i++) {
      for (const { metadata } of published(sim)) {
        const labels = { ...metadata.labels, [SERVICE_NAME_LABEL]: 'nobody' };
        edit(sim, `${SLICES}/${metadata.name}`, { labels });
      }
      sim.run(10_100);
      assert.equal(published(sim).length, 1);
    }
  });

  describe('while the server does not say what has become of them', () => {
    /** Tells which slices the Service has of its own, such as `10.0.0.1 ready`. */
    function own(sim: Sim): string[] {
      return published(sim)
        .filter(({ metadata }) => metadata.labels?.[SLICE_MANAGED_BY_LABEL] === SLICE_MANAGED_BY_VALUE)
        .flatMap(({ endpoints }) => endpoints ?? [])
        .map(({ addresses, conditions }) => `${addresses[0]} ${conditions?.ready === true ? 'ready' : 'not ready'}`);
    }

    const refuseLooks = (sim: Sim): void => {
      sim.refuse = ({ path }) => (path.includes('fieldSelector') ? 500 : 0);
    };

    /** Two pods have a slice each. That of the first is taken so often. */
    function taken(times: number): Sim {
      const sim = settled({ options: { maxEndpointsPerSlice: 1 } });
      createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
      for (let i = 0; i < times; i++) {
        sim.run(9000);
        for (const { metadata, endpoints } of published(sim)) {
          if (endpoints?.[0]?.addresses[0] !== '10.0.0.1') continue;
          edit(sim, `${SLICES}/${metadata.name}`, {
            labels: { ...metadata.labels, [SLICE_MANAGED_BY_LABEL]: 'other' },
          });
        }
      }
      return sim;
    }

    const failures = (sim: Sim): string[] =>
      sim.logLines
        .filter(({ message }) => message === 'Sync failed, retrying')
        .map(({ fields }) => String(fields['err']).replace(/web-\w+/, 'web'));

    it('slices that may be taken are not made, and all else of the Service is written', () => {
      const sim = taken(4);
      refuseLooks(sim);
      sim.run(9000);
      setPodStatus(sim, { name: 'web-2', ready: false });
      sim.run(1000);
      assert.deepEqual(own(sim), ['10.0.0.2 not ready']);
      assert.equal(failures(sim).at(-1), 'simulated fault');
      sim.refuse = () => 0;
      setPodStatus(sim, { name: 'web-2', ready: true });
      sim.run(9000);
      assert.deepEqual(own(sim).sort(), ['10.0.0.1 ready', '10.0.0.2 ready']);
    });

    it('slices that were taken count as taken, and all else of the Service is written', () => {
      const sim = taken(6);
      sim.run(9000);
      refuseLooks(sim);
      setPodStatus(sim, { name: 'web-2', ready: false });
      sim.run(1000);
      assert.deepEqual(own(sim), ['10.0.0.2 not ready']);
      assert.match(failures(sim).at(-1)!, /^EndpointSlice web lives on with endpointslice\S+managed-by=other, so/);
    });
  });

  it('slices whose label admission drops are few in an hour, while pods change, too', () => {
    const sim = settled();
    sim.admission = ({ metadata }) => {
      const labels = Object.entries(metadata.labels ?? {}).filter(([label]) => label !== SLICE_MANAGED_BY_LABEL);
      metadata.labels = Object.fromEntries(labels);
    };
    for (let i = 0; i < 360; i++) {
      setPodStatus(sim, { name: 'web-1', ready: i % 2 === 1 });
      sim.run(10_000);
    }
    const { length } = published(sim);
    assert.ok(length > 5 && length <= SLICES_MAX, `${length} slices`);
    sim.admission = null;
    sim.run(600_000);
    assert.ok(SLICES_KIND.isRight(sim), 'ten minutes later at most');
    assert.equal(published(sim).length, length + 1);
  });
});

describe('what admission does to every write', () => {
  const HOUR_MS = 3_600_000;
  /** It adds a label to what is written, or puts back what was written. */
  const POLICIES: Readonly<Record<string, Sim['admission']>> = {
    'adds a label': ({ metadata }) => {
      metadata.labels = { ...metadata.labels, 'by/admission': '1' };
    },
    'takes a label away': ({ metadata }) => {
      const labels = Object.entries(metadata.labels ?? {}).filter(([label]) => label !== 'team');
      metadata.labels = Object.fromEntries(labels);
    },
  };
  const labelled = (policy: Sim['admission']): Sim => {
    const sim = createSim();
    sim.admission = policy;
    createService(sim, { name: 'web', labels: { team: 'a' } });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    sim.start();
    return sim;
  };

  for (const [title, policy] of Object.entries(POLICIES)) {
    it(`a policy that ${title} costs a write an hour in the end`, () => {
      const sim = labelled(policy);
      sim.run(2 * HOUR_MS);
      for (let hour = 0; hour < 4; hour++) {
        const before = writesOf(sim).length;
        sim.run(HOUR_MS);
        assert.equal(writesOf(sim).length - before, 1);
      }
      ENDPOINTS_KIND.edit(sim);
      sim.run(2000);
      assert.ok(ENDPOINTS_KIND.isRight(sim), 'what somebody else changes is repaired as soon as ever');
    });
  }

  it('changes of pods alone make no long wait for the next look', () => {
    const sim = labelled(POLICIES['adds a label']!);
    for (let i = 0; i < 60; i++) {
      sim.run(1000);
      setPodStatus(sim, { name: 'web-1', ready: i % 2 === 1 });
    }
    sim.run(1000);
    sim.admission = null;
    sim.run(300_000);
    const { labels } = sim.request('GET', `${ENDPOINTS}/web`).metadata;
    assert.equal(labels?.['by/admission'], undefined);
  });
});

for (const kind of KINDS) {
  describe(`${kind.title} that somebody edits`, () => {
    it('the object is repaired within a second, later after half a minute at most', () => {
      const waits = rounded(fight(settled(), kind, kind.edit, 300));
      assert.deepEqual(waits.slice(0, 8), [0.9, 1.8, 3.6, 7.2, 14.4, 28.8, 30, 30]);
      assert.equal(waits.length, 14, 'writes in 300 s');
    });

    it('a deleted object does not wait for the repair of an edited one', () => {
      const sim = settled();
      fight(sim, kind, kind.edit, 80);
      kind.delete(sim);
      sim.run(1000);
      assert.ok(kind.isRight(sim));
    });
  });

  describe(`a fight over ${kind.title}`, () => {
    /** How long it takes to repair what is done so long after the last repair of a fight. */
    function repairAfterQuiet(quietMs: number): number {
      const sim = settled();
      fight(sim, kind, kind.edit, 100);
      sim.run(31_000);
      const repairedMs = lastWriteMs(sim, kind);
      sim.run(repairedMs + quietMs - sim.nowMs());
      kind.edit(sim);
      sim.run(40_000);
      return lastWriteMs(sim, kind) - repairedMs - quietMs;
    }

    it(`a fight over ${kind.title} is forgotten after a quiet minute`, () => {
      assert.deepEqual(rounded([repairAfterQuiet(60_100)]), [0.9]);
    });

    it(`a fight over ${kind.title} goes on after less than a minute`, () => {
      assert.deepEqual(rounded([repairAfterQuiet(59_500)]), [30]);
    });

    it(`another Service of the same name starts without the fight over ${kind.title}`, () => {
      const sim = settled();
      fight(sim, kind, kind.edit, 100);
      sim.run(31_000);
      assert.ok(kind.isRight(sim));
      deleteObject(sim, `${SERVICES}/${kind.service.name}`);
      createService(sim, kind.service);
      // The server has deleted them together with their Service.
      if (kind === MIRROR_KIND) makeHand(sim);
      sim.run(5000);
      assert.ok(kind.isRight(sim));
      kind.edit(sim);
      sim.run(1000);
      assert.ok(kind.isRight(sim));
    });

    it(`a fight over ${kind.title} is forgotten when history went back`, () => {
      const sim = settled();
      fight(sim, kind, kind.edit, 100);
      sim.run(31_000);
      const backup = sim.backup();
      createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
      sim.run(5000);
      sim.restore(backup);
      sim.run(10_000);
      kind.edit(sim);
      sim.run(1000);
      assert.ok(kind.isRight(sim));
    });

    it(`a fight over ${kind.title} is one warning an hour, with service and controller`, () => {
      const sim = settled();
      kind.edit(sim);
      sim.run(5000);
      kind.edit(sim);
      sim.run(5000);
      assert.deepEqual(warnings(sim), [], 'two edits are no fight');
      fight(sim, kind, kind.edit, 3500, 1000);
      const [warning, ...more] = warnings(sim);
      assert.deepEqual(more, []);
      assert.equal(warning!.fields['service'], `default/${kind.service.name}`);
      assert.equal(warning!.fields['controller'], kind.controller);
      fight(sim, kind, kind.edit, 300, 1000);
      assert.equal(warnings(sim).length, 2);
    });
  });
}

describe('no fight is', () => {
  const counted = (sim: Sim): number => metric(sim, 'endpointd_foreign_edits_total');

  /** Deletes everything of a kind in the namespace `going`, in this order, as the namespace controller does. */
  function goes(sim: Sim, collections: readonly string[]): void {
    const path = '/api/v1/namespaces/going';
    sim.request('DELETE', path);
    const steps = endNamespace('going', collections);
    for (let step = steps.next(null); step.done !== true;) {
      sim.run(200);
      const { value } = step;
      const done = value === null ? null : sim.tryRequest(value.method, value.path, value.body ?? undefined);
      step = steps.next(done !== null && done.status < 300 ? done.body : null);
    }
  }

  it('the end of a namespace is no fight, in whatever order its objects go', () => {
    const resources = [
      '/apis/discovery.k8s.io/v1/namespaces/going/endpointslices',
      '/api/v1/namespaces/going/endpoints',
    ];
    const last = ['/api/v1/namespaces/going/services', '/api/v1/namespaces/going/pods'];
    const sim = settled();
    sim.request('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'going' } });
    for (let i = 1; i <= 3; i++) createService(sim, { name: `web-${i}`, namespace: 'going' });
    sim.run(5000);
    // Our objects go twice before their Services: what was made again between would be a second round.
    goes(sim, [...resources, ...resources, ...last]);
    sim.run(120_000);
    assert.deepEqual(warnings(sim), []);
    const made = writesOf(sim).filter((line) => line.includes('/going/') && line.endsWith(' 403')).length;
    assert.ok(made <= 6, `${made} vain tries`);
    assert.equal(counted(sim), 0);
    assert.equal(sim.loop!.state.services.get('going'), undefined, 'nothing is kept');
  });

  it('the deletion of a Service is no fight: its objects are not counted', () => {
    const sim = settled();
    deleteObject(sim, `${SERVICES}/web`);
    SLICES_KIND.delete(sim);
    sim.run(10_000);
    assert.equal(counted(sim), 0);
  });

  it('the deletion of a Service in the foreground, slices first, is no fight', () => {
    const sim = settled();
    edit(sim, `${SERVICES}/web`, { finalizers: ['foregroundDeletion'] });
    deleteObject(sim, `${SERVICES}/web`);
    sim.run(100);
    SLICES_KIND.delete(sim);
    sim.run(10_000);
    assert.equal(counted(sim), 0);
  });

  it('our own deletes are no fight', () => {
    const sim = settled({ options: { compactSlices: true, maxEndpointsPerSlice: 2 } });
    for (let i = 2; i <= 6; i++) createPod(sim, { name: `web-${i}`, ip: `10.0.0.${i}` });
    sim.run(5000);
    for (let i = 2; i <= 6; i++) deleteObject(sim, `/api/v1/namespaces/default/pods/web-${i}`);
    sim.run(60_000);
    assert.ok(writesOf(sim).some((line) => line.startsWith('DELETE') && line.includes('/endpointslices/')));
    assert.equal(counted(sim), 0);
  });
});
