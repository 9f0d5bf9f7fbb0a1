/**
 * What a scheduler, the kubelets of all nodes and the collector of orphaned pods do to pods, without running any of
 * them. Events of nodes and pods go in, and requests come out when they are due. Each request depends only on the pod's
 * last known state, so a lost event, request or reply only delays it. All times are wall-clock milliseconds, because
 * grace periods are.
 */
import { createHeap, heapFirst, heapPlace, heapRemove, type Heap } from '../lib/heap.ts';
import { createPrng, nextFloat, nextInt, type Prng } from '../lib/prng.ts';
import { JSON_TYPE } from '../kube/media-type.ts';
import { formatTime } from '../kube/time.ts';
import type { KubeObject } from '../kube/types.ts';
import { secondAddress } from './cluster.ts';
import { readNode, readPod, sameNode, type NodeView, type PodView } from './kubelet-view.ts';
import { STRATEGIC_MERGE_PATCH, type WorkloadRequest } from './request.ts';

export interface KubeletsOptions {
  readonly seed: number;
  /**
   * The mean time of each step of a pod: scheduled, started, made ready, ended. Each step takes 0.5 to 1.5 times as
   * long.
   */
  readonly stepMs: number;
  /** Namespaces whose pods somebody else runs. Only pods that outstay their grace period are ended there. */
  readonly leftAlone: ReadonlySet<string>;
  /** Whether each new pod gets an IPv6 address too. Default: false. */
  readonly dualStack?: boolean;
}

/** A request to send now. The caller tells its outcome to `settle`. */
export interface KubeletRequest {
  /** `<namespace>/<name>` of the pod. */
  readonly pod: string;
  readonly step: Step;
  readonly request: WorkloadRequest;
}

export type Step = 'bind' | 'start' | 'ready' | 'stop' | 'end';

interface PodEntry {
  readonly key: string;
  view: PodView;
  /** The step that is due at `dueMs`, or whose request is under way. */
  step: Step | null;
  dueMs: number;
  /** Of pods that are due at the same time, the one with the lower order comes first. */
  readonly order: number;
  /** Whether a request is under way. */
  busy: boolean;
  /** Whether it has changed since the request was sent. */
  changed: boolean;
  /** Whether it was ready once. From then on its readiness is left to whoever patches it. */
  wasReady: boolean;
  failures: number;
  heapIndex: number;
}

export interface Kubelets {
  readonly options: KubeletsOptions;
  readonly prng: Prng;
  readonly nodes: Map<string, NodeView>;
  readonly pods: Map<string, PodEntry>;
  readonly due: Heap<PodEntry>;
  /** Addresses that were given, or seen on a pod. */
  readonly addresses: Set<string>;
  addressesMade: number;
  orders: number;
}

const RETRY_MS_MIN = 100;
const RETRY_MS_MAX = 10_000;
const NODE_TRIES = 8;

export function createKubelets(options: KubeletsOptions): Kubelets {
  return {
    options,
    prng: createPrng(options.seed),
    nodes: new Map(),
    pods: new Map(),
    due: createHeap<PodEntry>((a, b) => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order)),
    addresses: new Set(),
    addressesMade: 0,
    orders: 0,
  };
}

/** Takes the state of a node. The node's kubelet runs as long as the node exists. */
export function observeNode(kubelets: Kubelets, nowMs: number, object: KubeObject): void {
  const view = readNode(object);
  const known = kubelets.nodes.get(view.name);
  kubelets.nodes.set(view.name, view);
  if (known === undefined || !sameNode(known, view)) replanIdle(kubelets, nowMs);
}

export function forgetNode(kubelets: Kubelets, nowMs: number, name: string): void {
  if (kubelets.nodes.delete(name)) replanIdle(kubelets, nowMs);
}

/** Plans all idle pods again: some have waited for a node, or have lost theirs. */
function replanIdle(kubelets: Kubelets, nowMs: number): void {
  for (const entry of kubelets.pods.values()) if (!entry.busy) plan(kubelets, entry, nowMs);
}

/** Takes the state of a pod. */
export function observePod(kubelets: Kubelets, nowMs: number, object: KubeObject): void {
  const view = readPod(object);
  const key = `${view.namespace}/${view.name}`;
  if (kubelets.options.leftAlone.has(view.namespace) && view.deletionSeconds === null) {
    forgetPod(kubelets, view.namespace, view.name);
    return;
  }
  let entry = kubelets.pods.get(key);
  if (entry !== undefined && entry.view.uid !== view.uid) {
    forgetPod(kubelets, view.namespace, view.name);
    entry = undefined;
  }
  if (entry === undefined) {
    const order = kubelets.orders++;
    const idle = { step: null, dueMs: 0, busy: false, changed: false, wasReady: false, failures: 0, heapIndex: -1 };
    entry = { key, view, order, ...idle };
    kubelets.pods.set(key, entry);
  }
  entry.view = view;
  if (view.ready) entry.wasReady = true;
  if (view.podIP !== '') kubelets.addresses.add(view.podIP);
  if (entry.busy) entry.changed = true;
  else plan(kubelets, entry, nowMs);
}

export function forgetPod(kubelets: Kubelets, namespace: string, name: string): void {
  const key = `${namespace}/${name}`;
  const entry = kubelets.pods.get(key);
  if (entry === undefined) return;
  kubelets.pods.delete(key);
  kubelets.addresses.delete(entry.view.podIP);
  heapRemove(kubelets.due, entry);
}

/** When `takeDue` next has a request; Infinity = not before the next event. */
export function nextDueMs({ due }: Kubelets): number {
  return heapFirst(due)?.dueMs ?? Number.POSITIVE_INFINITY;
}

/** The next request that is due; null = there is none. */
export function takeDue(kubelets: Kubelets, nowMs: number): KubeletRequest | null {
  for (;;) {
    const entry = heapFirst(kubelets.due);
    if (entry === undefined || entry.dueMs > nowMs) return null;
    heapRemove(kubelets.due, entry);
    const request = requestOf(kubelets, entry, Math.floor(nowMs / 1000));
    if (request === null) continue;
    entry.busy = true;
    entry.changed = false;
    return { pod: entry.key, step: entry.step!, request };
  }
}

/** Takes the outcome of a request from `takeDue`. A request without an answer has failed. */
export function settle(kubelets: Kubelets, nowMs: number, { pod, step }: KubeletRequest, done: boolean): void {
  const entry = kubelets.pods.get(pod);
  if (entry === undefined || !entry.busy) return;
  entry.busy = false;
  if (done) {
    entry.failures = 0;
    if (step === 'ready') entry.wasReady = true;
    entry.step = null;
    // If no event has come yet, the event of this write will plan the pod.
    if (entry.changed) plan(kubelets, entry, nowMs);
    return;
  }
  entry.failures++;
  const waitMs = Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** Math.min(entry.failures, 10));
  entry.step = stepOf(kubelets, entry);
  if (entry.step !== null) schedule(kubelets, entry, nowMs + waitMs);
}

function plan(kubelets: Kubelets, entry: PodEntry, nowMs: number): void {
  const step = stepOf(kubelets, entry);
  if (step === entry.step && (step === null || entry.heapIndex !== -1)) return;
  entry.step = step;
  if (step === null) heapRemove(kubelets.due, entry);
  else schedule(kubelets, entry, nowMs + stepMs(kubelets, entry, nowMs));
}

function schedule(kubelets: Kubelets, entry: PodEntry, dueMs: number): void {
  entry.dueMs = dueMs;
  heapPlace(kubelets.due, entry);
}

function stepMs({ options, prng }: Kubelets, { view, step }: PodEntry, nowMs: number): number {
  const ms = options.stepMs * (0.5 + nextFloat(prng));
  if (step !== 'stop' && step !== 'end') return ms;
  const leftMs = view.deletionSeconds! * 1000 - nowMs;
  // In a namespace that is left alone a pod has its whole grace period. A kubelet ends a pod when its containers have
  // ended, or the period is over.
  return options.leftAlone.has(view.namespace) ? Math.max(ms, leftMs + 1000) : Math.max(0, Math.min(ms, leftMs));
}

/** The pod's next step, from its last known state. */
function stepOf(kubelets: Kubelets, { view, wasReady }: PodEntry): Step | null {
  const ended = view.phase === 'Succeeded' || view.phase === 'Failed';
  const hasKubelet = kubelets.nodes.has(view.nodeName);
  if (view.deletionSeconds !== null) {
    // Only finalizers hold it.
    if (view.graceSeconds === 0) return null;
    const leftAlone = kubelets.options.leftAlone.has(view.namespace);
    return ended || !hasKubelet || leftAlone ? 'end' : 'stop';
  }
  if (ended) return null;
  if (view.nodeName === '') return view.schedulable && canSchedule(kubelets, view) ? 'bind' : null;
  if (!hasKubelet) return null;
  if (view.podIP === '' || view.phase !== 'Running') return 'start';
  return wasReady || view.ready || !view.gatesOpen ? null : 'ready';
}

function requestOf(kubelets: Kubelets, { view, step }: PodEntry, seconds: number): WorkloadRequest | null {
  const { namespace, name, uid } = view;
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  const metadata = { name, namespace, uid };
  const status = (fields: object): WorkloadRequest => ({
    method: 'PATCH',
    path: `${path}/status`,
    contentType: STRATEGIC_MERGE_PATCH,
    body: { metadata: { uid }, status: fields },
  });
  switch (step) {
    case 'bind': {
      const node = pickNode(kubelets, view);
      if (node === null) return null;
      const body = {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata,
        target: { apiVersion: 'v1', kind: 'Node', name: node },
      };
      return { method: 'POST', path: `${path}/binding`, contentType: JSON_TYPE, body };
    }
    case 'start':
      return status(startedStatus(kubelets, view, seconds));
    case 'ready':
      return status(readyStatus(view, seconds));
    case 'stop':
      return status(stoppedStatus(view, seconds));
    case 'end': {
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0, preconditions: { uid } };
      return { method: 'DELETE', path, contentType: JSON_TYPE, body };
    }
    case null:
      return null;
  }
}

function canSchedule({ nodes }: Kubelets, view: PodView): boolean {
  for (const node of nodes.values()) if (fits(node, view)) return true;
  return false;
}

/** A node that fits, drawn evenly as long as most nodes fit. */
function pickNode({ nodes, prng }: Kubelets, view: PodView): string | null {
  const all = [...nodes.values()];
  for (let tries = 0; tries < NODE_TRIES && all.length > 0; tries++) {
    const node = all[nextInt(prng, all.length)]!;
    if (fits(node, view)) return node.name;
  }
  return all.find((node) => fits(node, view))?.name ?? null;
}

function fits({ unschedulable, labels }: NodeView, { nodeSelector }: PodView): boolean {
  return !unschedulable && nodeSelector.every(([key, value]) => labels[key] === value);
}

/** The status with running containers. Without a readiness probe the containers are ready too. */
function startedStatus(kubelets: Kubelets, view: PodView, seconds: number): object {
  const node = kubelets.nodes.get(view.nodeName)!;
  const podIPs = podAddresses(kubelets, view, node);
  const ready = !view.hasReadinessProbe;
  return {
    phase: 'Running',
    hostIP: node.address,
    hostIPs: [{ ip: node.address }],
    podIP: podIPs[0],
    podIPs: podIPs.map((ip) => ({ ip })),
    startTime: formatTime(seconds),
    conditions: [
      condition('PodReadyToStartContainers', true, seconds),
      condition('Initialized', true, seconds),
      condition('ContainersReady', ready, seconds),
      condition('Ready', ready && view.gatesOpen, seconds),
      condition('PodScheduled', true, seconds),
    ],
    containerStatuses: containerStatuses(view, ready, { running: { startedAt: formatTime(seconds) } }),
  };
}

function podAddresses(kubelets: Kubelets, { podIP, hostNetwork }: PodView, node: NodeView): readonly string[] {
  if (podIP !== '') return [podIP];
  if (hostNetwork) return [node.address];
  const address = takeAddress(kubelets);
  return kubelets.options.dualStack === true ? [address, secondAddress(address)] : [address];
}

function readyStatus(view: PodView, seconds: number): object {
  const startedAt = view.startTime === '' ? formatTime(seconds) : view.startTime;
  return {
    conditions: [condition('ContainersReady', true, seconds), condition('Ready', true, seconds)],
    containerStatuses: containerStatuses(view, true, { running: { startedAt } }),
  };
}

/** The status after all containers have ended by themselves. */
function stoppedStatus(view: PodView, seconds: number): object {
  const finishedAt = formatTime(seconds);
  const startedAt = view.startTime === '' ? finishedAt : view.startTime;
  const terminated = { exitCode: 0, reason: 'Completed', startedAt, finishedAt };
  return {
    phase: 'Succeeded',
    conditions: [
      { ...condition('ContainersReady', false, seconds), reason: 'PodCompleted' },
      { ...condition('Ready', false, seconds), reason: 'PodCompleted' },
    ],
    containerStatuses: containerStatuses(view, false, { terminated }),
  };
}

function containerStatuses({ containers, uid }: PodView, ready: boolean, state: object): object[] {
  return containers.map(({ name, image }) => ({
    name,
    image,
    imageID: image,
    containerID: `containerd://${uid}-${name}`,
    ready,
    started: ready || !('terminated' in state),
    restartCount: 0,
    state,
    lastState: {},
  }));
}

function condition(type: string, value: boolean, seconds: number): object {
  return { type, status: value ? 'True' : 'False', lastTransitionTime: formatTime(seconds) };
}

const ADDRESSES_MAX = 2 ** 23;

/** Addresses of 10.128.0.0/9, which overlaps neither with seeded clusters nor with the usual service network. */
function takeAddress(kubelets: Kubelets): string {
  for (;;) {
    const made = (kubelets.addressesMade = (kubelets.addressesMade + 1) % ADDRESSES_MAX);
    const address = `10.${128 + (made >>> 16)}.${(made >>> 8) & 255}.${made & 255}`;
    if (kubelets.addresses.has(address)) continue;
    kubelets.addresses.add(address);
    return address;
  }
}
