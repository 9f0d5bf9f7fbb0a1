/**
 * A cluster whose every text carries a canary, for tests that look for it in a recording and in what is told of one.
 * Texts that a recording keeps on purpose have none: label keys of Kubernetes' own, and values that the API takes from a
 * list, such as a phase or a protocol (docs/recording.md, "Pseudonyms"). Times and numbers are no texts.
 */
import { messageOf, type Field, type Message } from '../../src/kube/schema.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import type { RecordedResource } from '../../src/recording/recording.ts';

/** An address cannot spell a word, so those of two networks for documentation are canaries too. */
export const CANARY = /canary|203\.0\.113\.|2001:db8:/i;

export const CANARY_NAMESPACE = 'canary-shop';

type Json = Readonly<Record<string, unknown>>;

interface CanaryObject extends KubeObject {
  readonly resource: RecordedResource;
}

/** What an API server takes, in the order in which it is to be created. */
export const CANARY_CLUSTER: readonly CanaryObject[] = [
  {
    resource: 'nodes',
    apiVersion: 'v1',
    kind: 'Node',
    // A zone is a value that the user chooses, under a key of Kubernetes' own.
    metadata: metadata('canary-node', {
      'topology.kubernetes.io/zone': 'canary-zone',
      'kubernetes.io/hostname': 'canary-node',
    }),
    spec: { providerID: 'canary://canary-node', taints: [{ key: 'canary.io/taint', effect: 'PreferNoSchedule' }] },
    status: {
      addresses: [
        { type: 'InternalIP', address: '203.0.113.7' },
        { type: 'Hostname', address: 'canary-node' },
      ],
      allocatable: { cpu: '4', 'canary.io/device': '1' },
      nodeInfo: { kernelVersion: 'canary', osImage: 'canary' },
    },
  },
  {
    resource: 'services',
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadata('canary-web', {}, { 'service.kubernetes.io/topology-mode': 'canary-mode' }),
    spec: {
      selector: { 'canary.io/app': 'canary-app' },
      ports: [
        { name: 'canary-port', port: 80, targetPort: 'canary-web', protocol: 'TCP', appProtocol: 'canary.io/proto' },
      ],
      externalIPs: ['203.0.113.80'],
    },
  },
  {
    resource: 'services',
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadata('canary-elsewhere'),
    spec: { type: 'ExternalName', externalName: 'canary.example.com' },
  },
  {
    resource: 'services',
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadata('canary-by-hand'),
    spec: { ports: [{ name: 'canary', port: 1, protocol: 'TCP' }] },
  },
  {
    resource: 'endpoints',
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: metadata('canary-by-hand'),
    subsets: [
      {
        addresses: [
          { ip: '203.0.113.77', hostname: 'canary-host', nodeName: 'canary-node', targetRef: podNamed('canary-gone') },
          { ip: '2001:db8::77', targetRef: { kind: 'Canary', name: 'canary-thing', fieldPath: 'canary.field' } },
        ],
        notReadyAddresses: [{ ip: '203.0.113.78' }],
        ports: [{ name: 'canary', port: 1, protocol: 'TCP', appProtocol: 'canary.io/proto' }],
      },
    ],
  },
  {
    resource: 'endpointslices',
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    // By this label it passes for one of the controller's, which alone are listed.
    metadata: metadata('canary-slice', {
      'kubernetes.io/service-name': 'canary-elsewhere',
      'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
    }),
    addressType: 'FQDN',
    endpoints: [
      {
        addresses: ['db.canary.example.com'],
        hostname: 'canary-host',
        nodeName: 'canary-node',
        zone: 'canary-zone',
        targetRef: podNamed('canary-gone'),
        hints: { forZones: [{ name: 'canary-zone' }], forNodes: [{ name: 'canary-node' }] },
      },
    ],
    ports: [{ name: 'canary', port: 1, protocol: 'TCP', appProtocol: 'canary.io/proto' }],
  },
  {
    resource: 'endpointslices',
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: metadata('canary-slice-by-hand', { 'endpointslice.kubernetes.io/managed-by': 'canary.io' }),
    addressType: 'IPv6',
    endpoints: [{ addresses: ['2001:db8::79'] }],
    ports: [],
  },
];

/** The pod of `canary-web`. On its node's network it has the node's address. */
export const CANARY_POD: CanaryObject = {
  resource: 'pods',
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: metadata('canary-web-1', {
    'canary.io/app': 'canary-app',
    'pod-template-hash': 'canary-hash',
    'controller-revision-hash': 'canary-revision',
    'statefulset.kubernetes.io/pod-name': 'canary-web-1',
  }),
  spec: {
    nodeName: 'canary-node',
    hostNetwork: true,
    hostname: 'canary-host',
    subdomain: 'canary-web',
    containers: [
      {
        name: 'canary',
        image: 'canary/canary:1',
        command: ['canary'],
        env: [{ name: 'CANARY', value: 'canary' }],
        ports: [{ name: 'canary-web', containerPort: 8080, protocol: 'TCP' }],
      },
    ],
  },
  // A server sets the status of a new pod itself.
  status: {
    phase: 'Running',
    reason: 'CanaryReason',
    message: 'a canary message',
    podIP: '203.0.113.7',
    podIPs: [{ ip: '203.0.113.7' }, { ip: '2001:db8::7' }],
    conditions: [{ type: 'Ready', status: 'True', reason: 'CanaryReason', message: 'a canary message' }],
  },
};

/** @param labels and annotations beside those that all objects have */
function metadata(name: string, labels: Json = {}, annotations: Json = {}): KubeObject['metadata'] {
  const meta = {
    name,
    generateName: 'canary-',
    labels: { 'canary.io/team': 'canary-team', 'app.kubernetes.io/name': 'canary-name', ...labels },
    annotations: {
      'canary.io/note': 'canary-note',
      'kubectl.kubernetes.io/last-applied-configuration': '{"canary":"canary"}',
      ...annotations,
    },
    ownerReferences: [{ apiVersion: 'canary.io/v1', kind: 'Canary', name: 'canary-owner', uid: 'canary-owner-uid' }],
    finalizers: ['canary.io/finalizer'],
    // A server writes these itself, and the embedded one has none.
    managedFields: [
      {
        manager: 'canary-manager',
        operation: 'Update',
        apiVersion: 'canary.io/v1',
        time: '2023-11-14T22:00:09Z',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:canary': {} },
        subresource: 'canary',
      },
    ],
  };
  return meta;
}

function podNamed(name: string): object {
  return { kind: 'Pod', namespace: CANARY_NAMESPACE, name, uid: `${name}-uid` };
}

/**
 * The same objects, with a canary in every other text field of the API too. So a field has one of which nobody has thought
 * above, or that no server fills in for such an object.
 */
export function canariesEverywhere(): readonly CanaryObject[] {
  return [...CANARY_CLUSTER, CANARY_POD].map(({ resource, ...object }) => {
    const metadata = { ...object.metadata, namespace: CANARY_NAMESPACE, resourceVersion: '50' };
    const filled = withCanaries({ ...object, metadata });
    return Object.assign(filled, { resource });
  });
}

/** As those, with a canary also where the API takes the text from a list, such as a phase. */
export function canariesInLists(): readonly CanaryObject[] {
  return [...CANARY_CLUSTER, CANARY_POD].map(({ resource, apiVersion, kind, metadata: { name, labels } }) => {
    const metadata = { name: `${name}-in-lists`, labels, namespace: CANARY_NAMESPACE, resourceVersion: '50' };
    return Object.assign(withCanaries({ apiVersion, kind, metadata }), { resource });
  });
}

function withCanaries(object: KubeObject): KubeObject {
  return filled(messageOf(object.apiVersion, object.kind)!, object) as unknown as KubeObject;
}

function filled(message: Message, given: Json): Json {
  const object: Record<string, unknown> = { ...given };
  for (const field of message.fields) {
    const value = Object.hasOwn(given, field.name) ? within(field, given[field.name]) : made(field);
    if (value !== undefined) object[field.name] = value;
  }
  return object;
}

function within({ message, shape }: Field, value: unknown): unknown {
  if (message === undefined) return value;
  return shape === 'list' ? (value as Json[]).map((item) => filled(message, item)) : filled(message, value as Json);
}

/** undefined = the field has no text. */
function made(field: Field): unknown {
  if (field.shape === 'map')
    return { [`canary.io/${field.name}`]: field.type === 'Quantity' ? '1' : `canary-${field.name}` };
  const one = textOf(field);
  return field.shape === 'list' && one !== undefined ? [one] : one;
}

function textOf({ name, type, message }: Field): unknown {
  if (message !== undefined) return filled(message, {});
  if (type === 'skip') return { canary: 'canary' };
  return type === 'string' || type === 'IntOrString' ? `canary-${name}` : undefined;
}
