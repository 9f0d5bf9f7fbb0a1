/** Fills the caches of real controllers with services, nodes and pods in the form of the wire, and weighs them. */
import { parseRunFlags } from '../../src/cli/flags/flags.ts';
import { nodeTarget, podTarget, serviceTarget } from '../../src/controller/caches/inputs.ts';
import { createState } from '../../src/controller/initial-state.ts';
import type { ReflectorTarget, Versioned } from '../../src/controller/reflectors/reflector.ts';
import { workDepth } from '../../src/controller/queues/workqueue.ts';
import { podCount } from '../../src/core/selector-index.ts';
import type { ObjectSource } from '../../src/kube/source.ts';
import { createMetricStore } from '../../src/metrics/store.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
import { nodeObject, podObject, serviceObject } from '../../src/workload/objects.ts';
import { findProfile } from '../../src/workload/profile.ts';
import { SEED } from '../support/records.ts';
import { storedNodeSource, storedPodSource, storedServiceSource } from '../support/stored-pod.ts';

export interface Weights {
  readonly pods: number;
  readonly services: number;
  readonly nodes: number;
  /** How many units wait in the queues of all controllers. */
  readonly queued: number;
  /**
   * Bytes of heap and array buffers after a collection: without objects. The next ones: with the services, then with
   * the nodes, then with the pods too, then when each pod has come once more, in another order.
   */
  readonly empty: number;
  readonly withServices: number;
  readonly withNodes: number;
  readonly withPods: number;
  readonly withAgedPods: number;
}

/** Times with a fraction, as clocks give them: such a number takes more memory. */
const NOW = { nowMs: 1234.5, wallMs: 1_760_000_000_000.5 };

/** @param controllers the value of the flag */
function measure(controllers: string, namespaces: number): Weights {
  const profile = { ...findProfile('large'), namespaces };
  const options = parseRunFlags([`--controllers=${controllers}`], () => undefined).controller;
  const state = createState({ options, metrics: createMetricStore(), host: 'bench' }, 1, SEED);
  // The state after the first lists, so that each change also waits in the work queue.
  state.phase = 'running';
  for (const controller of state.controllers) controller.running = true;
  const services = serviceTarget(state);
  const nodes = nodeTarget(state);
  const pods = podTarget(state);
  const empty = weigh();
  for (const source of serviceSources(profile)) upsert(services, source);
  const withServices = weigh();
  // The endpoints controller reads no nodes, so alone it gets none.
  if (options.slices) for (const source of nodeSources(profile)) upsert(nodes, source);
  const withNodes = weigh();
  for (const source of podSources(profile)) upsert(pods, source);
  const withPods = weigh();
  for (const source of agedPodSources(profile)) upsert(pods, source);
  const withAgedPods = weigh();
  return {
    pods: podCount(state.index),
    services: state.serviceCount,
    nodes: state.nodes.nodes.size,
    queued: state.controllers.reduce((sum, { queue }) => sum + workDepth(queue), 0),
    empty,
    withServices,
    withNodes,
    withPods,
    withAgedPods,
  };
}

/** The generator's model can be collected after the last object was drawn. */
function* serviceSources(profile: ReturnType<typeof findProfile>): Generator<ReturnType<typeof storedServiceSource>> {
  let revision = 0;
  for (const service of makeCluster(profile, SEED).services) {
    yield storedServiceSource(serviceObject(service), ++revision);
  }
}

function* nodeSources(profile: ReturnType<typeof findProfile>): Generator<ReturnType<typeof storedNodeSource>> {
  let revision = 500_000;
  for (const node of makeCluster(profile, SEED).nodes) yield storedNodeSource(nodeObject(node), ++revision);
}

function* podSources(profile: ReturnType<typeof findProfile>): Generator<ReturnType<typeof storedPodSource>> {
  const cluster = makeCluster(profile, SEED);
  let revision = 1_000_000;
  for (const pod of cluster.pods) yield storedPodSource(podObject(cluster, pod), ++revision);
}

/** A prime, so that pods of one template come far apart, as they change in a cluster's life. */
const STRIDE = 7919;

function* agedPodSources(profile: ReturnType<typeof findProfile>): Generator<ReturnType<typeof storedPodSource>> {
  const cluster = makeCluster(profile, SEED);
  const pods = [...cluster.pods];
  for (let i = 0; i < pods.length; i++) {
    yield storedPodSource(podObject(cluster, pods[(i * STRIDE) % pods.length]!), 2_000_000 + i);
  }
}

function upsert<R extends Versioned>(target: ReflectorTarget<R>, source: ObjectSource): void {
  const record = target.project(source);
  target.upsert(record, source, record.resourceVersion, NOW);
}

/** One collection does not free everything: objects that it finds may hold others. */
const COLLECTIONS_MAX = 10;

function weigh(): number {
  const { gc } = globalThis;
  if (gc === undefined) throw new Error('to be started with --expose-gc');
  let least = Infinity;
  for (let i = 0; i < COLLECTIONS_MAX; i++) {
    gc();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    const bytes = heapUsed + arrayBuffers;
    if (bytes >= least) break;
    least = bytes;
  }
  return least;
}

const [controllers, namespaces] = process.argv.slice(2);
// The first round pays for costs that occur once in a process, such as compiled code.
measure(controllers!, 1);
process.stdout.write(JSON.stringify(measure(controllers!, Number(namespaces))));
