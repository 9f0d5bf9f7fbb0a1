/** Annotations that planning reads and writes: the trigger time through failures and restarts, tolerate-unready. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  createPod,
  createService,
  createSim,
  endpointsTable,
  setPodStatus,
  writesOf,
  type Sim,
  type SimConfig,
} from '../support/sim.ts';
import { editService } from '../support/sim-objects.ts';

const NAMESPACE = '/api/v1/namespaces/default';

/** Two ready pods, settled; ten seconds after midnight. */
function atTen(config: SimConfig = {}): Sim {
  const sim = createSim(config);
  createService(sim, { name: 'web' });
  createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
  createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
  sim.start();
  sim.run(10_000);
  return sim;
}

/** The time of day in the annotation; empty without one. */
function triggerTime(sim: Sim): string {
  const { metadata } = sim.request('GET', `${NAMESPACE}/endpoints/web`);
  const text = metadata.annotations?.['endpoints.kubernetes.io/last-change-trigger-time'] ?? '';
  return text.slice('2026-01-01T'.length);
}

/** The status of a pod that is not ready since 11 s after midnight, as the kubelet sends it before and after it has an IP. */
function setUnready(sim: Sim, podName: string, ips: readonly string[]): void {
  const path = `${NAMESPACE}/pods/${podName}`;
  const conditions = [{ type: 'Ready', status: 'False', lastTransitionTime: '2026-01-01T00:00:11Z' }];
  const status = { phase: 'Pending', podIP: ips[0] ?? '', podIPs: ips.map((ip) => ({ ip })), conditions };
  sim.request('PUT', `${path}/status`, { ...sim.request('GET', path), status });
}

describe('the trigger time', () => {
  it("the trigger time is a new service's creation, then the changed pod's transition", () => {
    const sim = atTen();
    assert.equal(triggerTime(sim), '00:00:00Z');
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(2000);
    assert.equal(triggerTime(sim), '00:00:10Z');
  });

  it('the write that first shows a pod tells a transition of before its IP', () => {
    const sim = atTen();
    createPod(sim, { name: 'web-3', ip: '' });
    sim.run(1000);
    setUnready(sim, 'web-3', []);
    sim.run(5000);
    assert.equal(triggerTime(sim), '00:00:00Z');
    setUnready(sim, 'web-3', ['10.0.0.3']);
    sim.run(5000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 10.0.0.2 | 10.0.0.3 : http:8080/TCP']);
    assert.equal(triggerTime(sim), '00:00:11Z');
  });

  it('a plan for another pod takes the transition of a pod without an IP as told', () => {
    const sim = atTen();
    createPod(sim, { name: 'web-3', ip: '' });
    sim.run(1000);
    setUnready(sim, 'web-3', []);
    sim.run(1000);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(1000);
    assert.equal(triggerTime(sim), '00:00:11Z');
    setUnready(sim, 'web-3', ['10.0.0.3']);
    sim.run(5000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.2 | 10.0.0.1 10.0.0.3 : http:8080/TCP']);
    assert.equal(triggerTime(sim), '');
  });

  it('the trigger time of a failed write is told by the next write that succeeds', () => {
    const sim = atTen();
    sim.refuse = ({ method }) => (method === 'PUT' ? 500 : 0);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(1500);
    setPodStatus(sim, { name: 'web-2', ready: false });
    sim.run(2500);
    sim.refuse = () => 0;
    sim.run(20_000);
    assert.deepEqual(endpointsTable(sim), ['default/web | 10.0.0.1 10.0.0.2 : http:8080/TCP']);
    assert.equal(triggerTime(sim), '00:00:10Z');
  });

  it('the trigger time of an applied write is not told again if its answer was lost', () => {
    const sim = atTen();
    sim.faults.loseReply = 1;
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(500);
    sim.faults.loseReply = 0;
    sim.run(29_500);
    assert.equal(triggerTime(sim), '00:00:10Z');
    setPodStatus(sim, { name: 'web-2', ready: false });
    sim.run(2000);
    assert.equal(triggerTime(sim), '00:00:40Z');
  });

  it('a change there and back costs no write and gives no trigger time', () => {
    const sim = atTen({ options: { endpointUpdatesBatchPeriodMs: 3000 } });
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(1000);
    setPodStatus(sim, { name: 'web-1', ready: true });
    sim.run(9000);
    assert.deepEqual(writesOf(sim), [`POST ${NAMESPACE}/endpoints 201`]);
    assert.equal(triggerTime(sim), '00:00:00Z');
    setPodStatus(sim, { name: 'web-2', ready: false });
    sim.run(5000);
    assert.equal(triggerTime(sim), '00:00:20Z');
  });

  it('the trigger time stays through a restart, until the next change', () => {
    const sim = atTen();
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(2000);
    sim.kill();
    sim.start();
    sim.run(8000);
    assert.equal(writesOf(sim).length, 2);
    assert.equal(triggerTime(sim), '00:00:10Z');
    setPodStatus(sim, { name: 'web-1', ready: true });
    sim.run(2000);
    assert.equal(triggerTime(sim), '00:00:20Z');
  });
});

describe('the trigger time where upstream has another', () => {
  it('the trigger time begins anew with a planner that has forgotten the service', () => {
    const lost = atTen({ shards: 1 });
    lost.shards!.kill(0, 'out of memory');
    lost.run(10_000);
    setPodStatus(lost, { name: 'web-1', ready: false });
    lost.run(2000);
    assert.equal(triggerTime(lost), '00:00:00Z', 'upstream: 00:00:20Z');
    setPodStatus(lost, { name: 'web-2', ready: false });
    lost.run(2000);
    assert.equal(triggerTime(lost), '00:00:22Z');

    const away = atTen();
    editService(away, 'web', {
      type: 'ExternalName',
      externalName: 'example.com',
      clusterIP: '',
      clusterIPs: undefined,
    });
    away.run(20_000);
    createPod(away, { name: 'web-3', ip: '10.0.0.3' });
    away.run(2000);
    editService(away, 'web', { type: 'ClusterIP', externalName: undefined });
    away.run(2000);
    assert.equal(triggerTime(away), '00:00:00Z', 'upstream: 00:00:30Z');
  });

  it('a transition that changes no address is not the cause of a later write', () => {
    const sim = atTen();
    setPodStatus(sim, { name: 'web-1', ready: true });
    sim.run(10_000);
    assert.equal(triggerTime(sim), '00:00:00Z', 'nothing is written');
    setPodStatus(sim, { name: 'web-2', ready: false });
    sim.run(2000);
    assert.equal(triggerTime(sim), '00:00:20Z', 'upstream: 00:00:10Z');
  });
});

describe('service.alpha.kubernetes.io/tolerate-unready-endpoints', () => {
  /** A ready pod, one that is not, and one that terminates. */
  function world(annotation: string, publishNotReadyAddresses: boolean, flag: boolean): Sim {
    const sim = createSim({ options: { tolerateUnreadyEndpointsAnnotation: flag } });
    sim.request('POST', `${NAMESPACE}/services`, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', annotations: { 'service.alpha.kubernetes.io/tolerate-unready-endpoints': annotation } },
      spec: { selector: { app: 'web' }, publishNotReadyAddresses, ports: [{ port: 80, targetPort: 8080 }] },
    });
    createPod(sim, { name: 'ready', ip: '10.0.0.1' });
    createPod(sim, { name: 'unready', ip: '10.0.0.2', ready: false });
    createPod(sim, { name: 'leaving', ip: '10.0.0.3' });
    sim.request('DELETE', `${NAMESPACE}/pods/leaving`, {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      gracePeriodSeconds: 3600,
    });
    sim.start();
    sim.run(2000);
    return sim;
  }

  const PUBLISHED = ['default/web 10.0.0.1 10.0.0.2 10.0.0.3 : :8080/TCP'];
  const KEPT_APART = ['default/web 10.0.0.1 | 10.0.0.2 : :8080/TCP'];

  it('without the flag the annotation is not read', () => {
    assert.deepEqual(endpointsTable(world('true', false, false)), KEPT_APART);
    assert.deepEqual(endpointsTable(world('false', true, false)), PUBLISHED);
  });

  it('with the flag the annotation overrides publishNotReadyAddresses, both ways', () => {
    assert.deepEqual(endpointsTable(world('true', false, true)), PUBLISHED);
    assert.deepEqual(endpointsTable(world('T', true, true)), PUBLISHED);
    assert.deepEqual(endpointsTable(world('false', true, true)), KEPT_APART);
    assert.deepEqual(endpointsTable(world('0', false, true)), KEPT_APART);
  });

  it('another value of the annotation is logged once and ignored', () => {
    const sim = world('yes', true, true);
    setPodStatus(sim, { name: 'unready', ready: true });
    sim.run(2000);
    setPodStatus(sim, { name: 'ready', ready: false });
    sim.run(2000);
    assert.deepEqual(endpointsTable(sim), PUBLISHED);
    assert.deepEqual(
      sim.logLines.filter(({ fields }) => fields['problem'] === 'bad-annotation').map(({ fields }) => fields['reason']),
      ['not a boolean, ignored: "yes"'],
    );
  });
});
