/**
 * The API objects of a seeded cluster, as a client sends them. Fields that the server sets (uid, versions, times) are
 * absent.
 */
import { TOPOLOGY_MODE_ANNOTATION } from '../kube/names.ts';
import type { KubeObject, ObjectMeta } from '../kube/types.ts';
import { formatTime } from '../kube/time.ts';
import type { App, Cluster, NodeModel, PodModel, ServiceModel } from './cluster.ts';
import { handMadeEndpointsObject, handMadeServiceObject } from './hand-made.ts';

/** The time of everything in a new cluster: 2026-01-01T00:00:00Z, in seconds since the epoch. */
export const CLUSTER_EPOCH_SECONDS = 1_767_225_600;

const METRICS_PORT = 9090;
const ENVIRONMENT_SIZE = 20;

/**
 * Namespaces, nodes, Services, pods and hand-made Endpoints, in an order in which they can be created. They are made
 * one at a time.
 */
export function* clusterObjects(cluster: Cluster): Generator<KubeObject, void, void> {
  for (const name of cluster.namespaces) yield namespaceObject(name);
  for (const node of cluster.nodes) yield nodeObject(node);
  for (const service of cluster.services) yield serviceObject(service);
  for (const service of cluster.handMade) yield handMadeServiceObject(service);
  for (const pod of cluster.pods) yield podObject(cluster, pod);
  for (const service of cluster.handMade) yield handMadeEndpointsObject(service);
}

function namespaceObject(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}

export function nodeObject({ name, index, zone, ready }: NodeModel): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': name,
        'topology.kubernetes.io/region': 'region-1',
        ...(zone === '' ? {} : { 'topology.kubernetes.io/zone': zone }),
      },
    },
    spec: { podCIDR: `10.${64 + ((index >>> 8) & 31)}.${index & 255}.0/24` },
    status: {
      capacity: { cpu: '16', memory: '64Gi', pods: '110' },
      allocatable: { cpu: '15800m', memory: '60Gi', pods: '110' },
      conditions: nodeConditions(ready, CLUSTER_EPOCH_SECONDS),
      addresses: [{ type: 'InternalIP', address: nodeAddress(index) }],
    },
  };
}

export function nodeConditions(ready: boolean, seconds: number): Record<string, unknown>[] {
  return [condition('Ready', ready, seconds)];
}

export function serviceObject(service: ServiceModel): KubeObject {
  const spec: Record<string, unknown> = {
    type: 'ClusterIP',
    selector: selectorOf(service),
    ports: servicePorts(service),
  };
  if (service.headless) spec['clusterIP'] = 'None';
  if (service.publishNotReady) spec['publishNotReadyAddresses'] = true;
  if (service.dualStack) spec['ipFamilyPolicy'] = 'PreferDualStack';
  if (service.trafficDistribution !== '') spec['trafficDistribution'] = service.trafficDistribution;
  const { name, namespace, topologyAuto } = service;
  const metadata: ObjectMeta = { name, namespace, labels: serviceLabels(service) };
  if (topologyAuto) metadata.annotations = { [TOPOLOGY_MODE_ANNOTATION]: 'Auto' };
  return { apiVersion: 'v1', kind: 'Service', metadata, spec };
}

function serviceLabels(service: ServiceModel): Record<string, string> {
  const labels: Record<string, string> = { app: service.app.name };
  if (service.owner !== '') labels['owner'] = service.owner;
  return labels;
}

export function selectorOf(service: ServiceModel): Record<string, string> {
  switch (service.selector) {
    case 'app':
      return { app: service.app.name };
    case 'group':
      return { group: service.app.group };
    case 'track':
      return { app: service.app.name, track: 'stable' };
  }
}

export function servicePorts(service: ServiceModel): Record<string, unknown>[] {
  const http = {
    name: 'http',
    protocol: 'TCP',
    port: 80,
    targetPort: service.namedPort ? 'http' : containerPortOf(service.app),
    ...(service.appProtocol === '' ? {} : { appProtocol: service.appProtocol }),
  };
  if (!service.metricsPort) return [http];
  return [http, { name: 'metrics', protocol: 'TCP', port: METRICS_PORT, targetPort: 'metrics' }];
}

/** Pods of odd and even revisions have different ports. So a named port has two numbers half-way through an update. */
function containerPortOf(template: Pick<App, 'revision'>): number {
  return 8080 + (template.revision % 2);
}

export function podObject(cluster: Cluster, pod: PodModel, seconds = CLUSTER_EPOCH_SECONDS): KubeObject {
  const { app } = pod;
  const realistic = cluster.profile.realistic;
  const container: Record<string, unknown> = {
    name: 'server',
    image: `registry.example/${app.name}:v${pod.revision}`,
    ports: [
      { name: 'http', containerPort: containerPortOf(pod), protocol: 'TCP' },
      { name: 'metrics', containerPort: METRICS_PORT, protocol: 'TCP' },
    ],
  };
  if (realistic) Object.assign(container, padding(pod));
  const spec: Record<string, unknown> = { nodeName: cluster.nodes[pod.node]!.name, containers: [container] };
  if (app.stateful) {
    spec['hostname'] = pod.name;
    spec['subdomain'] = app.name;
  }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: pod.name, namespace: app.namespace, labels: podLabels(pod, realistic) },
    spec,
    status: podStatus(cluster, pod, seconds),
  };
}

export function podLabels(pod: PodModel, realistic: boolean): Record<string, string> {
  const labels: Record<string, string> = { app: pod.appLabel, group: pod.app.group, track: pod.track };
  if (realistic) {
    labels['app.kubernetes.io/managed-by'] = 'deployer';
    labels['app.kubernetes.io/part-of'] = pod.app.namespace;
    labels['pod-template-hash'] = `6f7d9c${String(pod.revision).padStart(4, '0')}`;
  }
  return labels;
}

export function podStatus(cluster: Cluster, pod: PodModel, seconds: number): Record<string, unknown> {
  const hostIP = nodeAddress(pod.node);
  const status: Record<string, unknown> = {
    phase: 'Running',
    conditions: [
      condition('PodScheduled', true, seconds),
      condition('Initialized', true, seconds),
      condition('ContainersReady', pod.ready, seconds),
      condition('Ready', pod.ready, seconds),
    ],
    hostIP,
    hostIPs: [{ ip: hostIP }],
    podIP: pod.address,
    podIPs: [pod.address, pod.address6].filter((ip) => ip !== '').map((ip) => ({ ip })),
    startTime: formatTime(seconds),
  };
  if (cluster.profile.realistic) {
    const image = `registry.example/${pod.app.name}:v${pod.revision}`;
    const id = `${pod.name}-${pod.address}`.padEnd(64, '0').slice(0, 64);
    status['qosClass'] = 'Burstable';
    status['containerStatuses'] = [
      {
        name: 'server',
        image,
        imageID: `registry.example/${pod.app.name}@sha256:${id}`,
        containerID: `containerd://${id}`,
        ready: pod.ready,
        started: true,
        restartCount: 0,
        state: { running: { startedAt: formatTime(seconds) } },
        lastState: {},
      },
    ];
  }
  return status;
}

/** The conditions that change together when a pod becomes ready or unready. */
export function readinessConditions(ready: boolean, seconds: number): Record<string, unknown>[] {
  return [condition('ContainersReady', ready, seconds), condition('Ready', ready, seconds)];
}

function condition(type: string, value: boolean, seconds: number): Record<string, unknown> {
  return { type, status: value ? 'True' : 'False', lastTransitionTime: formatTime(seconds) };
}

function nodeAddress(index: number): string {
  return `192.168.${(index >>> 8) & 255}.${index & 255}`;
}

/** The fields of a production container besides name, image and ports. */
function padding(pod: PodModel): Record<string, unknown> {
  const { app } = pod;
  const env = Array.from({ length: ENVIRONMENT_SIZE }, (_, i) => ({
    name: `SETTING_${String(i).padStart(2, '0')}`,
    value: `https://${app.name}.${app.namespace}.svc.cluster.local:8443/settings/${i}?revision=${pod.revision}`,
  }));
  const probe = { httpGet: { path: '/healthz', port: 'http', scheme: 'HTTP' }, periodSeconds: 10, timeoutSeconds: 1 };
  return {
    env,
    resources: { limits: { cpu: '2', memory: '2Gi' }, requests: { cpu: '500m', memory: '1Gi' } },
    livenessProbe: probe,
    readinessProbe: probe,
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, runAsNonRoot: true },
  };
}
