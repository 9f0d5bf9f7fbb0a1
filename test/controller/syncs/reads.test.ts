/** Reads alone: what is asked, what an answer tells the cache and the planner's view, and what is no answer. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createState } from '../../../src/controller/initial-state.ts';
import { endpointsTarget, sliceTarget } from '../../../src/controller/caches/objects.ts';
import { ensureService, ensureUnit } from '../../../src/controller/caches/services.ts';
import type { Unit } from '../../../src/controller/caches/service-state.ts';
import { needsRead, noteUncertain } from '../../../src/controller/syncs/planner-view.ts';
import {
  confirmOrphan,
  lookForSlice,
  readEndpoints,
  readSlices,
  takeEndpointsRead,
  takeFoundSlice,
  takeSlicesRead,
} from '../../../src/controller/syncs/reads.ts';
import { SERVICE_NAME_LABEL, SLICE_MANAGED_BY_LABEL, SLICE_MANAGED_BY_VALUE } from '../../../src/kube/names.ts';
import { objectSourceOf } from '../../../src/kube/object.ts';
import { createMetricStore } from '../../../src/metrics/store.ts';
import type { TransportEvent } from '../../../src/ports/transport.ts';
import { answered, failedWith, refusedWith } from '../../support/answers.ts';
import { DEFAULT_OPTIONS } from '../../support/sim.ts';

const NOW = { nowMs: 1000, wallMs: 1000 };

/** Service `shop/web`, of which nothing is certain. Known are Endpoints of version 5 and slice `web-1` of version 3. */
function world() {
  const state = createState(
    { options: { ...DEFAULT_OPTIONS, slices: true }, metrics: createMetricStore(), host: 'test' },
    1,
    1,
  );
  const service = ensureService(state, 'shop', 'web');
  const [endpoints, slices] = state.controllers.map((controller) => ensureUnit(service, controller)) as [Unit, Unit];
  for (const { controller } of [endpoints, slices]) noteUncertain(service.view, controller.kind);
  const watched = (target: ReturnType<typeof sliceTarget>, answer: ReturnType<typeof answered>): void => {
    const source = objectSourceOf(answer.contentType, answer.body);
    const record = target.project(source);
    target.upsert(record, source, record.resourceVersion, NOW);
  };
  const self = {
    state,
    endpoints,
    slices,
    watchEndpoints: (version: string) => watched(endpointsTarget(state), endpointsAnswer(version)),
    watchSlice: (text: string, of = 'web') => watched(sliceTarget(state), answered(200, sliceObject(text, of))),
    asked: () =>
      state.outbox.effects.splice(0).flatMap((effect) => (effect.type === 'http' ? [effect.request.path] : [])),
    endpointsVersion: () => service.endpoints.record?.resourceVersion ?? 'none',
    isUncertain: ({ controller }: Unit) => needsRead(service.view, controller.kind),
    takeEndpoints: (event: TransportEvent) => takeEndpointsRead(state, endpoints, event, NOW)?.class ?? 'taken',
    takeSlices: (event: TransportEvent) => takeSlicesRead(state, slices, event, NOW)?.class ?? 'taken',
  };
  self.watchEndpoints('5');
  self.watchSlice('web-1@3');
  return self;
}

function endpointsAnswer(
  resourceVersion: string,
  other: { name?: string; namespace?: string } = {},
): ReturnType<typeof answered> {
  const metadata = { name: 'web', namespace: 'shop', uid: 'u', resourceVersion, ...other };
  return answered(200, { kind: 'Endpoints', apiVersion: 'v1', metadata });
}

/** @param text `name@version` */
function sliceObject(text: string, service = 'web'): object {
  const [name, resourceVersion] = text.split('@');
  const labels = { [SERVICE_NAME_LABEL]: service, [SLICE_MANAGED_BY_LABEL]: SLICE_MANAGED_BY_VALUE };
  return { metadata: { name, namespace: 'shop', uid: `${name}-uid`, resourceVersion, labels } };
}

/** @param slices each `name@version` */
function listAnswer(resourceVersion: string, ...slices: readonly string[]): TransportEvent {
  const items = slices.map((text) => sliceObject(text));
  const apiVersion = 'discovery.k8s.io/v1';
  return answered(200, { kind: 'EndpointSliceList', apiVersion, metadata: { resourceVersion }, items });
}

/** What is cached of the unit's slices, each `name@version`. */
function slicesOf({ slices }: Unit): string[] {
  return [...(slices?.values() ?? [])].map(({ name, record }) => `${name}@${record?.resourceVersion ?? 'none'}`);
}

describe('a read of Endpoints', () => {
  it('a read of Endpoints asks for the object, and holds its watch events meanwhile', () => {
    const { state, endpoints, asked, watchEndpoints, takeEndpoints, endpointsVersion } = world();
    readEndpoints(state, endpoints);
    assert.deepEqual(asked(), ['/api/v1/namespaces/shop/endpoints/web']);
    watchEndpoints('8');
    assert.equal(endpointsVersion(), '5');
    assert.equal(takeEndpoints(endpointsAnswer('7')), 'taken');
    assert.equal(endpointsVersion(), '8');
    watchEndpoints('9');
    assert.equal(endpointsVersion(), '9');
  });

  it('of two reads at once the last one ends the holding', () => {
    const { state, endpoints, watchEndpoints, takeEndpoints, endpointsVersion } = world();
    readEndpoints(state, endpoints);
    readEndpoints(state, endpoints);
    watchEndpoints('8');
    takeEndpoints(endpointsAnswer('7'));
    assert.equal(endpointsVersion(), '7');
    takeEndpoints(endpointsAnswer('6'));
    assert.equal(endpointsVersion(), '8');
  });

  it('a read tells which object exists, or that there is none', () => {
    for (const [event, version] of [
      [endpointsAnswer('7'), '7'],
      [refusedWith(404, 'NotFound'), 'none'],
    ] as const) {
      const { state, endpoints, takeEndpoints, endpointsVersion, isUncertain } = world();
      readEndpoints(state, endpoints);
      assert.equal(takeEndpoints(event), 'taken');
      assert.deepEqual([endpointsVersion(), isUncertain(endpoints)], [version, false]);
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
      const { state, endpoints, takeEndpoints, endpointsVersion, isUncertain } = world();
      readEndpoints(state, endpoints);
      assert.equal(takeEndpoints(event), failure);
      assert.deepEqual([endpointsVersion(), isUncertain(endpoints)], ['5', true], failure);
    }
  });

  it('an answer to no read is a bug', () => {
    assert.throws(() => world().takeEndpoints(endpointsAnswer('7')), /an answer to no read of endpoints web/);
  });
});

describe('a list of slices', () => {
  it('a list of slices asks for those of the service and the controller', () => {
    const { state, slices, asked } = world();
    readSlices(state, slices);
    assert.deepEqual(asked(), [
      '/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices?labelSelector=' +
        encodeURIComponent(
          'kubernetes.io/service-name=web,endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io',
        ),
    ]);
    assert.throws(() => readSlices(state, slices), /slices of web are listed twice at once/);
  });

  it('a list tells everything: slices that it lacks do not exist', () => {
    const { state, slices, takeSlices, isUncertain } = world();
    readSlices(state, slices);
    assert.equal(takeSlices(listAnswer('9', 'web-2@5', 'web-3@6')), 'taken');
    assert.deepEqual(slicesOf(slices), ['web-2@5', 'web-3@6']);
    assert.equal(isUncertain(slices), false);
    assert.throws(() => takeSlices(listAnswer('9')), /an answer to no list of slices of web/);
  });

  it('a list frees the held events, of which those up to its version are old', () => {
    const { state, slices, watchSlice, takeSlices } = world();
    readSlices(state, slices);
    for (const text of ['web-1@8', 'web-2@10']) watchSlice(text);
    assert.deepEqual(slicesOf(slices), ['web-1@3', 'web-2@none']);
    takeSlices(listAnswer('9', 'web-2@5'));
    assert.deepEqual(slicesOf(slices), ['web-2@10']);
  });

  it("a list leaves out a slice that the watch has since shown as another service's", () => {
    const { state, slices, watchSlice, takeSlices } = world();
    watchSlice('newer@11', 'db');
    watchSlice('older@9', 'db');
    readSlices(state, slices);
    takeSlices(listAnswer('10', 'newer@8', 'older@10'));
    assert.deepEqual(slicesOf(slices), ['older@10']);
    assert.deepEqual(slicesOf(ensureUnit(ensureService(state, 'shop', 'db'), slices.controller)), ['newer@11']);
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
      const { state, slices, watchSlice, takeSlices, isUncertain } = world();
      readSlices(state, slices);
      watchSlice('web-2@4');
      assert.notEqual(takeSlices(event), 'taken');
      assert.deepEqual(slicesOf(slices), ['web-1@3', 'web-2@4']);
      assert.deepEqual([slices.listingSlices, isUncertain(slices)], [false, true]);
    }
  });
});

describe('a look for a slice', () => {
  it('a look for a slice is a list of that name, and tells its labels', () => {
    const { state, slices, asked } = world();
    lookForSlice(state, slices, 'web-1');
    assert.deepEqual(asked(), [
      '/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices?fieldSelector=metadata.name%3Dweb-1',
    ]);
    const labels = [SLICE_MANAGED_BY_LABEL, SLICE_MANAGED_BY_VALUE, SERVICE_NAME_LABEL, 'web'];
    assert.deepEqual(takeFoundSlice(state, 'web-1', listAnswer('9', 'web-1@5')), { labels, failure: null });
    assert.deepEqual(takeFoundSlice(state, 'web-1', listAnswer('9')), { labels: null, failure: null });
  });

  it('a look for a slice asks for metadata alone, for a slice may be large', () => {
    const { state, slices } = world();
    lookForSlice(state, slices, 'web-1');
    const [asked] = state.outbox.effects.flatMap((effect) => (effect.type === 'http' ? [effect.request.accept] : []));
    assert.match(asked!, /^application\/vnd\.kubernetes\.protobuf;as=PartialObjectMetadataList;/);
    const list = {
      kind: 'PartialObjectMetadataList',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { resourceVersion: '9' },
    };
    const found = takeFoundSlice(state, 'web-1', answered(200, { ...list, items: [sliceObject('web-1@5')] }));
    assert.equal(found.labels?.length, 4);
  });

  it('an answer that is none says nothing of the slice', () => {
    const { state } = world();
    for (const event of [failedWith('reset', true), refusedWith(404), answered(200, { error: 'please sign in' })]) {
      assert.notEqual(takeFoundSlice(state, 'web-1', event).failure, null);
    }
  });
});

it('an orphan is confirmed by a look at its Service', () => {
  const { state, endpoints, asked } = world();
  confirmOrphan(state, endpoints);
  assert.deepEqual(asked(), ['/api/v1/namespaces/shop/services/web']);
});
