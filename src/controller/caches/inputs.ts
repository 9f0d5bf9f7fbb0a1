/**
 * Puts pods, Services and nodes into the caches and the selector index as they come. Says which services a change makes
 * dirty.
 */
import { collectForMs, createPace } from '../queues/batch-pace.ts';
import type { Now } from '../event.ts';
import { FORGOTTEN_VERSION, givesWay } from '../reflectors/history.ts';
import { noteZone } from './mirror-zones.ts';
import type { ControllerOptions } from '../options.ts';
import type { ReflectorTarget } from '../reflectors/reflector.ts';
import { allServices, ensureService, ensureUnit, getService, releaseService } from './services.ts';
import { isOptedOut, isPlannedFromPods, type ServiceState, type Unit } from './service-state.ts';
import type { ControllerState } from '../state.ts';
import { noteChangedPod, noteChangedSpec, outdateInputs } from '../syncs/planner-view.ts';
import { followNode, followShares, linger, wantsHints } from './replan.ts';
import { hasWork } from './unit.ts';
import { addWork } from '../queues/workqueue.ts';
import {
  allNodes,
  currentShares,
  getNode,
  movePod,
  podsOnNode,
  putNode,
  removeNode,
  type NodeChange,
} from '../../core/node-table.ts';
import { planningDiffers, reactionTo, type Reaction } from '../../core/pod-changes.ts';
import { podEffectOf } from '../../core/pod-effect.ts';
import {
  allPods,
  getPod,
  putPod,
  putService,
  removePod,
  removeService,
  servicesOf,
} from '../../core/selector-index.ts';
import { servicePortsEqual } from '../../core/target-port.ts';
import { labelsEqual } from '../../kube/labels.ts';
import { projectNode, projectPod, projectService } from '../../kube/project.ts';
import type { NodeRecord, PodRecord, ServiceRecord } from '../../kube/types.ts';
import { sameTexts } from '../../lib/same-list.ts';

export function podTarget(state: ControllerState): ReflectorTarget<PodRecord> {
  return {
    project: (source) => projectPod(source, state.interner, state.options.kubeletShutdownIsTermination),
    cachedVersion: ({ namespace, name }) => getPod(state.index, namespace, name)?.resourceVersion ?? '',
    markOf: (namespace, name) => getPod(state.index, namespace, name),
    upsert(pod, _source, upTo, now) {
      const cached = getPod(state.index, pod.namespace, pod.name);
      if (cached !== undefined && (!givesWay(cached.resourceVersion, upTo) || isSamePod(cached, pod))) return cached;
      const { previous, servicesBefore, servicesAfter } = putPod(state.index, pod);
      if (needsPodsByNode(state)) movePod(state.nodes, previous, pod);
      let watchInSeconds = -1;
      if (previous !== undefined && previous.readyTime !== pod.readyTime && pod.readyTime > 0) {
        const seconds = Math.max(0, now.wallMs / 1000 - pod.readyTime);
        watchInSeconds = Math.trunc(seconds);
        for (const { followsPods, instruments } of state.controllers) {
          if (followsPods) instruments.stage('watch_in').observe(seconds);
        }
      }
      const reaction = previous === undefined ? 'plan' : reactionTo(previous, pod);
      if (servicesBefore !== servicesAfter) {
        queueServicesOfMovedPod(previous, pod, servicesBefore, servicesAfter, reaction, now);
      } else for (const service of servicesAfter) react(service, previous, pod, reaction, now, watchInSeconds);
      return pod;
    },
    remove(pod, now) {
      const cached = getPod(state.index, pod.namespace, pod.name);
      // A newer list has overtaken this event.
      if (cached === undefined || !givesWay(cached.resourceVersion, pod.resourceVersion)) return;
      dropPod(state, cached, now);
    },
    removeUnmarked(marks, resourceVersion, now) {
      for (const pod of allPods(state.index)) {
        if (!marks.has(pod) && givesWay(pod.resourceVersion, resourceVersion)) dropPod(state, pod, now);
      }
    },
    listing() {},
    awaitedDeletes: () => null,
    forgetVersions() {
      for (const pod of allPods(state.index)) putPod(state.index, { ...pod, resourceVersion: FORGOTTEN_VERSION });
    },
  };
}

/** Whether the controllers that run need to know which pods are on a node. */
function needsPodsByNode({ controllers }: ControllerState): boolean {
  return controllers.some(({ followsNodes }) => followsNodes);
}

/** An equal pod changes nothing. The cached record stays, because the keys of the index share its texts. */
function isSamePod(cached: PodRecord, pod: PodRecord): boolean {
  return (
    cached.resourceVersion === pod.resourceVersion &&
    !planningDiffers(cached, pod) &&
    labelsEqual(cached.labels, pod.labels)
  );
}

/**
 * The pod is new, or its labels changed. The services that it left or entered change. Those that it stays in change only if
 * the pod itself has changed.
 */
function queueServicesOfMovedPod(
  previous: PodRecord | undefined,
  pod: PodRecord,
  servicesBefore: readonly ServiceState[],
  servicesAfter: readonly ServiceState[],
  reaction: Reaction,
  now: Now,
): void {
  const left = new Set(servicesBefore);
  for (const service of servicesAfter) {
    if (left.delete(service)) react(service, previous, pod, reaction, now);
    else noteAndQueue(service, undefined, pod, now);
  }
  for (const service of left) noteAndQueue(service, previous, undefined, now);
}

/** Reacts to the change of a pod that the service has had before, or to a new pod. */
function react(
  service: ServiceState,
  previous: PodRecord | undefined,
  pod: PodRecord,
  reaction: Reaction,
  now: Now,
  watchInSeconds = -1,
): void {
  if (reaction === 'plan') noteAndQueue(service, previous, pod, now, watchInSeconds);
  else if (reaction === 'note') noteChangedPod(service.view, pod.name);
}

function dropPod(state: ControllerState, pod: PodRecord, now: Now): void {
  const { servicesBefore } = removePod(state.index, pod.namespace, pod.name);
  if (needsPodsByNode(state)) movePod(state.nodes, pod, undefined);
  for (const service of servicesBefore) noteAndQueue(service, pod, undefined, now);
}

/**
 * A pod of the service has changed in a field that planning reads.
 * @param before undefined = the service has not had the pod
 * @param after undefined = the service has the pod no longer
 */
function noteAndQueue(
  service: ServiceState,
  before: PodRecord | undefined,
  after: PodRecord | undefined,
  now: Now,
  watchInSeconds = -1,
): void {
  noteChangedPod(service.view, (after ?? before)!.name);
  for (const unit of service.units) {
    const { controller } = unit;
    if (!controller.running || !controller.followsPods) continue;
    const delayMs = Math.max(controller.batchPeriodMs, pacedMs(unit, before, after, now));
    if (unit.changedAtMs < 0) {
      unit.changedAtMs = now.nowMs;
      unit.watchInSeconds = watchInSeconds;
    }
    addWork(controller.queue, unit.item, 'fresh', now.nowMs, delayMs);
  }
}

function pacedMs(unit: Unit, before: PodRecord | undefined, after: PodRecord | undefined, now: Now): number {
  const { adaptiveBatchPeriodMaxMs } = unit.controller.options;
  if (adaptiveBatchPeriodMaxMs === 0) return 0;
  unit.pace ??= createPace();
  const effect = podEffectOf(before ?? null, after ?? null);
  return collectForMs(unit.pace, effect, unit.changedAtMs < 0, now.nowMs, adaptiveBatchPeriodMaxMs);
}

export function serviceTarget(state: ControllerState): ReflectorTarget<ServiceRecord> {
  return {
    project: (source) => projectService(source, state.interner),
    cachedVersion: ({ namespace, name }) => getService(state, namespace, name)?.record?.resourceVersion ?? '',
    markOf: (namespace, name) => getService(state, namespace, name)?.record ?? undefined,
    upsert(record, _source, upTo, now) {
      const service = ensureService(state, record.namespace, record.name);
      const cached = service.record;
      if (cached !== null && !givesWay(cached.resourceVersion, upTo)) return cached;
      if (cached === null) state.existingServices++;
      service.record = record;
      ensureUnits(state, service);
      if (cached !== null && cached.uid === record.uid && sameSpec(cached, record, state.options)) return record;
      if (cached !== null && cached.uid === record.uid && sameSelector(cached, record, state.options)) {
        noteChangedSpec(service.view);
      } else {
        outdateInputs(service.view);
        putService(
          state.index,
          service,
          record.namespace,
          isPlannedFromPods(record, state.options) ? record.selector : null,
        );
      }
      serviceChanged(service, cached, record, now);
      return record;
    },
    remove(record, now) {
      const service = getService(state, record.namespace, record.name);
      const cached = service?.record ?? null;
      if (service === undefined || cached === null) return;
      if (!givesWay(cached.resourceVersion, record.resourceVersion)) return;
      dropService(state, service, now);
    },
    removeUnmarked(marks, resourceVersion, now) {
      for (const names of state.services.values()) {
        for (const service of names.values()) {
          const { record } = service;
          if (record === null || marks.has(record)) continue;
          if (givesWay(record.resourceVersion, resourceVersion)) dropService(state, service, now);
        }
      }
    },
    listing() {},
    awaitedDeletes: () => null,
    forgetVersions() {
      for (const service of allServices(state)) {
        if (service.record !== null) service.record = { ...service.record, resourceVersion: FORGOTTEN_VERSION };
      }
    },
  };
}

function dropService(state: ControllerState, service: ServiceState, now: Now): void {
  removeService(state.index, service);
  service.record = null;
  state.existingServices--;
  outdateInputs(service.view);
  ensureUnits(state, service);
  for (const unit of service.units) {
    const { controller } = unit;
    unit.changedAtMs = -1;
    if (!controller.running) continue;
    addWork(controller.queue, unit.item, 'chore', now.nowMs, controller.orphanGraceMs);
  }
  releaseService(state, service);
}

/**
 * Makes a unit for each controller that has something to plan or to clean up. A unit that owns slices is there already.
 */
function ensureUnits(state: ControllerState, service: ServiceState): void {
  for (const controller of state.controllers) if (hasWork(controller, service)) ensureUnit(service, controller);
}

function serviceChanged(service: ServiceState, before: ServiceRecord | null, after: ServiceRecord, now: Now): void {
  for (const unit of service.units) {
    const { controller } = unit;
    if (!controller.running || !controller.followsService(before, after, controller.options)) continue;
    addWork(controller.queue, unit.item, 'fresh', now.nowMs);
  }
}

function sameSelector(a: ServiceRecord, b: ServiceRecord, options: ControllerOptions): boolean {
  if ((a.type === 'ExternalName') !== (b.type === 'ExternalName')) return false;
  if (isOptedOut(a, options) !== isOptedOut(b, options)) return false;
  if (a.selector === null || b.selector === null) return a.selector === b.selector;
  return labelsEqual(a.selector, b.selector);
}

/** Whether all fields are equal that planning reads. A change of the status, for example, makes no difference. */
function sameSpec(a: ServiceRecord, b: ServiceRecord, options: ControllerOptions): boolean {
  return (
    sameSelector(a, b, options) &&
    a.type === b.type &&
    a.clusterIP === b.clusterIP &&
    a.publishNotReadyAddresses === b.publishNotReadyAddresses &&
    a.trafficDistribution === b.trafficDistribution &&
    a.deleting === b.deleting &&
    a.creationTime === b.creationTime &&
    labelsEqual(a.labels, b.labels) &&
    labelsEqual(a.annotations, b.annotations) &&
    sameTexts(a.ipFamilies, b.ipFamilies) &&
    servicePortsEqual(a.ports, b.ports)
  );
}

/** Slices depend on nodes: on their zones, on their existence, and on the shares of CPU behind hints. */
export function nodeTarget(state: ControllerState): ReflectorTarget<NodeRecord> {
  return {
    project: (source) => projectNode(source, state.interner),
    cachedVersion: ({ name }) => getNode(state.nodes, name)?.resourceVersion ?? '',
    markOf: (_namespace, name) => getNode(state.nodes, name),
    upsert(record, _source, upTo, now) {
      const cached = getNode(state.nodes, record.name);
      if (cached !== undefined && !givesWay(cached.resourceVersion, upTo)) return cached;
      const change = putNode(state.nodes, record);
      if (change.placeChanged) {
        replanPodsOfNode(state, record.name, ({ controller, item }) => {
          addWork(controller.queue, item, 'fresh', now.nowMs, controller.batchPeriodMs);
        });
      }
      followNodeChange(state, record.name, change, now);
      return record;
    },
    remove({ name, resourceVersion }, now) {
      const cached = getNode(state.nodes, name);
      if (cached === undefined || !givesWay(cached.resourceVersion, resourceVersion)) return;
      dropNodes(state, [cached], now);
    },
    removeUnmarked(marks, resourceVersion, now) {
      const gone = [...allNodes(state.nodes)].filter(
        (node) => !marks.has(node) && givesWay(node.resourceVersion, resourceVersion),
      );
      dropNodes(state, gone, now);
    },
    listing() {},
    awaitedDeletes: () => null,
    forgetVersions() {
      for (const node of allNodes(state.nodes)) {
        putNode(state.nodes, { ...node, resourceVersion: FORGOTTEN_VERSION });
      }
    },
  };
}

/**
 * For so long the pods of a Node that is gone stay in their slices, unless the Service is planned for another reason.
 * kube-controller-manager deletes such pods after 40 s. So a Node that is deleted by mistake and comes back costs nobody
 * an endpoint.
 */
const NODE_GONE_MS = 60_000;

/** All pods are marked first: the shares that change with one node must not take away the pods of the next. */
function dropNodes(state: ControllerState, nodes: readonly NodeRecord[], now: Now): void {
  for (const { name } of nodes) replanPodsOfNode(state, name, (unit) => linger(state.replan, unit, NODE_GONE_MS, now));
  for (const { name } of nodes) followNodeChange(state, name, removeNode(state.nodes, name), now);
}

/** The node is new, gone, or in another zone: the units with pods on it are to be planned again. */
function replanPodsOfNode(state: ControllerState, nodeName: string, planAgain: (unit: Unit) => void): void {
  const find = (namespace: string, name: string): PodRecord | undefined => getPod(state.index, namespace, name);
  for (const pod of podsOnNode(state.nodes, nodeName, find)) {
    for (const service of servicesOf(state.index, pod.namespace, pod.name)) {
      for (const unit of service.units) {
        const { controller } = unit;
        if (!controller.followsNodes) continue;
        noteChangedPod(service.view, pod.name);
        if (controller.running) planAgain(unit);
      }
    }
  }
}

/** Makes the services dirty that a node's change concerns beside those with pods on the node. */
function followNodeChange(state: ControllerState, nodeName: string, change: NodeChange, now: Now): void {
  if (change.placeChanged) {
    noteZone(state, nodeName);
    followNode(state.replan, nodeName, now);
  }
  // One node is enough to switch hints off, so further ones change nothing.
  if (change.spoilsShares !== '' && state.nodes.zoneShares.spoilers === 1 && wantsHints(state.replan)) {
    state.outbox.log('warning', 0, 'No topology hints by CPU while this lasts', {
      node: nodeName,
      reason: change.spoilsShares,
    });
  }
  if (change.sharesChanged) followShares(state.replan, currentShares(state.nodes), now);
}
