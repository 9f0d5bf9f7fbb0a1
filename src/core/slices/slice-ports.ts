import type { PodRecord, ServicePort, ServiceRecord, SlicePort } from '../../kube/types.ts';
import { resolveTargetPorts } from '../target-port.ts';
import { portMapKey, slicePortsInOrder } from './port-map-key.ts';

/** The ports that a service has on some of its pods, and the key that tells them from others. */
export interface SlicePorts {
  readonly key: string;
  readonly ports: readonly SlicePort[];
}

export const NO_SLICE_PORTS: SlicePorts = { key: portMapKey([]), ports: [] };

/** The ports on all pods; null = some target port is named, so each pod has to be looked at. */
export function fixedSlicePorts(service: ServiceRecord): SlicePorts | null {
  const numbers: number[] = [];
  for (const { targetPort } of service.ports) {
    if (typeof targetPort !== 'number') return null;
    numbers.push(targetPort);
  }
  return slicePorts(service.ports, numbers);
}

/**
 * The ports on one pod. A port that the pod does not offer is left out, so there may be none
 * (docs/spec/endpointslice.md "Ports", D19).
 */
export function podSlicePorts(service: ServiceRecord, pod: PodRecord): SlicePorts {
  return slicePorts(service.ports, resolveTargetPorts(service.ports, pod));
}

function slicePorts(servicePorts: readonly ServicePort[], numbers: readonly (number | null)[]): SlicePorts {
  const ports: SlicePort[] = [];
  for (let i = 0; i < servicePorts.length; i++) {
    const { name, protocol, appProtocol } = servicePorts[i]!;
    const port = numbers[i]!;
    if (port !== null) ports.push({ name, protocol, port, ...(appProtocol !== undefined && { appProtocol }) });
  }
  return { key: portMapKey(ports), ports: slicePortsInOrder(ports) };
}
