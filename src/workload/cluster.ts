/**
 * A seeded cluster as a small model: a set of deployments with Services. `objects.ts` makes the API objects from it,
 * and `churn.ts` changes it. The same profile and seed give the same cluster everywhere.
 */
import { createPrng, nextFloat, nextInt, type Prng, shuffled } from '../lib/prng.ts';
import { assert } from '../lib/assert.ts';
import { makeHandMade, type HandMadeService } from './hand-made.ts';
import { sizesOf, type Profile } from './profile.ts';

export interface Cluster {
  readonly profile: Profile;
  readonly prng: Prng;
  readonly namespaces: readonly string[];
  readonly nodes: readonly NodeModel[];
  readonly apps: App[];
  /** Services with a selector. */
  readonly services: ServiceModel[];
  readonly handMade: readonly HandMadeService[];
  /** In no order. `pod.slot` is the index of a pod. */
  readonly pods: PodModel[];
  /** Addresses of removed pods. Some new pods take one of them, as on real nodes. */
  readonly freeAddresses: string[];
  addressesUsed: number;
  podsMade: number;
}

export interface NodeModel {
  readonly name: string;
  readonly index: number;
  /** '' = the node has no such label. */
  zone: string;
  ready: boolean;
  busy: boolean;
}

/** The pods of one template. */
export interface App {
  readonly namespace: string;
  readonly name: string;
  /** A label value shared with a neighbour, so that one Service can select both apps. */
  readonly group: string;
  /** Whether pods have stable names, a hostname and a subdomain. */
  readonly stateful: boolean;
  /** How many rolling updates there were. The container port depends on it. */
  revision: number;
  /** Whether a change that adds or removes pods is under way. */
  busy: boolean;
  /** Pods of a stateful app are in the order of their ordinals. */
  readonly pods: PodModel[];
}

export interface PodModel {
  readonly app: App;
  readonly name: string;
  readonly revision: number;
  /** The index of the pod's node. */
  readonly node: number;
  readonly address: string;
  /** '' = the cluster has one family. */
  readonly address6: string;
  ready: boolean;
  /** Values of the labels that a change may replace. */
  appLabel: string;
  track: string;
  /** Whether a change of several requests is under way. No other change may touch the pod then. */
  busy: boolean;
  slot: number;
  appSlot: number;
}

/** The labels by which a Service selects. */
export type SelectorKind = 'app' | 'group' | 'track';

export interface ServiceModel {
  readonly namespace: string;
  readonly name: string;
  readonly app: App;
  readonly headless: boolean;
  selector: SelectorKind;
  namedPort: boolean;
  /** Whether there is a second port, for metrics. */
  metricsPort: boolean;
  publishNotReady: boolean;
  /** Whether it asks for addresses of both families, where the server has both. */
  readonly dualStack: boolean;
  /** '' = absent. */
  trafficDistribution: string;
  /** Whether it asks for hints by CPU shares. */
  topologyAuto: boolean;
  /** '' = absent. */
  appProtocol: string;
  /** The value of a label that is copied to the Endpoints; '' = the label is absent. */
  owner: string;
  slot: number;
}

export const TRAFFIC_DISTRIBUTIONS: readonly string[] = ['PreferClose', 'PreferSameZone', 'PreferSameNode'];
export const APP_PROTOCOL = 'kubernetes.io/h2c';

const ADDRESSES_MAX = 1 << 21;

export function makeCluster(profile: Profile, seed: number): Cluster {
  const prng = createPrng(seed);
  // Traits have a generator of their own, so that a new trait does not change the other draws of a profile.
  const traits = createPrng(seed ^ 0x7261_6974);
  const namespaces = names(profile.name, profile.namespaces, 3);
  const cluster: Cluster = {
    profile,
    prng,
    // Namespaces have the profile's name in theirs, so that clusters of several profiles fit into one server.
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
  const sizes = shuffled(sizesOf(profile, profile.namespaces * profile.servicesPerNamespace), prng);
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

/** Adds a pod of the app's current template to the model. */
export function addPod(cluster: Cluster, app: App, ready: boolean): PodModel {
  const made = cluster.podsMade++;
  const name = app.stateful ? `${app.name}-${app.pods.length}` : `${app.name}-${suffix(made)}`;
  const pod = makePod(cluster, app, name, ready, cluster.pods.length, app.pods.length);
  cluster.pods.push(pod);
  app.pods.push(pod);
  return pod;
}

/** Replaces a pod by one of the same name, with another uid, node and address. */
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
  // 10.64.0.0/11 does not overlap with the service network 10.96.0.0/12 of test clusters.
  return `10.${64 + (used >>> 16)}.${(used >>> 8) & 255}.${used & 255}`;
}

/** The IPv6 address of a pod by its IPv4 address. It is outside of fd00:10:96::/112, where Services have theirs. */
export function secondAddress(address: string): string {
  const [, b, c, d] = address.split('.').map(Number);
  return `fd00:10:64:${b!.toString(16)}::${(c! * 256 + d! + 1).toString(16)}`;
}

/** Five letters that look like the server's own suffixes and are unique. */
function suffix(made: number): string {
  const letters = 'bcdfghjklmnpqrstvwxz';
  let text = '';
  // The factor has no common divisor with 20^5, so every suffix comes once, and neighbours are far apart.
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
