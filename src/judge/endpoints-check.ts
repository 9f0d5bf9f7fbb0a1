/** Whether the Endpoints of a cluster are right. The slow oracle judges them by the server's own lists. */
import { MANAGED_BY_LABEL, MANAGED_BY_VALUE, OVER_CAPACITY_ANNOTATION } from '../kube/names.ts';
import type { EndpointAddress, EndpointSubset, KubeObject } from '../kube/types.ts';
import { readInputs, type CheckInputs } from './check-inputs.ts';
import { oracleEndpoints } from './endpoints-oracle.ts';
import type { OracleOptions } from './oracle-rules.ts';

/** The contents of each right Endpoints object as one text, by `<namespace>/<name>`. */
export type ExpectedEndpoints = ReadonlyMap<string, string>;

export function expectedEndpoints(services: readonly KubeObject[], pods: readonly KubeObject[]): ExpectedEndpoints {
  return expectedOf(readInputs(services, pods, []));
}

export function expectedOf({ services, podsFor }: CheckInputs, options?: OracleOptions): ExpectedEndpoints {
  const expected = new Map<string, string>();
  for (const [key, service] of services) {
    const endpoints = oracleEndpoints({ services: [service], pods: podsFor(service) }, key, options);
    if (endpoints === null) continue;
    const { subsets, labels, overCapacity } = endpoints;
    expected.set(key, contentText(subsets, labels, overCapacity));
  }
  return expected;
}

/** The contents of an object as one text, in the form of `expectedEndpoints`. */
export function endpointsText(object: KubeObject): string {
  const { labels, annotations } = object.metadata;
  const subsets = (object['subsets'] ?? []) as readonly EndpointSubset[];
  return contentText(subsets, labels ?? {}, annotations?.[OVER_CAPACITY_ANNOTATION] !== undefined);
}

/** Keys of objects that are missing or wrong, or that have this controller's label and no Service. */
export function wrongEndpoints(expected: ExpectedEndpoints, objects: readonly KubeObject[]): string[] {
  const missing = new Set(expected.keys());
  const wrong: string[] = [];
  for (const object of objects) {
    const key = `${object.metadata.namespace}/${object.metadata.name}`;
    const text = expected.get(key);
    missing.delete(key);
    if (text === undefined) {
      if (object.metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY_VALUE) wrong.push(key);
    } else if (text !== endpointsText(object)) wrong.push(key);
  }
  return [...wrong, ...missing].toSorted();
}

function contentText(
  subsets: readonly EndpointSubset[],
  labels: Readonly<Record<string, string>>,
  overCapacity: boolean,
): string {
  const lines = subsets.flatMap(({ ports = [], addresses = [], notReadyAddresses = [] }) => [
    `ports ${ports.map(({ name = '', port, protocol = '', appProtocol = '' }) => `${name}:${port}/${protocol}/${appProtocol}`).join(' ')}`,
    ...addresses.map((address) => addressText('ready', address)),
    ...notReadyAddresses.map((address) => addressText('not ready', address)),
  ]);
  const labelLines = Object.entries(labels).map(([key, value]) => `label ${key}=${value}`);
  return [...labelLines.toSorted(), `over capacity ${overCapacity}`, ...lines].join('\n');
}

function addressText(state: string, { ip, hostname = '', nodeName = '', targetRef }: EndpointAddress): string {
  const { kind = '', namespace = '', name = '', uid = '' } = targetRef ?? {};
  return `${state} ${ip} ${hostname} ${nodeName} ${kind} ${namespace}/${name} ${uid}`;
}
