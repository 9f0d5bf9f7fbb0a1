/** Generators of planner traffic for fast-check, and the smallest of each kind for hand-written cases. */
import fc from 'fast-check';
import type { Member } from '../../src/core/member.ts';
import type { CpuShares } from '../../src/core/slices/cpu-shares.ts';
import type { PodRecord, ServiceRecord } from '../../src/kube/types.ts';
import {
  OUTPUT_KINDS,
  type Ack,
  type Batch,
  type BatchEntry,
  type Observed,
  type OutputFacts,
  type OutputKind,
  type Plan,
  type PlanReply,
} from '../../src/shard/protocol.ts';

/** A running, ready pod of namespace `shop`; `n` makes it distinct. */
export function podRecord(n: number, change: Partial<PodRecord> = {}): PodRecord {
  const podIP = `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;
  return {
    namespace: 'shop',
    name: `web-${n}`,
    uid: `uid-${n}`,
    resourceVersion: '',
    labels: [],
    deleting: false,
    nodeName: `node-${n % 7}`,
    hostname: '',
    subdomain: '',
    phase: 'Running',
    ready: true,
    readyTime: 1_760_000_000 + n,
    podIP,
    podIPs: null,
    ports: [],
    ...change,
  };
}

/** Such a pod on a node of zone-a. */
export function member(n: number, change: Partial<PodRecord> = {}, zone: string | null = 'zone-a'): Member {
  return { pod: podRecord(n, change), zone };
}

/** The Service shop/web with port 80 -> 8080. */
export function serviceRecord(change: Partial<ServiceRecord> = {}): ServiceRecord {
  return {
    namespace: 'shop',
    name: 'web',
    uid: 'service-uid',
    resourceVersion: '7',
    labels: ['app', 'web'],
    annotations: [],
    creationTime: 1_750_000_000,
    deleting: false,
    type: 'ClusterIP',
    clusterIP: '10.96.0.10',
    ipFamilies: ['IPv4'],
    selector: ['app', 'web'],
    ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 8080, appProtocol: undefined }],
    publishNotReadyAddresses: false,
    trafficDistribution: '',
    ...change,
  };
}

/** News of shop/web that changes nothing and asks for nothing. */
export function batchEntry(change: Partial<BatchEntry> = {}): BatchEntry {
  return {
    service: 'shop/web',
    outputs: [],
    base: 0,
    spec: undefined,
    upserts: [],
    removals: [],
    acks: [],
    relisted: [],
    observed: [],
    ...change,
  };
}

export function batchOf(...entries: BatchEntry[]): Batch {
  return { seed: 1, shares: undefined, entries };
}

const ascii = fc.string({ unit: fc.constantFrom('a', 'b', 'z', '0', '9', '-', '.'), maxLength: 70 });
const anyText = fc.string({ unit: 'grapheme', maxLength: 40 });
const safeInteger = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const outputKinds = fc.constantFrom(...OUTPUT_KINDS);

const podRecords: fc.Arbitrary<PodRecord> = fc
  .record({
    name: ascii,
    uid: ascii,
    deleting: fc.boolean(),
    nodeName: ascii,
    hostname: ascii,
    subdomain: ascii,
    phase: ascii,
    ready: fc.boolean(),
    readyTime: safeInteger,
    podIP: ascii,
    otherIPs: fc.array(ascii, { maxLength: 2 }),
    sameIP: fc.boolean(),
    ports: fc.array(fc.record({ name: ascii, containerPort: fc.nat(65535), protocol: ascii }), { maxLength: 20 }),
  })
  .map(({ otherIPs, sameIP, ...pod }) => podRecord(0, { ...pod, podIPs: sameIP ? null : otherIPs }));

export const members: fc.Arbitrary<Member> = fc.record({ pod: podRecords, zone: fc.option(ascii) });

export const serviceRecords: fc.Arbitrary<ServiceRecord> = fc.record({
  namespace: fc.constant('shop'),
  name: fc.constant('web'),
  uid: ascii,
  resourceVersion: ascii,
  labels: fc.array(ascii, { maxLength: 40 }),
  annotations: fc.array(anyText, { maxLength: 4 }),
  creationTime: safeInteger,
  deleting: fc.boolean(),
  type: ascii,
  clusterIP: ascii,
  ipFamilies: fc.array(ascii, { maxLength: 2 }),
  selector: fc.option(fc.array(ascii, { maxLength: 6 })),
  ports: fc.array(
    fc.record({
      name: ascii,
      protocol: ascii,
      port: fc.nat(65535),
      targetPort: fc.oneof(fc.nat(65535), ascii),
      appProtocol: fc.option(ascii, { nil: undefined }),
    }),
    { maxLength: 20 },
  ),
  publishNotReadyAddresses: fc.boolean(),
  trafficDistribution: ascii,
});

const acks: fc.Arbitrary<Ack> = fc.record({
  write: safeInteger,
  result: fc.constantFrom('applied', 'refused', 'not-sent', 'unknown'),
  uid: ascii,
  resourceVersion: ascii,
});

const observations: fc.Arbitrary<Observed> = fc.record({
  output: outputKinds,
  name: ascii,
  content: fc.option(
    fc.record({ encoding: fc.constantFrom('protobuf', 'json'), bytes: fc.uint8Array({ maxLength: 300 }) }),
  ),
});

export const batchEntries: fc.Arbitrary<BatchEntry> = fc.record({
  service: fc.constant('shop/web'),
  outputs: fc.subarray([...OUTPUT_KINDS]),
  base: safeInteger,
  spec: fc.option(fc.option(serviceRecords), { nil: undefined }),
  upserts: fc.array(members, { maxLength: 20 }),
  removals: fc.array(ascii, { maxLength: 20 }),
  acks: fc.array(acks, { maxLength: 3 }),
  relisted: fc.subarray([...OUTPUT_KINDS]),
  observed: fc.array(observations, { maxLength: 3 }),
});

const cpuShares: fc.Arbitrary<CpuShares> = fc.record({
  version: safeInteger,
  zones: fc.array(fc.record({ zone: ascii, share: fc.double({ min: 0, max: 1, noNaN: true }) }), { maxLength: 5 }),
});

export const batches: fc.Arbitrary<Batch> = fc.record({
  seed: fc.nat(0xffff_ffff),
  shares: fc.option(fc.option(cpuShares), { nil: undefined }),
  entries: fc.array(batchEntries, { maxLength: 20 }),
});

const writes = fc.array(
  fc.record({
    id: safeInteger,
    verb: fc.constantFrom('create', 'update', 'delete'),
    name: ascii,
    uid: ascii,
    resourceVersion: ascii,
    phase: fc.constantFrom(1, 2),
    waits: fc.boolean(),
    family: ascii,
    body: fc.uint8Array({ maxLength: 5000 }),
  }),
  { maxLength: 3 },
);

const facts: { readonly [K in OutputKind]: fc.Arbitrary<OutputFacts[K]> } = {
  endpoints: fc.record({ ready: fc.nat(), notReady: fc.nat(), truncated: fc.nat() }),
  slices: fc.record(
    {
      families: fc.array(
        fc.record({
          family: fc.constantFrom('IPv4', 'IPv6'),
          endpoints: fc.nat(),
          slices: fc.nat(),
          slicesDesired: fc.nat(),
          added: fc.nat(),
          removed: fc.nat(),
          writes: fc.nat(),
          hints: fc.option(fc.array(fc.record({ zone: ascii, count: fc.nat() }), { maxLength: 5 })),
          hintsFailure: ascii,
        }),
        { maxLength: 2 },
      ),
      topology: fc.boolean(),
      trafficDistribution: ascii,
      waitingForNode: fc.nat(),
      fragmented: fc.boolean(),
    },
    { requiredKeys: ['families', 'topology', 'trafficDistribution', 'waitingForNode'] },
  ),
  mirror: fc.record(
    {
      nodes: fc.array(ascii, { maxLength: 3 }),
      endpoints: fc.nat(),
      slices: fc.nat(),
      slicesDesired: fc.nat(),
      added: fc.nat(),
      updated: fc.nat(),
      removed: fc.nat(),
      skipped: fc.nat(),
    },
    { requiredKeys: ['endpoints', 'slices', 'slicesDesired', 'added', 'updated', 'removed', 'skipped'] },
  ),
};

function plansOf<K extends OutputKind>(output: K): fc.Arbitrary<Plan<K>> {
  return fc
    .tuple(facts[output], writes, fc.boolean())
    .map(([facts, writes, isWhole]) => ({ facts: { kind: output, ...facts }, writes, isWhole }));
}

export const replies: fc.Arbitrary<PlanReply> = fc.record({
  error: fc.option(anyText),
  results: fc.array(
    fc.record({
      service: ascii,
      needFull: fc.boolean(),
      plans: fc.array(fc.oneof(...OUTPUT_KINDS.map(plansOf)), { maxLength: 3 }),
      failures: fc.array(fc.record({ output: outputKinds, message: anyText }), { maxLength: 3 }),
      problems: fc.array(
        fc.record({
          kind: fc.constantFrom('bad-address', 'unknown-field', 'truncated'),
          object: anyText,
          field: anyText,
          message: anyText,
        }),
        { maxLength: 3 },
      ),
      error: fc.option(anyText),
    }),
    { maxLength: 20 },
  ),
});
