/** The API server is away for long, and comes back: everything that changed meanwhile is right ten seconds later. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  createPod,
  createSim,
  createService,
  deleteObject,
  endpointsTable,
  setPodStatus,
  type Sim,
} from '../support/sim.ts';
import { settled } from '../support/settled.ts';

const SEEDS = 20;
const RIGHT_MS_MAX = 10_000;

function awayFor(sim: Sim, milliseconds: number): void {
  sim.down();
  sim.run(milliseconds);
  sim.up();
  sim.run(RIGHT_MS_MAX);
}

describe('ten seconds after an outage of ten minutes', () => {
  it('changes of pods that nobody could tell are written', () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const sim = settled({ seed });
      sim.down();
      setPodStatus(sim, { name: 'web-1', ready: false });
      deleteObject(sim, '/api/v1/namespaces/default/pods/web-2');
      awayFor(sim, 600_000);
      assert.deepEqual(endpointsTable(sim), ['default/web | 10.0.0.1 : http:8080/TCP'], `seed ${seed}`);
    }
  });

  it('changes that were known before and could not be written are', () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const sim = settled({ seed });
      sim.refuse = ({ lane }) => (lane === 'write' ? 503 : 0);
      setPodStatus(sim, { name: 'web-1', ready: false });
      sim.run(100);
      sim.refuse = () => 0;
      awayFor(sim, 600_000);
      assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.2 | 10.0.0.1 : http:8080/TCP'], `seed ${seed}`);
    }
  });

  it('a process that was started meanwhile has listed and written', () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const sim = createSim({ seed });
      createService(sim, { name: 'web' });
      createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
      sim.down();
      sim.start();
      awayFor(sim, 600_000);
      assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP'], `seed ${seed}`);
    }
  });
});
