/**
 * Somebody else who lays hands on EndpointSlices: what an operator by mistake, another controller or an attacker may do to
 * them. Needs to be shown what is there, since names of slices are drawn by who made them. For simulations only.
 */
import { SERVICE_NAME_LABEL, SLICE_MANAGED_BY_LABEL } from '../../src/kube/names.ts';
import type { Endpoint, KubeObject, ObjectMeta } from '../../src/kube/types.ts';
import { nextInt, type Prng } from '../../src/lib/prng.ts';
import { create, patch, remove, type WorkloadRequest } from '../../src/workload/request.ts';

export type ForeignDeed =
  | 'delete'
  | 'empty'
  | 'drop-endpoint'
  | 'add-endpoint'
  | 'turn-conditions'
  | 'hint'
  | 'ports'
  | 'label'
  | 'disown'
  | 'move'
  | 'copy';

export interface ForeignChange {
  readonly deed: ForeignDeed;
  /** `<namespace>/<name>` of the slice. */
  readonly object: string;
  readonly request: WorkloadRequest;
}

export const FOREIGN_DEEDS: readonly ForeignDeed[] = [
  'delete',
  'empty',
  'drop-endpoint',
  'add-endpoint',
  'turn-conditions',
  'hint',
  'ports',
  'label',
  'disown',
  'move',
  'copy',
];

/** Where `disown` and `move` put a slice. */
export const FOREIGN_MANAGER = 'somebody-else';
export const FOREIGN_SERVICE = 'nowhere';

/** One change of one of the slices; null when there are none. */
export function foreignChange(
  prng: Prng,
  slices: readonly KubeObject[],
  deeds: readonly ForeignDeed[] = FOREIGN_DEEDS,
): ForeignChange | null {
  if (slices.length === 0 || deeds.length === 0) return null;
  const slice = slices[nextInt(prng, slices.length)]!;
  const deed = deeds[nextInt(prng, deeds.length)]!;
  const { namespace = '', name = '' } = slice.metadata;
  return { deed, object: `${namespace}/${name}`, request: requestOf(prng, deed, slice, namespace, name) };
}

function requestOf(prng: Prng, deed: ForeignDeed, slice: KubeObject, namespace: string, name: string): WorkloadRequest {
  const change = (body: object): WorkloadRequest => patch('EndpointSlice', namespace, name, body);
  const endpoints = (slice['endpoints'] ?? []) as readonly Endpoint[];
  const at = nextInt(prng, Math.max(1, endpoints.length));
  switch (deed) {
    case 'delete':
      return remove('EndpointSlice', namespace, name, 0);
    case 'empty':
      return change({ endpoints: [] });
    case 'drop-endpoint':
      return change({ endpoints: endpoints.toSpliced(at, 1) });
    case 'add-endpoint':
      return change({ endpoints: [...endpoints, stranger(slice)] });
    case 'turn-conditions':
      return change({ endpoints: endpoints.map((endpoint, i) => (i === at ? turned(endpoint) : endpoint)) });
    case 'hint': {
      const hints = { forZones: [{ name: 'zone-of-somebody' }] };
      return change({ endpoints: endpoints.map((endpoint, i) => (i === at ? { ...endpoint, hints } : endpoint)) });
    }
    case 'ports':
      return change({ ports: [{ name: 'theirs', protocol: 'UDP', port: 53 }] });
    case 'label':
      return change({ metadata: { labels: { theirs: String(nextInt(prng, 10)) } } });
    case 'disown':
      return change({ metadata: { labels: { [SLICE_MANAGED_BY_LABEL]: FOREIGN_MANAGER } } });
    case 'move':
      return change({ metadata: { labels: { [SERVICE_NAME_LABEL]: FOREIGN_SERVICE } } });
    case 'copy': {
      const { labels, annotations, ownerReferences } = slice.metadata;
      const metadata = { namespace, generateName: `${name}-`, labels, annotations, ownerReferences };
      // Items of a list do not say what they are.
      const { addressType, ports } = slice;
      return create({
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: withoutUndefined(metadata),
        addressType,
        endpoints,
        ports,
      });
    }
  }
}

function stranger({ addressType }: KubeObject): Endpoint {
  return { addresses: [addressType === 'IPv6' ? '2001:db8::ffff' : '192.0.2.1'], conditions: { ready: true } };
}

function turned(endpoint: Endpoint): Endpoint {
  const { ready, ...others } = endpoint.conditions ?? {};
  return { ...endpoint, conditions: { ...others, ready: ready !== true } };
}

function withoutUndefined(metadata: Record<string, unknown>): ObjectMeta {
  return Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== undefined));
}
