import type { Member } from '../../src/core/member.ts';
import type { ServiceRecord } from '../../src/kube/types.ts';
import { decodeBatch, encodeBatch } from '../../src/shard/codec.ts';
import type { Batch, BatchEntry } from '../../src/shard/protocol.ts';
import type { BenchCase, MicroBench, Size } from '../support/micro-bench.ts';
import { clusterRecords, flipped, spellOut } from '../support/records.ts';
import { batchEntry } from '../../test/support/batches.ts';

export const codecBench: MicroBench = { name: 'shard/codec', prepare };

function prepare(size: Size): readonly BenchCase[] {
  const { services, pods } = clusterRecords('spread', {
    namespaces: 1,
    servicesPerNamespace: size === 'full' ? 100 : 4,
  });
  const delta = (service: ServiceRecord, i: number): BatchEntry => ({
    ...NOTHING,
    service: `${service.namespace}/${service.name}`,
    base: 1,
    upserts: [{ pod: flipped(pods[i * 5]!, 1_000_000 + i), zone: 'zone-a' }],
  });
  const snapshot = (service: ServiceRecord, i: number): BatchEntry => ({
    ...NOTHING,
    service: `${service.namespace}/${service.name}`,
    spec: service,
    upserts: pods.slice(i * 5, i * 5 + 5).map((pod) => ({ pod, zone: 'zone-a' })),
  });
  return [...cases('delta of one pod', services.map(delta)), ...cases('snapshot of 5 pods', services.map(snapshot))];
}

function cases(name: string, entries: readonly BatchEntry[]): readonly BenchCase[] {
  const batch: Batch = { seed: 1, shares: undefined, entries };
  const bytes = encodeBatch(batch);
  const note = `${Math.round(bytes.length / entries.length)} B`;
  const operations = entries.length;
  return [
    {
      name: `${name}: encode`,
      note,
      operations,
      run: () => encodeBatch(batch),
      meaning: (encoded) => meaning(decodeBatch(encoded as Uint8Array)),
    },
    { name: `${name}: decode`, note, operations, run: () => decodeBatch(bytes), meaning },
  ];
}

function meaning(decoded: unknown): unknown {
  const { entries } = decoded as Batch;
  return {
    entries: entries.map((entry) => Object.assign({}, entry, { upserts: spellOutMembers(entry.upserts) })),
  };
}

function spellOutMembers(members: readonly Member[]): readonly Member[] {
  const pods = spellOut(members.map(({ pod }) => pod));
  return members.map(({ zone }, i) => ({ pod: pods[i]!, zone }));
}

const NOTHING = batchEntry({ service: '', outputs: ['endpoints'] });
