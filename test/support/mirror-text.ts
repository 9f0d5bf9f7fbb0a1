/**
 * Endpoints, their mirrored slices and writes of those as one line each: a slice is `name IPv4 10.0.0.1 !10.0.0.2 ->
 * http:80/TCP` (the rest as in `subset-text.ts`), a write `1 update ` and the slice, or `2 delete name`. The digit is the
 * phase.
 */
import { planMirror, type MirrorInput, type MirrorPlan } from '../../src/core/mirroring/plan.ts';
import type { SliceWrite } from '../../src/core/slices/slice-write.ts';
import type { Endpoint, Endpoints, EndpointSlice, ObjectMeta } from '../../src/kube/types.ts';
import { parseSubset, portText } from './subset-text.ts';

export function mirroredEndpoints(subsets: readonly string[], metadata: ObjectMeta = {}): Endpoints {
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'web', namespace: 'ns', uid: 'uid-web', resourceVersion: '9', ...metadata },
    subsets: subsets.map(parseSubset),
  };
}

/** As this controller would have written it for Endpoints without labels and annotations. */
export function mirrorSlice(text: string, metadata: ObjectMeta = {}): EndpointSlice {
  const [, name, addressType, subsetText] = /^(\S+) (\S+) (.*)$/.exec(text)!;
  const { addresses, notReadyAddresses, ports } = parseSubset(subsetText!);
  const endpoint =
    (ready: boolean) =>
    (address: { ip: string }): Endpoint => {
      const { ip, ...rest } = address;
      return { addresses: [ip], conditions: { ready }, ...rest };
    };
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: name!,
      namespace: 'ns',
      uid: `uid-${name}`,
      resourceVersion: '5',
      labels: {
        'kubernetes.io/service-name': 'web',
        'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
      },
      ownerReferences: [
        {
          apiVersion: 'v1',
          kind: 'Endpoints',
          name: 'web',
          uid: 'uid-web',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
      ...metadata,
    },
    addressType: addressType!,
    endpoints: [...addresses!.map(endpoint(true)), ...notReadyAddresses!.map(endpoint(false))],
    ports: ports!.map((port) => Object.assign({ name: '' }, port)),
  };
}

function mirrorSliceText(slice: EndpointSlice): string {
  const endpoints = (slice.endpoints ?? []).map((endpoint) => {
    const hostname = endpoint.hostname === undefined ? '' : `#${endpoint.hostname}`;
    const uid = endpoint.targetRef === undefined ? '' : `@${endpoint.targetRef.uid ?? ''}`;
    return `${endpoint.conditions?.ready === true ? '' : '!'}${endpoint.addresses.join('+')}${hostname}${uid}`;
  });
  const ports = (slice.ports ?? []).map(portText);
  return [slice.metadata.name, slice.addressType, ...endpoints, '->', ...ports].join(' ');
}

export function sliceWriteText({ verb, phase, name, object }: SliceWrite): string {
  return `${phase} ${verb} ${object === null ? name : mirrorSliceText(object)}`;
}

/** Plans with the suffixes `new01`, `new02` and so on, unless the input brings its own. */
export function planMirrorWith(
  input: Pick<MirrorInput, 'endpoints'> & Partial<Omit<MirrorInput, 'endpoints'>>,
): MirrorPlan {
  let count = 0;
  return planMirror({
    stored: [],
    config: { endpointsPerSubsetMax: 1000, all: false },
    zones: null,
    suffix: () => `new${String(++count).padStart(2, '0')}`,
    ...input,
  });
}

/** What the server holds after a write succeeded, as the planner learns it from the reply. */
export function applySliceWrite(stored: readonly EndpointSlice[], write: SliceWrite): readonly EndpointSlice[] {
  const others = stored.filter((slice) => slice.metadata.name !== write.name);
  if (write.object === null) return others;
  const version = Number(write.resourceVersion) + 1;
  const metadata = { ...write.object.metadata, uid: `uid-${write.name}`, resourceVersion: String(version) };
  return [...others, { ...write.object, metadata }];
}
