/** A proxy, or a page to sign in to the network, answers in place of the API server: its word is not taken for anything. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPod, createService, createSim, deleteObject, endpointsTable } from '../support/sim.ts';
import type { Refuse } from '../support/sim-network.ts';
import { createNode, ENDPOINTS, makeEndpoints } from '../support/sim-objects.ts';
import { createSliceSim, slicesTable } from '../support/sim-slices.ts';
import { settled } from '../support/settled.ts';
import type { FaultReply } from '../../src/apiserver/faults.ts';
import { MANAGED_BY_LABEL, MANAGED_BY_VALUE } from '../../src/kube/names.ts';

const page = (status: number): FaultReply => ({
  status,
  headers: { 'content-type': 'text/html' },
  body: '<html>Please sign in to the network.</html>',
});
/** The API's media type alone makes no answer of the API. */
const json = (status: number): FaultReply => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: '{"error":"please sign in"}',
});
const inPlace =
  (method: string, reply: FaultReply): Refuse =>
  (request) =>
    request.method === method && (request.pool === 'read' || request.pool === 'write') ? reply : 0;

describe('an answer that is none of the API server', () => {
  for (const [what, reply] of [
    ['200 with a page', page(200)],
    ['404 with a page', page(404)],
    ['200 with other JSON', json(200)],
  ] as const) {
    it(`a foreign answer to a delete deletes nothing: ${what}`, () => {
      const sim = createSliceSim({ options: { mirror: true } });
      createService(sim, { name: 'outside', spec: { selector: null } });
      makeEndpoints(sim, 'outside', [{ addresses: [{ ip: '10.9.0.1' }], ports: [{ port: 80 }] }]);
      sim.start();
      sim.run(3000);
      assert.equal(slicesTable(sim).length, 1);
      sim.refuse = inPlace('DELETE', reply);
      deleteObject(sim, `${ENDPOINTS}/outside`);
      sim.run(3000);
      assert.equal(slicesTable(sim).length, 1);
      sim.refuse = () => 0;
      sim.run(120_000);
      assert.deepEqual(slicesTable(sim), []);
    });
  }

  it('a foreign answer to a create or an update writes nothing: 200 with other JSON', () => {
    const sim = settled();
    sim.refuse = (request) => (request.pool === 'write' ? json(200) : 0);
    createPod(sim, { name: 'web-3', ip: '10.0.0.3' });
    sim.run(3000);
    sim.refuse = () => 0;
    sim.run(120_000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 10.0.0.2 10.0.0.3 : http:8080/TCP']);
  });

  for (const slices of [false, true]) {
    it(`other JSON to reads and writes holds up nothing for long, slices: ${slices}`, () => {
      const sim = settled({ options: { slices } });
      createNode(sim, { name: 'node-1' });
      sim.run(2000);
      sim.refuse = ({ pool }) => (pool === 'read' || pool === 'write' ? json(200) : 0);
      createPod(sim, { name: 'web-3', ip: '10.0.0.3' });
      sim.run(10_000);
      sim.refuse = () => 0;
      sim.run(120_000);
      assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 10.0.0.2 10.0.0.3 : http:8080/TCP']);
      if (slices) assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.1 10.0.0.2 10.0.0.3 : http:8080/TCP']);
    });
  }

  it('a foreign answer does not say that a Service is gone, so an orphan stays', () => {
    const sim = createSim();
    const subsets = [{ addresses: [{ ip: '10.9.0.1' }], ports: [{ port: 80 }] }];
    const metadata = { name: 'orphan', labels: { [MANAGED_BY_LABEL]: MANAGED_BY_VALUE } };
    sim.request('POST', ENDPOINTS, { apiVersion: 'v1', kind: 'Endpoints', metadata, subsets });
    sim.refuse = inPlace('GET', page(404));
    sim.start();
    sim.run(10_000);
    assert.deepEqual(endpointsTable(sim), ['default/orphan 10.9.0.1 : :80/TCP']);
    sim.refuse = () => 0;
    sim.run(120_000);
    assert.deepEqual(endpointsTable(sim), []);
  });
});
