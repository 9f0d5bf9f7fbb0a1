import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { livingCluster, type LivingCluster } from '../support/living-cluster.ts';

const PODS = '/api/v1/namespaces/default/pods';

function addNode(cluster: LivingCluster, name: string, labels: Record<string, string> = {}, spec: object = {}): void {
  const addresses = [{ type: 'InternalIP', address: '192.168.1.1' }];
  cluster.request('POST', '/api/v1/nodes', { metadata: { name, labels }, spec, status: { addresses } });
}

function addPod(cluster: LivingCluster, name: string, spec: object = {}, metadata: object = {}): void {
  const containers = [{ name: 'main', image: 'main:1' }];
  const reply = cluster.request('POST', PODS, { metadata: { name, ...metadata }, spec: { containers, ...spec } });
  assert.equal(reply.kind, 'Pod', JSON.stringify(reply));
}

const WITH_PROBE = { containers: [{ name: 'main', image: 'main:1', readinessProbe: { httpGet: { port: 80 } } }] };

interface Pod {
  readonly metadata: { readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly phase: string;
    readonly podIP?: string;
    readonly podIPs?: readonly { readonly ip: string }[];
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** `Running 10.128.0.1 on node-1, ready`. */
function podText(cluster: LivingCluster, name: string): string {
  const pod = cluster.request('GET', `${PODS}/${name}`) as unknown as Pod & { code?: number };
  if (pod.code === 404) return 'gone';
  const { phase, podIP = 'no address', conditions = [] } = pod.status;
  const ready = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
  const end = pod.metadata.deletionTimestamp === undefined ? '' : ', terminating';
  return `${phase} ${podIP} on ${pod.spec.nodeName ?? 'no node'}${ready ? ', ready' : ''}${end}`;
}

describe('pods of a cluster without kubelets', () => {
  it('pods are scheduled, started and ready after a step of each', () => {
    const cluster = livingCluster();
    addNode(cluster, 'node-1');
    addPod(cluster, 'web', WITH_PROBE);
    cluster.run(0);
    assert.equal(podText(cluster, 'web'), 'Pending no address on no node');
    cluster.run(5000);
    assert.deepEqual(cluster.steps, ['bind default/web', 'start default/web', 'ready default/web']);
    assert.equal(podText(cluster, 'web'), 'Running 10.128.0.1 on node-1, ready');
  });

  it('pods need no readiness probe to be ready', () => {
    const cluster = livingCluster();
    addNode(cluster, 'node-1');
    addPod(cluster, 'web');
    cluster.run(5000);
    assert.deepEqual(cluster.steps, ['bind default/web', 'start default/web']);
    assert.equal(podText(cluster, 'web'), 'Running 10.128.0.1 on node-1, ready');
  });

  it('pods wait for a node that fits', () => {
    const cluster = livingCluster();
    addNode(cluster, 'full', {}, { unschedulable: true });
    addNode(cluster, 'disk', { disk: 'slow' });
    addPod(cluster, 'web', { nodeSelector: { disk: 'fast' } });
    cluster.run(60_000);
    assert.deepEqual(cluster.steps, []);
    cluster.request(
      'PATCH',
      '/api/v1/nodes/disk',
      { metadata: { labels: { disk: 'fast' } } },
      'application/merge-patch+json',
    );
    cluster.run(5000);
    assert.equal(podText(cluster, 'web'), 'Running 10.128.0.1 on disk, ready');
  });

  it('pods stay on an unknown node, with a gate, or for another scheduler', () => {
    const cluster = livingCluster();
    addNode(cluster, 'node-1');
    addPod(cluster, 'elsewhere', { nodeName: 'node-2' });
    addPod(cluster, 'gated', { schedulingGates: [{ name: 'example.com/wait' }] });
    addPod(cluster, 'other', { schedulerName: 'another' });
    cluster.run(60_000);
    assert.deepEqual(cluster.steps, []);
  });

  it('pods keep the readiness that somebody gives them', () => {
    const cluster = livingCluster();
    addNode(cluster, 'node-1');
    addPod(cluster, 'web');
    cluster.run(5000);
    const status = { conditions: [{ type: 'Ready', status: 'False' }] };
    cluster.request('PATCH', `${PODS}/web/status`, { status }, 'application/strategic-merge-patch+json');
    cluster.run(60_000);
    assert.equal(podText(cluster, 'web'), 'Running 10.128.0.1 on node-1');
  });

  it('deleted pods stop and go', () => {
    const cluster = livingCluster();
    addNode(cluster, 'node-1');
    addPod(cluster, 'web');
    cluster.run(5000);
    cluster.request('DELETE', `${PODS}/web`);
    cluster.run(0);
    assert.equal(podText(cluster, 'web'), 'Running 10.128.0.1 on node-1, ready, terminating');
    cluster.run(5000);
    assert.equal(podText(cluster, 'web'), 'gone');
    assert.deepEqual(cluster.steps.slice(2), ['stop default/web', 'end default/web']);
  });

  it('pods have no more time to stop than their grace period', () => {
    const cluster = livingCluster({ stepMs: 3_600_000 });
    addNode(cluster, 'node-1');
    addPod(cluster, 'web', { nodeName: 'node-1' });
    cluster.run(3 * 3_600_000);
    cluster.request('DELETE', `${PODS}/web?gracePeriodSeconds=10`);
    cluster.run(9000);
    assert.equal(podText(cluster, 'web'), 'Running 10.128.0.1 on node-1, ready, terminating');
    cluster.run(2000);
    assert.equal(podText(cluster, 'web'), 'gone');
  });

  it('pods are ended when their node is gone', () => {
    const cluster = livingCluster();
    addNode(cluster, 'node-1');
    addPod(cluster, 'web');
    cluster.run(5000);
    cluster.request('DELETE', '/api/v1/nodes/node-1');
    cluster.request('DELETE', `${PODS}/web`);
    cluster.run(5000);
    assert.deepEqual(cluster.steps.slice(2), ['end default/web']);
  });

  it('pods that a finalizer holds are ended once', () => {
    const cluster = livingCluster();
    addNode(cluster, 'node-1');
    addPod(cluster, 'web', {}, { finalizers: ['example.com/hold'] });
    cluster.run(5000);
    cluster.request('DELETE', `${PODS}/web`);
    cluster.run(60_000);
    assert.deepEqual(cluster.steps.slice(2), ['stop default/web', 'end default/web']);
  });

  it('pods of a namespace left alone end only when they outstay their grace period', () => {
    const cluster = livingCluster({ leftAlone: new Set(['default']) });
    addNode(cluster, 'node-1');
    addPod(cluster, 'web', { nodeName: 'node-1' });
    cluster.run(60_000);
    assert.deepEqual(cluster.steps, []);
    cluster.request('DELETE', `${PODS}/web`);
    cluster.run(29_000);
    assert.deepEqual(cluster.steps, []);
    cluster.run(4000);
    assert.equal(podText(cluster, 'web'), 'gone');
  });

  it('pods survive lost requests: the step is tried again', () => {
    const cluster = livingCluster();
    let lost = 0;
    cluster.arrives = () => ++lost % 3 === 0;
    addNode(cluster, 'node-1');
    for (let i = 0; i < 10; i++) addPod(cluster, `web-${i}`, WITH_PROBE);
    cluster.run(60_000);
    for (let i = 0; i < 10; i++) assert.match(podText(cluster, `web-${i}`), /^Running .*, ready$/);
    for (let i = 0; i < 10; i++) cluster.request('DELETE', `${PODS}/web-${i}`);
    cluster.run(60_000);
    for (let i = 0; i < 10; i++) assert.equal(podText(cluster, `web-${i}`), 'gone');
  });

  it('each pod gets an address of its own, also when names come back', () => {
    const cluster = livingCluster();
    addNode(cluster, 'node-1');
    addPod(cluster, 'a');
    addPod(cluster, 'b');
    cluster.run(5000);
    cluster.request('DELETE', `${PODS}/a?gracePeriodSeconds=0`);
    addPod(cluster, 'a');
    cluster.run(5000);
    assert.match(podText(cluster, 'a'), /10\.128\.0\.3/);
    assert.doesNotMatch(podText(cluster, 'b'), /10\.128\.0\.3/);
  });

  it('pods of a dual-stack cluster get an address of each family', () => {
    const cluster = livingCluster({ dualStack: true });
    addNode(cluster, 'node-1');
    addPod(cluster, 'a');
    addPod(cluster, 'b');
    addPod(cluster, 'host', { hostNetwork: true });
    cluster.run(5000);
    const addressesOf = (name: string): string => {
      const { status } = cluster.request('GET', `${PODS}/${name}`) as unknown as Pod;
      return (status.podIPs ?? []).map(({ ip }) => ip).join(' ');
    };
    assert.deepEqual(['a', 'b'].map(addressesOf).sort(), [
      '10.128.0.1 fd00:10:64:80::2',
      '10.128.0.2 fd00:10:64:80::3',
    ]);
    assert.equal(addressesOf('host'), '192.168.1.1');
  });

  it('the same seed tells the same story', () => {
    const story = (seed: number): readonly string[] => {
      const cluster = livingCluster({ seed });
      addNode(cluster, 'node-1');
      addNode(cluster, 'node-2');
      for (let i = 0; i < 10; i++) addPod(cluster, `web-${i}`, WITH_PROBE);
      cluster.run(60_000);
      return cluster.steps;
    };
    assert.deepEqual(story(1), story(1));
    assert.notDeepEqual(story(1), story(2));
  });
});
