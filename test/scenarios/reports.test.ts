/** Reports follow, they never steer: without events, sums and lines of syncs the same is written. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  addAddress,
  createPod,
  createService,
  createSim,
  deleteObject,
  setPodStatus,
  type Sim,
  type SimConfig,
} from '../support/sim.ts';
import {
  changeNode,
  createNode,
  edit,
  editService,
  ENDPOINTS,
  makeEndpoints,
  SERVICES,
} from '../support/sim-objects.ts';
import { metric } from '../support/sim-reports.ts';
import { createSliceSim, slicesOf } from '../support/sim-slices.ts';
import type { Reports } from '../../src/controller/reports/reports.ts';

const SILENT: Reports = {
  due() {},
  allDue() {},
  beginsToWrite() {},
  planned() {},
  unplanned() {},
  released() {},
  problems() {},
  failedWrite() {},
  stuck() {},
  otherWriter() {},
  synced() {},
};

const ALL = {
  endpoints: true,
  slices: true,
  mirror: true,
  mirroringZones: true,
  compactSlices: true,
  maxEndpointsPerSlice: 5,
};

/** Every write as it reached the server: when, what, and how it was answered. */
function recordWrites(sim: Sim): string[] {
  const writes: string[] = [];
  let body = '';
  sim.observer = {
    before(request) {
      body = request.body === null ? '' : Buffer.from(request.body).toString('base64');
    },
    after({ pool, method, path }, status) {
      if (pool === 'write') writes.push(`${sim.nowMs()} ${method} ${path} ${status} ${body}`);
    },
    stepped() {},
  };
  return writes;
}

/** Refused ones too; events are what the reports make of it. */
function requestsOf(sim: Sim): string[] {
  return sim.exchanges
    .filter(({ path }) => !path.includes('/events'))
    .map(({ atMs, method, path, status }) => `${atMs} ${method} ${path} ${status}`);
}

/**
 * Whatever is told of a service happens here: hints that come and go, addresses that cannot be mirrored, refused writes, a
 * service that is stuck, other writers, slices that are merged, nodes that move. Events are refused, so that the server's
 * versions are the same with and without them.
 */
function live(config: SimConfig): { readonly sim: Sim; readonly writes: readonly string[] } {
  const sim = createSliceSim({
    ...config,
    options: ALL,
    refuse({ pool, method, path }) {
      if (pool === 'event') return 503;
      return pool === 'write' && method !== 'DELETE' && path.includes('/namespaces/closed/') ? 403 : 0;
    },
  });
  const writes = recordWrites(sim);
  createNode(sim, { name: 'node-2', zone: 'zone-b' });
  createService(sim, { name: 'web' });
  edit(sim, `${SERVICES}/web`, { annotations: { 'service.kubernetes.io/topology-mode': 'Auto' } });
  for (let i = 1; i <= 12; i++) createPod(sim, { name: `web-${i}`, ip: `10.0.0.${i}`, node: `node-${1 + (i % 2)}` });
  createService(sim, { name: 'hand', spec: { selector: null } });
  const addresses = [
    { ip: '192.0.2.1', nodeName: 'node-2' },
    { ip: '192.0.2.2', nodeName: 'node-3' },
  ];
  makeEndpoints(sim, 'hand', [{ addresses, ports: [{ name: 'http', port: 80 }] }]);
  sim.request('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'closed' } });
  createService(sim, { name: 'shut', namespace: 'closed' });
  createPod(sim, { name: 'shut-1', namespace: 'closed', ip: '10.1.0.1' });
  sim.start();
  sim.run(5000);
  changeNode(sim, { name: 'node-2', zone: 'zone-b', cpu: '12' });
  sim.run(5000);
  changeNode(sim, { name: 'node-2', zone: 'zone-c' });
  createPod(sim, { name: 'web-13', ip: '10.0.0.13', node: 'node-3' });
  sim.run(5000);
  createNode(sim, { name: 'node-3' });
  sim.run(5000);
  deleteObject(sim, '/api/v1/nodes/node-3');
  for (const { metadata } of slicesOf(sim).slice(0, 1)) {
    deleteObject(sim, `/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/${metadata.name}`);
  }
  sim.admission = addAddress;
  for (let i = 1; i <= 9; i++) setPodStatus(sim, { name: `web-${i}`, ready: false });
  sim.run(20_000);
  sim.admission = null;
  for (let i = 4; i <= 11; i++) deleteObject(sim, `/api/v1/namespaces/default/pods/web-${i}`);
  editService(sim, 'web', { ports: [{ name: 'http', port: 80, targetPort: 9090 }] });
  sim.run(400_000);
  editService(sim, 'web', { selector: null });
  deleteObject(sim, `${ENDPOINTS}/hand`);
  sim.run(60_000);
  return { sim, writes };
}

it('without any reports each write is the same, to the byte and the time', () => {
  const told = live({});
  const silent = live({ reports: SILENT });
  assert.deepEqual(silent.writes, told.writes);
  assert.deepEqual(requestsOf(silent.sim), requestsOf(told.sim));
  // There was something to tell, and to follow.
  assert.ok(told.writes.length > 30, `${told.writes.length} writes`);
  assert.ok(metric(told.sim, 'endpointd_events_total', { result: 'failed' }) > 0);
  assert.equal(metric(silent.sim, 'endpointd_events_total'), 0);
  assert.ok(metric(told.sim, 'endpointd_syncs_total') > 0);
  assert.equal(metric(silent.sim, 'endpointd_syncs_total'), 0);
});

it('of very many bad objects some have lines, and one line counts the rest', () => {
  const sim = createSim();
  for (let i = 0; i < 300; i++) createService(sim, { name: `web-${i}`, labels: { app: 'web' } });
  createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
  sim.start();
  sim.run(2000);
  const from = sim.logLines.length;
  createPod(sim, { name: 'bad', ip: '127.0.0.1' });
  sim.run(30_000);
  const lines = (): string[] =>
    sim.logLines
      .slice(from)
      .filter(({ level }) => level === 'warning')
      .map(({ message, fields }) => `${message} ${fields['leftOut'] ?? ''}`);
  assert.deepEqual(
    lines(),
    Array.from({ length: 20 }, () => 'Part of an object cannot be used '),
  );
  assert.equal(metric(sim, 'endpointd_problems_total', { kind: 'bad-address' }), 300);
  sim.run(40_000);
  setPodStatus(sim, { name: 'web-1', ready: false });
  sim.run(2000);
  assert.deepEqual(lines().slice(20), ['Parts of more objects cannot be used, their lines were left out 280']);
});
