/** What one controller costs beside another: from nothing, at a restart, and for each flip of a pod in a large service. */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../../src/node/api-client.ts';
import type { Cluster, PodModel } from '../../src/workload/cluster.ts';
import { readinessConditions } from '../../src/workload/objects.ts';
import { patchStatus } from '../../src/workload/request.ts';
import {
  converged,
  deleteOutputs,
  stopOutputs,
  watchOutputs,
  writesOf,
  type ExpectedOutputs,
  type Outputs,
  type Writes,
} from '../support/outputs.ts';
import { usageOf } from '../support/process-usage.ts';

export interface Peer {
  readonly name: string;
  readonly start: () => Promise<RunningPeer>;
}

export interface RunningPeer {
  readonly pid: number;
  readonly stop: () => Promise<unknown>;
  /** Rejects when the process ends by itself. */
  readonly failed?: Promise<never>;
}

/** A cluster on the server, and what it must come to. */
export interface Scene {
  readonly client: ApiClient;
  readonly cluster: Cluster;
  readonly expected: ExpectedOutputs;
}

export interface ColdFigures {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly writes: Writes;
  readonly peakBytes: number;
  readonly restartCpuSeconds: number;
  readonly restartWrites: Writes;
}

export interface FlipFigures {
  readonly flips: number;
  /** Of all flips. */
  readonly cpuSeconds: number;
  readonly writes: Writes;
  /** From the request of a flip until a watcher sees it; empty = nothing of the kind is written. */
  readonly endpointsMs: readonly number[];
  readonly slicesMs: readonly number[];
}

const CONVERGE_MS_MAX = 120_000;
const FLIP_INTERVAL_MS = 200;

/**
 * From nothing to right, then once more from the start with nothing to do. The CPU is that of the controller's process, its
 * start included. Leaves nothing behind.
 * @param restartMs long enough for any controller to finish what a start makes it do
 */
export async function measureCold(peer: Peer, scene: Scene, restartMs: number): Promise<ColdFigures> {
  const { client, cluster, expected } = scene;
  const outputs = await watchOutputs(client);
  const from = performance.now();
  const first = await peer.start();
  await becomesRight(peer, first, outputs, expected);
  const seconds = (performance.now() - from) / 1000;
  const { cpuSeconds, peakBytes } = usageOf(first.pid);
  await first.stop();
  const writes = writesOf(outputs);

  const second = await peer.start();
  await sleep(restartMs);
  const { cpuSeconds: restartCpuSeconds } = usageOf(second.pid);
  await second.stop();
  const restartWrites = writesOf(outputs, writes);
  stopOutputs(outputs);
  await deleteOutputs(client, cluster.namespaces);
  return { seconds, cpuSeconds, writes, peakBytes, restartCpuSeconds, restartWrites };
}

/**
 * One pod after the other of the first service, unready and then ready again. Leaves nothing behind.
 * @param flips even; as many come first and don't count
 * @param settleMs waited before and after
 */
export async function measureFlips(peer: Peer, scene: Scene, flips: number, settleMs: number): Promise<FlipFigures> {
  const { client, cluster, expected } = scene;
  const outputs = await watchOutputs(client);
  const controller = await peer.start();
  await becomesRight(peer, controller, outputs, expected);
  // What runs for weeks is measured, not its first seconds: the code of one peer is compiled as it is used.
  await flipInTurn(scene, outputs, flips, { endpointsMs: [], slicesMs: [] });
  await becomesRight(peer, controller, outputs, expected);
  await sleep(settleMs);
  const writesBefore = writesOf(outputs);
  const cpuBefore = usageOf(controller.pid).cpuSeconds;
  const latencies = { endpointsMs: [], slicesMs: [] };
  await flipInTurn(scene, outputs, flips, latencies);
  await sleep(settleMs);
  const cpuSeconds = usageOf(controller.pid).cpuSeconds - cpuBefore;
  const writes = writesOf(outputs, writesBefore);
  // Every pod is as it was.
  await becomesRight(peer, controller, outputs, expected);
  await controller.stop();
  stopOutputs(outputs);
  await deleteOutputs(client, cluster.namespaces);
  return { flips, cpuSeconds, writes, ...latencies };
}

interface Latencies {
  readonly endpointsMs: number[];
  readonly slicesMs: number[];
}

async function flipInTurn(scene: Scene, outputs: Outputs, flips: number, latencies: Latencies): Promise<void> {
  // The lowest addresses are those that an object of 1,000 holds.
  const pods = scene.cluster.pods.slice(0, flips / 2);
  const from = performance.now();
  for (let i = 0; i < flips; i++) {
    const ahead = from + i * FLIP_INTERVAL_MS - performance.now();
    if (ahead > 0) await sleep(ahead);
    await flip(scene, outputs, pods[i % pods.length]!, latencies);
  }
}

async function becomesRight(
  { name }: Peer,
  { failed }: RunningPeer,
  outputs: Outputs,
  expected: ExpectedOutputs,
): Promise<void> {
  const right = converged(outputs, expected, CONVERGE_MS_MAX);
  try {
    await (failed === undefined ? right : Promise.race([right, failed]));
  } catch (error) {
    throw new Error(`${name}: ${(error as Error).message}`, { cause: error });
  }
}

async function flip(
  { client, cluster, expected }: Scene,
  outputs: Outputs,
  pod: PodModel,
  latencies: Latencies,
): Promise<void> {
  const [{ namespace, name }] = cluster.services as [Cluster['services'][number]];
  pod.ready = !pod.ready;
  const conditions = readinessConditions(pod.ready, Math.floor(Date.now() / 1000));
  const sent = performance.now();
  if (expected.endpoints.size > 0) {
    outputs.endpoints.expectAddress(`${namespace}/${name}`, pod.address, pod.ready, () =>
      latencies.endpointsMs.push(performance.now() - sent),
    );
  }
  if (expected.slices.size > 0) {
    outputs.slices.expectAddress(`${namespace}/${name}`, pod.address, pod.ready, () =>
      latencies.slicesMs.push(performance.now() - sent),
    );
  }
  await client.send(patchStatus('Pod', pod.app.namespace, pod.name, { conditions }));
}
