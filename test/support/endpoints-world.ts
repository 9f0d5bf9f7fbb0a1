/** Small worlds in which everything that may collide does: few names, addresses, labels and ports. */
import fc from 'fast-check';
import type { PodRecord, ServiceRecord } from '../../src/kube/types.ts';
import { makePod, makeService, makeServicePort } from './records.ts';

const TOLERATE = 'service.alpha.kubernetes.io/tolerate-unready-endpoints';

const protocol = fc.constantFrom('TCP', 'UDP');
const portName = fc.constantFrom('http', 'metrics');

const podIPs = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.nat(7).chain((n) => fc.constantFrom([`10.0.0.${n}`], [`10.0.0.${n}`, `fd00::${n}`], [`fd00::${n}`])),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom([], ['010.0.0.001'], ['::ffff:10.0.0.2'], ['127.0.0.1'], ['nonsense', '10.0.0.3']),
  },
);

/** A pod by this name with a uid of its own, as an API server makes them, or one that others may have too. */
export function arbitraryPod(name: string, uids: 'own' | 'any'): fc.Arbitrary<PodRecord> {
  return fc
    .record({
      uid: uids === 'own' ? fc.constantFrom(`${name}-1`, `${name}-2`) : fc.constantFrom('', 'u'),
      namespace: fc.constant('ns'),
      labels: fc.record({ app: fc.constantFrom('web', 'db'), tier: fc.constantFrom('a', 'b') }, { requiredKeys: [] }),
      deleting: mostly(false, true),
      nodeName: mostly('node-1', '', 'Bad_Node'),
      hostname: mostly('', name, 'not.a.label'),
      subdomain: fc.constantFrom('', 'web', 'db'),
      phase: mostly('Running', 'Pending', 'Failed', 'Succeeded'),
      ready: fc.boolean(),
      readyTime: fc.nat(5),
      podIPs,
      ports: fc.array(fc.record({ name: portName, containerPort: fc.constantFrom(80, 81), protocol }), {
        maxLength: 3,
      }),
    })
    .map((fields) => makePod(name, fields));
}

const servicePort = fc
  .record({
    name: fc.constantFrom('', 'a', 'b'),
    protocol,
    targetPort: fc.constantFrom<(number | string)[]>(80, 8080, 'http', 'metrics'),
    appProtocol: fc.constantFrom(undefined, undefined, '', 'h2c'),
  })
  .map(makeServicePort);

export function arbitraryService(name: string): fc.Arbitrary<ServiceRecord> {
  return fc
    .record({
      name: fc.constant(name),
      labels: fc.record(
        { app: fc.constantFrom('x', 'y'), 'service.kubernetes.io/headless': fc.constant('') },
        { requiredKeys: [] },
      ),
      annotations: fc.record({ [TOLERATE]: fc.constantFrom('true', 'f', 'maybe') }, { requiredKeys: [] }),
      type: mostly('ClusterIP', 'NodePort', 'ExternalName'),
      clusterIP: fc.constantFrom('10.96.0.1', 'fd00::99', 'None', ''),
      ipFamilies: fc.constantFrom(['IPv4'], ['IPv6'], ['IPv4', 'IPv6'], []),
      selector: fc.oneof(
        {
          weight: 4,
          arbitrary: fc.record(
            { app: fc.constantFrom('web', 'db'), tier: fc.constant('a') },
            { requiredKeys: ['app'] },
          ),
        },
        { weight: 1, arbitrary: fc.constantFrom<(Record<string, string> | null)[]>(null, {}, { app: 'nobody' }) },
      ),
      ports: fc.array(servicePort, { maxLength: 3 }),
      publishNotReadyAddresses: mostly(false, true),
    })
    .map(makeService);
}

function mostly<T>(usual: T, ...others: T[]): fc.Arbitrary<T> {
  return fc.oneof({ weight: 6, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) });
}
