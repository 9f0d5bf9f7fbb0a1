/** What is wrong in a world at this moment, as the slow oracles see it. */
import { OPT_OUT_LABEL } from './cast.ts';
import { objectsOf } from './hand.ts';
import type { Run } from './run.ts';
import { wrongObjects, type ClusterObjects } from '../../src/judge/cluster-check.ts';
import {
  HEADLESS_LABEL,
  MIRROR_MANAGED_BY_VALUE,
  SERVICE_NAME_LABEL,
  SLICE_MANAGED_BY_LABEL,
} from '../../src/kube/names.ts';
import type { Endpoint, KubeObject } from '../../src/kube/types.ts';
import { keyOf } from '../support/sim-objects.ts';

export function wrongNow({
  sim,
  flags,
  maxEndpointsPerSlice,
}: Pick<Run, 'sim' | 'flags' | 'maxEndpointsPerSlice'>): string[] {
  const services = objectsOf(sim, 'services');
  const optedOut = new Set(
    services.filter(({ metadata }) => metadata.labels?.[OPT_OUT_LABEL] !== undefined).map(keyOf),
  );
  const ours = (object: KubeObject): boolean => !optedOut.has(keyOf(object)) && !optedOut.has(serviceKeyOf(object));
  const objects: ClusterObjects = {
    services: services.filter(ours),
    pods: objectsOf(sim, 'pods'),
    nodes: objectsOf(sim, 'nodes'),
    endpoints: objectsOf(sim, 'endpoints').filter(ours),
    slices: objectsOf(sim, 'endpointslices')
      .filter(ours)
      .map(withoutZones(flags.mirroringZones ?? false)),
  };
  const wrong = wrongObjects(objects, {
    endpointsController: flags.endpoints ?? true,
    slicesController: flags.slices ?? true,
    mirroringController: flags.mirror ?? true,
    maxEndpointsPerSlice,
    mirroring: {
      endpointsPerSubsetMax: flags.mirroringMaxEndpointsPerSubset ?? 1000,
      all: flags.mirroringAllEndpoints ?? false,
    },
  });
  return (
    wrong
      .map(({ kind, name, reason }) => `${kind} ${name}: ${reason}`)
      // Follows with the next write of the slice only, as upstream.
      .filter((text) => !(text.startsWith('EndpointSlice') && text.includes(`label ${HEADLESS_LABEL} `)))
  );
}

/** The oracle of mirroring knows no zones. */
function withoutZones(hasZones: boolean): (slice: KubeObject) => KubeObject {
  return (slice) => {
    if (!hasZones || slice.metadata.labels?.[SLICE_MANAGED_BY_LABEL] !== MIRROR_MANAGED_BY_VALUE) return slice;
    const endpoints = (slice['endpoints'] ?? []) as readonly Endpoint[];
    return { ...slice, endpoints: endpoints.map(withoutZone) };
  };
}

function withoutZone(endpoint: Endpoint): Endpoint {
  const copy: Partial<Record<keyof Endpoint, unknown>> = { ...endpoint };
  delete copy.zone;
  return copy as unknown as Endpoint;
}

function serviceKeyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.labels?.[SERVICE_NAME_LABEL] ?? ''}`;
}
