/** Records for tests: everything has a harmless default, so that a case names only what it is about. */
import { ZONE_LABEL } from '../../src/kube/names.ts';
import type { NodeRecord, PodRecord, ServicePort, ServiceRecord } from '../../src/kube/types.ts';
import { labelsFromRecord } from './labels.ts';

type PodFields = Partial<Omit<PodRecord, 'labels'>> & { readonly labels?: Readonly<Record<string, string>> };

/** A running, ready pod at 10.0.0.1 with the label app=web; `podIPs` alone gives `podIP` too. */
export function makePod(name: string, fields: PodFields = {}): PodRecord {
  const { labels = { app: 'web' }, podIPs = ['10.0.0.1'], ...others } = fields;
  return {
    namespace: 'ns',
    name,
    uid: `uid-${name}`,
    resourceVersion: '1',
    labels: labelsFromRecord(labels),
    deleting: false,
    nodeName: 'node-1',
    hostname: '',
    subdomain: '',
    phase: 'Running',
    ready: true,
    readyTime: 0,
    podIP: podIPs?.[0] ?? '',
    podIPs,
    ports: [],
    ...others,
  };
}

/** `pod-000`, `pod-001`, ... with an address each of both families; all on node-1 unless `fields` says otherwise. */
export function makePods(count: number, fields: (i: number) => PodFields = () => ({})): PodRecord[] {
  return Array.from({ length: count }, (_, i) => {
    const last = `${Math.floor(i / 200)}.${1 + (i % 200)}`;
    return makePod(`pod-${String(i).padStart(3, '0')}`, { podIPs: [`10.0.${last}`, `fd00::${i + 1}`], ...fields(i) });
  });
}

/** Ready, with 4 CPUs, in `zone`; '' = without the label. */
export function makeNode(name: string, zone = 'a', fields: Partial<NodeRecord> = {}): NodeRecord {
  const labels = labelsFromRecord(zone === '' ? {} : { [ZONE_LABEL]: zone });
  return { name, uid: `uid-${name}`, resourceVersion: '1', labels, ready: true, allocatableCpu: '4', ...fields };
}

type ServiceFields = Partial<Omit<ServiceRecord, 'labels' | 'annotations' | 'selector'>> & {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly selector?: Readonly<Record<string, string>> | null;
};

/** An IPv4 ClusterIP service `ns/web` that selects app=web and has port 80, target 8080. */
export function makeService(fields: ServiceFields = {}): ServiceRecord {
  const { labels = {}, annotations = {}, selector = { app: 'web' }, ...others } = fields;
  return {
    namespace: 'ns',
    name: 'web',
    uid: 'uid-web',
    resourceVersion: '1',
    labels: labelsFromRecord(labels),
    annotations: labelsFromRecord(annotations),
    creationTime: 1000,
    deleting: false,
    type: 'ClusterIP',
    clusterIP: '10.96.0.10',
    ipFamilies: ['IPv4'],
    selector: selector === null ? null : labelsFromRecord(selector),
    ports: [makeServicePort()],
    publishNotReadyAddresses: false,
    trafficDistribution: '',
    ...others,
  };
}

export function makeServicePort(fields: Partial<ServicePort> = {}): ServicePort {
  return { name: '', protocol: 'TCP', port: 80, targetPort: 8080, appProtocol: undefined, ...fields };
}
