import type { PodRecord, ServicePort, ServiceRecord } from '../kube/types.ts';

/**
 * The number that `servicePort` has on `pod`; null = the pod does not offer it. A name is looked up among the ports of
 * the containers and of the restartable init containers, in the order of the record (docs/spec/endpoints.md "Ports").
 */
export function resolveTargetPort(servicePort: ServicePort, pod: PodRecord): number | null {
  if (typeof servicePort.targetPort === 'number') return servicePort.targetPort;
  for (const port of pod.ports) {
    if (port.name === servicePort.targetPort && port.protocol === servicePort.protocol) return port.containerPort;
  }
  return null;
}

/**
 * The numbers that all ports of a service have on `pod`; null = the pod does not offer the port. The time grows with
 * the sum of both lists, not with their product: each may hold thousands of ports.
 */
export function resolveTargetPorts(servicePorts: readonly ServicePort[], pod: PodRecord): (number | null)[] {
  if (servicePorts.length * pod.ports.length <= 64) {
    return servicePorts.map((servicePort) => resolveTargetPort(servicePort, pod));
  }
  const numbers = new Map<string, number>();
  for (const port of pod.ports) {
    const key = `${port.protocol}/${port.name}`;
    if (!numbers.has(key)) numbers.set(key, port.containerPort);
  }
  return servicePorts.map((port) =>
    typeof port.targetPort === 'number'
      ? port.targetPort
      : (numbers.get(`${port.protocol}/${port.targetPort}`) ?? null),
  );
}

/** Whether the service has a port on the pod. One that has none is left out of Endpoints (docs/spec/endpoints.md "Ports"). */
export function hasPortOn({ clusterIP, ports }: ServiceRecord, pod: PodRecord): boolean {
  if (ports.length === 0) return clusterIP === 'None';
  return resolveTargetPorts(ports, pod).some((number) => number !== null);
}

/** Whether both lists give every pod the same ports. The service's own port numbers do not matter. */
export function servicePortsEqual(a: readonly ServicePort[], b: readonly ServicePort[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  return a.every((port, i) => {
    const other = b[i]!;
    return (
      port.name === other.name &&
      port.protocol === other.protocol &&
      port.targetPort === other.targetPort &&
      port.appProtocol === other.appProtocol
    );
  });
}
