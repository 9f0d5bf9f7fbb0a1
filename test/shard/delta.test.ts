/** A planner that was told change by change plans what a fresh one plans that is told everything at once. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { decodeObject, encodeBare, encodeObject } from '../../src/kube/codec.ts';
import { TRIGGER_TIME_ANNOTATION } from '../../src/kube/names.ts';
import type { Endpoints, PodRecord, ServiceRecord } from '../../src/kube/types.ts';
import { decodeReply, encodeBatch } from '../../src/shard/codec.ts';
import { createPlanner, plan, type Planner } from '../../src/shard/planner.ts';
import { OUTPUT_ENDPOINTS, type Ack, type BatchEntry, type ServiceResult } from '../../src/shard/protocol.ts';
import { batchEntry, batchOf, podRecord, serviceRecord } from '../support/batches.ts';
import { ENDPOINTS_ONLY } from '../support/planner-config.ts';

const SEED = 20261121;

const podChanges: fc.Arbitrary<Step> = fc
  .record({
    n: fc.nat(5),
    ready: fc.boolean(),
    deleting: fc.boolean(),
    ip: fc.nat(3),
    bad: fc.nat(9),
    ports: fc.constantFrom([], [80], [81], [80, 81]),
    readyTime: fc.nat(100),
  })
  .map(({ n, ready, deleting, ip, bad, ports, readyTime }) => {
    const podIP = bad === 0 ? 'nonsense' : `10.0.${ip}.${n}`;
    const named = ports.map((port) => ({ name: `p${port}`, containerPort: port, protocol: 'TCP' }));
    return { type: 'pod', pod: podRecord(n, { ready, deleting, podIP, podIPs: [podIP], ports: named, readyTime }) };
  });

const specChanges: fc.Arbitrary<Step> = fc
  .record({
    targetPorts: fc.subarray(['p80', 'p81', 8080] as const),
    headless: fc.boolean(),
    publishNotReadyAddresses: fc.boolean(),
    label: fc.constantFrom('a', 'b'),
    type: fc.constantFrom('ClusterIP', 'ClusterIP', 'ExternalName'),
  })
  .map(({ targetPorts, headless, label, ...spec }) => ({
    type: 'spec',
    spec: serviceRecord({
      ...spec,
      clusterIP: headless ? 'None' : '10.96.0.10',
      labels: ['app', label],
      ports: targetPorts.map((targetPort, i) => ({
        name: `n${i}`,
        protocol: 'TCP',
        port: 80 + i,
        targetPort,
        appProtocol: undefined,
      })),
    }),
  }));

const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: podChanges },
  { weight: 1, arbitrary: specChanges },
  { weight: 1, arbitrary: fc.nat(5).map((n): Step => ({ type: 'remove', name: `web-${n}` })) },
  { weight: 1, arbitrary: fc.constant<Step>({ type: 'foreign' }) },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom('applied', 'applied', 'refused', 'not-sent', 'unknown-applied', 'unknown-lost')
      .map((outcome): Step => ({ type: 'sync', outcome })),
  },
);

suite('a planner told by deltas', () => {
  test('plans what one with a full snapshot plans, and a settled world plans nothing', () => {
    fc.assert(
      fc.property(fc.array(steps, { maxLength: 30 }), (story) => {
        const world = createWorld();
        for (const step of story) take(world, step);

        const delta = sendNews(world, OUTPUT_ENDPOINTS);
        const fresh = send(createPlanner(ENDPOINTS_ONLY), {
          version: 1,
          outputs: OUTPUT_ENDPOINTS,
          spec: world.spec,
          upserts: [...world.pods.values()].map((pod) => ({ pod, zone: null })),
          observed: [observed(world)],
        });
        assert.deepEqual(outline(delta), outline(fresh));
        assert.deepEqual(delta.facts, fresh.facts);

        finish(world, delta, 'applied');
        assert.deepEqual(outline(sendNews(world, OUTPUT_ENDPOINTS)), []);
      }),
      { seed: SEED, numRuns: 300 },
    );
  });
});

type Outcome = 'applied' | 'refused' | 'not-sent' | 'unknown-applied' | 'unknown-lost';

type Step =
  | { readonly type: 'pod'; readonly pod: PodRecord }
  | { readonly type: 'remove'; readonly name: string }
  | { readonly type: 'spec'; readonly spec: ServiceRecord }
  /** Somebody else edits the object; the planner is told at once. */
  | { readonly type: 'foreign' }
  | { readonly type: 'sync'; readonly outcome: Outcome };

interface World {
  readonly planner: Planner;
  readonly pods: Map<string, PodRecord>;
  spec: ServiceRecord;
  /** What the server holds, and its revision. */
  object: Endpoints | null;
  revision: number;
  /** For the next entry. */
  news: { spec: ServiceRecord | undefined; names: Set<string>; acks: Ack[]; observe: boolean };
  version: number;
}

function createWorld(): World {
  const spec = serviceRecord();
  const news = { spec, names: new Set<string>(), acks: [], observe: false };
  const planner = createPlanner(ENDPOINTS_ONLY);
  return { planner, pods: new Map(), spec, object: null, revision: 8, news, version: 0 };
}

function take(world: World, step: Step): void {
  switch (step.type) {
    case 'pod':
      world.pods.set(step.pod.name, step.pod);
      world.news.names.add(step.pod.name);
      break;
    case 'remove':
      world.pods.delete(step.name);
      world.news.names.add(step.name);
      break;
    case 'spec':
      world.spec = step.spec;
      world.news.spec = step.spec;
      break;
    case 'foreign':
      if (world.object === null) break;
      store(world, { ...world.object, metadata: { ...world.object.metadata, labels: { foreign: 'yes' } } });
      world.news.observe = true;
      break;
    case 'sync':
      finish(world, sendNews(world, OUTPUT_ENDPOINTS), step.outcome);
      break;
  }
}

/** The server does what the outcome says, and the planner is to be told. */
function finish(world: World, result: ServiceResult, outcome: Outcome): void {
  for (const write of result.writes) {
    if (outcome.endsWith('applied')) {
      assert.equal(write.verb, world.object === null ? 'create' : 'update');
      assert.equal(write.resourceVersion, world.object?.metadata.resourceVersion ?? '');
      store(world, decodeObject(write.body) as Endpoints);
    }
    const unknown = outcome.startsWith('unknown');
    const { uid = '', resourceVersion = '' } = outcome === 'applied' ? (world.object?.metadata ?? {}) : {};
    world.news.acks.push({
      write: write.id,
      result: unknown ? 'unknown' : (outcome as Ack['result']),
      uid,
      resourceVersion,
    });
    world.news.observe = unknown;
  }
}

function store(world: World, object: Endpoints): void {
  const resourceVersion = String(++world.revision);
  world.object = { ...object, metadata: { ...object.metadata, uid: 'endpoints-uid', resourceVersion } };
}

function sendNews(world: World, outputs: number): ServiceResult {
  const { spec, names, acks, observe } = world.news;
  const base = world.version++;
  world.news = { spec: undefined, names: new Set(), acks: [], observe: false };
  return send(world.planner, {
    base,
    version: world.version,
    outputs,
    spec: base === 0 ? world.spec : spec,
    upserts: [...names].flatMap((name) => {
      const pod = world.pods.get(name);
      return pod === undefined ? [] : { pod, zone: null };
    }),
    removals: [...names].filter((name) => !world.pods.has(name)),
    acks,
    observed: observe ? [observed(world)] : [],
  });
}

function observed(world: World): BatchEntry['observed'][number] {
  const content = world.object === null ? null : ({ encoding: 'protobuf', bytes: encodeBare(world.object) } as const);
  return { output: OUTPUT_ENDPOINTS, name: 'web', content };
}

function send(planner: Planner, news: Partial<BatchEntry>): ServiceResult {
  const [result] = decodeReply(plan(planner, encodeBatch(batchOf(batchEntry(news))))).results;
  assert.equal(result?.error, null);
  assert.equal(result.needFull, false);
  return result;
}

/** The writes but for their ids and the trigger time, which a fresh planner cannot know; bodies as hex bytes. */
function outline(result: ServiceResult): unknown[] {
  return result.writes.map((write) => {
    const object = decodeObject(write.body) as Endpoints;
    const annotations = { ...object.metadata.annotations };
    delete annotations[TRIGGER_TIME_ANNOTATION];
    const body = encodeObject({ ...object, metadata: { ...object.metadata, annotations } });
    return { ...write, id: 0, body: Buffer.from(body).toString('hex') };
  });
}
