/** Reads alone: what is asked, what an answer tells the cache and the planner's view, and what is no answer. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createState } from '../../../src/controller/initial-state.ts';
import { createOutbox } from '../../../src/controller/outbox.ts';
import { ensureService, ensureSlice, ensureUnit } from '../../../src/controller/caches/services.ts';
import type { ObjectState, Unit } from '../../../src/controller/caches/service-state.ts';
import { needsRead, noteUncertain } from '../../../src/controller/syncs/planner-view.ts';
import {
  confirmOrphan,
  lookForSlice,
  readEndpoints,
  readSlices,
  takeEndpointsRead,
  takeFoundSlice,
  takeSlicesRead,
  type ReadHands,
  type ReadPurpose,
} from '../../../src/controller/syncs/reads.ts';
import { createMetricStore } from '../../../src/metrics/store.ts';
import type { TransportEvent } from '../../../src/ports/transport.ts';
import { answered, failedWith, refusedWith } from '../../support/answers.ts';
import { DEFAULT_OPTIONS } from '../../support/sim.ts';

const NOW = { nowMs: 1000, wallMs: 1000 };

/** Service `shop/web` with slices `web-1` and `web-2`, of which nothing is certain, and what its cache is told. */
function world() {
  const state = createState(
    { options: { ...DEFAULT_OPTIONS, slices: true }, metrics: createMetricStore(), host: 'test' },
    1,
    1,
  );
  const service = ensureService(state, 'shop', 'web');
  const [endpoints, slices] = state.controllers.map((controller) => ensureUnit(service, controller)) as [Unit, Unit];
  for (const name of ['web-1', 'web-2']) ensureSlice(state, slices, name);
  for (const { controller } of [endpoints, slices]) noteUncertain(service.view, controller.kind);
  const told: string[] = [];
  const others = new Map<string, ObjectState>();
  const outbox = createOutbox<ReadPurpose>();
  const hands: ReadHands = {
    outbox: { ...outbox, send: (purpose, request) => (told.push(request.path), outbox.send(purpose, request)) },
    interner: state.interner,
    metrics: state.instruments,
    objects: {
      settle(output, record) {
        told.push(`${output.name} ${record === null ? 'does not exist' : `is of version ${record.resourceVersion}`}`);
        return null;
      },
      find: (_namespace, name) => others.get(name) ?? slices.slices?.get(name),
      claim: (unit, { name }) => ensureSlice(state, unit, name),
      endHolding: ({ name }, version) => void told.push(`${name} is released up to '${version}'`),
    },
  };
  return {
    endpoints,
    slices,
    hands,
    others,
    told: () => told.splice(0),
    isUncertain: ({ controller }: Unit) => needsRead(service.view, controller.kind),
    takeEndpoints: (event: TransportEvent) => takeEndpointsRead(hands, service.endpoints, event, NOW)?.class ?? 'taken',
    takeSlices: (event: TransportEvent) => takeSlicesRead(hands, slices, event, NOW)?.class ?? 'taken',
  };
}

function endpointsAnswer(resourceVersion: string, other: { name?: string; namespace?: string } = {}): TransportEvent {
  const metadata = { name: 'web', namespace: 'shop', uid: 'u', resourceVersion, ...other };
  return answered(200, { kind: 'Endpoints', apiVersion: 'v1', metadata });
}

/** `name@version`. */
function listAnswer(resourceVersion: string, ...slices: readonly string[]): TransportEvent {
  const items = slices.map((text) => {
    const [name, version] = text.split('@');
    return { metadata: { name, namespace: 'shop', uid: `${name}-uid`, resourceVersion: version } };
  });
  const apiVersion = 'discovery.k8s.io/v1';
  return answered(200, { kind: 'EndpointSliceList', apiVersion, metadata: { resourceVersion }, items });
}

describe('a read of Endpoints', () => {
  it('a read of Endpoints asks for the object, and holds its watch events meanwhile', () => {
    const { hands, endpoints, told } = world();
    readEndpoints(hands, endpoints);
    assert.deepEqual(told(), ['/api/v1/namespaces/shop/endpoints/web']);
    assert.equal(endpoints.service.endpoints.inFlight, 1);
  });

  it('a read tells which object exists, or that there is none', () => {
    for (const [event, says] of [
      [endpointsAnswer('7'), 'web is of version 7'],
      [refusedWith(404, 'NotFound'), 'web does not exist'],
    ] as const) {
      const { hands, endpoints, told, takeEndpoints, isUncertain } = world();
      readEndpoints(hands, endpoints);
      told();
      assert.equal(takeEndpoints(event), 'taken');
      assert.deepEqual([told(), isUncertain(endpoints)], [[says], false]);
    }
  });

  it('a read leaves everything as it was if its answer is none', () => {
    for (const [event, failure] of [
      [failedWith('timeout', true), 'server'],
      [failedWith('refused', false), 'unreachable'],
      [refusedWith(403), 'forbidden'],
      [answered(404, 'no such page'), 'conflict'],
      [answered(200, 'Please sign in'), 'server'],
      [answered(200, { error: 'please sign in' }), 'server'],
      [answered(200, { kind: 'Login', metadata: { name: 'web', namespace: 'shop', resourceVersion: '7' } }), 'server'],
      [endpointsAnswer('7', { name: 'other' }), 'server'],
      [endpointsAnswer('7', { namespace: 'other' }), 'server'],
      [endpointsAnswer(''), 'server'],
    ] as const) {
      const { hands, endpoints, told, takeEndpoints, isUncertain } = world();
      readEndpoints(hands, endpoints);
      told();
      assert.equal(takeEndpoints(event), failure);
      assert.deepEqual([told(), isUncertain(endpoints)], [[], true], failure);
    }
  });

  it('an answer to no read is a bug', () => {
    assert.throws(() => world().takeEndpoints(endpointsAnswer('7')), /an answer to no read of endpoints web/);
  });
});

describe('a list of slices', () => {
  it('a list of slices asks for those of the service and the controller', () => {
    const { hands, slices, told } = world();
    readSlices(hands, slices);
    assert.deepEqual(told(), [
      '/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices?labelSelector=' +
        encodeURIComponent(
          'kubernetes.io/service-name=web,endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io',
        ),
    ]);
    assert.throws(() => readSlices(hands, slices), /slices of web are listed twice at once/);
  });

  it('a list tells everything: slices that it lacks do not exist', () => {
    const { hands, slices, told, takeSlices, isUncertain } = world();
    readSlices(hands, slices);
    told();
    assert.equal(takeSlices(listAnswer('9', 'web-2@5', 'web-3@6')), 'taken');
    assert.deepEqual(told(), [
      'web-1 does not exist',
      'web-2 is of version 5',
      'web-3 is of version 6',
      "web-1 is released up to '9'",
      "web-2 is released up to '9'",
      "web-3 is released up to '9'",
    ]);
    assert.equal(isUncertain(slices), false);
    assert.throws(() => takeSlices(listAnswer('9')), /an answer to no list of slices of web/);
  });

  it("a list leaves out a slice that the watch has since shown as another service's", () => {
    const { hands, slices, told, takeSlices, others } = world();
    const record = (resourceVersion: string) => ({ resourceVersion }) as ObjectState['record'];
    others.set('newer', { unit: null, record: record('10') } as ObjectState);
    others.set('older', { unit: null, record: record('9') } as ObjectState);
    readSlices(hands, slices);
    takeSlices(listAnswer('9', 'newer@8', 'older@8'));
    assert.deepEqual(
      told().filter((line) => line.includes('is of version')),
      ['older is of version 8'],
    );
  });

  it('an unreadable list leaves all as it was, and frees the held events', () => {
    for (const event of [
      failedWith('reset', true),
      refusedWith(500),
      answered(200, 'Please sign in'),
      answered(200, { error: 'please sign in' }),
      answered(200, { kind: 'LoginList', metadata: { resourceVersion: '9' } }),
      listAnswer(''),
    ]) {
      const { hands, slices, told, takeSlices, isUncertain } = world();
      readSlices(hands, slices);
      told();
      assert.notEqual(takeSlices(event), 'taken');
      assert.deepEqual(told(), ["web-1 is released up to ''", "web-2 is released up to ''"]);
      assert.deepEqual([slices.reading, isUncertain(slices)], [false, true]);
    }
  });
});

describe('a look for a slice', () => {
  it('a look for a slice is a list of that name, and tells its labels', () => {
    const { hands, slices, told } = world();
    lookForSlice(hands, slices, 'web-1');
    assert.deepEqual(told(), [
      '/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices?fieldSelector=metadata.name%3Dweb-1',
    ]);
    assert.deepEqual(takeFoundSlice(hands, 'web-1', listAnswer('9', 'web-1@5')), { labels: [], failure: null });
    assert.deepEqual(takeFoundSlice(hands, 'web-1', listAnswer('9')), { labels: null, failure: null });
  });

  it('an answer that is none says nothing of the slice', () => {
    const { hands } = world();
    for (const event of [failedWith('reset', true), refusedWith(404), answered(200, { error: 'please sign in' })]) {
      assert.notEqual(takeFoundSlice(hands, 'web-1', event).failure, null);
    }
  });
});

it('an orphan is confirmed by a look at its Service', () => {
  const { hands, endpoints, told } = world();
  confirmOrphan(hands, endpoints);
  assert.deepEqual(told(), ['/api/v1/namespaces/shop/services/web']);
});
