/**
 * A story of objects of every shape that the API takes, where the other stories have many objects of usual shapes: pods that
 * share an address, have one family or no node; Services with finalizers, without ports, of either family; Endpoints and
 * slices by all kinds of hands. Once it is quiet everything is right, nothing is written any more, and nothing is kept of
 * what is gone.
 */
import assert from 'node:assert/strict';
import { edit, make, objectAt, objectsOf, pick, remove } from './hand.ts';
import { wrongNow } from './wrong-now.ts';
import { checkNothingKept } from '../support/nothing-kept.ts';
import { createSim, writesOf, type Sim } from '../support/sim.ts';
import type { ControllerOptions } from '../../src/controller/options.ts';
import {
  CONTROL_PLANE_LABELS,
  HEADLESS_LABEL,
  MANAGED_BY_LABEL,
  MIRROR_MANAGED_BY_VALUE,
  SERVICE_NAME_LABEL,
  SKIP_MIRROR_LABEL,
  SLICE_MANAGED_BY_LABEL,
  SLICE_MANAGED_BY_VALUE,
  TOPOLOGY_MODE_ANNOTATION,
  ZONE_LABEL,
} from '../../src/kube/names.ts';
import { formatTime } from '../../src/kube/time.ts';
import type { KubeObject, ResourceName } from '../../src/kube/types.ts';
import { createPrng, nextInt, type Prng } from '../../src/lib/prng.ts';

type Act = (sim: Sim, prng: Prng) => void;
type Fields = Record<string, unknown>;

const NAMESPACES = ['a', 'b'];
/** The last one is as long as a name may be. */
const SERVICES = ['s0', 's1', 's2', 'x'.repeat(63)];
const NODES = ['node-0', 'node-1', 'node-2'];
const FINALIZER = 'example.com/finalizer';
const HOLDABLE: readonly ResourceName[] = ['services', 'pods', 'endpoints', 'endpointslices'];

function one<T>(prng: Prng, items: readonly T[]): T {
  return pick(prng, items)!;
}

function isOneIn(prng: Prng, count: number): boolean {
  return nextInt(prng, count) === 0;
}

function sometimes<T extends object>(prng: Prng, count: number, fields: T): Partial<T> {
  return isOneIn(prng, count) ? fields : {};
}

function onAny(resource: ResourceName, act: (sim: Sim, prng: Prng, object: KubeObject) => void): Act {
  return (sim, prng) => {
    const object = pick(prng, objectsOf(sim, resource));
    if (object !== undefined) act(sim, prng, object);
  };
}

/** Pods of a host network share the address of their node. Of two ports of one name the first of the protocol counts. */
function createPod(sim: Sim, prng: Prng): void {
  const [namespace, name] = [one(prng, NAMESPACES), `p${nextInt(prng, 12)}`];
  // One node is not known, and a pod may have none yet.
  const nodeName = one(prng, [...NODES, 'node-9', '']);
  const port = { name: 'http', containerPort: 8080 + nextInt(prng, 2), protocol: one(prng, ['TCP', 'TCP', 'UDP']) };
  const sidecar = { name: 'i', image: 'i', ports: [{ name: 'http', containerPort: 9999, protocol: 'TCP' }] };
  make(sim, 'pods', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name, labels: drawPodLabels(prng), ...sometimes(prng, 6, { finalizers: [FINALIZER] }) },
    spec: {
      containers: [{ name: 'm', image: 'm', ports: isOneIn(prng, 3) ? [] : [port] }],
      ...(nodeName === '' ? {} : { nodeName }),
      ...sometimes(prng, 3, { hostname: `h${nextInt(prng, 2)}`, subdomain: one(prng, SERVICES) }),
      ...sometimes(prng, 3, { initContainers: [{ ...sidecar, ...sometimes(prng, 2, { restartPolicy: 'Always' }) }] }),
    },
  });
  const pod = objectAt(sim, 'pods', `${namespace}/${name}`);
  if (pod !== undefined) reportStatus(sim, prng, pod);
}

function drawPodLabels(prng: Prng): Record<string, string> {
  return { app: one(prng, ['x', 'y', 'z']), track: one(prng, ['new', 'old', '']) };
}

function reportStatus(sim: Sim, prng: Prng, pod: KubeObject): void {
  const { nodeName = '' } = pod['spec'] as { nodeName?: string };
  const last = isOneIn(prng, 3) ? 200 + Number(/\d$/.exec(nodeName)?.[0] ?? 7) : 1 + nextInt(prng, 30);
  const [v4, v6] = [`10.0.0.${last}`, `fd00::${last}`];
  const ips = one<readonly string[]>(prng, [[v4, v6], [v4, v6], [v4], [v6], [v6, v4], []]);
  const ready = {
    type: 'Ready',
    status: one(prng, ['True', 'True', 'True', 'False', 'Unknown']),
    lastTransitionTime: formatTime(Math.floor(sim.clocks.wallMs() / 1000)),
  };
  const status = {
    ...(ips.length === 0 ? {} : { podIP: ips[0]!, podIPs: ips.map((ip) => ({ ip })) }),
    phase: one(prng, ['Running', 'Running', 'Pending', 'Succeeded', 'Unknown']),
    ...(isOneIn(prng, 6) ? {} : { conditions: [ready] }),
  };
  edit(sim, 'pods', pod, (copy) => (copy['status'] = status), '/status');
}

function drawSpec(prng: Prng): Fields {
  const named = { name: 'http', port: 80, targetPort: 'http' };
  const ports = one<readonly Fields[]>(prng, [
    [],
    [named],
    [
      { name: 'a', port: 1, targetPort: 8080 },
      { name: 'b', port: 2, targetPort: 'http' },
    ],
    [
      { name: 'u', port: 80, protocol: 'UDP', targetPort: 'http' },
      { name: 't', port: 80, targetPort: 'http', appProtocol: 'http' },
    ],
    [{ port: 80 }],
  ]);
  const selectors = [{ app: 'x' }, { app: 'y' }, { app: 'x', track: 'new' }, { track: '' }];
  return {
    ports,
    ...one<Fields>(prng, [...selectors.map((selector) => ({ selector })), {}]),
    ...sometimes(prng, 4, { publishNotReadyAddresses: true }),
    ...sometimes(prng, 2, { trafficDistribution: one(prng, ['PreferClose', 'PreferSameNode']) }),
  };
}

function createService(sim: Sim, prng: Prng): void {
  const spec = drawSpec(prng);
  const isHeadless = isOneIn(prng, 2) || (spec['ports'] as readonly object[]).length === 0;
  const families = [
    {},
    { ipFamilyPolicy: 'PreferDualStack' },
    { ipFamilies: ['IPv6'] },
    { ipFamilies: ['IPv6', 'IPv4'], ipFamilyPolicy: 'RequireDualStack' },
  ];
  make(sim, 'services', {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      namespace: one(prng, NAMESPACES),
      name: one(prng, SERVICES),
      labels: drawServiceLabels(prng),
      ...sometimes(prng, 2, { annotations: { [TOPOLOGY_MODE_ANNOTATION]: 'Auto' } }),
      ...sometimes(prng, 4, { finalizers: ['service.kubernetes.io/load-balancer-cleanup'] }),
    },
    spec: { ...spec, ...one<Fields>(prng, families), ...(isHeadless ? { clusterIP: 'None' } : {}) },
  });
}

/** Also such as the controllers write themselves. */
function drawServiceLabels(prng: Prng): Record<string, string> {
  return one<Record<string, string>>(prng, [
    {},
    { a: 'b' },
    { a: '' },
    { a: 'b', [HEADLESS_LABEL]: 'x' },
    { [MANAGED_BY_LABEL]: 'me' },
    { [SLICE_MANAGED_BY_LABEL]: 'me', [SERVICE_NAME_LABEL]: 'q' },
  ]);
}

function changeSpec(sim: Sim, prng: Prng, service: KubeObject): void {
  const drawn = drawSpec(prng);
  edit(sim, 'services', service, ({ spec }) => {
    for (const field of ['ports', 'selector', 'publishNotReadyAddresses', 'trafficDistribution']) {
      (spec as Fields)[field] = drawn[field];
    }
  });
}

function toOrFromExternalName(sim: Sim, _prng: Prng, service: KubeObject): void {
  edit(sim, 'services', service, (copy) => {
    const spec = copy['spec'] as Fields;
    const isExternal = spec['type'] === 'ExternalName';
    for (const field of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'externalName']) delete spec[field];
    Object.assign(spec, isExternal ? { type: 'ClusterIP' } : { type: 'ExternalName', externalName: 'example.com' });
  });
}

function toOneOrTwoFamilies(sim: Sim, prng: Prng, service: KubeObject): void {
  edit(sim, 'services', service, (copy) => {
    const spec = copy['spec'] as { ipFamilyPolicy: string; ipFamilies?: string[]; clusterIPs?: string[] };
    spec.ipFamilyPolicy = one(prng, ['SingleStack', 'PreferDualStack']);
    if (spec.ipFamilyPolicy !== 'SingleStack') return;
    spec.ipFamilies?.splice(1);
    spec.clusterIPs?.splice(1);
  });
}

function putEndpoints(sim: Sim, prng: Prng): void {
  const [namespace, name] = [one(prng, NAMESPACES), one(prng, SERVICES)];
  const metadata = {
    labels: one<Record<string, string>>(prng, [
      {},
      { team: 'a' },
      { [SKIP_MIRROR_LABEL]: one(prng, ['true', 'True']) },
      { [SERVICE_NAME_LABEL]: 'zz', [SLICE_MANAGED_BY_LABEL]: 'me' },
      { [HEADLESS_LABEL]: '' },
    ]),
    annotations: one<Record<string, string>>(prng, [{}, { note: 'n' }]),
    finalizers: isOneIn(prng, 5) ? [FINALIZER] : [],
  };
  const subsets = Array.from({ length: nextInt(prng, 4) }, () => drawSubset(prng));
  const old = objectAt(sim, 'endpoints', `${namespace}/${name}`);
  if (old === undefined) {
    const object = { apiVersion: 'v1', kind: 'Endpoints', metadata: { namespace, name, ...metadata }, subsets };
    make(sim, 'endpoints', object);
  } else
    edit(sim, 'endpoints', old, (copy) =>
      Object.assign(copy, { subsets }, { metadata: { ...copy.metadata, ...metadata } }),
    );
}

function drawSubset(prng: Prng): Fields {
  const addresses = (count: number): Fields[] =>
    Array.from({ length: 1 + nextInt(prng, count) }, () => drawAddress(prng));
  const ports = [
    [{ name: 'h', port: 1 }],
    [{ name: 'h', port: 1, appProtocol: 'http' }],
    [
      { name: 'h', port: 2 },
      { name: 'i', port: 3, protocol: 'UDP' },
    ],
    [{ port: 9 }],
  ];
  return {
    addresses: addresses(5),
    ...(isOneIn(prng, 2) ? { notReadyAddresses: addresses(3) } : {}),
    ...one<Fields>(prng, [...ports.map((each) => ({ ports: each })), {}]),
  };
}

function drawAddress(prng: Prng): Fields {
  const pod = { kind: 'Pod', namespace: 'a', name: `q${nextInt(prng, 3)}`, ...sometimes(prng, 2, { uid: 'u' }) };
  return {
    ip: `${one(prng, ['198.51.100.', '2001:db8::'])}${1 + nextInt(prng, 6)}`,
    ...sometimes(prng, 4, { hostname: 'hh' }),
    ...sometimes(prng, 2, { nodeName: one(prng, NODES) }),
    ...sometimes(prng, 3, { targetRef: pod }),
  };
}

function createSlice(sim: Sim, prng: Prng, { metadata: { namespace, name, uid } }: KubeObject): void {
  const owner = {
    apiVersion: 'v1',
    kind: 'Service',
    name: name!,
    uid: uid!,
    controller: true,
    blockOwnerDeletion: true,
  };
  make(sim, 'endpointslices', {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      ...(namespace === undefined ? {} : { namespace }),
      name: `f${nextInt(prng, 3)}`,
      labels: {
        [SERVICE_NAME_LABEL]: name!,
        [SLICE_MANAGED_BY_LABEL]: one(prng, [SLICE_MANAGED_BY_VALUE, MIRROR_MANAGED_BY_VALUE, 'me']),
      },
      ...sometimes(prng, 2, { ownerReferences: [owner] }),
    },
    addressType: one(prng, ['IPv4', 'IPv6', 'FQDN']),
    endpoints: [],
    ports: isOneIn(prng, 2) ? [{ name: 'http', port: 8080, protocol: 'TCP' }] : [],
  });
}

/** A finalizer, or another Service. */
function takeSlice(sim: Sim, prng: Prng, slice: KubeObject): void {
  edit(sim, 'endpointslices', slice, ({ metadata }) => {
    if (isOneIn(prng, 2)) metadata.finalizers = [FINALIZER];
    else metadata.labels = { ...metadata.labels, [SERVICE_NAME_LABEL]: one(prng, SERVICES) };
  });
}

function changeNode(sim: Sim, prng: Prng): void {
  const name = one(prng, NODES);
  const controlPlane = Object.fromEntries(CONTROL_PLANE_LABELS.map((label) => [label, '']));
  const labels = { [ZONE_LABEL]: one(prng, ['za', 'zb', 'zc']), ...sometimes(prng, 4, controlPlane) } as Record<
    string,
    string
  >;
  const node = objectAt(sim, 'nodes', name);
  const status = { allocatable: { cpu: '4' }, conditions: [{ type: 'Ready', status: 'True' }] };
  if (node === undefined) make(sim, 'nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name, labels }, status });
  else if (isOneIn(prng, 3)) remove(sim, 'nodes', node);
  else edit(sim, 'nodes', node, ({ metadata }) => (metadata.labels = labels));
}

/** Of some objects that are being deleted; at the end of a story of all. */
function releaseDeleted(sim: Sim, isReleased: (object: KubeObject) => boolean): void {
  for (const resource of HOLDABLE) {
    for (const object of objectsOf(sim, resource)) {
      if ((object.metadata.finalizers ?? []).length === 0 || !isReleased(object)) continue;
      edit(sim, resource, object, ({ metadata }) => (metadata.finalizers = []));
    }
  }
}

/** With how often each is drawn. */
const ACTS: readonly (readonly [weight: number, act: Act])[] = [
  [5, createPod],
  [6, onAny('pods', reportStatus)],
  [2, onAny('pods', (sim, prng, pod) => remove(sim, 'pods', pod, isOneIn(prng, 2) ? 30 : 0))],
  [
    1,
    onAny('pods', (sim, prng, pod) =>
      edit(sim, 'pods', pod, ({ metadata }) => (metadata.labels = drawPodLabels(prng))),
    ),
  ],
  [3, createService],
  [3, onAny('services', changeSpec)],
  [
    1,
    onAny('services', (sim, prng, service) =>
      edit(sim, 'services', service, ({ metadata }) => (metadata.labels = drawServiceLabels(prng))),
    ),
  ],
  [1, onAny('services', toOrFromExternalName)],
  [2, onAny('services', toOneOrTwoFamilies)],
  [2, onAny('services', (sim, _prng, service) => remove(sim, 'services', service))],
  [
    2,
    (sim, prng) => releaseDeleted(sim, ({ metadata }) => metadata.deletionTimestamp !== undefined && isOneIn(prng, 2)),
  ],
  [3, putEndpoints],
  [1, onAny('endpoints', (sim, _prng, object) => remove(sim, 'endpoints', object))],
  [1, onAny('endpointslices', (sim, _prng, slice) => remove(sim, 'endpointslices', slice))],
  [1, onAny('endpointslices', takeSlice)],
  [1, onAny('services', createSlice)],
  [1, changeNode],
];
const BAG: readonly Act[] = ACTS.flatMap(([weight, act]) => Array<Act>(weight).fill(act));

/** Longer than the longest back-off, which is five minutes. */
const QUIET_MS = 400_000;
const RESYNC_MS = 600_000;
const LATE_MS = 2 * RESYNC_MS;

/** @throws AssertionError if the story goes wrong */
export function playShapes(seed: number): void {
  const prng = createPrng(seed);
  const maxEndpointsPerSlice = one(prng, [2, 3, 100]);
  const flags: Partial<ControllerOptions> = {
    endpoints: true,
    slices: true,
    mirror: true,
    kubeApiQps: 1000,
    kubeApiBurst: 1000,
    maxEndpointsPerSlice,
    mirroringMaxEndpointsPerSubset: one(prng, [2, 5, 1000]),
    mirroringAllEndpoints: isOneIn(prng, 3),
    minResyncPeriodMs: RESYNC_MS,
    compactSlices: isOneIn(prng, 3),
    mirroringZones: isOneIn(prng, 3),
  };
  const ranges = { serviceClusterIPRanges: ['10.96.0.0/12', 'fd00::/108'] };
  const sim = createSim({ seed, ...ranges, options: flags, shards: 1 + nextInt(prng, 2) });
  for (const name of NAMESPACES) {
    make(sim, 'namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  for (let i = 0; i < 12; i++) one(prng, BAG)(sim, prng);
  sim.start();
  sim.run(2000);
  for (let left = 20 + nextInt(prng, 40); left > 0; left--) {
    one(prng, BAG)(sim, prng);
    sim.run(one(prng, [0, 1, 5, 30, 200, 1500]));
    if (isOneIn(prng, 12)) sim.cutWatches();
    if (isOneIn(prng, 40)) sim.compact();
  }
  releaseDeleted(sim, () => true);
  sim.run(QUIET_MS);
  const told = `seed ${seed}`;
  assert.deepEqual(wrongNow({ sim, flags, maxEndpointsPerSlice }), [], told);
  const writes = writesOf(sim).length;
  sim.run(LATE_MS);
  assert.deepEqual(writesOf(sim).slice(writes), [], `nothing is written any more, ${told}`);
  assert.deepEqual(
    sim.loop!.state.controllers.map(({ stuck }) => stuck.size),
    [0, 0, 0],
    told,
  );
  checkNothingKept(sim, told);
}
