/**
 * What can happen to services and pods, told in chapters: each has a namespace of its own, so that one that ends wrong does
 * not spoil the next. The same script runs under this controller and under the real kube-controller-manager.
 */
import assert from 'node:assert/strict';
import {
  LEADER_ANNOTATION,
  MANAGED_BY_LABEL,
  MANAGED_BY_VALUE,
  OVER_CAPACITY_ANNOTATION,
} from '../../src/kube/names.ts';
import type { EndpointSubset } from '../../src/kube/types.ts';
import { ApiError } from '../../src/node/api-client.ts';
import {
  create,
  createPod,
  createService,
  forEach,
  patch,
  patchPod,
  patchPodStatus,
  patchService,
  port,
  read,
  remove,
  removePod,
  setReady,
  until,
  type ServiceSpec,
  type World,
} from './world.ts';

export interface Chapter {
  /** Also the namespace. */
  readonly name: string;
  /** What is seen here is one of `core/differences.ts`: upstream ends otherwise. */
  readonly difference?: string;
  /** Which addresses are cut off depends on the order of subsets, and that on uids, which no two servers share. */
  readonly cutByUid?: boolean;
  /**
   * `settled` resolves when the controller has written what it has to write so far. Whether it has also seen what needs no
   * write (a selector that goes) is known only with a service after it that does: the marker.
   */
  readonly tell: (world: World, settled: () => Promise<void>) => Promise<void>;
}

/** Of the clusters that the script runs on. */
export const DUAL_STACK: readonly string[] = ['10.96.0.0/12', 'fd00:10:96::/112'];

const WEB = { app: 'web' };
/** Long after the readiness that pods are created with. */
const T1 = 1_780_000_000;
const T2 = 1_780_000_100;

export const SCRIPT: readonly Chapter[] = [
  {
    name: 'readiness',
    async tell(world, settled) {
      await createService(world, 'web');
      await settled();
      await createPod(world, 'web-1', { ip: '10.1.0.1' });
      await createPod(world, 'web-2', { ip: '10.1.0.2', ready: false });
      // Neither has an address.
      await createPod(world, 'web-3');
      await createPod(world, 'other', { ip: '10.1.0.9', labels: { app: 'other' } });
      await settled();
      await setReady(world, 'web-2', true);
      await setReady(world, 'web-1', false);
      await settled();
      await patchPodStatus(world, 'web-3', { podIP: '10.1.0.3', podIPs: [{ ip: '10.1.0.3' }] });
    },
  },
  {
    name: 'trigger-time',
    async tell(world, settled) {
      await createPod(world, 'web-1', { ip: '10.1.0.1' });
      await createPod(world, 'web-2', { ip: '10.1.0.2' });
      await createService(world, 'web');
      await settled();
      await setReady(world, 'web-1', false, T1);
      await settled();
      await createService(world, 'flipped', { spec: { selector: WEB } });
      await createService(world, 'emptied', { spec: { selector: WEB } });
      await createService(world, 'untouched', { spec: { selector: { app: 'nobody' } } });
      // A kubelet says that a pod is not ready before it knows its IP.
      await createService(world, 'starting');
      await createPod(world, 'starting-1', { labels: { app: 'starting' } });
      await settled();
      await setReady(world, 'starting-1', false, T1);
      await settled();
      await patchPodStatus(world, 'starting-1', { podIP: '10.1.0.3', podIPs: [{ ip: '10.1.0.3' }] });
      await settled();
      await setReady(world, 'web-1', true, T2);
      await settled();
      await patchService(world, 'emptied', { spec: { selector: { app: 'nobody' } } });
    },
  },
  {
    name: 'deletion',
    async tell(world, settled) {
      await createService(world, 'web');
      await createPod(world, 'web-1', { ip: '10.1.0.1' });
      await createPod(world, 'web-2', { ip: '10.1.0.2' });
      await createPod(world, 'web-3', { ip: '10.1.0.3' });
      await settled();
      await removePod(world, 'web-1', 30);
      await removePod(world, 'web-2', 30);
      await settled();
      await removePod(world, 'web-1');
      // The same name comes back as another pod.
      await removePod(world, 'web-3');
      await createPod(world, 'web-3', { ip: '10.1.0.33' });
    },
  },
  {
    name: 'terminal-phases',
    async tell(world, settled) {
      await createService(world, 'web');
      for (const i of [1, 2, 3, 4]) await createPod(world, `web-${i}`, { ip: `10.1.0.${i}` });
      await settled();
      await patchPodStatus(world, 'web-1', { phase: 'Failed', conditions: [{ type: 'Ready', status: 'False' }] });
      await patchPodStatus(world, 'web-2', { phase: 'Succeeded', conditions: [{ type: 'Ready', status: 'False' }] });
      await patchPodStatus(world, 'web-3', { phase: 'Pending' });
    },
  },
  {
    name: 'phase-alone',
    difference: 'pod-phase',
    async tell(world, settled) {
      await createService(world, 'web');
      await createPod(world, 'web-1', { ip: '10.1.0.1' });
      await createPod(world, 'web-2', { ip: '10.1.0.2', ready: false });
      await settled();
      await patchPodStatus(world, 'web-2', { phase: 'Failed' });
    },
  },
  {
    name: 'headless',
    async tell(world) {
      await createService(world, 'web', { spec: { clusterIP: 'None' } });
      await createService(world, 'portless', { spec: { clusterIP: 'None', selector: WEB, ports: [] } });
      await createService(world, 'other-name', { spec: { clusterIP: 'None', selector: WEB } });
      await createPod(world, 'web-0', { ip: '10.1.0.1', hostname: 'web-0', subdomain: 'web' });
      await createPod(world, 'web-1', { ip: '10.1.0.2', hostname: 'web-1', subdomain: 'web', ready: false });
      await createPod(world, 'web-2', { ip: '10.1.0.3', hostname: 'web-2', subdomain: 'elsewhere' });
      await createPod(world, 'web-3', { ip: '10.1.0.4', subdomain: 'web' });
    },
  },
  {
    name: 'families',
    async tell(world, settled) {
      const family = (ipFamilyPolicy: string, ...ipFamilies: string[]): ServiceSpec => ({
        spec: { selector: WEB, ipFamilyPolicy, ipFamilies },
      });
      await createService(world, 'v4', family('SingleStack', 'IPv4'));
      await createService(world, 'v6', family('SingleStack', 'IPv6'));
      await createService(world, 'v4-v6', family('RequireDualStack', 'IPv4', 'IPv6'));
      await createService(world, 'v6-v4', family('RequireDualStack', 'IPv6', 'IPv4'));
      await createService(world, 'headless-v6', {
        spec: { ...family('SingleStack', 'IPv6').spec, clusterIP: 'None' },
      });
      await createPod(world, 'both', { ip: '10.1.0.1', secondIP: 'fd00:1:0:0::0001' });
      await createPod(world, 'both-v6-first', { ip: 'FD00:1::2', secondIP: '10.1.0.2' });
      await createPod(world, 'v4-only', { ip: '10.1.0.3' });
      await createPod(world, 'v6-only', { ip: 'fd00:1::4', ready: false });
      await settled();
      assert.deepEqual(await addressesOf(world, 'v6-v4'), ['fd00:1::1', 'fd00:1::2', 'not ready fd00:1::4']);
      await patchService(world, 'v4', { spec: { ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv4', 'IPv6'] } });
    },
  },
  {
    name: 'named-ports',
    async tell(world, settled) {
      await createService(world, 'web', { spec: { ports: [{ name: 'http', port: 80, targetPort: 'http' }] } });
      await createPod(world, 'old-1', { labels: WEB, ip: '10.1.0.1', ports: [port('http', 8080)] });
      await createPod(world, 'old-2', { labels: WEB, ip: '10.1.0.2', ports: [port('http', 8080)], ready: false });
      await createPod(world, 'new-1', { labels: WEB, ip: '10.1.0.3', ports: [port('http', 9090)] });
      await createPod(world, 'nameless', { labels: WEB, ip: '10.1.0.4', ports: [port('admin', 9090)] });
      await createPod(world, 'other-protocol', { labels: WEB, ip: '10.1.0.5', ports: [port('http', 8080, 'UDP')] });
      await createPod(world, 'sidecar', { labels: WEB, ip: '10.1.0.6', sidecarPorts: [port('http', 8888)] });
      await settled();
      await patchService(world, 'web', {
        spec: {
          ports: [
            { name: 'web', port: 80, targetPort: 'http' },
            { name: 'admin', port: 81, targetPort: 'admin' },
          ],
        },
      });
    },
  },
  {
    name: 'ports',
    async tell(world, settled) {
      await createPod(world, 'web-1', { ip: '10.1.0.1' });
      await createPod(world, 'web-2', { ip: '10.1.0.2', ready: false });
      await createService(world, 'web', {
        spec: {
          ports: [
            { name: 'http', port: 80, targetPort: 8080 },
            { name: 'https', port: 443, targetPort: 8443, appProtocol: 'kubernetes.io/h2c' },
            { name: 'metrics', port: 9090 },
          ],
        },
      });
      await createService(world, 'dns', {
        spec: {
          selector: WEB,
          ports: [
            { name: 'tcp', port: 53, protocol: 'TCP' },
            { name: 'udp', port: 53, protocol: 'UDP' },
            { name: 'sctp', port: 53, protocol: 'SCTP' },
          ],
        },
      });
      await createService(world, 'nameless', { spec: { selector: WEB, ports: [{ port: 80 }] } });
      await settled();
      await patchService(world, 'web', { spec: { ports: [{ name: 'metrics', port: 9090, appProtocol: 'http' }] } });
      await patchService(world, 'nameless', { spec: { ports: [{ port: 80, targetPort: 'nothing' }] } });
    },
  },
  {
    name: 'publish-not-ready',
    async tell(world, settled) {
      await createService(world, 'web', { spec: { publishNotReadyAddresses: true } });
      await createService(world, 'turned', { spec: { selector: WEB } });
      // Honoured before 1.24 only.
      await createService(world, 'annotated', {
        spec: { selector: WEB },
        annotations: { 'service.alpha.kubernetes.io/tolerate-unready-endpoints': 'true' },
      });
      await createPod(world, 'web-1', { ip: '10.1.0.1' });
      await createPod(world, 'web-2', { ip: '10.1.0.2', ready: false });
      await createPod(world, 'web-3', { ip: '10.1.0.3' });
      await settled();
      await removePod(world, 'web-3', 30);
      await patchService(world, 'turned', { spec: { publishNotReadyAddresses: true } });
      await settled();
      await patchService(world, 'web', { spec: { publishNotReadyAddresses: false } });
    },
  },
  {
    name: 'labels-and-selectors',
    async tell(world, settled) {
      await createService(world, 'web', { labels: { team: 'a', tier: 'front' } });
      await createService(world, 'api', { labels: { team: 'b' } });
      await createPod(world, 'web-1', { ip: '10.1.0.1', labels: { app: 'web', track: 'stable' } });
      await createPod(world, 'web-2', { ip: '10.1.0.2', labels: { app: 'web', track: 'canary' } });
      await createPod(world, 'api-1', { ip: '10.1.0.3', labels: { app: 'api' } });
      await settled();
      await patchService(world, 'web', { metadata: { labels: { team: 'c', tier: null, zone: '' } } });
      await patchService(world, 'web', { spec: { selector: { track: 'stable' } } });
      await patchPod(world, 'api-1', { metadata: { labels: { app: 'web', track: 'stable' } } });
      await settled();
      await patchService(world, 'api', { spec: { selector: { app: 'web' } } });
    },
  },
  {
    name: 'reserved-labels',
    async tell(world, settled) {
      const reserved = { 'service.kubernetes.io/headless': 'no', [MANAGED_BY_LABEL]: 'somebody' };
      await createService(world, 'web', { labels: reserved });
      await createService(world, 'headless', { labels: reserved, spec: { clusterIP: 'None', selector: WEB } });
      await createPod(world, 'web-1', { ip: '10.1.0.1' });
      await settled();
      await createPod(world, 'web-2', { ip: '10.1.0.2' });
    },
  },
  {
    name: 'external-name',
    async tell(world, settled) {
      const externalName = { type: 'ExternalName', externalName: 'db.example' };
      await createService(world, 'web');
      await createService(world, 'born-external', { spec: { ...externalName, selector: WEB } });
      await createPod(world, 'web-1', { ip: '10.1.0.1' });
      await settled();
      await patchService(world, 'web', { spec: { ...externalName, clusterIP: null, clusterIPs: null } });
      await createService(world, 'marker');
      await settled();
      // Stays as it was.
      await createPod(world, 'web-2', { ip: '10.1.0.2' });
      await settled();
      assert.deepEqual(await addressesOf(world, 'web'), ['10.1.0.1']);
      await patchService(world, 'born-external', { spec: { type: 'ClusterIP', externalName: null } });
      await settled();
      await patchService(world, 'web', { spec: { type: 'ClusterIP', externalName: null } });
    },
  },
  {
    name: 'selectorless',
    async tell(world, settled) {
      await createService(world, 'manual', { spec: { selector: null } });
      await create(world, 'endpoints', {
        apiVersion: 'v1',
        kind: 'Endpoints',
        metadata: { name: 'manual', labels: { made: 'by-hand' } },
        subsets: [{ addresses: [{ ip: '10.9.9.9' }], ports: [{ port: 80 }] }],
      });
      await createService(world, 'web');
      await createService(world, 'bare', { spec: { selector: null } });
      await createPod(world, 'web-1', { ip: '10.1.0.1' });
      await settled();
      await remove(world, 'services/bare');
      await patchService(world, 'web', { spec: { selector: null } });
      await createService(world, 'marker');
      await settled();
      await createPod(world, 'web-2', { ip: '10.1.0.2' });
      await settled();
      assert.deepEqual(await addressesOf(world, 'web'), ['10.1.0.1']);
      assert.deepEqual(await addressesOf(world, 'manual'), ['10.9.9.9']);
      const { metadata } = await read(world, 'endpoints/manual');
      assert.deepEqual(metadata.labels, { made: 'by-hand' });
    },
  },
  {
    name: 'service-recreated',
    async tell(world, settled) {
      await createService(world, 'web');
      await createService(world, 'gone');
      await createPod(world, 'web-1', { ip: '10.1.0.1' });
      await createPod(world, 'gone-1', { ip: '10.1.0.2', labels: { app: 'gone' } });
      await settled();
      for (let times = 0; times < 3; times++) {
        await remove(world, 'services/web');
        await createService(world, 'web');
      }
      await remove(world, 'services/gone');
    },
  },
  {
    name: 'endpoints-deleted',
    async tell(world, settled) {
      await createService(world, 'web');
      await createPod(world, 'web-1', { ip: '10.1.0.1' });
      await settled();
      await remove(world, 'endpoints/web');
    },
  },
  {
    name: 'annotations-kept',
    async tell(world, settled) {
      await createService(world, 'web', { annotations: { 'example.com/of-service': 'is not copied' } });
      await createPod(world, 'web-1', { ip: '10.1.0.1' });
      await settled();
      await patch(world, 'endpoints/web', { metadata: { annotations: { 'example.com/note': 'stays' } } });
      await createPod(world, 'web-2', { ip: '10.1.0.2' });
    },
  },
  {
    name: 'foreign-edits',
    difference: 'foreign-edits',
    async tell(world, settled) {
      await createService(world, 'web');
      await createPod(world, 'web-1', { ip: '10.1.0.1' });
      await settled();
      await patch(world, 'endpoints/web', {
        metadata: { labels: { extra: 'label' } },
        subsets: [{ addresses: [{ ip: '10.9.9.9' }], ports: [{ port: 80 }] }],
      });
    },
  },
  {
    name: 'headless-label',
    difference: 'headless-label',
    async tell(world, settled) {
      await createService(world, 'web');
      await createPod(world, 'web-1', { ip: '10.1.0.1' });
      await settled();
      await patch(world, 'endpoints/web', { metadata: { labels: { 'service.kubernetes.io/headless': '' } } });
      // Another reason to look at it, after which all but this label is compared.
      await patchService(world, 'web', { metadata: { annotations: { 'example.com/touched': 'once' } } });
    },
  },
  {
    // A quota stands for everything that may refuse a create for a while.
    name: 'refused-create',
    async tell(world, settled) {
      await forbidEndpoints(world);
      await createPod(world, 'refused-1', { ip: '10.1.0.1', labels: { app: 'refused' } });
      await createService(world, 'refused');
      await until(async () => {
        const { items } = await world.client.list('/api/v1/events');
        return items.some(({ reason, message }) => {
          return reason === 'FailedToCreateEndpoint' && String(message).includes(`${world.namespace}/refused`);
        });
      });
      await remove(world, 'resourcequotas/none');
      // What has changed is tried again soon, whatever the back-off.
      await patchService(world, 'refused', { metadata: { labels: { seen: 'anew' } } });
      await settled();
    },
  },
  {
    name: 'same-address-twice',
    async tell(world) {
      await createService(world, 'web');
      await createPod(world, 'web-1', { ip: '10.1.0.1' });
      await createPod(world, 'web-2', { ip: '10.1.0.1', ready: false });
    },
  },
  {
    name: 'bad-pod-ip',
    difference: 'bad-pod-ip',
    async tell(world) {
      await createPod(world, 'web-1', { ip: '10.1.0.1' });
      await createPod(world, 'web-2', { ip: '169.254.0.1' });
      await createPod(world, 'web-3', { ip: '127.0.0.1' });
      await createService(world, 'web');
    },
  },
  {
    name: 'no-node',
    difference: 'empty-node-name',
    async tell(world) {
      await createService(world, 'web');
      await createPod(world, 'web-1', { ip: '10.1.0.1' });
      await createPod(world, 'web-2', { ip: '10.1.0.2', node: '' });
    },
  },
  {
    // Every pod counts four times: each of its ports resolves to another number than some other pod's.
    name: 'over-capacity',
    cutByUid: true,
    async tell(world, settled) {
      await createJumbledService(world);
      await forEach(270, (i) => createJumbledPod(world, i, i % 9 !== 0));
      await settled();
      const { metadata } = await read(world, 'endpoints/web');
      assert.equal(metadata.annotations?.[OVER_CAPACITY_ANNOTATION], 'truncated');
      await setReady(world, 'web-1', false);
    },
  },
  {
    name: 'below-capacity-again',
    async tell(world, settled) {
      await createJumbledService(world);
      await forEach(252, (i) => createJumbledPod(world, i, true));
      await settled();
      await forEach(4, (i) => removePod(world, `web-${i}`));
      await settled();
      const { metadata } = await read(world, 'endpoints/web');
      assert.equal(metadata.annotations?.[OVER_CAPACITY_ANNOTATION], undefined);
    },
  },
  {
    name: 'emptied-subset',
    difference: 'empty-subset',
    async tell(world, settled) {
      await createJumbledService(world);
      await forEach(252, (i) => createJumbledPod(world, i, true));
      await settled();
      await createPod(world, 'newer', { ip: '10.1.9.9', ready: false, ports: [port('a', 9999)] });
      await patchService(world, 'web', { metadata: { labels: { seen: 'by-those-who-can-write' } } });
    },
  },
  {
    name: 'terminating-namespace',
    async tell(world, settled) {
      await createService(world, 'web');
      await createService(world, 'gone', { spec: { selector: WEB } });
      await createPod(world, 'web-1', { ip: '10.1.0.1' });
      await settled();
      await world.client.send({ method: 'DELETE', path: `/api/v1/namespaces/${world.namespace}` });
      await setReady(world, 'web-1', false);
      await remove(world, 'endpoints/gone');
      await assert.rejects(createService(world, 'late'), ApiError);
      await settled();
      assert.deepEqual(await addressesOf(world, 'web'), ['not ready 10.1.0.1']);
    },
  },
];

/** Objects that nobody has a Service for, as the process before may have left them. Made before a controller starts. */
export async function leaveOrphans(world: World): Promise<void> {
  const orphan = (name: string, labels: Record<string, string>, annotations: Record<string, string>) =>
    create(world, 'endpoints', {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name, labels, annotations },
      subsets: [{ addresses: [{ ip: '10.9.9.9' }], ports: [{ port: 80 }] }],
    });
  const ours = { [MANAGED_BY_LABEL]: MANAGED_BY_VALUE };
  await orphan('ours', ours, {});
  await orphan('by-hand', {}, {});
  await orphan('leader', {}, { [LEADER_ANNOTATION]: '{}' });
}

/** As the quota controller would, the status says what is enforced. */
async function forbidEndpoints(world: World): Promise<void> {
  const hard = { 'count/endpoints': '0' };
  const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'none' }, spec: { hard } };
  await create(world, 'resourcequotas', quota);
  await patch(world, 'resourcequotas/none/status', { status: { hard, used: hard } });
  // The server looks at a copy of its own, which follows a moment later.
  await until(async () => {
    const probe = { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'probe' } };
    try {
      await create(world, 'endpoints', probe);
    } catch (error) {
      return error instanceof ApiError && error.status === 403;
    }
    await remove(world, 'endpoints/probe');
    return false;
  });
}

async function createJumbledService(world: World): Promise<void> {
  const ports = ['a', 'b', 'c', 'd'].map((name, i) => ({ name, port: 80 + i, targetPort: name }));
  await createService(world, 'web', { spec: { ports } });
}

async function createJumbledPod(world: World, i: number, ready: boolean): Promise<void> {
  const ports = ['a', 'b', 'c', 'd'].map((name, j) => port(name, 1000 * (j + 1) + (i % (j + 2))));
  await createPod(world, `web-${i}`, { ip: `10.2.${i >> 8}.${i & 255}`, ready, ports });
}

export async function addressesOf(world: World, name: string): Promise<string[]> {
  const object = await read(world, `endpoints/${name}`);
  const subsets = (object['subsets'] ?? []) as EndpointSubset[];
  return [
    ...subsets.flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip)),
    ...subsets.flatMap(({ notReadyAddresses = [] }) => notReadyAddresses.map(({ ip }) => `not ready ${ip}`)),
  ];
}
