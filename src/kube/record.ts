import { sameTexts } from '../lib/same-list.ts';
import { EMPTY_LABELS } from './labels.ts';
import type { ContainerPort, NodeRecord, OutputRecord, PodRecord, ServiceRecord } from './types.ts';

/** A record while it is being filled. */
export type Draft<T> = { -readonly [K in keyof T]: T[K] };

/** Shared, so that a pod without ports or addresses costs no list. */
export const NO_PORTS: readonly ContainerPort[] = [];
const NO_STRINGS: readonly string[] = [];

// Every record of a kind is made here with all its fields in one order, so all have one hidden class, whatever the
// encoding.

export function emptyPod(): Draft<PodRecord> {
  return {
    namespace: '',
    name: '',
    uid: '',
    resourceVersion: '',
    labels: EMPTY_LABELS,
    deleting: false,
    nodeName: '',
    hostname: '',
    subdomain: '',
    phase: '',
    ready: false,
    readyTime: 0,
    podIP: '',
    podIPs: NO_STRINGS,
    ports: NO_PORTS,
  };
}

/** status.podIPs as sent, in order. */
export function podIPsOf(pod: PodRecord): readonly string[] {
  return pod.podIPs ?? [pod.podIP];
}

export function samePorts(a: readonly ContainerPort[], b: readonly ContainerPort[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    const [one, other] = [a[i]!, b[i]!];
    if (one.name !== other.name || one.containerPort !== other.containerPort) return false;
    if (one.protocol !== other.protocol) return false;
  }
  return true;
}

/**
 * Takes the texts and lists of an earlier record of the pod where they are equal. Each event brings fresh ones, and caches and
 * planners keep some of several events: so there is one copy of each, as after a list. Labels are not compared.
 */
export function shareTexts(pod: Draft<PodRecord>, before: PodRecord): void {
  pod.namespace = before.namespace;
  pod.name = before.name;
  if (pod.uid === before.uid) pod.uid = before.uid;
  if (pod.nodeName === before.nodeName) pod.nodeName = before.nodeName;
  if (pod.hostname === before.hostname) pod.hostname = before.hostname;
  if (pod.subdomain === before.subdomain) pod.subdomain = before.subdomain;
  if (pod.podIP === before.podIP) pod.podIP = before.podIP;
  if (pod.podIPs !== null && before.podIPs !== null && sameTexts(pod.podIPs, before.podIPs)) pod.podIPs = before.podIPs;
  if (samePorts(pod.ports, before.ports)) pod.ports = before.ports;
}

export function emptyService(): Draft<ServiceRecord> {
  return {
    namespace: '',
    name: '',
    uid: '',
    resourceVersion: '',
    labels: EMPTY_LABELS,
    annotations: EMPTY_LABELS,
    creationTime: 0,
    deleting: false,
    type: '',
    clusterIP: '',
    ipFamilies: NO_STRINGS,
    selector: null,
    ports: [],
    publishNotReadyAddresses: false,
    trafficDistribution: '',
  };
}

export function emptyNode(): Draft<NodeRecord> {
  return { name: '', uid: '', resourceVersion: '', labels: EMPTY_LABELS, ready: false, allocatableCpu: '' };
}

export function emptyOutput(): Draft<OutputRecord> {
  return {
    namespace: '',
    name: '',
    uid: '',
    resourceVersion: '',
    labels: EMPTY_LABELS,
    leaderElection: false,
    deleting: false,
  };
}
