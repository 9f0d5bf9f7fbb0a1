import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Endpoints, EndpointSlice } from '../../src/kube/types.ts';
import { createPlanner, type Planner } from '../../src/shard/planner.ts';
import type { BatchEntry, PlannedWrite, PlannerConfig } from '../../src/shard/protocol.ts';
import { member, serviceRecord } from '../support/batches.ts';
import { ALL_OUTPUTS } from '../support/planner-config.ts';
import { ackOf, observedAs, outlineOf, type Planned, send, sliceOf, storedAs } from '../support/planner-talk.ts';

const MIRROR_ONLY: PlannerConfig = { ...ALL_OUTPUTS, outputs: ['mirror'] };
const BOTH: PlannerConfig = { ...ALL_OUTPUTS, outputs: ['mirror', 'endpoints'] };
const SELECTORLESS = serviceRecord({ selector: null });

suite('mirroring in a planner', () => {
  test('Endpoints without a selector become a slice, its name drawn from the seed', () => {
    const { write, result } = planned();
    const { name } = write;
    assert.match(name, /^web-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    const { metadata, ...content } = sliceOf(write);
    assert.deepEqual(content, {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      addressType: 'IPv4',
      endpoints: [
        { addresses: ['10.1.0.1'], conditions: { ready: true } },
        { addresses: ['10.1.0.2'], conditions: { ready: true } },
      ],
      ports: [{ name: 'http', protocol: 'TCP', port: 80 }],
    });
    assert.deepEqual([metadata.name, metadata.generateName], [name, 'web-']);
    assert.deepEqual(metadata.labels, {
      app: 'manual',
      'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
      'kubernetes.io/service-name': 'web',
    });
    assert.deepEqual(result.outputs, ['mirror']);
    assert.deepEqual(result.facts, {
      mirror: { endpoints: 2, slices: 1, slicesDesired: 1, added: 2, updated: 0, removed: 0, skipped: 0 },
    });
  });

  test('the same seed draws the same name, and another seed another one', () => {
    const name = (seed: number): string | undefined =>
      send(createPlanner(MIRROR_ONLY), snapshot(), { seed }).writes[0]?.name;
    assert.equal(name(1), name(1));
    assert.notEqual(name(1), name(2));
  });

  test('objects that the server holds already are left alone', () => {
    const { write } = planned();
    const news = { ...snapshot(), observed: [observed(manual()), mirrored(storedAs(write, '11'))] };
    assert.deepEqual(outlineOf(send(createPlanner(MIRROR_ONLY), news)), []);
  });

  test('an applied write is what the server holds', () => {
    const { planner, write } = planned();
    assert.deepEqual(outlineOf(send(planner, change({ acks: [ackOf(write, 'applied', '11')] }))), []);
  });

  for (const result of ['refused', 'not-sent'] as const) {
    test(`after ${result} it is planned again, as a new create`, () => {
      const { planner, write } = planned();
      const again = send(planner, change({ acks: [ackOf(write, result)] }), { seed: 2 });
      assert.deepEqual([again.writes[0]?.verb, again.writes[0]?.name === write.name], ['create', false]);
    });
  }

  test('after unknown nothing is planned before the slice was observed', () => {
    const { planner, write } = planned();
    const early = send(planner, change({ acks: [ackOf(write, 'unknown')] }));
    assert.match(early.error ?? '', /before the outcome of the last mirror writes was observed/);
  });

  test('after unknown and observed as created nothing is left, and no duplicate', () => {
    const { planner, write } = planned();
    const news = { acks: [ackOf(write, 'unknown')], observed: [mirrored(storedAs(write, '11'))] };
    assert.deepEqual(outlineOf(send(planner, change(news))), []);
  });

  test('after unknown and observed as absent it is created by the same name', () => {
    const { planner, write } = planned();
    const news = { acks: [ackOf(write, 'unknown')], observed: [observedAs('mirror', null, write.name)] };
    assert.deepEqual(outlineOf(send(planner, change(news), { seed: 2 })), [`create ${write.name}, phase 1`]);
  });

  test('after unknown and a list without it, it is created by the same name', () => {
    const { planner, write } = planned();
    const news = { acks: [ackOf(write, 'unknown')], relisted: ['mirror'] } as const;
    assert.deepEqual(outlineOf(send(planner, change(news), { seed: 2 })), [`create ${write.name}, phase 1`]);
  });

  test('after unknown and a list with it, the next slice has another name', () => {
    const { planner, write } = planned();
    const ipv6 = manual('12', ['10.1.0.1', '10.1.0.2', 'fd00::1']);
    const result = send(
      planner,
      change({
        acks: [ackOf(write, 'unknown')],
        relisted: ['mirror'],
        observed: [mirrored(storedAs(write, '11')), observed(ipv6)],
      }),
      { seed: 2 },
    );
    assert.deepEqual(
      result.writes.map(({ verb, name }) => [verb, name === write.name]),
      [['create', false]],
    );
  });

  test('newer Endpoints are an update with the preconditions of the slice', () => {
    const { planner, name } = settled();
    const result = send(planner, change({ observed: [observed(manual('12', ['10.1.0.2', '10.1.0.3']))] }));
    assert.deepEqual(outlineOf(result), [`update ${name}, phase 1`]);
    const [write] = result.writes;
    assert.deepEqual([write?.uid, write?.resourceVersion], [`${name}-uid`, '11']);
    assert.deepEqual(
      sliceOf(write).endpoints?.map(({ addresses }) => addresses[0]),
      ['10.1.0.2', '10.1.0.3'],
    );
  });

  test('an edited slice is put right, and other fields stay', () => {
    const { planner, slice } = settled();
    const metadata = { ...slice.metadata, resourceVersion: '15', finalizers: ['example.com/keep'] };
    const result = send(planner, change({ observed: [mirrored({ ...slice, metadata, endpoints: [] })] }));
    assert.equal(result.writes[0]?.resourceVersion, '15');
    assert.equal(sliceOf(result.writes[0]).endpoints?.length, 2);
    assert.deepEqual(sliceOf(result.writes[0]).metadata.finalizers, ['example.com/keep']);
  });

  test('the last address takes the slice along', () => {
    const { planner, name } = settled();
    const result = send(planner, change({ observed: [observed(manual('12', []))] }));
    assert.deepEqual(outlineOf(result), [`delete ${name}, phase 2`]);
    assert.deepEqual([result.writes[0]?.uid, result.writes[0]?.resourceVersion], [`${name}-uid`, '11']);
    assert.equal(result.writes[0]?.body.length, 0);
    const acks = [ackOf(result.writes[0], 'applied')];
    assert.deepEqual(outlineOf(send(planner, change({ base: 2, acks }))), []);
  });

  test('an applied delete does not concern a later slice of the same name', () => {
    const { planner, name, slice } = settled();
    const gone = send(planner, change({ observed: [observed(manual('12', []))] }));
    const foreign = { ...slice, metadata: { ...slice.metadata, uid: 'foreign-uid', resourceVersion: '20' } };
    send(planner, { observed: [mirrored(foreign)] });
    const result = send(planner, change({ base: 2, acks: [ackOf(gone.writes[0]!, 'applied')] }));
    assert.deepEqual(outlineOf(result), [`delete ${name}, phase 2`]);
    assert.deepEqual([result.writes[0]?.uid, result.writes[0]?.resourceVersion], ['foreign-uid', '20']);
  });

  test('a slice that is being deleted is not deleted again', () => {
    const { planner, slice } = settled();
    const metadata = { ...slice.metadata, resourceVersion: '15', deletionTimestamp: '2026-01-01T00:00:00Z' };
    const news = [mirrored({ ...slice, metadata }), observed(manual('12', []))];
    assert.deepEqual(outlineOf(send(planner, change({ observed: news }))), []);
  });

  for (const [what, news] of [
    ['a Service with a selector', { spec: serviceRecord() }],
    ['Endpoints that are gone', { observed: [observedAs('endpoints', null, 'web')] }],
  ] as const) {
    test(`${what}: there is nothing to mirror, so nobody asks for a plan`, () => {
      const { planner } = settled();
      const result = send(planner, change(news));
      assert.match(result.error ?? '', /asked to plan where there is nothing to mirror/);
      assert.deepEqual([result.writes, result.needFull], [[], true]);
    });
  }

  test('own Endpoints are mirrored once there is no selector', () => {
    const planner = createPlanner(BOTH);
    const upserts = [member(1)];
    const made = send(planner, { outputs: ['endpoints'], spec: serviceRecord(), upserts });
    const acks = [ackOf(made.writes[0]!, 'applied', '20')];
    const result = send(planner, change({ spec: SELECTORLESS, removals: ['web-1'], acks }));
    assert.deepEqual(sliceOf(result.writes[0]).endpoints?.[0]?.addresses, ['10.0.0.1']);
    assert.equal(sliceOf(result.writes[0]).metadata.ownerReferences?.[0]?.uid, 'web-uid');
  });

  test('with Endpoints that cannot be read nothing is planned', () => {
    const { planner } = settled();
    const garbage = { ...observed(manual()), content: { encoding: 'json', bytes: Buffer.from('{') } } as const;
    const result = send(planner, change({ observed: [garbage] }));
    assert.deepEqual([result.outputs, result.writes], [[], []]);
    assert.match(result.error ?? '', /^not planned: /);
    assert.deepEqual(
      result.problems.map(({ kind, object }) => [kind, object]),
      [['undecodable-object', 'endpoints shop/web']],
    );
  });

  test('addresses above the maximum are a problem, and counted', () => {
    const planner = createPlanner({ ...MIRROR_ONLY, mirroringMaxEndpointsPerSubset: 1 });
    const result = send(planner, snapshot());
    assert.equal(result.facts.mirror?.skipped, 1);
    assert.deepEqual(
      result.problems.map(({ kind }) => kind),
      ['mirror-truncated'],
    );
  });

  test('a problem is told when it comes up, and not again while it lasts', () => {
    const planner = createPlanner({ ...MIRROR_ONLY, mirroringMaxEndpointsPerSubset: 1 });
    const first = send(planner, snapshot());
    const acks = [ackOf(first.writes[0]!, 'applied', '11')];
    let base = 0;
    const told = (...ips: readonly string[]): number => {
      const news = change({ base: ++base, observed: [observed(manual('11', ips))], acks: acks.splice(0) });
      return send(planner, news).problems.length;
    };
    const [one, two, three] = ['10.1.0.1', '10.1.0.2', '10.1.0.3'] as const;
    assert.deepEqual(
      [first.problems.length, told(one, two), told(one, two, three), told(one, two, three), told(one), told(one, two)],
      [1, 0, 1, 0, 0, 1],
    );
  });

  test('after a new list, slices that it lacks do not exist', () => {
    const { planner } = settled();
    const result = send(planner, change({ relisted: ['mirror'] }));
    assert.deepEqual(
      result.writes.map(({ verb }) => verb),
      ['create'],
    );
  });

  test('Endpoints are not planned if their output is off', () => {
    const result = send(createPlanner(MIRROR_ONLY), { ...snapshot(), outputs: ['endpoints'] });
    assert.match(result.error ?? '', /^shop\/web: .*endpoints are not planned here/);
  });
});

/** A planner that has planned the slice of `manual()` and not heard what became of it. */
function planned(): { planner: Planner; write: PlannedWrite; result: Planned } {
  const planner = createPlanner(MIRROR_ONLY);
  const result = send(planner, snapshot());
  assert.deepEqual(
    result.writes.map(({ id, output, verb, phase }) => [id, output, verb, phase]),
    [[1, 'mirror', 'create', 1]],
  );
  return { planner, write: result.writes[0]!, result };
}

/** The same after the create was applied as version 11. */
function settled(): { planner: Planner; name: string; slice: EndpointSlice } {
  const { planner, write } = planned();
  send(planner, { acks: [ackOf(write, 'applied', '11')] });
  return { planner, name: write.name, slice: storedAs(write, '11') };
}

function snapshot(): Partial<BatchEntry> {
  return { outputs: ['mirror'], spec: SELECTORLESS, observed: [observed(manual())] };
}

function change(news: Partial<BatchEntry>): Partial<BatchEntry> {
  return { base: 1, outputs: ['mirror'], ...news };
}

function manual(resourceVersion = '10', ips: readonly string[] = ['10.1.0.1', '10.1.0.2']): Endpoints {
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'web', namespace: 'shop', uid: 'endpoints-uid', resourceVersion, labels: { app: 'manual' } },
    subsets: [{ addresses: ips.map((ip) => ({ ip })), ports: [{ name: 'http', port: 80, protocol: 'TCP' }] }],
  };
}

function observed(endpoints: Endpoints): ReturnType<typeof observedAs> {
  return observedAs('endpoints', { ...endpoints });
}

function mirrored(slice: EndpointSlice): ReturnType<typeof observedAs> {
  return observedAs('mirror', slice);
}
