import { decodeMessage } from '../../src/kube/codec.ts';
import { projectPod } from '../../src/kube/project.ts';
import { messageOf } from '../../src/kube/schema.ts';
import type { ObjectSource } from '../../src/kube/source.ts';
import type { PodRecord } from '../../src/kube/types.ts';
import { createInterner } from '../../src/lib/interner.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
import { podObject } from '../../src/workload/objects.ts';
import { findProfile } from '../../src/workload/profile.ts';
import type { BenchCase, MicroBench, Size } from '../support/micro-bench.ts';
import { SEED, spellOut } from '../support/records.ts';
import { storedPodJson, storedPodSource } from '../support/stored-pod.ts';

export const projectBench: MicroBench = { name: 'kube/project', prepare };

function prepare(size: Size): readonly BenchCase[] {
  const servicesPerNamespace = size === 'full' ? 100 : 4;
  const cluster = makeCluster({ ...findProfile('spread'), namespaces: 1, servicesPerNamespace }, SEED);
  const objects = cluster.pods.map((pod) => podObject(cluster, pod));
  const sources = objects.map((object, i) => storedPodSource(object, i + 1));
  const texts = objects.map((object, i) => JSON.stringify(storedPodJson(object, i + 1)));
  const podMessage = messageOf('v1', 'Pod')!;
  const interner = createInterner();
  const bytesOf = (source: ObjectSource): number => (source.encoding === 'protobuf' ? source.bytes.length : 0);
  const protobufSize = `${mean(sources.map(bytesOf))} B`;
  const jsonSize = `${mean(texts.map((text) => text.length))} B`;
  return [
    {
      name: 'project a pod in protobuf',
      note: protobufSize,
      operations: sources.length,
      run: () => sources.map((source) => projectPod(source, interner)),
      meaning,
    },
    {
      name: 'project a pod in JSON, parsing included',
      note: jsonSize,
      operations: texts.length,
      run: () =>
        texts.map((text) =>
          projectPod({ encoding: 'json', kind: 'Pod', apiVersion: 'v1', value: JSON.parse(text) as object }, interner),
        ),
      meaning,
    },
    {
      name: 'read a pod whole, for comparison',
      note: protobufSize,
      operations: sources.length,
      run: () =>
        sources.map((source) => (source.encoding === 'protobuf' ? decodeMessage(podMessage, source.bytes) : null)),
    },
  ];
}

function meaning(pods: unknown): unknown {
  return spellOut(pods as PodRecord[]);
}

function mean(values: readonly number[]): number {
  return Math.round(values.reduce((sum, value) => sum + value, 0) / values.length);
}
