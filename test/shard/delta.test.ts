/** A planner that was told change by change plans what a fresh one plans that is told everything at once. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import type { Member } from '../../src/core/member.ts';
import type { CpuShares } from '../../src/core/slices/cpu-shares.ts';
import { decodeObject, encodeBare } from '../../src/kube/codec.ts';
import { TRIGGER_TIME_ANNOTATION } from '../../src/kube/names.ts';
import type { KubeObject, ServiceRecord } from '../../src/kube/types.ts';
import { createPlanner, type Planner } from '../../src/shard/planner.ts';
import {
  OUTPUT_KINDS,
  type Ack,
  type BatchEntry,
  type Observed,
  type PlannedWrite,
  type OutputKind,
  type PlannerConfig,
} from '../../src/shard/protocol.ts';
import { podRecord, serviceRecord } from '../support/batches.ts';
import { ALL_OUTPUTS, ENDPOINTS_ONLY } from '../support/planner-config.ts';
import { type Planned, send } from '../support/planner-talk.ts';
import { propertyRuns } from '../support/runs.ts';

const SEED = 20261121;
const SMALL_SLICES: PlannerConfig = { ...ALL_OUTPUTS, maxEndpointsPerSlice: 2, mirroringMaxEndpointsPerSubset: 2 };

const podChanges: fc.Arbitrary<Step> = fc
  .record({
    n: fc.nat(5),
    ready: fc.boolean(),
    deleting: fc.boolean(),
    ip: fc.nat(3),
    bad: fc.nat(9),
    ipv6: fc.boolean(),
    ports: fc.constantFrom([], [80], [81], [80, 81]),
    readyTime: fc.nat(100),
    zone: fc.constantFrom('a', 'b', '', null),
  })
  .map(({ n, ready, deleting, ip, bad, ipv6, ports, readyTime, zone }) => {
    const podIP = bad === 0 ? 'nonsense' : `10.0.${ip}.${n}`;
    const podIPs = ipv6 ? [podIP, `fd00::${n}`] : [podIP];
    const named = ports.map((port) => ({ name: `p${port}`, containerPort: port, protocol: 'TCP' }));
    return {
      type: 'pod',
      member: { pod: podRecord(n, { ready, deleting, podIP, podIPs, ports: named, readyTime }), zone },
    };
  });

const specChanges: fc.Arbitrary<Step> = fc
  .record({
    targetPorts: fc.subarray(['p80', 'p81', 8080] as const),
    headless: fc.boolean(),
    publishNotReadyAddresses: fc.boolean(),
    label: fc.constantFrom('a', 'b'),
    type: fc.constantFrom('ClusterIP', 'ClusterIP', 'ExternalName'),
    ipFamilies: fc.constantFrom(['IPv4'], ['IPv4'], ['IPv4', 'IPv6'], ['IPv6']),
    selector: fc.constantFrom(['app', 'web'], ['app', 'web'], null),
    topology: fc.boolean(),
    trafficDistribution: fc.constantFrom('', '', 'PreferClose'),
  })
  .map(({ targetPorts, headless, label, topology, ...spec }) => ({
    type: 'spec',
    spec: serviceRecord({
      ...spec,
      clusterIP: headless ? 'None' : '10.96.0.10',
      labels: ['app', label],
      annotations: topology ? ['service.kubernetes.io/topology-mode', 'Auto'] : [],
      ports: targetPorts.map((targetPort, i) => ({
        name: `n${i}`,
        protocol: 'TCP',
        port: 80 + i,
        targetPort,
        appProtocol: undefined,
      })),
    }),
  }));

const outcomes = fc.constantFrom<Outcome[]>(
  'applied',
  'applied',
  'refused',
  'not-sent',
  'unknown-applied',
  'unknown-lost',
);

const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 10, arbitrary: podChanges },
  { weight: 2, arbitrary: specChanges },
  { weight: 2, arbitrary: fc.nat(5).map((n): Step => ({ type: 'remove', name: `web-${n}` })) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('foreign' as const),
      which: fc.nat(),
      edit: fc.constantFrom('relabel', 'empty', 'copy', 'delete'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('manual' as const),
      ips: fc.subarray(['10.9.0.1', '10.9.0.2', '10.9.0.3', 'fd00::9', 'nonsense']),
      port: fc.constantFrom(80, 81),
    }),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(null, { a: 0.5, b: 0.5 }, { a: 0.7, b: 0.3 })
      .map((zones): Step => ({ type: 'shares', zones })),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ type: 'relist' }) },
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('sync' as const),
      outputs: fc.subarray([...OUTPUT_KINDS], { minLength: 1 }),
      outcomes: fc.array(outcomes, { minLength: 1, maxLength: 4 }),
    }),
  },
);

suite('a planner told by deltas', () => {
  test('deltas lead to the Endpoints of a full snapshot, and at rest to nothing', () => {
    check(ENDPOINTS_ONLY, 30, 200);
  });

  test('deltas lead to all three outputs of a full snapshot', () => {
    check(SMALL_SLICES, 30, 400);
  });
});

type Write = Planned['writes'][number];
type Outcome = 'applied' | 'refused' | 'not-sent' | 'unknown-applied' | 'unknown-lost';

type Step =
  | { readonly type: 'pod'; readonly member: Member }
  | { readonly type: 'remove'; readonly name: string }
  | { readonly type: 'spec'; readonly spec: ServiceRecord }
  /** Somebody else edits one of the objects; the planner is told at once. */
  | { readonly type: 'foreign'; readonly which: number; readonly edit: 'relabel' | 'empty' | 'copy' | 'delete' }
  /** Somebody writes the Endpoints by hand. */
  | { readonly type: 'manual'; readonly ips: readonly string[]; readonly port: number }
  | { readonly type: 'shares'; readonly zones: Readonly<Record<string, number>> | null }
  /** All objects are read again. */
  | { readonly type: 'relist' }
  | { readonly type: 'sync'; readonly outputs: readonly OutputKind[]; readonly outcomes: readonly Outcome[] };

interface World {
  readonly planner: Planner;
  readonly pods: Map<string, Member>;
  spec: ServiceRecord;
  shares: CpuShares | null;
  /** What the server holds, by `<output>/<name>`, and its revision. */
  readonly objects: Map<string, KubeObject>;
  revision: number;
  /** The pods that the planner was told of. */
  readonly told: Map<string, Member>;
  /** For the next entry. */
  news: { spec: ServiceRecord | undefined; acks: Ack[]; observe: Set<string>; relisted: readonly OutputKind[] };
  version: number;
}

function check(config: PlannerConfig, stepsMax: number, numRuns: number): void {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: stepsMax }), (story) => {
      const world = createWorld(config);
      for (const step of story) take(world, step);

      const outputs = plannable(world, config.outputs);
      const delta = sendNews(world, outputs);
      const news = {
        outputs,
        spec: world.spec,
        upserts: membersOf(world),
        observed: [...world.objects.keys()].map((key) => observed(world, key)),
      };
      const fresh = send(createPlanner(config), news, { seed: 99, shares: world.shares });
      assert.deepEqual([fresh.error, fresh.needFull], [null, false]);
      assert.deepEqual(outline(delta), outline(fresh));
      assert.deepEqual(delta.facts, fresh.facts);

      finish(world, delta, ['applied']);
      assert.deepEqual(outline(sendNews(world, outputs)), []);
    }),
    propertyRuns(numRuns, SEED),
  );
}

function createWorld(config: PlannerConfig): World {
  const spec = serviceRecord();
  return {
    planner: createPlanner(config),
    pods: new Map(),
    spec,
    shares: null,
    objects: new Map(),
    revision: 8,
    told: new Map(),
    news: { spec, acks: [], observe: new Set(), relisted: [] },
    version: 0,
  };
}

function take(world: World, step: Step): void {
  switch (step.type) {
    case 'pod': {
      world.pods.set(step.member.pod.name, step.member);
      break;
    }
    case 'remove': {
      world.pods.delete(step.name);
      break;
    }
    case 'spec': {
      world.spec = step.spec;
      world.news.spec = step.spec;
      break;
    }
    case 'foreign': {
      takeForeign(world, [...world.objects.keys()][step.which % world.objects.size], step.edit);
      break;
    }
    case 'manual': {
      const key = `endpoints/web`;
      const metadata = { ...world.objects.get(key)?.metadata, name: 'web', labels: { made: 'by hand' } };
      const ports = [{ name: 'n0', port: step.port, protocol: 'TCP' }];
      const subsets = [{ addresses: step.ips.map((ip) => ({ ip })), ports }];
      store(world, key, { apiVersion: 'v1', kind: 'Endpoints', metadata, subsets });
      world.news.observe.add(key);
      break;
    }
    case 'shares': {
      const zones = Object.entries(step.zones ?? {}).map(([zone, share]) => ({ zone, share }));
      world.shares = step.zones === null ? null : { version: world.version, zones };
      break;
    }
    case 'relist': {
      world.news.relisted = ['endpoints', 'slices', 'mirror'];
      for (const key of world.objects.keys()) world.news.observe.add(key);
      break;
    }
    case 'sync': {
      const outputs = plannable(world, step.outputs).filter((output) => world.planner.config.outputs.includes(output));
      if (outputs.length > 0) finish(world, sendNews(world, outputs), step.outcomes);
      break;
    }
  }
}

function takeForeign(world: World, key: string | undefined, edit: 'relabel' | 'empty' | 'copy' | 'delete'): void {
  if (key === undefined) return;
  const object = world.objects.get(key)!;
  const { metadata } = object;
  switch (edit) {
    case 'relabel': {
      store(world, key, { ...object, metadata: { ...metadata, labels: { ...metadata.labels, foreign: 'yes' } } });
      break;
    }
    case 'empty': {
      store(world, key, { ...object, ...(object.kind === 'Endpoints' ? { subsets: [] } : { endpoints: [] }) });
      break;
    }
    case 'delete': {
      world.objects.delete(key);
      break;
    }
    case 'copy': {
      if (object.kind === 'Endpoints') break;
      const copy = `${key}-copy`;
      if (world.objects.has(copy)) break;
      store(world, copy, {
        ...object,
        metadata: { ...metadata, name: `${metadata.name}-copy`, uid: `uid of ${copy}` },
      });
      world.news.observe.add(copy);
      break;
    }
  }
  world.news.observe.add(key);
}

/** The server does what the outcomes say, one for each write in turn, and the planner is to be told. */
function finish(world: World, result: Planned, outcomesOfWrites: readonly Outcome[]): void {
  result.writes.forEach((write, i) => {
    const outcome = outcomesOfWrites[i % outcomesOfWrites.length]!;
    const key = keyOf(write);
    if (outcome.endsWith('applied')) apply(world, write);
    if (outcome.startsWith('unknown')) {
      world.news.acks.push({ write: write.id, result: 'unknown', uid: '', resourceVersion: '' });
      world.news.observe.add(key);
      return;
    }
    const { uid = '', resourceVersion = '' } = outcome === 'applied' ? (world.objects.get(key)?.metadata ?? {}) : {};
    world.news.acks.push({ write: write.id, result: outcome as Ack['result'], uid, resourceVersion });
  });
}

function apply(world: World, write: Write): void {
  const key = keyOf(write);
  const before = world.objects.get(key);
  assert.equal(write.verb === 'create', before === undefined, `${write.verb} ${key}`);
  assert.deepEqual(
    [write.uid, write.resourceVersion],
    [before?.metadata.uid ?? '', before?.metadata.resourceVersion ?? ''],
  );
  if (write.verb === 'delete') world.objects.delete(key);
  else store(world, key, decodeObject(write.body));
}

function store(world: World, key: string, object: KubeObject): void {
  const metadata = { uid: `uid of ${key}`, ...object.metadata, resourceVersion: String(++world.revision) };
  world.objects.set(key, { ...object, metadata });
}

function keyOf(write: Write): string {
  return `${write.output}/${write.name}`;
}

/** A service without a selector has none. */
function membersOf(world: World): Member[] {
  return world.spec.selector === null ? [] : [...world.pods.values()];
}

/** Mirrored slices are planned only where there are Endpoints to mirror. */
function plannable({ spec, objects }: World, outputs: readonly OutputKind[]): readonly OutputKind[] {
  const isMirrored = spec.selector === null && objects.has('endpoints/web');
  return isMirrored ? outputs : outputs.filter((output) => output !== 'mirror');
}

function sendNews(world: World, outputs: readonly OutputKind[]): Planned {
  const { spec, acks, observe, relisted } = world.news;
  const { told } = world;
  const base = world.version++;
  const members = membersOf(world);
  const upserts = members.filter((member) => told.get(member.pod.name) !== member);
  const names = new Set(members.map(({ pod }) => pod.name));
  const removals = [...told.keys()].filter((name) => !names.has(name));
  told.clear();
  for (const member of members) told.set(member.pod.name, member);
  world.news = { spec: undefined, acks: [], observe: new Set(), relisted: [] };
  const news: Partial<BatchEntry> = {
    base,
    outputs,
    spec: base === 0 ? world.spec : spec,
    upserts,
    removals,
    acks,
    relisted,
    observed: [...observe].map((key) => observed(world, key)),
  };
  const result = send(world.planner, news, { seed: world.version, shares: world.shares });
  assert.deepEqual([result.error, result.needFull], [null, false]);
  return result;
}

function observed(world: World, key: string): Observed {
  const object = world.objects.get(key);
  const [output, name] = key.split('/');
  const content = object === undefined ? null : ({ encoding: 'protobuf', bytes: encodeBare(object) } as const);
  return { output: output as OutputKind, name: name!, content };
}

/**
 * The writes but for their ids, the names of what is new, which are drawn, and the trigger time, which a fresh planner
 * cannot know. In one order: what is drawn decides on the server's.
 */
function outline(result: Planned): string[] {
  const lines = result.writes.map((write) => {
    const name = write.verb === 'create' ? '' : write.name;
    return canonical({ ...write, id: 0, name, body: write.verb === 'delete' ? null : contentOf(write) });
  });
  return lines.sort();
}

/** Keys in order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part !== 'object' || part === null || Array.isArray(part)
      ? part
      : Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1))),
  );
}

function contentOf(write: PlannedWrite): unknown {
  const object = decodeObject(write.body);
  const metadata = { ...object.metadata };
  const annotations = { ...metadata.annotations };
  delete annotations[TRIGGER_TIME_ANNOTATION];
  if (write.verb === 'create') delete metadata.name;
  return { ...object, metadata: { ...metadata, annotations } };
}
