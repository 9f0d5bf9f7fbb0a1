/** Services, pods and nodes of a cluster, in the form that the oracles take. */
import { projectNode, projectPod, projectService } from '../kube/project.ts';
import type { KubeObject, NodeRecord, PodRecord, ServiceRecord } from '../kube/types.ts';
import { createInterner } from '../lib/interner.ts';

export interface CheckInputs {
  /** Services by `<namespace>/<name>`. */
  readonly services: ReadonlyMap<string, ServiceRecord>;
  /** Nodes by name. */
  readonly nodes: ReadonlyMap<string, NodeRecord>;
  /** Pods that the Service may select. They are few, because the oracle looks at each of them. */
  readonly podsFor: (service: ServiceRecord) => readonly PodRecord[];
}

/** @throws DecodeError that names the object */
export function readInputs(
  services: readonly KubeObject[],
  pods: readonly KubeObject[],
  nodes: readonly KubeObject[],
): CheckInputs {
  const interner = createInterner();
  const serviceRecords = new Map<string, ServiceRecord>();
  const nodeRecords = new Map<string, NodeRecord>();
  const podsByLabel = new Map<string, PodRecord[]>();
  for (const value of services) {
    const service = projectService({ encoding: 'json', apiVersion: 'v1', kind: 'Service', value }, interner);
    serviceRecords.set(`${service.namespace}/${service.name}`, service);
  }
  for (const value of nodes) {
    const node = projectNode({ encoding: 'json', apiVersion: 'v1', kind: 'Node', value }, interner);
    nodeRecords.set(node.name, node);
  }
  for (const value of pods) {
    const pod = projectPod({ encoding: 'json', apiVersion: 'v1', kind: 'Pod', value }, interner);
    for (let i = 0; i < pod.labels.length; i += 2) {
      const key = `${pod.namespace} ${pod.labels[i]} ${pod.labels[i + 1]}`;
      const found = podsByLabel.get(key);
      if (found === undefined) podsByLabel.set(key, [pod]);
      else found.push(pod);
    }
  }
  return {
    services: serviceRecords,
    nodes: nodeRecords,
    // Every selected pod has the first label of the selector. An empty selector selects none.
    podsFor: ({ namespace, selector }) =>
      selector === null ? [] : (podsByLabel.get(`${namespace} ${selector[0]} ${selector[1]}`) ?? []),
  };
}
