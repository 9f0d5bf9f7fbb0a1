/** The line that an operator waits for at a take-over: once at the start, when all that was due has been synced. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPod, createService, type Sim } from '../support/sim.ts';
import { makeEndpoints } from '../support/sim-objects.ts';
import { createSliceSim } from '../support/sim-slices.ts';

const ALL = { endpoints: true, slices: true, mirror: true };

/** Of the start, as `message services writes stuck`. */
function lines(sim: Sim): string[] {
  return sim.logLines
    .filter(({ message }) => message.startsWith('All services') || message.startsWith('Caches'))
    .map(({ level, v, message, fields }) => {
      const { controller = '', services = '', took = '', writes = '', stuck = '' } = fields;
      return `${level} ${v} ${message}: ${controller} ${services} ${took} ${writes} ${stuck}`
        .replaceAll(/ +/g, ' ')
        .trim();
    });
}

/** Three Services with a selector, one whose Endpoints are made by hand, and Endpoints without a Service. */
function cluster(): Sim {
  const sim = createSliceSim({ options: ALL });
  createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
  for (let i = 1; i <= 3; i++) createService(sim, { name: `web-${i}` });
  createService(sim, { name: 'hand', spec: { selector: null } });
  makeEndpoints(sim, 'hand', [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ name: 'http', port: 80 }] }]);
  makeEndpoints(sim, 'orphan', [{ addresses: [{ ip: '192.0.2.2' }] }]);
  return sim;
}

// The API server's own Service is one of five.
describe('the line that all services are synced', () => {
  it('the line comes once, with Services, time, writes, and who is stuck', () => {
    const sim = cluster();
    sim.start();
    sim.run(600_000);
    assert.deepEqual(lines(sim), [
      'info 0 Caches are filled: endpointslice-mirroring 5 6ms',
      'info 0 Caches are filled: endpoints 5 6ms',
      'info 0 Caches are filled: endpointslice 5 7ms',
      'info 0 All services are synced: 5 12ms 7 0',
    ]);
  });

  it('the line says 0 writes if everything was right before', () => {
    const sim = cluster();
    sim.start();
    sim.run(5000);
    sim.kill();
    sim.logLines.length = 0;
    sim.start();
    sim.run(5000);
    assert.match(lines(sim).at(-1)!, /^info 0 All services are synced: 5 \d+ms 0 0$/);
  });

  it('the line does not wait for a stuck service, and counts it', () => {
    const sim = cluster();
    sim.refuse = ({ method, path }) => (method === 'POST' && path.endsWith('/endpoints') ? 422 : 0);
    sim.start();
    sim.run(600_000);
    assert.match(lines(sim).at(-1)!, /^info 0 All services are synced: 5 \d+ms 4 3$/);
  });

  it('the line waits for failed services, and for caches that are not filled', () => {
    const sim = cluster();
    sim.lag = ({ path }) => ({ toMs: 0, backMs: path.startsWith('/api/v1/nodes') ? 20_000 : 0 });
    sim.refuse = ({ method, path }) =>
      method === 'POST' && path.endsWith('/endpoints') && sim.nowMs() < 9000 ? 500 : 0;
    sim.start();
    sim.run(19_000);
    assert.equal(lines(sim).length, 2);
    sim.run(10_000);
    assert.equal(lines(sim).at(-1), 'info 0 All services are synced: 5 20s 7 0');
  });
});
