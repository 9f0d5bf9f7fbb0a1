/** Names of slices are drawn by the controller, so that a create whose reply is lost can be tried again as it was. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { itemsOf, SLICES_PATH } from '../support/sim-others.ts';
import { createPod, createService, createSim, type Sim } from '../support/sim.ts';
import { SERVICE_NAME_LABEL, SLICE_MANAGED_BY_LABEL } from '../../src/kube/names.ts';
import type { KubeObject } from '../../src/kube/types.ts';

const POST = /^POST \/apis\/discovery/;

/** A world where the reply to the first create of a slice never comes. The server has created it. */
function lostReply(): { sim: Sim; lost: KubeObject } {
  const sim = createSim({ options: { endpoints: false, slices: true } });
  createService(sim, { name: 'web' });
  createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
  sim.lag = ({ method, path }) => ({ toMs: 0, backMs: POST.test(`${method} ${path}`) ? 60_000 : 0 });
  sim.start();
  sim.run(1000);
  sim.lag = () => ({ toMs: 0, backMs: 0 });
  const [lost] = slicesOf(sim);
  return { sim, lost: lost! };
}

function slicesOf(sim: Sim): KubeObject[] {
  return itemsOf(sim, SLICES_PATH).filter(({ metadata }) => metadata.labels?.[SERVICE_NAME_LABEL] === 'web');
}

function creates(sim: Sim): number[] {
  return sim.exchanges.filter(({ method, path }) => POST.test(`${method} ${path}`)).map(({ status }) => status);
}

function pathOf({ metadata: { namespace, name } }: KubeObject): string {
  return `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices/${name}`;
}

describe('a create of a slice whose reply is lost', () => {
  it('is found when the slices are listed: nothing is created twice', () => {
    const { sim, lost } = lostReply();
    sim.run(60_000);
    assert.deepEqual(creates(sim), [201]);
    assert.deepEqual(slicesOf(sim), [lost]);
  });

  it('and that somebody has taken from us since: tried again by its name, which is taken, then by another', () => {
    const { sim, lost } = lostReply();
    const labels = { ...lost.metadata.labels, [SLICE_MANAGED_BY_LABEL]: 'somebody-else' };
    sim.request('PUT', pathOf(lost), {
      ...lost,
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...lost.metadata, labels },
    });
    sim.run(60_000);
    assert.deepEqual(creates(sim), [201, 409, 201]);
    const [ours, ...others] = slicesOf(sim).filter(
      ({ metadata }) => metadata.labels![SLICE_MANAGED_BY_LABEL] !== 'somebody-else',
    );
    assert.deepEqual(ours!['endpoints'], lost['endpoints']);
    assert.deepEqual(others, []);
  });
});
