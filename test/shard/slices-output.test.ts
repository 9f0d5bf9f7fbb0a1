import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { encodeBare } from '../../src/kube/codec.ts';
import { TRIGGER_TIME_ANNOTATION } from '../../src/kube/names.ts';
import type { EndpointSlice } from '../../src/kube/types.ts';
import { createPlanner, type Planner } from '../../src/shard/planner.ts';
import type { BatchEntry, Observed, PlannedWrite, PlannerConfig } from '../../src/shard/protocol.ts';
import { member, serviceRecord } from '../support/batches.ts';
import { ALL_OUTPUTS } from '../support/planner-config.ts';
import { ackOf, observedAs, outlineOf, send, sliceOf, storedAs } from '../support/planner-talk.ts';

const SLICES_ONLY: PlannerConfig = { ...ALL_OUTPUTS, outputs: ['slices'], maxEndpointsPerSlice: 3 };
const BOTH: PlannerConfig = { ...ALL_OUTPUTS, outputs: ['slices', 'endpoints'] };

suite('slices in a planner', () => {
  test('a snapshot becomes a create, with its bytes', () => {
    const { write } = planned();
    const { name } = write;
    assert.match(name, /^web-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    assert.deepEqual(
      { ...write, body: sliceOf(write) },
      {
        id: 1,
        output: 'slices',
        verb: 'create',
        name,
        uid: '',
        resourceVersion: '',
        phase: 1,
        waits: false,
        family: 'IPv4',
        body: {
          apiVersion: 'discovery.k8s.io/v1',
          kind: 'EndpointSlice',
          metadata: {
            name,
            generateName: 'web-',
            ...('namespace' in sliceOf(write).metadata && { namespace: 'shop' }),
            labels: {
              app: 'web',
              'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
              'kubernetes.io/service-name': 'web',
            },
            annotations: { [TRIGGER_TIME_ANNOTATION]: '2025-06-15T15:06:40Z' },
            ownerReferences: [
              {
                apiVersion: 'v1',
                kind: 'Service',
                name: 'web',
                uid: 'service-uid',
                controller: true,
                blockOwnerDeletion: true,
              },
            ],
          },
          addressType: 'IPv4',
          endpoints: [endpoint(1, 'zone-a'), endpoint(2, 'zone-a')],
          ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
        },
      },
    );
  });

  test('the facts have the slices and what was done', () => {
    const { facts, outputs } = send(createPlanner(SLICES_ONLY), snapshot());
    assert.deepEqual(outputs, ['slices']);
    assert.equal(facts.endpoints, undefined);
    const [family] = facts.slices?.families ?? [];
    assert.deepEqual(
      [family?.family, family?.endpoints, family?.slices, family?.slicesDesired, family?.added, family?.removed],
      ['IPv4', 2, 1, 1, 2, 0],
    );
  });

  test('slices that the server holds already are left alone', () => {
    const { slice } = settled();
    const news = { ...snapshot(), observed: [observed(slice)] };
    assert.deepEqual(outlineOf(send(createPlanner(SLICES_ONLY), news)), []);
  });

  test('a change is an update of one slice, with its preconditions', () => {
    const { planner, name } = settled();
    const result = send(planner, change({ upserts: [member(3)], removals: ['web-1'] }));
    assert.deepEqual(outlineOf(result), [`update ${name}, phase 1`]);
    const [write] = result.writes;
    assert.deepEqual([write?.uid, write?.resourceVersion], [`${name}-uid`, '11']);
    assert.deepEqual(ips(write), ['10.0.0.2', '10.0.0.3']);
  });

  test("a node's zone travels with its pods; a pod on an unknown node is left out", () => {
    const { planner } = settled();
    const upserts = [member(1, {}, 'zone-b'), member(2, {}, null)];
    const result = send(planner, change({ upserts }));
    assert.deepEqual(sliceOf(result.writes[0]).endpoints, [endpoint(1, 'zone-b')]);
    assert.equal(result.facts.slices?.waitingForNode, 1);
    assert.deepEqual(
      result.problems.map(({ kind, object }) => [kind, object]),
      [['unknown-node', 'pod shop/web-2']],
    );
  });

  test('a snapshot over known pods replaces them', () => {
    const { planner } = settled();
    assert.deepEqual(ips(send(planner, { ...snapshot(), upserts: [member(2)] }).writes[0]), ['10.0.0.2']);
  });

  test('a change of another state needs a snapshot, and is not taken', () => {
    const { planner } = settled();
    const ahead = send(planner, change({ base: 5, upserts: [member(3)] }));
    assert.deepEqual([ahead.needFull, ahead.outputs, ahead.writes], [true, [], []]);
    assert.deepEqual(outlineOf(send(planner, change({}))), []);
  });

  test('without a selector nothing is planned, and with one again planning goes on', () => {
    const { planner, name } = settled();
    const off = send(planner, change({ spec: serviceRecord({ selector: null }), removals: ['web-1', 'web-2'] }));
    assert.deepEqual(outlineOf(off), []);
    const on = send(planner, change({ base: 2, spec: serviceRecord(), upserts: [member(4)] }));
    assert.deepEqual(outlineOf(on), [`update ${name}, phase 1`]);
    assert.deepEqual(ips(on.writes[0]), ['10.0.0.4']);
  });

  test('a service that is gone leaves its slices to the garbage collector', () => {
    const { planner } = settled();
    assert.deepEqual(outlineOf(send(planner, { spec: null })), []);
    assert.equal(planner.services.size, 0);
  });

  test('CPU shares stay until a batch brings others', () => {
    const spec = serviceRecord({ annotations: ['service.kubernetes.io/topology-mode', 'Auto'] });
    const upserts = [1, 2, 3, 4, 5, 6].map((n) => member(n, {}, n % 2 === 0 ? 'zone-a' : 'zone-b'));
    const zones = [
      { zone: 'zone-a', share: 0.5 },
      { zone: 'zone-b', share: 0.5 },
    ];
    const planner = createPlanner(SLICES_ONLY);
    const news = { ...snapshot(), spec, upserts };
    const hintsOf = (shares: undefined | null | { version: number; zones: typeof zones }): unknown =>
      send(planner, news, { shares }).facts.slices?.families[0]?.hints;
    assert.equal(hintsOf(undefined), null);
    dropPending(planner);
    assert.deepEqual(hintsOf({ version: 1, zones }), [
      { zone: 'zone-a', count: 3 },
      { zone: 'zone-b', count: 3 },
    ]);
    dropPending(planner);
    assert.notEqual(hintsOf(undefined), null);
    dropPending(planner);
    assert.equal(hintsOf(null), null);
  });
});

suite('acks of slices', () => {
  test('ack applied: nothing is left to do', () => {
    assert.deepEqual(outlineOf(send(settled().planner, change({}))), []);
  });

  for (const result of ['refused', 'not-sent'] as const) {
    test(`ack ${result}: as if nothing was planned, trigger time included`, () => {
      const { planner, write } = planned();
      const again = send(planner, change({ acks: [ackOf(write, result)] }));
      assert.deepEqual(again.writes, [{ ...write, id: 2 }]);
    });
  }

  test('ack unknown: nothing is planned before the slice was observed', () => {
    const { planner, write } = planned();
    const early = send(planner, change({ acks: [ackOf(write, 'unknown')] }));
    assert.match(early.error ?? '', /before the outcome of the last slice writes was observed/);
  });

  test('ack unknown, then observed as created: nothing is left, and no duplicate', () => {
    const { planner, write } = planned();
    const news = { acks: [ackOf(write, 'unknown')], observed: [observed(storedAs(write, '11'))] };
    assert.deepEqual(outlineOf(send(planner, change(news))), []);
  });

  test('ack unknown, then observed as absent: the same plan again', () => {
    const { planner, write } = planned();
    const news = { acks: [ackOf(write, 'unknown')], observed: [observedAs('slices', null, write.name)] };
    assert.deepEqual(send(planner, change(news), { seed: 2 }).writes, [{ ...write, id: 2 }]);
  });

  test('after acks of some writes the rest is planned again, with its trigger time', () => {
    const planner = createPlanner(SLICES_ONLY);
    const upserts = [1, 2, 3, 4].map((n) => member(n));
    const { writes } = send(planner, { ...snapshot(), upserts });
    assert.equal(writes.length, 2);
    const acks = [ackOf(writes[0]!, 'applied', '11'), ackOf(writes[1]!, 'refused')];
    const again = send(planner, change({ acks }));
    assert.deepEqual(ips(again.writes[0]), ips(writes[1]));
    assert.equal(again.writes.length, 1);
    assert.equal(triggerTime(again.writes[0]), triggerTime(writes[1]));
  });

  test('after acks of all writes the trigger time is told', () => {
    const planner = createPlanner(SLICES_ONLY);
    const upserts = [1, 2, 3, 4].map((n) => member(n));
    const { writes } = send(planner, { ...snapshot(), upserts });
    const acks = writes.map((write, i) => ackOf(write, 'applied', `1${i}`));
    const result = send(planner, change({ acks, upserts: [member(5, { readyTime: 1_770_000_000 })] }));
    assert.deepEqual(result.writes.map(triggerTime), ['2026-02-02T02:40:00Z']);
  });

  test('the second of two entries with acks still finds its write', () => {
    const planner = createPlanner(SLICES_ONLY);
    const upserts = [1, 2, 3, 4].map((n) => member(n));
    const { writes } = send(planner, { ...snapshot(), upserts });
    assert.equal(send(planner, { acks: [ackOf(writes[1]!, 'applied', '11')] }).error, null);
    assert.match(send(planner, change({})).error ?? '', /slice write 1 is not acked/);
  });

  test('after the ack of a delete the slice is gone', () => {
    const { planner, slice } = settled();
    const twin = { ...slice, metadata: { ...slice.metadata, name: 'web-twin', uid: 'twin', resourceVersion: '12' } };
    const result = send(planner, change({ observed: [observed(twin)] }));
    const [write] = result.writes;
    assert.deepEqual([result.writes.length, write?.verb, write?.body.length], [1, 'delete', 0]);
    const acks = [ackOf(write!, 'applied')];
    assert.deepEqual(outlineOf(send(planner, change({ base: 2, acks }))), []);
  });

  for (const result of ['refused', 'not-sent'] as const) {
    test(`ack ${result} of a duplicate's delete: it is planned again`, () => {
      const { planner, slice } = settled();
      const twin = { ...slice, metadata: { ...slice.metadata, name: 'web-twin', uid: 'twin', resourceVersion: '12' } };
      const first = send(planner, change({ observed: [observed(twin)] }));
      const again = send(planner, change({ base: 2, acks: [ackOf(first.writes[0]!, result)] }));
      assert.deepEqual(again.writes, [{ ...first.writes[0], id: 3 }]);
    });
  }
});

suite('observed slices', () => {
  const foreign = (slice: EndpointSlice, resourceVersion: string): EndpointSlice => ({
    ...slice,
    metadata: { ...slice.metadata, resourceVersion, labels: { ...slice.metadata.labels, app: 'hijacked' } },
  });

  test('observed slices force no plan', () => {
    const { planner, slice } = settled();
    assert.deepEqual(outlineOf(send(planner, { observed: [observed(foreign(slice, '12'))] })), []);
  });

  test('newer slices are what the next plan starts from', () => {
    const { planner, slice } = settled();
    const result = send(planner, change({ observed: [observed(foreign(slice, '12'))] }));
    assert.equal(result.writes[0]?.resourceVersion, '12');
    assert.equal(sliceOf(result.writes[0]).metadata.labels?.['app'], 'web');
  });

  test('slices with a lower version are believed: history may have gone back', () => {
    const { planner, slice } = settled();
    const result = send(planner, change({ observed: [observed(foreign(slice, '9'))] }));
    assert.equal(result.writes[0]?.resourceVersion, '9');
  });

  test('slices of the written version show what the server made of them', () => {
    const { planner, slice } = settled();
    const result = send(planner, change({ observed: [observed(foreign(slice, '11'))] }));
    assert.equal(result.writes.length, 1);
  });

  test('slices that are gone are made again', () => {
    const { planner, name } = settled();
    const result = send(planner, change({ observed: [observedAs('slices', null, name)] }));
    assert.deepEqual(
      result.writes.map(({ verb }) => verb),
      ['create'],
    );
  });

  test('observed slices may be JSON, and lose their managedFields', () => {
    const { planner, slice } = settled();
    const object = foreign(slice, '12');
    Object.assign(object.metadata, { managedFields: [{ manager: 'kubectl' }], finalizers: ['example.com/keep'] });
    const bytes = Buffer.from(JSON.stringify({ ...object, kind: undefined, apiVersion: undefined }));
    const news: Observed = { ...observed(object), content: { encoding: 'json', bytes } };
    const { metadata } = sliceOf(send(planner, change({ observed: [news] })).writes[0]);
    assert.deepEqual(metadata.finalizers, ['example.com/keep']);
    assert.equal('managedFields' in metadata, false);
  });

  test('slices that cannot be read are a problem, and count as absent', () => {
    const { planner, slice } = settled();
    const bad: Observed = {
      output: 'slices',
      name: 'web-zzzzz',
      content: { encoding: 'protobuf', bytes: Uint8Array.of(0x0a, 0xff) },
    };
    const result = send(planner, change({ observed: [bad, observed(foreign(slice, '12'))] }));
    assert.deepEqual(
      result.problems.map(({ kind, object }) => [kind, object]),
      [['undecodable-object', 'endpointslice shop/web-zzzzz']],
    );
    assert.equal(result.writes[0]?.resourceVersion, '12');
    const acks = [ackOf(result.writes[0], 'applied', '13')];
    assert.deepEqual(send(planner, change({ base: 2, acks })).problems, []);
  });

  test('slices that become unreadable are replaced by others', () => {
    const { planner, name } = settled();
    const bad: Observed = { output: 'slices', name, content: { encoding: 'json', bytes: Buffer.from('[]') } };
    const result = send(planner, change({ observed: [bad] }), { seed: 2 });
    assert.deepEqual(
      result.writes.map((write) => [write.verb, write.name === name, ips(write)]),
      [['create', false, ['10.0.0.1', '10.0.0.2']]],
    );
  });

  test('slices of another name are not taken for these', () => {
    const { slice } = settled();
    const news = { ...observed(slice), name: 'web-other' };
    const result = send(createPlanner(SLICES_ONLY), { ...snapshot(), observed: [news] });
    assert.match(result.problems[0]?.message ?? '', /metadata.name is "web-/);
    assert.equal(result.writes[0]?.verb, 'create');
  });

  test('slices with a field of a later version are a problem, once', () => {
    const { planner, slice } = settled();
    // Field 99 of the message, a varint.
    const bytes = Buffer.concat([encodeBare(foreign(slice, '12')), Uint8Array.of(0x98, 0x06, 0x01)]);
    const news: Observed = { ...observed(slice), content: { encoding: 'protobuf', bytes } };
    const result = send(planner, change({ observed: [news] }));
    assert.deepEqual(
      result.problems.map(({ kind, field }) => [kind, field]),
      [['unknown-field', 'EndpointSlice.99']],
    );
    const acks = [ackOf(result.writes[0]!, 'applied', '13')];
    assert.deepEqual(send(planner, change({ base: 2, acks })).problems, []);
  });

  test('slices of an output that is off are an error', () => {
    const { slice } = settled();
    const result = send(createPlanner(SLICES_ONLY), { observed: [observedAs('mirror', slice)] });
    assert.match(result.error ?? '', /^shop\/web: .*mirror are not planned here/);
  });

  test('after a new list, slices that it lacks do not exist', () => {
    const { planner, slice } = settled();
    assert.deepEqual(outlineOf(send(planner, change({ relisted: ['slices'], observed: [observed(slice)] }))), []);
    const gone = send(planner, change({ base: 2, relisted: ['slices'] }));
    assert.deepEqual(
      gone.writes.map(({ verb }) => verb),
      ['create'],
    );
  });
});

suite('slices beside Endpoints', () => {
  test('one change of a pod is in both outputs, slices first', () => {
    const result = send(createPlanner(BOTH), { ...snapshot(), outputs: ['slices', 'endpoints'] });
    assert.deepEqual(
      result.writes.map(({ id, output, verb }) => [id, output, verb]),
      [
        [1, 'slices', 'create'],
        [2, 'endpoints', 'create'],
      ],
    );
    assert.deepEqual(result.outputs, ['slices', 'endpoints']);
    assert.deepEqual(result.facts.endpoints, { ready: 2, notReady: 0, truncated: 0 });
  });

  test('an output that is not asked for stays to be done, with its trigger time', () => {
    const planner = createPlanner(BOTH);
    const endpoints = send(planner, { ...snapshot(), outputs: ['endpoints'] });
    assert.deepEqual(
      endpoints.writes.map(({ output }) => output),
      ['endpoints'],
    );
    const acks = [ackOf(endpoints.writes[0]!, 'applied', '5')];
    const slices = send(planner, change({ acks, upserts: [member(3)] }));
    assert.deepEqual(ips(slices.writes[0]), ['10.0.0.1', '10.0.0.2', '10.0.0.3']);
    assert.equal(triggerTime(slices.writes[0]), '2025-06-15T15:06:40Z');
  });

  test('each output may be planned during a write of the other', () => {
    const planner = createPlanner(BOTH);
    const first = send(planner, { ...snapshot(), outputs: ['endpoints'] });
    const second = send(planner, change({}));
    assert.deepEqual([second.error, second.writes.length], [null, 1]);
    const acks = [ackOf(second.writes[0]!, 'applied', '11'), ackOf(first.writes[0]!, 'applied', '12')];
    const outputs = ['slices', 'endpoints'] as const;
    assert.deepEqual(outlineOf(send(planner, change({ base: 2, acks, outputs }))), []);
  });

  test('an output that fails holds up no other: its service starts anew after that plan', () => {
    const planner = createPlanner(BOTH);
    const slices = send(planner, snapshot());
    // The planner refuses to plan slices whose writes it has not heard of.
    const result = send(planner, change({ outputs: ['slices', 'endpoints'] }));
    assert.deepEqual([result.outputs, result.needFull], [['endpoints'], true]);
    assert.deepEqual(result.failures, [
      {
        output: 'slices',
        message: `planning failed: shop/web: assertion failed: slice write ${slices.writes[0]!.id} is not acked`,
      },
    ]);
    assert.equal(result.writes[0]?.verb, 'create');
    assert.equal(planner.services.size, 0);
    const again = send(planner, { ...snapshot(), outputs: ['slices', 'endpoints'] });
    assert.deepEqual([again.outputs, again.needFull], [['slices', 'endpoints'], false]);
  });

  test('an output that fails before it is planned holds up no other', () => {
    const planner = createPlanner({ ...BOTH, outputs: ['slices', 'endpoints'] });
    const [write] = send(planner, snapshot()).writes;
    planner.services.get('shop/web')!.outputs.slices!.slices.stored.clear = () => {
      throw new Error('spoiled');
    };
    const acks = [ackOf(write!, 'applied', '11')];
    const result = send(planner, change({ acks, relisted: ['slices'], outputs: ['slices', 'endpoints'] }));
    assert.deepEqual(result.outputs, ['endpoints']);
    assert.match(result.error ?? '', /^planning failed: shop\/web: spoiled$/);
  });

  test('Endpoints that cannot be read do not keep slices from being planned', () => {
    const planner = createPlanner(BOTH);
    const bad: Observed = {
      output: 'endpoints',
      name: 'web',
      content: { encoding: 'json', bytes: Buffer.from('{') },
    };
    const result = send(planner, { ...snapshot(), outputs: ['slices', 'endpoints'], observed: [bad] });
    assert.deepEqual([result.outputs, result.writes.map(({ output }) => output)], [['slices'], ['slices']]);
  });
});

/** A planner that has planned the slice of pods 1 and 2 and not heard what became of it. */
function planned(): { planner: Planner; write: PlannedWrite } {
  const planner = createPlanner(SLICES_ONLY);
  const { writes, error } = send(planner, snapshot());
  assert.deepEqual([error, writes.length], [null, 1]);
  return { planner, write: writes[0]! };
}

/** The same after the create was applied as version 11. */
function settled(): { planner: Planner; name: string; slice: EndpointSlice } {
  const { planner, write } = planned();
  send(planner, { acks: [ackOf(write, 'applied', '11')] });
  return { planner, name: write.name, slice: storedAs(write, '11') };
}

/** The service as if nothing had been planned of it yet. */
function dropPending(planner: Planner): void {
  send(planner, { spec: null });
}

function snapshot(): Partial<BatchEntry> {
  return { outputs: ['slices'], spec: serviceRecord(), upserts: [member(1), member(2)] };
}

/** On top of `snapshot`. */
function change(news: Partial<BatchEntry>): Partial<BatchEntry> {
  return { base: 1, outputs: ['slices'], ...news };
}

function observed(slice: EndpointSlice): Observed {
  return observedAs('slices', slice);
}

function endpoint(n: number, zone: string): object {
  return {
    addresses: [`10.0.0.${n}`],
    conditions: { ready: true, serving: true, terminating: false },
    targetRef: { kind: 'Pod', namespace: 'shop', name: `web-${n}`, uid: `uid-${n}` },
    nodeName: `node-${n}`,
    zone,
  };
}

function ips(write: PlannedWrite | undefined): (string | undefined)[] {
  return (sliceOf(write).endpoints ?? []).map(({ addresses }) => addresses[0]);
}

function triggerTime(write: PlannedWrite | undefined): string | undefined {
  return sliceOf(write).metadata.annotations?.[TRIGGER_TIME_ANNOTATION];
}
