/** Names of slices are drawn by the controller, so that a create whose reply is lost can be tried again as it was. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPod, createService, type Sim } from '../support/sim.ts';
import { edit, SLICES } from '../support/sim-objects.ts';
import { createSliceSim, namesOf, slicesTable } from '../support/sim-slices.ts';
import { SLICE_MANAGED_BY_LABEL } from '../../src/kube/names.ts';

/** A world where the reply to the first create of a slice never comes. The server has created it. */
function lostReply(): Sim {
  const sim = createSliceSim();
  createService(sim, { name: 'web' });
  createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
  sim.lag = ({ method, path }) => ({ toMs: 0, backMs: method === 'POST' && path === SLICES ? 60_000 : 0 });
  sim.start();
  sim.run(1000);
  sim.lag = () => ({ toMs: 0, backMs: 0 });
  return sim;
}

function creates(sim: Sim): number[] {
  return sim.exchanges.filter(({ method, path }) => method === 'POST' && path === SLICES).map(({ status }) => status);
}

describe('a create of a slice whose reply is lost', () => {
  it('a create whose reply is lost is found by a list, and not made twice', () => {
    const sim = lostReply();
    sim.run(60_000);
    assert.deepEqual(creates(sim), [201]);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.1 : http:8080/TCP']);
  });

  it('a name that somebody has taken since is tried again, then another one', () => {
    const sim = lostReply();
    const path = `${SLICES}/${namesOf(sim)[0]}`;
    const { labels } = sim.request('GET', path).metadata;
    edit(sim, path, { labels: { ...labels, [SLICE_MANAGED_BY_LABEL]: 'somebody-else' } });
    sim.run(60_000);
    assert.deepEqual(creates(sim), [201, 409, 201]);
    assert.deepEqual(slicesTable(sim), [
      'default/web (somebody-else) IPv4 10.0.0.1 : http:8080/TCP',
      'default/web IPv4 10.0.0.1 : http:8080/TCP',
    ]);
  });
});
