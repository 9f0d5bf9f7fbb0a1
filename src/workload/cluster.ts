/**
 * A seeded cluster as a small model: what a set of deployments, and the services before them, looks like. `objects.ts` draws the
 * API objects from it, `churn.ts` changes it. The same profile and seed give the same cluster everywhere.
 */
import { createPrng, nextFloat, nextInt, type Prng } from '../lib/prng.ts';
import { assert } from '../lib/assert.ts';
import { makeHandMade, type HandMadeService } from './hand-made.ts';
import { sizesOf, type Profile } from './profile.ts';

export interface Cluster {
  readonly profile: Profile;
  readonly prng: Prng;
  readonly namespaces: readonly string[];
  readonly nodes: readonly NodeModel[];
  readonly apps: App[];
  /** Those with a selector. */
  readonly services: ServiceModel[];
  readonly handMade: readonly HandMadeService[];
  /** In no order; a pod's place is `pod.slot`. */
  readonly pods: PodModel[];
  /** Addresses of removed pods: some new pods take one over, as they do on real nodes. */
  readonly freeAddresses: string[];
  addressesUsed: number;
  podsMade: number;
}

export interface NodeModel {
  readonly name: string;
  readonly index: number;
  /** Empty = the node has no such label. */
  zone: string;
  ready: boolean;
  busy: boolean;
}

/** Pods of one template. */
export interface App {
  readonly namespace: string;
  readonly name: string;
  /** Label shared with a neighbour, so that one service can select both. */
  readonly group: string;
  /** Pods have stable names, a hostname and a subdomain. */
  readonly stateful: boolean;
  /** Counts rolling updates; the container port moves with it. */
  revision: number;
  /** A change that adds or removes pods is under way. */
  busy: boolean;
  /** Of a stateful app in the order of their ordinals. */
  readonly pods: PodModel[];
}

export interface PodModel {
  readonly app: App;
  readonly name: string;
  readonly revision: number;
  /** Into the cluster's nodes. */
  readonly node: number;
  readonly address: string;
  /** Empty in a cluster of one family. */
  readonly address6: string;
  ready: boolean;
  /** Values of the labels that a change may turn. */
  appLabel: string;
  track: string;
  /** A change of several requests is under way, no other one may touch this pod. */
  busy: boolean;
  slot: number;
  appSlot: number;
}

/** Which labels a service selects by. */
export type SelectorKind = 'app' | 'group' | 'track';

export interface ServiceModel {
  readonly namespace: string;
  readonly name: string;
  readonly app: App;
  readonly headless: boolean;
  selector: SelectorKind;
  namedPort: boolean;
  /** A second port, for metrics. */
  metricsPort: boolean;
  publishNotReady: boolean;
  /** Addresses of both families, where the server has them. */
  readonly dualStack: boolean;
  /** Empty = absent. */
  trafficDistribution: string;
  /** Hints by CPU shares. */
  topologyAuto: boolean;
  /** Empty = absent. */
  appProtocol: string;
  /** Value of a label that is copied to the Endpoints; empty = the label is absent. */
  owner: string;
  slot: number;
}

export const TRAFFIC_DISTRIBUTIONS: readonly string[] = ['PreferClose', 'PreferSameZone', 'PreferSameNode'];
export const APP_PROTOCOL = 'kubernetes.io/h2c';

const ADDRESSES_MAX = 1 << 21;

export function makeCluster(profile: Profile, seed: number): Cluster {
  const prng = createPrng(seed);
  // Draws of their own: what was added later does not change what was there.
  const traits = createPrng(seed ^ 0x7261_6974);
  const namespaces = names(profile.name, profile.namespaces, 3);
  const cluster: Cluster = {
    profile,
    prng,
    // Named after the profile, so that clusters of several profiles fit into one server.
    namespaces,
    nodes: names(`${profile.name}-node`, profile.nodes, 4).map((name, index) => nodeModel(profile, name, index)),
    apps: [],
    services: [],
    handMade: makeHandMade(namespaces, Math.round(profile.handMadeShare * profile.servicesPerNamespace)),
    pods: [],
    freeAddresses: [],
    addressesUsed: 0,
    podsMade: 0,
  };
  const sizes = sizesOf(profile, profile.namespaces * profile.servicesPerNamespace);
  shuffle(sizes, prng);
  let next = 0;
  for (const namespace of cluster.namespaces) {
    let group = '';
    for (let i = 0; i < profile.servicesPerNamespace; i++) {
      const name = `app-${String(i).padStart(4, '0')}`;
      const overlaps = i > 0 && nextFloat(prng) < profile.overlapShare;
      if (!overlaps) group = name;
      const headless = nextFloat(prng) < profile.headlessShare;
      const halfUpdated = nextFloat(traits) < profile.halfUpdatedShare;
      const app: App = { namespace, name, group, stateful: headless, revision: 0, busy: false, pods: [] };
      cluster.apps.push(app);
      addService(cluster, {
        namespace,
        name,
        app,
        headless,
        selector: overlaps ? 'group' : 'app',
        namedPort: nextFloat(prng) < profile.namedPortShare || halfUpdated,
        metricsPort: false,
        publishNotReady: nextFloat(prng) < profile.publishNotReadyShare,
        ...serviceTraits(profile, traits),
        owner: '',
        slot: 0,
      });
      const pods = sizes[next++]!;
      for (let p = 0; p < pods; p++) {
        if (halfUpdated && p === pods >>> 1) app.revision++;
        addPod(cluster, app, nextFloat(prng) >= profile.notReadyShare);
      }
    }
  }
  return cluster;
}

function nodeModel({ nodes, zones, zonelessNodes }: Profile, name: string, index: number): NodeModel {
  const zone = index < nodes - zonelessNodes ? zoneName(index % zones) : '';
  return { name, index, zone, ready: true, busy: false };
}

export function zoneName(index: number): string {
  return `zone-${String.fromCharCode(97 + index)}`;
}

type ServiceTraits = Pick<ServiceModel, 'dualStack' | 'trafficDistribution' | 'topologyAuto' | 'appProtocol'>;

function serviceTraits(profile: Profile, prng: Prng): ServiceTraits {
  const [dualStack, traffic, topologyAuto, appProtocol] = [
    profile.dualStackShare,
    profile.trafficShare,
    profile.topologyShare,
    profile.appProtocolShare,
  ].map((share) => nextFloat(prng) < share);
  return {
    dualStack: dualStack!,
    trafficDistribution: traffic! ? TRAFFIC_DISTRIBUTIONS[nextInt(prng, TRAFFIC_DISTRIBUTIONS.length)]! : '',
    topologyAuto: topologyAuto!,
    appProtocol: appProtocol! ? APP_PROTOCOL : '',
  };
}

/** Puts one more pod of the app's current template into the model. */
export function addPod(cluster: Cluster, app: App, ready: boolean): PodModel {
  const made = cluster.podsMade++;
  const name = app.stateful ? `${app.name}-${app.pods.length}` : `${app.name}-${suffix(made)}`;
  const pod = makePod(cluster, app, name, ready, cluster.pods.length, app.pods.length);
  cluster.pods.push(pod);
  app.pods.push(pod);
  return pod;
}

/** Puts a pod of the same name in the place of `pod`: another uid, node and address. */
export function recreatePod(cluster: Cluster, pod: PodModel, ready: boolean): PodModel {
  const fresh = makePod(cluster, pod.app, pod.name, ready, pod.slot, pod.appSlot);
  cluster.pods[pod.slot] = fresh;
  pod.app.pods[pod.appSlot] = fresh;
  cluster.freeAddresses.push(pod.address);
  return fresh;
}

function makePod(cluster: Cluster, app: App, name: string, ready: boolean, slot: number, appSlot: number): PodModel {
  const node = nextInt(cluster.prng, cluster.nodes.length);
  const address = takeAddress(cluster);
  return {
    app,
    name,
    revision: app.revision,
    node,
    address,
    address6: cluster.profile.dualStackShare > 0 ? secondAddress(address) : '',
    ready,
    appLabel: app.name,
    track: 'stable',
    busy: false,
    slot,
    appSlot,
  };
}

export function removePod(cluster: Cluster, pod: PodModel): void {
  assert(cluster.pods[pod.slot] === pod, `pod ${pod.app.namespace}/${pod.name} is in the cluster`);
  const last = cluster.pods.pop()!;
  if (last !== pod) {
    cluster.pods[pod.slot] = last;
    last.slot = pod.slot;
  }
  const { pods } = pod.app;
  const lastOfApp = pods.pop()!;
  if (lastOfApp !== pod) {
    pods[pod.appSlot] = lastOfApp;
    lastOfApp.appSlot = pod.appSlot;
  }
  cluster.freeAddresses.push(pod.address);
}

export function addService(cluster: Cluster, service: ServiceModel): void {
  service.slot = cluster.services.length;
  cluster.services.push(service);
}

export function removeService(cluster: Cluster, service: ServiceModel): void {
  assert(cluster.services[service.slot] === service, `service ${service.namespace}/${service.name} is in the cluster`);
  const last = cluster.services.pop()!;
  if (last === service) return;
  cluster.services[service.slot] = last;
  last.slot = service.slot;
}

function takeAddress(cluster: Cluster): string {
  const { freeAddresses, prng } = cluster;
  if (freeAddresses.length > 0 && nextInt(prng, 3) === 0) {
    const at = nextInt(prng, freeAddresses.length);
    const address = freeAddresses[at]!;
    freeAddresses[at] = freeAddresses[freeAddresses.length - 1]!;
    freeAddresses.pop();
    return address;
  }
  const used = cluster.addressesUsed++;
  assert(used < ADDRESSES_MAX, `at most ${ADDRESSES_MAX} pod addresses`);
  // 10.64.0.0/11: clear of the service network 10.96.0.0/12 that test clusters use.
  return `10.${64 + (used >>> 16)}.${(used >>> 8) & 255}.${used & 255}`;
}

/** The IPv6 address that goes with it, outside of fd00:10:96::/112, where test clusters have their services. */
function secondAddress(address: string): string {
  const [, b, c, d] = address.split('.').map(Number);
  return `fd00:10:64:${b!.toString(16)}::${(c! * 256 + d! + 1).toString(16)}`;
}

/** Five letters that look like the server's own suffixes but are unique. */
function suffix(made: number): string {
  const letters = 'bcdfghjklmnpqrstvwxz';
  let text = '';
  // Steps of a number without common factors with 20^5 visit every suffix once, neighbours far apart.
  let rest = (made * 1_234_577) % 3_200_000;
  for (let i = 0; i < 5; i++) {
    text += letters[rest % letters.length]!;
    rest = Math.floor(rest / letters.length);
  }
  return text;
}

function names(prefix: string, count: number, digits: number): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}-${String(i).padStart(digits, '0')}`);
}

function shuffle(items: number[], prng: Prng): void {
  for (let i = items.length - 1; i > 0; i--) {
    const j = nextInt(prng, i + 1);
    const held = items[i]!;
    items[i] = items[j]!;
    items[j] = held;
  }
}
