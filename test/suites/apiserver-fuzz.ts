/**
 * Seeded stories of requests on one namespace: objects that are nearly right, and bodies, queries and patches that are
 * not. What an API server answers to them is for its peer to say.
 */
import { nextInt, type Prng } from '../../src/lib/prng.ts';
import { JSON_PATCH, MERGE, STRATEGIC, type Json } from './apiserver-client.ts';
import type { Step } from './apiserver-script.ts';

/** What a success shows: nothing that differs from server to server. */
const SHOWS: readonly string[] = [
  'metadata.labels',
  'metadata.annotations',
  'metadata.finalizers',
  'metadata.ownerReferences',
  'metadata.generation',
  'spec',
  'status',
  'subsets',
  'addressType',
  'endpoints',
  'ports',
  'reason',
  'type',
  'details.kind',
];

const OWNER = { apiVersion: 'v1', kind: 'Service', name: 'a', uid: 'u', controller: true };
const METADATA = { name: 'a', labels: { app: 'web', tier: 'x' }, annotations: { note: 'n' }, ownerReferences: [OWNER] };
const POD_SPEC = {
  nodeName: 'n',
  hostname: 'h',
  containers: [
    {
      name: 'app',
      image: 'app:1',
      ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
      resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '1', memory: '1Gi' } },
    },
  ],
};
const POD_STATUS = {
  phase: 'Running',
  podIP: '10.0.0.1',
  podIPs: [{ ip: '10.0.0.1' }],
  conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }],
};

interface Subject {
  /** Of the collection, from the namespace or from the root. */
  readonly path: string;
  readonly object: Json;
  readonly status?: Json;
}

const SUBJECTS: readonly Subject[] = [
  {
    path: 'endpoints',
    object: {
      metadata: METADATA,
      subsets: [
        {
          addresses: [{ ip: '10.0.0.1', nodeName: 'n', hostname: 'h', targetRef: { kind: 'Pod', name: 'p' } }],
          notReadyAddresses: [{ ip: '10.0.0.2' }],
          ports: [{ name: 'http', port: 80, protocol: 'TCP', appProtocol: 'http' }],
        },
      ],
    },
  },
  {
    path: 'endpointslices',
    object: {
      metadata: METADATA,
      addressType: 'IPv4',
      endpoints: [
        {
          addresses: ['10.0.0.1'],
          conditions: { ready: true, serving: true, terminating: false },
          hostname: 'h',
          nodeName: 'n',
          zone: 'z',
          targetRef: { kind: 'Pod', name: 'p' },
          hints: { forZones: [{ name: 'z' }], forNodes: [{ name: 'n' }] },
        },
        { addresses: ['10.0.0.2'] },
      ],
      ports: [{ name: 'http', port: 80, protocol: 'TCP', appProtocol: 'http' }],
    },
  },
  {
    path: 'services',
    object: {
      metadata: METADATA,
      spec: {
        selector: { app: 'web' },
        type: 'ClusterIP',
        sessionAffinity: 'None',
        internalTrafficPolicy: 'Cluster',
        ports: [{ name: 'http', port: 80, targetPort: 'http', protocol: 'TCP' }],
      },
    },
    status: { loadBalancer: { ingress: [{ ip: '10.0.0.1' }] } },
  },
  { path: 'pods', object: { metadata: METADATA, spec: POD_SPEC }, status: POD_STATUS },
  {
    path: 'leases',
    object: { metadata: METADATA, spec: { holderIdentity: 'h', leaseDurationSeconds: 10, leaseTransitions: 1 } },
  },
  {
    path: '/api/v1/nodes',
    object: {
      metadata: { ...METADATA, name: 'NS-a' },
      spec: { podCIDR: '10.0.0.0/24', taints: [{ key: 'k', value: 'v', effect: 'NoSchedule' }] },
    },
    status: { capacity: { cpu: '4', memory: '8Gi' }, allocatable: { cpu: '3500m' }, addresses: [] },
  },
];

const ODD_VALUES: readonly Json[] = [
  null,
  '',
  'x',
  'a b',
  'A',
  '-',
  'a.b',
  'a'.repeat(64),
  'a'.repeat(254),
  -1,
  0,
  1,
  65_536,
  1.5,
  2 ** 31,
  true,
  false,
  [],
  {},
  ['x'],
  [null],
  { a: 'b' },
  '10.0.0.1',
  '010.0.0.1',
  '2001:db8::1',
  '2001:DB8::1',
  '127.0.0.1',
  '169.254.0.1',
  'TCP',
  'None',
  'IPv6',
  '1500m',
  'kubernetes.io/a',
];

const QUERIES: readonly string[] = [
  'limit=1',
  'limit=x',
  'resourceVersion=x',
  'resourceVersionMatch=NotOlderThan',
  'continue=x',
  'continue=e30',
  'labelSelector=app%3Dweb',
  'labelSelector=app%20in%20(a,web),!other',
  'labelSelector=app%20in',
  'labelSelector=-a',
  'labelSelector=app%3D%3D%3Dweb',
  'fieldSelector=metadata.name%3Da',
  'fieldSelector=metadata.name!%3Da,metadata.namespace%3DNS',
  'fieldSelector=x%3Dy',
  'fieldSelector=x',
  'timeoutSeconds=x',
  'sendInitialEvents=true',
];

const DELETE_OPTIONS: readonly Json[] = [
  undefined,
  {},
  { gracePeriodSeconds: 0 },
  { gracePeriodSeconds: 'x' },
  { preconditions: { uid: 'UID' } },
  { preconditions: { uid: 'x' } },
  { preconditions: { resourceVersion: 'RV' } },
  { propagationPolicy: 'Foreground' },
  { propagationPolicy: 'x' },
  { dryRun: ['All'] },
  { dryRun: ['x'] },
  { kind: 'Pod' },
];

/** A story of about that many requests. */
export function nextStory(prng: Prng, requests: number): Step[] {
  const subject = pick(prng, SUBJECTS);
  // Something to work on; now and then it is not there.
  const steps: Step[] = chance(prng, 10) ? [] : [post(subject, subject.object)];
  while (steps.length < requests) steps.push(nextStep(prng, subject));
  return steps;
}

function nextStep(prng: Prng, subject: Subject): Step {
  const { path, object, status } = subject;
  const name = object.metadata.name as string;
  const ofStatus = status !== undefined && chance(prng, 3);
  const item = `${path}/${chance(prng, 12) ? 'b' : name}${ofStatus ? '/status' : ''}`;
  const whole: Json = ofStatus ? { ...object, status } : object;
  switch (nextInt(prng, 13)) {
    case 0:
    case 1:
    case 2: {
      const other = { ...object, metadata: { ...object.metadata, name: `${name}${nextInt(prng, 1000)}` } };
      return post(subject, mutated(prng, other));
    }
    case 3:
    case 4:
      return { method: 'PUT', path: item, body: mutated(prng, whole), shows: SHOWS };
    case 5:
    case 6:
      return patch(item, MERGE, partOf(prng, mutated(prng, whole)));
    case 7:
      return patch(item, STRATEGIC, partOf(prng, mutated(prng, whole)));
    case 8:
      return patch(item, JSON_PATCH, operations(prng, whole));
    case 9:
      // What is not in a namespace shows what other stories have left there.
      if (path.startsWith('/')) return { method: 'GET', path: item, shows: SHOWS };
      return { method: 'GET', path: `${path}?${pick(prng, QUERIES)}` };
    case 10:
      return { method: 'DELETE', path: item, body: pick(prng, DELETE_OPTIONS), shows: SHOWS };
    case 11:
      return stray(prng, subject);
    default:
      return { method: chance(prng, 2) ? 'POST' : 'PUT', path: item, body: broken(prng, object), shows: SHOWS };
  }
}

/** A method or a path that does not go with the subject. What is in no namespace is never deleted as a collection. */
function stray(prng: Prng, { path, object }: Subject): Step {
  const item = `${path}/${object.metadata.name}`;
  const method = pick(prng, ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);
  const body = method === 'GET' || method === 'DELETE' ? undefined : object;
  if (!path.startsWith('/') && chance(prng, 3)) return { method, path, body, shows: SHOWS };
  const paths = [item, `${item}/none`, `${item}/status`, `${item}/`, `${item}/%zz`, ...STRAY_PATHS];
  // What is in all namespaces differs from server to server, so it is not read.
  if (method !== 'GET') paths.push('/api/v1/namespaces//endpoints');
  return { method, path: pick(prng, paths), body, shows: SHOWS };
}

const STRAY_PATHS: readonly string[] = [
  '/api/v1/watch/namespaces/NS/endpoints?timeoutSeconds=1',
  '/api/v1/nodes/NS-a/none',
  '/api/v1/none',
  '/api/v2/pods',
  '/apis/discovery.k8s.io/v1/namespaces/NS/endpoints',
  '/apis/none.example.com/v1/endpoints',
  '/none',
];

function post({ path }: Subject, body: Json): Step {
  return { method: 'POST', path, body, shows: SHOWS };
}

function patch(path: string, contentType: string, body: Json): Step {
  return { method: 'PATCH', path, body: JSON.stringify(body), options: { contentType }, shows: SHOWS };
}

/** With none, one or two changes somewhere in it. */
function mutated(prng: Prng, object: Json): Json {
  const copy = structuredClone(object);
  for (let changes = nextInt(prng, 3); changes > 0; changes--) mutate(prng, copy);
  return copy;
}

function mutate(prng: Prng, root: Json): void {
  let holder = root;
  for (;;) {
    const keys = Object.keys(holder);
    if (keys.length === 0) return;
    const key = pick(prng, keys);
    const value = holder[key];
    if (typeof value === 'object' && value !== null && !chance(prng, 5)) {
      holder = value;
      continue;
    }
    const kind = nextInt(prng, 8);
    if (kind === 0 && !Array.isArray(holder)) delete holder[key];
    else if (kind === 1 && Array.isArray(holder)) holder.push(structuredClone(value));
    else if (kind === 2 && !Array.isArray(holder)) holder.unknown = 1;
    else holder[key] = structuredClone(pick(prng, ODD_VALUES));
    return;
  }
}

/** Some of its fields, never the name. */
function partOf(prng: Prng, object: Json): Json {
  const { metadata } = object;
  const isObject = typeof metadata === 'object' && metadata !== null;
  const whole = isObject ? { ...object, metadata: { ...metadata, name: undefined } } : object;
  const keys = Object.keys(whole);
  const kept = pick(prng, keys);
  return { [kept]: whole[kept] };
}

function operations(prng: Prng, object: Json): Json {
  return Array.from({ length: 1 + nextInt(prng, 2) }, () => {
    const op = pick(prng, ['add', 'replace', 'remove', 'test', 'move', 'x']);
    const path = pointerInto(prng, object);
    return { op, path, from: pointerInto(prng, object), value: pick(prng, ODD_VALUES) };
  });
}

function pointerInto(prng: Prng, object: Json): string {
  let path = '';
  for (let holder = object; typeof holder === 'object' && holder !== null && Object.keys(holder).length > 0;) {
    const key = pick(prng, Object.keys(holder));
    path += `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    holder = holder[key];
    if (chance(prng, 4)) break;
  }
  return chance(prng, 10) ? `${path}/none` : path;
}

/** The text of an object with a piece missing, or with something in it that has no place there. */
function broken(prng: Prng, object: Json): string {
  const text = JSON.stringify(object);
  const at = nextInt(prng, text.length);
  if (chance(prng, 3)) return text.slice(0, at);
  return text.slice(0, at) + pick(prng, ['}', ']', ',', ':', '"', '\\', '\u0001', '-', 'x', '0']) + text.slice(at);
}

function pick<T>(prng: Prng, values: readonly T[]): T {
  return values[nextInt(prng, values.length)]!;
}

function chance(prng: Prng, oneIn: number): boolean {
  return nextInt(prng, oneIn) === 0;
}
