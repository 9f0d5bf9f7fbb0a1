/**
 * Clusters as numbers only. Each object is made from its index when it is asked for, so no memory holds the cluster.
 */
import {
  MANAGED_BY_LABEL,
  MANAGED_BY_VALUE,
  ENDPOINTS_ADDRESSES_MAX,
  OVER_CAPACITY_ANNOTATION,
  OVER_CAPACITY_VALUE,
  SERVICE_NAME_LABEL,
  SLICE_MANAGED_BY_LABEL,
  SLICE_MANAGED_BY_VALUE,
} from '../../src/kube/names.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { makeCluster, type App, type Cluster, type PodModel } from '../../src/workload/cluster.ts';
import { CLUSTER_EPOCH_SECONDS, nodeObject, podObject, serviceObject } from '../../src/workload/objects.ts';
import { findProfile } from '../../src/workload/profile.ts';
import { stored, uidOf } from '../support/stored-pod.ts';

export interface Shape {
  /** At most a million, because there are so many addresses. */
  readonly pods: number;
  /** A divisor of `pods`. */
  readonly podsPerService: number;
  readonly nodes: number;
}

/** The names and addresses of a pod. Each has the same length in all pods. */
export interface PodParts {
  readonly namespace: string;
  readonly app: string;
  readonly name: string;
  readonly node: string;
  readonly address: string;
}

/** The first version of each kind's objects; uids are made from it. All versions have nine digits. */
const FIRST = { pods: 1e8, services: 2e8, nodes: 3e8, endpoints: 4e8, slices: 5e8 };
/** The version of the lists. Versions of changes follow. */
export const LISTED_VERSION = 6e8;
const NAMESPACES = 20;
const ZONES = 3;
const SLICE_ENDPOINTS_MAX = 100;
/** A cluster with pods of production size. */
const REALISTIC: Cluster = makeCluster(
  { ...findProfile('large'), nodes: 1, namespaces: 1, servicesPerNamespace: 1 },
  1,
);
const PORT = { name: 'http', port: 8080, protocol: 'TCP' };

export function serviceCount({ pods, podsPerService }: Shape): number {
  return pods / podsPerService;
}

export function podPartsAt(shape: Shape, index: number): PodParts {
  const service = Math.floor(index / shape.podsPerService);
  const app = appName(service);
  return {
    namespace: namespaceOf(service),
    app,
    name: `${app}-${digits(index, 7)}`,
    node: nodeName(index % shape.nodes),
    address: addressAt(index),
  };
}

/** Three digits in each part but the first, so that all addresses have one length and ascend as texts too. */
function addressAt(index: number): string {
  return `10.${100 + Math.floor(index / 1e4)}.${100 + (Math.floor(index / 100) % 100)}.${100 + (index % 100)}`;
}

export function podRevision(index: number): number {
  return FIRST.pods + index;
}

/** A pod without the fields that the server adds. */
export function podOf(parts: PodParts, ready = true, seconds = CLUSTER_EPOCH_SECONDS): KubeObject {
  const { namespace, app, name, node, address } = parts;
  const pod: PodModel = {
    app: appOf(namespace, app),
    name,
    revision: 0,
    node: 0,
    address,
    address6: '',
    ready,
    appLabel: app,
    track: 'stable',
    busy: false,
    slot: 0,
    appSlot: 0,
  };
  return podObject({ ...REALISTIC, nodes: [{ ...REALISTIC.nodes[0]!, name: node }] }, pod, seconds);
}

export function nodeAt(index: number): KubeObject {
  const node = nodeObject({ name: nodeName(index), index, zone: zoneOf(index), ready: true, busy: false });
  return stored(node, FIRST.nodes + index);
}

export function serviceAt(index: number): KubeObject {
  const [namespace, name] = [namespaceOf(index), appName(index)];
  const service = { ...REALISTIC.services[0]!, namespace, name, app: appOf(namespace, name) };
  const object = serviceObject(service);
  const given = {
    clusterIP: '10.0.0.1',
    clusterIPs: ['10.0.0.1'],
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
  };
  return stored({ ...object, spec: { ...(object['spec'] as object), ...given } }, FIRST.services + index);
}

/** The Endpoints object of a service of ready pods, as the endpoints controller writes it. */
export function endpointsAt(shape: Shape, index: number): KubeObject {
  const { podsPerService } = shape;
  const first = index * podsPerService;
  const addresses = Array.from({ length: Math.min(podsPerService, ENDPOINTS_ADDRESSES_MAX) }, (_, i) => {
    const { address, node } = podPartsAt(shape, first + i);
    return { ip: address, nodeName: node, targetRef: targetAt(shape, first + i) };
  });
  const { metadata } = serviceAt(index);
  const truncated = podsPerService > ENDPOINTS_ADDRESSES_MAX;
  const object = {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: {
      name: metadata.name!,
      namespace: metadata.namespace!,
      labels: { ...metadata.labels, [MANAGED_BY_LABEL]: MANAGED_BY_VALUE },
      ...(truncated ? { annotations: { [OVER_CAPACITY_ANNOTATION]: OVER_CAPACITY_VALUE } } : {}),
    },
    subsets: [{ addresses, ports: [PORT] }],
  };
  return stored(object, FIRST.endpoints + index);
}

/** The slices of a service of ready pods, as the endpointslice controller writes them. */
export function* slicesAt(shape: Shape, index: number): Generator<KubeObject, void, void> {
  const { podsPerService } = shape;
  const count = Math.ceil(podsPerService / SLICE_ENDPOINTS_MAX);
  for (let at = 0; at < count; at++) yield sliceAt(shape, index, at, FIRST.slices + index * count + at);
}

function sliceAt(shape: Shape, service: number, at: number, revision: number): KubeObject {
  const { podsPerService } = shape;
  const from = service * podsPerService + at * SLICE_ENDPOINTS_MAX;
  const length = Math.min(SLICE_ENDPOINTS_MAX, podsPerService - at * SLICE_ENDPOINTS_MAX);
  const endpoints = Array.from({ length }, (_, i) => {
    const { address, node } = podPartsAt(shape, from + i);
    return {
      addresses: [address],
      conditions: { ready: true, serving: true, terminating: false },
      targetRef: targetAt(shape, from + i),
      nodeName: node,
      zone: zoneOf((from + i) % shape.nodes),
    };
  });
  const { metadata } = serviceAt(service);
  const name = metadata.name!;
  const object = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${name}-${digits(at, 5)}`,
      generateName: `${name}-`,
      namespace: metadata.namespace!,
      generation: 1,
      labels: {
        ...metadata.labels,
        [SERVICE_NAME_LABEL]: name,
        [SLICE_MANAGED_BY_LABEL]: SLICE_MANAGED_BY_VALUE,
      },
      ownerReferences: [
        { apiVersion: 'v1', kind: 'Service', name, uid: metadata.uid!, controller: true, blockOwnerDeletion: true },
      ],
    },
    addressType: 'IPv4',
    endpoints,
    ports: [PORT],
  };
  return stored(object, revision);
}

function targetAt(shape: Shape, index: number): Record<string, string> {
  const { namespace, name } = podPartsAt(shape, index);
  return { kind: 'Pod', namespace, name, uid: uidOf(podRevision(index)) };
}

function appOf(namespace: string, name: string): App {
  return { namespace, name, group: name, stateful: false, revision: 0, busy: false, pods: [] };
}

function namespaceOf(service: number): string {
  return `growth-${digits(service % NAMESPACES, 2)}`;
}

function appName(service: number): string {
  return `app-${digits(service, 6)}`;
}

function nodeName(index: number): string {
  return `node-${digits(index, 6)}`;
}

function zoneOf(node: number): string {
  return `zone-${node % ZONES}`;
}

function digits(value: number, length: number): string {
  return String(value).padStart(length, '0');
}
