import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodRecord, ServiceRecord } from '../../src/kube/types.ts';
import { type OracleEndpoints, oracleEndpoints } from '../../src/judge/endpoints-oracle.ts';
import { makePod, makeService, makeServicePort } from '../support/records.ts';
import { subsetText } from '../support/subset-text.ts';

function ask(service: ServiceRecord, pods: readonly PodRecord[]): OracleEndpoints | null {
  return oracleEndpoints({ services: [service], pods }, 'ns/web');
}

function subsets(service: ServiceRecord, pods: readonly PodRecord[]): string[] {
  return ask(service, pods)!.subsets.map(subsetText);
}

/** The pods of the golden vectors of docs/spec/endpoints.md "Repacking: golden vectors". */
function goldenPod(n: number, fields: Parameters<typeof makePod>[1] = {}): PodRecord {
  return makePod(`p${n}`, { uid: `u-${n}`, nodeName: `node-${n}`, podIPs: [`10.0.0.${n}`], ...fields });
}

test('the oracle gives a whole object', () => {
  assert.deepEqual(ask(makeService({ labels: { a: 'b' } }), [makePod('p')]), {
    subsets: [
      {
        addresses: [
          {
            ip: '10.0.0.1',
            nodeName: 'node-1',
            targetRef: { kind: 'Pod', namespace: 'ns', name: 'p', uid: 'uid-p' },
          },
        ],
        ports: [{ port: 8080, protocol: 'TCP' }],
      },
    ],
    labels: { a: 'b', 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' },
    overCapacity: false,
  });
});

test('there is no object without a service or selector, and for ExternalName', () => {
  assert.equal(oracleEndpoints({ services: [], pods: [] }, 'ns/web'), null);
  assert.equal(ask(makeService({ selector: null }), []), null);
  assert.equal(ask(makeService({ type: 'ExternalName' }), []), null);
});

test('only pods of the namespace with all labels of the selector count', () => {
  const service = makeService({ selector: { app: 'web', tier: 'front' } });
  const labels = { app: 'web', tier: 'front' };
  const pods = [
    goldenPod(1, { labels: { ...labels, more: 'x' } }),
    goldenPod(2, { labels: { app: 'web' } }),
    goldenPod(3, { labels, namespace: 'other' }),
  ];
  assert.deepEqual(subsets(service, pods), ['10.0.0.1@u-1 -> 8080/TCP']);
});

test('ports are in the order of the Go code', () => {
  const port = (name: string, targetPort: number): ReturnType<typeof makeServicePort> =>
    makeServicePort({ name, targetPort });
  const service = makeService({ ports: [port('http', 8080), port('https', 8443), port('metrics', 9090)] });
  assert.deepEqual(subsets(service, [goldenPod(9), goldenPod(10)]), [
    '10.0.0.10@u-10 10.0.0.9@u-9 -> http:8080/TCP metrics:9090/TCP https:8443/TCP',
  ]);
});

test('subsets are in the order of the Go code', () => {
  const service = makeService({ ports: [makeServicePort({ name: 'http', targetPort: 'web' })] });
  const ports = (containerPort: number): PodRecord['ports'] => [{ name: 'web', containerPort, protocol: 'TCP' }];
  const pods = [
    goldenPod(1, { ports: ports(8080) }),
    goldenPod(2, { ports: ports(9090) }),
    goldenPod(10, { ports: ports(8080), ready: false }),
  ];
  assert.deepEqual(subsets(service, pods), [
    '10.0.0.2@u-2 -> http:9090/TCP',
    '10.0.0.1@u-1 !10.0.0.10@u-10 -> http:8080/TCP',
  ]);
});

test('values that the API server would refuse are left out', () => {
  const pods = [
    goldenPod(1, { podIPs: ['169.254.1.1'] }),
    goldenPod(2, { podIPs: ['<nil>'] }),
    goldenPod(3, { nodeName: '', hostname: 'Bad', subdomain: 'web' }),
  ];
  assert.deepEqual(ask(makeService(), pods)!.subsets[0]!.addresses, [
    { ip: '10.0.0.3', targetRef: { kind: 'Pod', namespace: 'ns', name: 'p3', uid: 'u-3' } },
  ]);
});

test('an object has at most 1,000 addresses, ready ones first', () => {
  const pods = Array.from({ length: 1100 }, (_, i) =>
    makePod(`p${i}`, { podIPs: [`10.1.${i >> 8}.${i & 255}`], ready: i < 900 }),
  );
  const { subsets, overCapacity } = ask(makeService(), pods)!;
  assert.ok(overCapacity);
  assert.deepEqual([subsets[0]!.addresses!.length, subsets[0]!.notReadyAddresses!.length], [900, 100]);
});
