/**
 * A seeded stream of changes to a cluster. Requests are drawn one at a time from the cluster's model, so each is valid
 * if those before it were applied in order. A change of several requests (a pod replaced, a rolling update) goes step
 * by step. Steps of other changes come in between, as in a real cluster.
 */
import { TOPOLOGY_MODE_ANNOTATION } from '../kube/names.ts';
import { assert } from '../lib/assert.ts';
import { createPrng, nextFloat, nextInt, type Prng } from '../lib/prng.ts';
import type { Change, ChangeKind, Churn, ChurnMix, Steps } from './change.ts';
import {
  addPod,
  addService,
  APP_PROTOCOL,
  recreatePod,
  removePod,
  removeService,
  TRAFFIC_DISTRIBUTIONS,
  type App,
  type Cluster,
  type NodeModel,
  type PodModel,
  type SelectorKind,
  type ServiceModel,
} from './cluster.ts';
import { editEndpoints, recreateEndpoints } from './hand-made-changes.ts';
import type { HandMadeService } from './hand-made.ts';
import { moveNode, replaceNode, turnNode } from './node-changes.ts';
import { podObject, podStatus, readinessConditions, selectorOf, serviceObject, servicePorts } from './objects.ts';
import { create, patch, patchStatus, remove, withoutStatus, type WorkloadRequest } from './request.ts';

export const CHURN_MIXES = {
  /** Only pods that become ready or unready. */
  flips: { readiness: 1 },
  /** A busy day: mostly readiness, pods that come and go, sometimes a roll-out, rarely an edit of a Service. */
  steady: {
    readiness: 50,
    'pod-replace': 20,
    'pod-recreate': 5,
    'pod-relabel': 3,
    'scale-up': 4,
    'scale-down': 4,
    'rolling-update': 2,
    'service-labels': 1,
    'service-ports': 1,
    'service-selector': 1,
    'service-traffic': 0.5,
    'service-topology': 0.5,
    'service-create': 1,
    'service-delete': 1,
    'service-recreate': 0.5,
    'node-zone': 0.3,
    'node-readiness': 0.5,
    'node-replace': 0.2,
    'endpoints-edit': 2,
    'endpoints-recreate': 0.5,
  },
  /** Every kind equally often, to find faults. */
  everything: {
    readiness: 1,
    'pod-replace': 1,
    'pod-recreate': 1,
    'pod-relabel': 1,
    'scale-up': 1,
    'scale-down': 1,
    'rolling-update': 1,
    'service-selector': 1,
    'service-ports': 1,
    'service-labels': 1,
    'service-publish': 1,
    'service-traffic': 1,
    'service-topology': 1,
    'service-create': 1,
    'service-delete': 1,
    'service-recreate': 1,
    'node-zone': 1,
    'node-readiness': 1,
    'node-replace': 1,
    'endpoints-edit': 1,
    'endpoints-recreate': 1,
  },
  /** Deployments roll, one after the other. */
  rollout: { 'rolling-update': 1 },
} as const satisfies Record<string, ChurnMix>;

const CHANGES_OPEN_MAX = 32;
const TERMINATION_GRACE_SECONDS = 30;
/** The most tries to find a pod or Service that no open change holds. So many in a row are hardly ever all held. */
const PICKS_MAX = 64;
const SELECTORS: readonly SelectorKind[] = ['app', 'group', 'track'];

/** @throws Error if no kind has a positive weight, or one has a negative weight */
export function createChurn(cluster: Cluster, mix: ChurnMix, seed: number): Churn {
  const weights = (Object.entries(mix) as [ChangeKind, number][]).map(([kind, weight]) => ({ kind, weight }));
  for (const { kind, weight } of weights) {
    if (!(weight >= 0)) throw new Error(`churn mix: ${kind}: weight must not be negative, got ${weight}`);
  }
  const weightTotal = weights.reduce((sum, { weight }) => sum + weight, 0);
  if (!(weightTotal > 0)) throw new Error('churn mix: some weight must be positive');
  return {
    cluster,
    prng: createPrng(seed),
    mix: weights,
    weightTotal,
    open: [],
    deleted: [],
    podsMax: Math.ceil(cluster.pods.length * 1.25) + 8,
    servicesMade: 0,
    nowSeconds: 0,
  };
}

/**
 * The next request; null = the mix has nothing to change in this cluster.
 * @param wallMs ms since the epoch; becomes the transition time of conditions
 */
export function nextChange(churn: Churn, wallMs: number): Change | null {
  churn.nowSeconds = Math.floor(wallMs / 1000);
  const { open, prng } = churn;
  const goesOn = open.length > 0 && (open.length >= CHANGES_OPEN_MAX || nextInt(prng, 2) === 0);
  const change = goesOn ? stepOpen(churn) : start(churn);
  return change ?? stepOpen(churn) ?? start(churn);
}

/** A step of any open change; null = no change is open. */
function stepOpen(churn: Churn): Change | null {
  const { open, prng } = churn;
  while (open.length > 0) {
    const at = nextInt(prng, open.length);
    const step = open[at]!.next();
    if (step.done !== true) return step.value;
    const last = open.pop()!;
    if (at < open.length) open[at] = last;
  }
  return null;
}

/** The first step of a new change; null = no change can start now. */
function start(churn: Churn): Change | null {
  for (let tries = 0; tries < PICKS_MAX; tries++) {
    const story = beginChange(churn, pickKind(churn));
    const step = story?.next();
    if (step === undefined || step.done === true) continue;
    churn.open.push(story!);
    return step.value;
  }
  return null;
}

function pickKind({ mix, weightTotal, prng }: Churn): ChangeKind {
  let at = nextFloat(prng) * weightTotal;
  for (const { kind, weight } of mix) {
    if (at < weight) return kind;
    at -= weight;
  }
  return mix[mix.length - 1]!.kind;
}

/** null = this kind of change finds no object. */
function beginChange(churn: Churn, kind: ChangeKind): Steps | null {
  switch (kind) {
    case 'readiness':
      return withPod(churn, turnReadiness);
    case 'pod-recreate':
      return withPod(churn, recreate);
    case 'pod-relabel':
      return withPod(churn, relabel);
    case 'pod-replace':
      return withApp(churn, (app) => !app.stateful && app.pods.length > 0, replaceOne);
    case 'scale-up':
      return churn.cluster.pods.length < churn.podsMax ? withApp(churn, () => true, scaleUp) : null;
    case 'scale-down':
      return withApp(churn, (app) => app.pods.length > 1, scaleDown);
    case 'rolling-update':
      return withApp(churn, (app) => app.pods.length > 0, rollingUpdate);
    case 'service-selector':
      return withService(churn, editSelector);
    case 'service-ports':
      return withService(churn, editPorts);
    case 'service-labels':
      return withService(churn, editLabels);
    case 'service-publish':
      return withService(churn, editPublish);
    case 'service-traffic':
      return withService(churn, editTraffic);
    case 'service-topology':
      return withService(churn, editTopology);
    case 'service-create':
      return createService(churn);
    case 'service-delete':
      return withService(churn, deleteService);
    case 'service-recreate':
      return withService(churn, recreateService);
    case 'node-zone':
      return withNode(churn, moveNode);
    case 'node-readiness':
      return withNode(churn, turnNode);
    case 'node-replace':
      return withNode(churn, replaceNode);
    case 'endpoints-edit':
      return withHandMade(churn, editEndpoints);
    case 'endpoints-recreate':
      return withHandMade(churn, recreateEndpoints);
  }
}

type Story<T> = (churn: Churn, item: T) => Steps;

function withPod(churn: Churn, story: Story<PodModel>): Steps | null {
  const { pods } = churn.cluster;
  const pod = pick(churn.prng, pods, (candidate) => !candidate.busy);
  return pod === null ? null : story(churn, pod);
}

function withApp(churn: Churn, fits: (app: App) => boolean, story: Story<App>): Steps | null {
  const app = pick(churn.prng, churn.cluster.apps, (candidate) => !candidate.busy && fits(candidate));
  return app === null ? null : story(churn, app);
}

function withService(churn: Churn, story: Story<ServiceModel>): Steps | null {
  const { services } = churn.cluster;
  return services.length === 0 ? null : story(churn, services[nextInt(churn.prng, services.length)]!);
}

function withNode(churn: Churn, story: Story<NodeModel>): Steps | null {
  const node = pick(churn.prng, churn.cluster.nodes, (candidate) => !candidate.busy);
  return node === null ? null : story(churn, node);
}

function withHandMade(churn: Churn, story: Story<HandMadeService>): Steps | null {
  const service = pick(churn.prng, churn.cluster.handMade, (candidate) => !candidate.busy);
  return service === null ? null : story(churn, service);
}

function pick<T>(prng: Prng, items: readonly T[], fits: (item: T) => boolean): T | null {
  if (items.length === 0) return null;
  const from = nextInt(prng, items.length);
  for (let i = 0; i < Math.min(items.length, PICKS_MAX); i++) {
    const item = items[(from + i) % items.length]!;
    if (fits(item)) return item;
  }
  return null;
}

/** Turns the pod's readiness and, some steps later, turns it back. So the share of ready pods stays the same. */
function* turnReadiness(churn: Churn, pod: PodModel): Steps {
  const { namespace } = pod.app;
  const before = pod.ready;
  pod.busy = true;
  for (const ready of [!before, before]) {
    pod.ready = ready;
    const conditions = readinessConditions(ready, churn.nowSeconds);
    yield podChange('readiness', pod, patchStatus('Pod', namespace, pod.name, { conditions }));
  }
  pod.busy = false;
}

/**
 * Replaces a pod by one of the same name with another uid and address, as in a StatefulSet or after `kubectl replace
 * --force`.
 */
function* recreate(churn: Churn, pod: PodModel): Steps {
  if (pod.app.busy) return;
  pod.app.busy = true;
  yield* recreateInPlace(churn, 'pod-recreate', pod);
  pod.app.busy = false;
}

function* recreateInPlace(churn: Churn, kind: ChangeKind, pod: PodModel): Steps {
  pod.busy = true;
  yield podChange(kind, pod, remove('Pod', pod.app.namespace, pod.name, 0));
  const fresh = recreatePod(churn.cluster, pod, false);
  yield* startPod(churn, kind, fresh);
}

/** Takes a pod out of its Service or puts it back, or moves it to the other track. */
function* relabel({ prng }: Churn, pod: PodModel): Steps {
  if (nextInt(prng, 2) === 0) pod.track = pod.track === 'stable' ? 'canary' : 'stable';
  else pod.appLabel = pod.appLabel === pod.app.name ? `${pod.app.name}-debug` : pod.app.name;
  const labels = { app: pod.appLabel, track: pod.track };
  yield podChange('pod-relabel', pod, patch('Pod', pod.app.namespace, pod.name, { metadata: { labels } }));
}

function* replaceOne(churn: Churn, app: App): Steps {
  const pod = pick(churn.prng, app.pods, (candidate) => !candidate.busy);
  if (pod === null) return;
  app.busy = true;
  yield* replace(churn, 'pod-replace', pod);
  app.busy = false;
}

/** A pod with a new name becomes ready. Then the old pod terminates and goes. */
function* replace(churn: Churn, kind: ChangeKind, pod: PodModel): Steps {
  pod.busy = true;
  const fresh = addPod(churn.cluster, pod.app, false);
  yield* startPod(churn, kind, fresh);
  yield* stopPod(churn, kind, pod);
}

function* scaleUp(churn: Churn, app: App): Steps {
  app.busy = true;
  for (let more = scaleBy(churn, app); more > 0; more--) {
    yield* startPod(churn, 'scale-up', addPod(churn.cluster, app, false));
  }
  app.busy = false;
}

/** Removes pods from the end, so that a stateful app keeps its lowest ordinals. One pod always stays. */
function* scaleDown(churn: Churn, app: App): Steps {
  app.busy = true;
  for (let less = scaleBy(churn, app); less > 0; less--) {
    const pod = app.pods[app.pods.length - 1]!;
    if (pod.busy || app.pods.length === 1) break;
    yield* stopPod(churn, 'scale-down', pod);
  }
  app.busy = false;
}

/** At most half of the app, and at most ten pods. */
function scaleBy({ prng }: Churn, app: App): number {
  return 1 + nextInt(prng, Math.min(10, Math.max(1, app.pods.length >>> 1)));
}

function* rollingUpdate(churn: Churn, app: App): Steps {
  app.busy = true;
  app.revision++;
  for (const pod of app.pods.slice()) {
    if (pod.busy) continue;
    yield* app.stateful ? recreateInPlace(churn, 'rolling-update', pod) : replace(churn, 'rolling-update', pod);
  }
  app.busy = false;
}

/** A pod that starts without being ready, and becomes ready. */
function* startPod(churn: Churn, kind: ChangeKind, pod: PodModel): Steps {
  const { cluster } = churn;
  const { namespace } = pod.app;
  pod.busy = true;
  yield podChange(kind, pod, create(withoutStatus(podObject(cluster, pod))));
  yield podChange(kind, pod, patchStatus('Pod', namespace, pod.name, podStatus(cluster, pod, churn.nowSeconds)));
  pod.ready = true;
  const conditions = readinessConditions(true, churn.nowSeconds);
  yield podChange(kind, pod, patchStatus('Pod', namespace, pod.name, { conditions }));
  pod.busy = false;
}

/** A pod is marked as terminating, becomes unready, and goes. */
function* stopPod(churn: Churn, kind: ChangeKind, pod: PodModel): Steps {
  const { namespace } = pod.app;
  pod.busy = true;
  yield podChange(kind, pod, remove('Pod', namespace, pod.name, TERMINATION_GRACE_SECONDS));
  pod.ready = false;
  const conditions = readinessConditions(false, churn.nowSeconds);
  yield podChange(kind, pod, patchStatus('Pod', namespace, pod.name, { conditions }));
  yield podChange(kind, pod, remove('Pod', namespace, pod.name, 0));
  removePod(churn.cluster, pod);
}

function* editSelector({ prng }: Churn, service: ServiceModel): Steps {
  const before = selectorOf(service);
  service.selector = SELECTORS[(SELECTORS.indexOf(service.selector) + 1 + nextInt(prng, 2)) % SELECTORS.length]!;
  const selector: Record<string, string | null> = selectorOf(service);
  for (const key of Object.keys(before)) selector[key] ??= null;
  yield serviceChange('service-selector', service, { spec: { selector } });
}

function* editPorts({ prng }: Churn, service: ServiceModel): Steps {
  const what = nextInt(prng, 3);
  if (what === 0) service.namedPort = !service.namedPort;
  else if (what === 1) service.metricsPort = !service.metricsPort;
  else service.appProtocol = service.appProtocol === '' ? APP_PROTOCOL : '';
  yield serviceChange('service-ports', service, { spec: { ports: servicePorts(service) } });
}

function* editLabels({ prng }: Churn, service: ServiceModel): Steps {
  service.owner = service.owner === '' ? `team-${nextInt(prng, 10)}` : '';
  const owner = service.owner === '' ? null : service.owner;
  yield serviceChange('service-labels', service, { metadata: { labels: { owner } } });
}

function* editPublish(_: Churn, service: ServiceModel): Steps {
  service.publishNotReady = !service.publishNotReady;
  yield serviceChange('service-publish', service, { spec: { publishNotReadyAddresses: service.publishNotReady } });
}

function* editTraffic({ prng }: Churn, service: ServiceModel): Steps {
  const values = ['', ...TRAFFIC_DISTRIBUTIONS].filter((value) => value !== service.trafficDistribution);
  service.trafficDistribution = values[nextInt(prng, values.length)]!;
  const trafficDistribution = service.trafficDistribution === '' ? null : service.trafficDistribution;
  yield serviceChange('service-traffic', service, { spec: { trafficDistribution } });
}

function* editTopology(_: Churn, service: ServiceModel): Steps {
  service.topologyAuto = !service.topologyAuto;
  const annotations = { [TOPOLOGY_MODE_ANNOTATION]: service.topologyAuto ? 'Auto' : null };
  yield serviceChange('service-topology', service, { metadata: { annotations } });
}

/** A deleted Service comes back under its name, or an app gets one more Service. */
function* createService(churn: Churn): Steps {
  const { cluster, deleted, prng } = churn;
  const returning = deleted.length > 0 ? deleted.splice(nextInt(prng, deleted.length), 1)[0]! : null;
  const app = returning?.app ?? cluster.apps[nextInt(prng, cluster.apps.length)]!;
  const service: ServiceModel = returning ?? {
    namespace: app.namespace,
    name: `${app.name}-more-${churn.servicesMade++}`,
    app,
    headless: false,
    selector: 'track',
    namedPort: nextInt(prng, 2) === 0,
    metricsPort: nextInt(prng, 2) === 0,
    publishNotReady: false,
    dualStack: false,
    trafficDistribution: '',
    topologyAuto: false,
    appProtocol: '',
    owner: '',
    slot: 0,
  };
  yield serviceCreation('service-create', cluster, service);
}

function* deleteService(churn: Churn, service: ServiceModel): Steps {
  churn.deleted.push(service);
  yield serviceDeletion('service-delete', churn.cluster, service);
}

/** The Service gets another uid and address. Its old objects are not its own any more. */
function* recreateService({ cluster }: Churn, service: ServiceModel): Steps {
  yield serviceDeletion('service-recreate', cluster, service);
  yield serviceCreation('service-recreate', cluster, service);
}

function serviceCreation(kind: ChangeKind, cluster: Cluster, service: ServiceModel): Change {
  addService(cluster, service);
  return { kind, object: keyOf(service), pod: null, request: create(serviceObject(service)) };
}

function serviceDeletion(kind: ChangeKind, cluster: Cluster, service: ServiceModel): Change {
  removeService(cluster, service);
  return { kind, object: keyOf(service), pod: null, request: remove('Service', service.namespace, service.name, 0) };
}

function podChange(kind: ChangeKind, pod: PodModel, request: WorkloadRequest): Change {
  assert(pod.app.pods[pod.appSlot] === pod, `pod ${pod.app.namespace}/${pod.name} is in the cluster when it changes`);
  return { kind, object: `${pod.app.namespace}/${pod.name}`, request, pod };
}

function serviceChange(kind: ChangeKind, service: ServiceModel, change: object): Change {
  return {
    kind,
    object: keyOf(service),
    pod: null,
    request: patch('Service', service.namespace, service.name, change),
  };
}

function keyOf(service: ServiceModel): string {
  return `${service.namespace}/${service.name}`;
}
