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
  return { namespace: '', name: '', uid: '', resourceVersion: '', labels: EMPTY_LABELS, leaderElection: false };
}
