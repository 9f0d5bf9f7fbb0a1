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
import { podRequests, settled } from '../support/settled.ts';

const SEEDS = 20;
const RIGHT_MS_MAX = 10_000;

function awayFor(sim: Sim, milliseconds: number): void {
  sim.down();
  sim.run(milliseconds);
  sim.up();
  sim.run(RIGHT_MS_MAX);
}

/** Lines about watches since `from`, without their times. */
function linesSince(sim: Sim, from: number): string[] {
  return sim.logLines.slice(from).map(({ level, v, message, fields }) => {
    const { resource = '', outage = '', watches = '' } = fields;
    return `${level} ${v} ${message} ${resource}${watches} ${outage}`.trim();
  });
}

describe('the log of an outage', () => {
  it('the log says that a watch was lost, why, and after how long it is back', () => {
    const sim = settled();
    const from = sim.logLines.length;
    sim.refuse = ({ path }) => (path.startsWith('/api/v1/pods') ? 503 : 0);
    sim.cutWatches();
    sim.run(40_000);
    sim.refuse = () => 0;
    sim.run(10_000);
    const [lost, ...more] = linesSince(sim, from).filter((line) => !line.startsWith('info 2 '));
    assert.equal(lost, 'warning 0 Watch is tried again pods');
    assert.match(more.join(), /^info 0 Watch is back pods 4\ds$/);
  });

  it('an outage of the server is a line for each watch, and one when all are back', () => {
    const sim = settled();
    // The outage counts from its beginning, however long all was well before.
    sim.run(100_000);
    const from = sim.logLines.length;
    sim.down();
    sim.run(40_000);
    sim.up();
    sim.run(10_000);
    const lines = linesSince(sim, from).filter((line) => !line.startsWith('info 2 '));
    assert.equal(lines.filter((line) => line.startsWith('warning 0 ')).length, 3);
    assert.equal(lines.filter((line) => line.startsWith('info 0 Watch is back ')).length, 3);
    assert.match(lines.at(-1)!, /^info 0 All watches are back 3 4\ds$/);
    assert.equal(lines.length, 7);
  });

  it('an outage does not end with a watch that is opened and refused at once (410)', () => {
    const sim = settled();
    const from = sim.logLines.length;
    sim.down();
    sim.run(20_000);
    sim.up();
    sim.compact();
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(20_000);
    const lines = linesSince(sim, from).filter((line) => line.startsWith('info 0 Watch is back pods'));
    assert.equal(lines.length, 1);
    assert.match(lines[0]!, / (2|3)\ds$/);
  });

  it('a lasting outage names its reason once a minute, and another one at once', () => {
    const sim = settled();
    const from = sim.logLines.length;
    sim.down();
    sim.run(600_000);
    const pods = (): number =>
      sim.logLines.slice(from).filter(({ level, fields }) => level === 'warning' && fields['resource'] === 'pods')
        .length;
    const told = pods();
    assert.ok(told >= 9 && told <= 10, `${told} warnings in ten minutes`);
    sim.refuse = () => 403;
    sim.up();
    sim.run(8000);
    assert.equal(pods(), told + 1);
  });

  it('the log is silent if a watch ended in order and began anew', () => {
    const sim = settled();
    const from = sim.logLines.length;
    sim.run(3_600_000);
    assert.deepEqual(linesSince(sim, from), []);
  });
});

describe('ten seconds after an outage of ten minutes', () => {
  it('ten seconds after an outage, changes that nobody could tell are written', () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const sim = settled({ seed });
      sim.down();
      setPodStatus(sim, { name: 'web-1', ready: false });
      deleteObject(sim, '/api/v1/namespaces/default/pods/web-2');
      awayFor(sim, 600_000);
      assert.deepEqual(endpointsTable(sim), ['default/web | 10.0.0.1 : http:8080/TCP'], `seed ${seed}`);
    }
  });

  it('ten seconds after an outage, all is right although no watch can go on (410)', () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const sim = settled({ seed });
      sim.down();
      setPodStatus(sim, { name: 'web-1', ready: false });
      sim.compact();
      awayFor(sim, 600_000);
      assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.2 | 10.0.0.1 : http:8080/TCP'], `seed ${seed}`);
    }
  });

  it('ten seconds after an outage, changes known before it are written', () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const sim = settled({ seed });
      sim.refuse = ({ pool }) => (pool === 'write' ? 503 : 0);
      setPodStatus(sim, { name: 'web-1', ready: false });
      sim.run(100);
      sim.refuse = () => 0;
      awayFor(sim, 600_000);
      assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.2 | 10.0.0.1 : http:8080/TCP'], `seed ${seed}`);
    }
  });

  it('a process that started during the outage has listed and written', () => {
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

describe('a watch that the server refuses after each list', () => {
  it('410 after each list costs at most 22 lists in ten minutes', () => {
    const sim = settled({ options: { watchList: false } });
    sim.refuse = ({ path }) => (path.startsWith('/api/v1/pods?watch') ? 410 : 0);
    sim.cutWatches();
    const from = sim.exchanges.length;
    sim.run(600_000);
    const lists = podRequests(sim, from).filter((request) => request === 'page 200');
    assert.ok(lists.length >= 10 && lists.length <= 22, `${lists.length} lists`);
  });
});
