/** Writes of a namespace that hang, as behind an admission webhook without an answer: no other namespace waits for them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ControllerOptions } from '../../src/controller/options.ts';
import { createPod, createService, createSim, endpointsTable, setPodStatus, type Sim } from '../support/sim.ts';

const HANGING = Array.from({ length: 10 }, (_, i) => `web-${i}`);

/** Ten services of the namespace `hanging` and one of `quiet`, all right. From now on the writes of the one hang. */
function world(options: Partial<ControllerOptions> = {}): Sim {
  const sim = createSim({ options: { kubeApiQps: 1000, kubeApiBurst: 1000, ...options } });
  const make = (namespace: string, name: string): void => {
    createService(sim, { name, namespace, spec: { selector: { app: name } } });
    createPod(sim, { name, namespace, ip: '10.0.0.1', labels: { app: name } });
  };
  for (const namespace of ['hanging', 'quiet']) {
    sim.request('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  }
  for (const name of HANGING) make('hanging', name);
  make('quiet', 'web');
  sim.start();
  sim.run(5000);
  assert.equal(endpointsTable(sim).length, 11);
  sim.script = ({ pool, path }) => (pool === 'write' && path.includes('/namespaces/hanging/') ? 'hang' : null);
  return sim;
}

function changeHanging(sim: Sim, ready: boolean): void {
  for (const name of HANGING) setPodStatus(sim, { name, namespace: 'hanging', ready });
}

/** A change of the other namespace is written within 100 ms. */
function assertQuietIsWritten(sim: Sim, ready: boolean): void {
  setPodStatus(sim, { name: 'web', namespace: 'quiet', ready });
  sim.run(100);
  const line = endpointsTable(sim).find((one) => one.startsWith('quiet/'));
  assert.equal(line, ready ? 'quiet/web 10.0.0.1 : http:8080/TCP' : 'quiet/web | 10.0.0.1 : http:8080/TCP');
}

describe('a namespace whose writes hang', () => {
  it('a namespace whose writes hang leaves others a slot at any time', () => {
    const sim = world();
    for (let i = 0; i < 120; i++) {
      changeHanging(sim, i % 2 === 1);
      sim.run(900);
      assertQuietIsWritten(sim, i % 2 === 1);
    }
  });

  it('a namespace whose writes hang leaves others a place for a write', () => {
    const sim = world({ concurrentEndpointSyncs: 20, maxWritesInFlight: 8 });
    for (let i = 0; i < 120; i++) {
      changeHanging(sim, i % 2 === 1);
      sim.run(900);
      assertQuietIsWritten(sim, i % 2 === 1);
    }
  });

  it('a service whose writes hang holds a slot for half of the time at most', () => {
    const sim = world();
    const { queue } = sim.loop!.state.controllers[0]!;
    // The first write that hangs is not waited for: it may just be lost.
    for (let i = 0; i < 300; i++) {
      setPodStatus(sim, { name: 'web-0', namespace: 'hanging', ready: i % 2 === 1 });
      sim.run(100);
    }
    let held = 0;
    const looks = 2000;
    for (let i = 0; i < looks; i++) {
      setPodStatus(sim, { name: 'web-0', namespace: 'hanging', ready: i % 2 === 1 });
      sim.run(100);
      held += queue.slots.held;
    }
    assert.ok(held > 0.3 * looks && held < 0.55 * looks, `${held} of ${looks}`);
  });
});
