import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { encodeBare, decodeObject } from '../../src/kube/codec.ts';
import { TRIGGER_TIME_ANNOTATION } from '../../src/kube/names.ts';
import type { Member } from '../../src/core/member.ts';
import type { Endpoints, ServiceRecord } from '../../src/kube/types.ts';
import { decodeReply, encodeBatch } from '../../src/shard/codec.ts';
import { planBytes } from '../../src/shard/plan-bytes.ts';
import { createPlanner, plan, type Planner } from '../../src/shard/planner.ts';
import type { Ack, BatchEntry, Observed, PlannedWrite } from '../../src/shard/protocol.ts';
import { batchEntry, batchOf, member, serviceRecord } from '../support/batches.ts';
import { ENDPOINTS_ONLY } from '../support/planner-config.ts';
import { type Planned, plannedOf, send } from '../support/planner-talk.ts';
import { makeServicePort } from '../support/records.ts';

/** A planner that has planned shop/web with pods 1 and 2 and not heard what became of the create. */
function planned(): { planner: Planner; write: PlannedWrite } {
  const planner = createPlanner(ENDPOINTS_ONLY);
  const result = send(planner, snapshot());
  return { planner, write: result.writes[0]! };
}

/** The same after the create was applied as version 100. */
function settled(): Planner {
  const { planner, write } = planned();
  send(planner, { acks: [applied(write, '100')] });
  return planner;
}

suite('a snapshot', () => {
  test('a snapshot is planned as a create, with its bytes', () => {
    const { write } = planned();
    assert.deepEqual(
      { ...write, body: decodeObject(write.body) },
      {
        id: 1,
        output: 'endpoints',
        verb: 'create',
        name: 'web',
        uid: '',
        resourceVersion: '',
        phase: 1,
        waits: false,
        family: '',
        body: {
          apiVersion: 'v1',
          kind: 'Endpoints',
          metadata: {
            name: 'web',
            labels: { app: 'web', 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' },
            annotations: { [TRIGGER_TIME_ANNOTATION]: '2025-06-15T15:06:40Z' },
          },
          subsets: [
            {
              addresses: [address(1), address(2)],
              ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
            },
          ],
        },
      },
    );
  });

  test('a snapshot of what the server holds writes nothing', () => {
    const result = send(createPlanner(ENDPOINTS_ONLY), { ...snapshot(), observed: [observed(stored())] });
    assert.deepEqual(result.writes, []);
    assert.deepEqual(result.facts.endpoints, { ready: 2, notReady: 0, truncated: 0 });
  });

  test('a snapshot over known inputs replaces them', () => {
    const planner = settled();
    const result = send(planner, { ...snapshot(), upserts: [member(2)] });
    assert.deepEqual(ips(result), ['10.0.0.2']);
  });

  test('a snapshot may leave out the object, whose known state stays', () => {
    const planner = settled();
    assert.deepEqual(send(planner, snapshot()).writes, []);
  });
});

suite('a change', () => {
  test("a change of the planner's state is an update with preconditions", () => {
    const planner = settled();
    const result = send(planner, change({ upserts: [member(3)], removals: ['web-1'] }));
    assert.deepEqual(ips(result), ['10.0.0.2', '10.0.0.3']);
    const [write] = result.writes;
    assert.deepEqual([write?.verb, write?.uid, write?.resourceVersion], ['update', 'endpoints-uid', '100']);
    assert.equal(bodyOf(result).metadata.resourceVersion, '100');
    assert.equal(bodyOf(result).metadata.uid, 'endpoints-uid');
  });

  test('a change of another state needs a snapshot, and nothing of it is taken', () => {
    const planner = settled();
    const ahead = send(planner, change({ base: 5, upserts: [member(3)] }));
    assert.deepEqual([ahead.needFull, ahead.outputs, ahead.writes], [true, [], []]);
    assert.deepEqual(send(planner, change({})).writes, []);
  });

  test('a change of an unknown service needs a snapshot', () => {
    assert.equal(send(createPlanner(ENDPOINTS_ONLY), change({ removals: ['web-1'] })).needFull, true);
  });

  test('a change without an output asked for is planned with the next one', () => {
    const planner = settled();
    assert.deepEqual(send(planner, change({ outputs: [], upserts: [member(3)] })).writes, []);
    assert.deepEqual(ips(send(planner, change({ base: 2 }))), ['10.0.0.1', '10.0.0.2', '10.0.0.3']);
  });

  test('a change of the Service to null makes the planner forget it', () => {
    const planner = settled();
    send(planner, { spec: null });
    assert.equal(planner.services.size, 0);
    assert.equal(send(planner, change({})).needFull, true);
  });
});

suite('an ack', () => {
  test('ack applied: the planned object is stored, and nothing is left to do', () => {
    assert.deepEqual(send(settled(), change({})).writes, []);
  });

  for (const result of ['refused', 'not-sent'] as const) {
    test(`ack ${result}: as if nothing was planned, trigger time included`, () => {
      const { planner, write } = planned();
      const again = send(planner, change({ acks: [{ write: write.id, result, uid: '', resourceVersion: '' }] }));
      assert.deepEqual(again.writes, [{ ...write, id: 2 }]);
    });
  }

  test('ack unknown: nothing is planned before the object is observed', () => {
    const { planner, write } = planned();
    send(planner, { acks: [unknown(write)] });
    const early = send(planner, change({}));
    assert.match(early.error ?? '', /shop\/web: .*before the outcome of the last write was observed/);
  });

  test('ack unknown, then observed as applied: nothing is left to do', () => {
    const { planner, write } = planned();
    const result = send(planner, change({ acks: [unknown(write)], observed: [observed(stored())] }));
    assert.deepEqual(result.writes, []);
  });

  test('ack unknown, then observed as not applied: the same plan again', () => {
    const { planner, write } = planned();
    const result = send(planner, change({ acks: [unknown(write)], observed: [observed(null)] }));
    assert.deepEqual(result.writes, [{ ...write, id: 2 }]);
  });

  test('an ack of no pending write is an error, and the service starts anew', () => {
    const planner = settled();
    const result = send(planner, { acks: [{ write: 77, result: 'refused', uid: '', resourceVersion: '' }] });
    assert.match(result.error ?? '', /ack of write 77, pending is none/);
    assert.equal(send(planner, change({})).needFull, true);
  });

  test('a second plan without an ack is an error', () => {
    const { planner } = planned();
    assert.match(send(planner, change({})).error ?? '', /write 1 is not acked/);
  });
});

suite('an observed object', () => {
  const foreign = (resourceVersion: string): Endpoints => ({
    ...stored(resourceVersion),
    metadata: { ...stored(resourceVersion).metadata, labels: { app: 'hijacked' }, finalizers: ['example.com/keep'] },
  });

  test('an observed object that no output here needs is an error', () => {
    const planner = createPlanner({ ...ENDPOINTS_ONLY, outputs: ['slices'] });
    assert.match(send(planner, { observed: [observed(null)] }).error ?? '', /no output .* needs endpoints/);
  });

  test('an observed object forces no plan', () => {
    assert.deepEqual(send(settled(), { observed: [observed(foreign('101'))] }).writes, []);
  });

  test('a newer object is what the next plan starts from, with fields of others', () => {
    const planner = settled();
    const result = send(planner, change({ observed: [observed(foreign('101'))] }));
    assert.equal(result.writes[0]?.resourceVersion, '101');
    assert.deepEqual(bodyOf(result).metadata.finalizers, ['example.com/keep']);
    assert.equal(bodyOf(result).metadata.labels?.['app'], 'web');
  });

  test('an object with a lower version is believed: history may have gone back', () => {
    const planner = settled();
    const result = send(planner, change({ observed: [observed(foreign('99'))] }));
    assert.equal(result.writes[0]?.resourceVersion, '99');
  });

  test('an object of the written version shows what the server made of it', () => {
    const planner = settled();
    assert.equal(send(planner, change({ observed: [observed(foreign('100'))] })).writes.length, 1);
  });

  test('an object that is gone is created again', () => {
    assert.equal(send(settled(), change({ observed: [observed(null)] })).writes[0]?.verb, 'create');
  });

  test('an observed object may be JSON', () => {
    const bytes = Buffer.from(JSON.stringify({ ...foreign('101'), kind: undefined, apiVersion: undefined }));
    const news: Observed = { output: 'endpoints', name: 'web', content: { encoding: 'json', bytes } };
    const result = send(settled(), change({ observed: [news] }));
    assert.deepEqual(bodyOf(result).metadata.finalizers, ['example.com/keep']);
  });

  test('an observed object loses its managedFields, which a write must not have', () => {
    const object = foreign('101');
    Object.assign(object.metadata, { managedFields: [{ manager: 'kubectl', operation: 'Update', apiVersion: 'v1' }] });
    const result = send(settled(), change({ observed: [observed(object)] }));
    assert.equal('managedFields' in bodyOf(result).metadata, false);
  });

  test('an object that cannot be read is a problem at each plan, until it changes', () => {
    const planner = settled();
    const garbage: Observed = {
      output: 'endpoints',
      name: 'web',
      content: { encoding: 'protobuf', bytes: Uint8Array.of(0x0a, 0xff) },
    };
    const first = send(planner, change({ observed: [garbage], removals: ['web-1'] }));
    assert.deepEqual([first.writes, first.outputs, first.needFull], [[], [], false]);
    assert.match(first.error ?? '', /^not planned: /);
    assert.deepEqual(
      first.problems.map(({ kind, object }) => [kind, object]),
      [['undecodable-object', 'endpoints shop/web']],
    );
    const second = send(planner, change({ base: 2 }));
    assert.equal(second.problems.length, 1);
    const repaired = send(planner, change({ base: 3, observed: [observed(stored('102'))] }));
    assert.equal(repaired.writes[0]?.resourceVersion, '102');
  });

  test('an object of another name is not taken for this one', () => {
    const object = { ...stored(), metadata: { ...stored().metadata, name: 'other' } };
    const result = send(createPlanner(ENDPOINTS_ONLY), { ...snapshot(), observed: [observed(object)] });
    assert.match(result.problems[0]?.message ?? '', /metadata.name is "other"/);
  });

  test('an object with a field of a later version is a problem, once', () => {
    const planner = settled();
    // Field 99 of the message, a varint.
    const bytes = Buffer.concat([encodeBare(stored('101')), Uint8Array.of(0x98, 0x06, 0x01)]);
    const news: Observed = { output: 'endpoints', name: 'web', content: { encoding: 'protobuf', bytes } };
    const [problem] = send(planner, change({ observed: [news] })).problems;
    assert.deepEqual([problem?.kind, problem?.field], ['unknown-field', 'Endpoints.99']);
    assert.equal(problem?.message, '1 unknown fields, which the next write loses');
    assert.deepEqual(send(planner, change({ base: 2 })).problems, []);
  });
});

suite('one service', () => {
  test('a service that fails harms no other of its batch', () => {
    const planner = createPlanner(ENDPOINTS_ONLY);
    const bad = batchEntry({ ...snapshot(), service: 'shop/bad', outputs: ['slices'] });
    const good = batchEntry({ ...snapshot() });
    const { results } = decodeReply(planBytes(planner, encodeBatch(batchOf(bad, good))));
    assert.match(results[0]?.error ?? '', /^shop\/bad: .*slices are not planned here/);
    assert.equal(plannedOf(results[1]!).writes[0]?.verb, 'create');
  });

  test('a service above the capacity writes nothing more', () => {
    const planner = createPlanner(ENDPOINTS_ONLY);
    const upserts = Array.from({ length: 1001 }, (_, i) => member(i, { podIP: `10.2.${i >> 8}.${i & 255}` }));
    const [write] = send(planner, { ...snapshot(), upserts }).writes;
    assert.equal(write?.verb, 'create');
    let acks = [applied(write, '100')];
    for (let base = 1; base < 5; base++) {
      const { writes, facts } = send(planner, change({ base, acks }));
      assert.equal(writes.length, 0, `plan ${base + 1}`);
      assert.deepEqual(facts.endpoints, { ready: 1000, notReady: 0, truncated: 1 });
      acks = [];
    }
  });

  test('subsets of too many addresses fail alone, and what is known stays', () => {
    const planner = createPlanner(ENDPOINTS_ONLY);
    const { wide, upserts } = wideService();
    const bad = batchEntry({ ...snapshot(), service: 'shop/wide', spec: wide, upserts });
    const good = batchEntry(snapshot());
    const [first, other] = plan(planner, batchOf(bad, good)).results;
    assert.deepEqual([first!.plans.length, first!.needFull, first!.error], [0, false, null]);
    assert.deepEqual(first!.failures, [
      {
        output: 'endpoints',
        message:
          'not planned: shop/wide: subsets: more than 250000 addresses, because ports with other addresses need subsets of their own',
      },
    ]);
    assert.equal(plannedOf(other!).writes[0]?.verb, 'create');

    // 512 addresses less for each.
    const removals = upserts.slice(0, 12).map(({ pod }) => pod.name);
    const [again] = plan(planner, batchOf(batchEntry({ ...change({ removals }), service: 'shop/wide' }))).results;
    assert.equal(again!.needFull, false);
    const { writes, facts } = plannedOf(again!);
    assert.deepEqual([writes[0]?.verb, facts.endpoints!.ready], ['create', 1000]);
  });

  test('a pod with a bad address is left out, and the problem is told once', () => {
    const planner = settled();
    const bad = member(3, { podIP: 'localhost', podIPs: ['localhost'] });
    const result = send(planner, change({ upserts: [bad] }));
    assert.deepEqual(
      result.problems.map(({ kind, object }) => [kind, object]),
      [['bad-address', 'pod shop/web-3']],
    );
    assert.deepEqual(send(planner, change({ base: 2 })).problems, []);
  });

  test("the trigger time is the service's creation first, then the last change", () => {
    const planner = settled();
    const result = send(planner, change({ upserts: [member(3, { readyTime: 1_770_000_000 })] }));
    assert.equal(bodyOf(result).metadata.annotations?.[TRIGGER_TIME_ANNOTATION], '2026-02-02T02:40:00Z');
    const removed = send(planner, change({ base: 2, removals: ['web-3'], acks: [applied(result.writes[0]!, '101')] }));
    assert.equal(bodyOf(removed).metadata.annotations, undefined);
  });
});

/**
 * A service of 1,023 named ports and 500 pods of ten kinds. Each port is on other kinds, and so has a subset of its own:
 * 256,000 addresses.
 */
function wideService(): { readonly wide: ServiceRecord; readonly upserts: readonly Member[] } {
  const numbers = Array.from({ length: 1023 }, (_, i) => i + 1);
  const ports = numbers.map((port) => makeServicePort({ name: `p-${port}`, port, targetPort: `p-${port}` }));
  const offered = Array.from({ length: 10 }, (_, kind) =>
    numbers
      .filter((port) => ((port >> kind) & 1) === 1)
      .map((port) => ({ name: `p-${port}`, containerPort: port, protocol: 'TCP' })),
  );
  const upserts = Array.from({ length: 500 }, (_, n) => member(n, { ports: offered[n % offered.length]! }));
  return { wide: serviceRecord({ name: 'wide', ports }), upserts };
}

function snapshot(): Partial<BatchEntry> {
  return { outputs: ['endpoints'], spec: serviceRecord(), upserts: [member(1), member(2)] };
}

/** On top of `snapshot`. */
function change(news: Partial<BatchEntry>): Partial<BatchEntry> {
  return { base: 1, outputs: ['endpoints'], ...news };
}

function applied(write: PlannedWrite, resourceVersion: string): Ack {
  return { write: write.id, result: 'applied', uid: 'endpoints-uid', resourceVersion };
}

function unknown(write: PlannedWrite): Ack {
  return { write: write.id, result: 'unknown', uid: '', resourceVersion: '' };
}

/** What the server holds after the create of `planned`. */
function stored(resourceVersion = '100'): Endpoints {
  const object = decodeObject(planned().write.body) as Endpoints;
  return { ...object, metadata: { ...object.metadata, uid: 'endpoints-uid', resourceVersion } };
}

function observed(object: Endpoints | null): Observed {
  const content = object === null ? null : ({ encoding: 'protobuf', bytes: encodeBare(object) } as const);
  return { output: 'endpoints', name: 'web', content };
}

function bodyOf(result: Planned): Endpoints {
  assert.equal(result.error, null);
  return decodeObject(result.writes[0]!.body) as Endpoints;
}

function ips(result: Planned): (string | undefined)[] {
  return (bodyOf(result).subsets ?? []).flatMap((subset) => (subset.addresses ?? []).map((a) => a.ip));
}

function address(n: number): object {
  return {
    ip: `10.0.0.${n}`,
    nodeName: `node-${n}`,
    targetRef: { kind: 'Pod', namespace: 'shop', name: `web-${n}`, uid: `uid-${n}` },
  };
}
