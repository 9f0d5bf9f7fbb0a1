/** What a sync that failed says, and when its service is tried again. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { samples } from '../../src/metrics/store.ts';
import { makeStatus } from '../../src/kube/status.ts';
import type { Status } from '../../src/kube/types.ts';
import { createLog } from '../../src/node/log.ts';
import { eventsOf, metric } from '../support/sim-reports.ts';
import { createSliceSim } from '../support/sim-slices.ts';
import { createPod, createService, createSim, setPodStatus, writesOf, type Sim } from '../support/sim.ts';

const ENDPOINTS = '/api/v1/namespaces/default/endpoints';

/** One service with one ready pod, all written; from now on its updates are answered with `status`. */
function refusing(status: number): Sim {
  const sim = createSim();
  createService(sim, { name: 'web' });
  createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
  sim.start();
  sim.run(2000);
  sim.exchanges.length = 0;
  sim.refuse = ({ method, path }) =>
    method === 'PUT' && path === `${ENDPOINTS}/web` ? makeStatus(status, '', 'not like this') : 0;
  return sim;
}

function flip(sim: Sim, ready: boolean): void {
  setPodStatus(sim, { name: 'web-1', ready });
}

function puts(sim: Sim): number {
  return writesOf(sim).filter((line) => line.startsWith('PUT')).length;
}

function lines(sim: Sim, message: string): { level: string; v: number; fields: Record<string, unknown> }[] {
  return sim.logLines
    .filter((line) => line.message === message)
    .map(({ level, v, fields }) => ({ level, v, fields: { ...fields } }));
}

describe('events that may not be recorded (403)', () => {
  /** Three services with a pod on a node that is not known: an event each. */
  function withoutRights(message: string, causes: readonly object[] = [], code = 403): Sim {
    const sim = createSliceSim();
    for (let i = 1; i <= 3; i++) createService(sim, { name: `web-${i}` });
    createPod(sim, { name: 'lost', ip: '10.0.0.1', node: 'no-such-node' });
    const status = makeStatus(code, 'Forbidden', message, { causes } as Status['details']);
    sim.refuse = ({ pool }) => (pool === 'event' ? status : 0);
    sim.start();
    sim.run(60_000);
    return sim;
  }

  it('refused Event objects are one warning an hour with the reason, and counted', () => {
    const sim = withoutRights('events is forbidden');
    assert.equal(metric(sim, 'endpointd_events_total', { result: 'failed' }), 3);
    const told = (): object[] => lines(sim, 'Events cannot be recorded');
    assert.deepEqual(told(), [{ level: 'warning', v: 0, fields: { err: '403: events is forbidden' } }]);
    sim.run(3_600_000);
    createService(sim, { name: 'web-4' });
    sim.run(10_000);
    assert.equal(told().length, 2);
  });

  it('Event objects refused because their namespace ends are no warning', () => {
    const sim = withoutRights('it is being terminated', [{ reason: 'NamespaceTerminating' }]);
    assert.equal(metric(sim, 'endpointd_events_total', { result: 'failed' }), 3);
    assert.deepEqual(lines(sim, 'Events cannot be recorded'), []);
  });

  it('Event objects refused because their namespace is gone are no warning', () => {
    assert.deepEqual(lines(withoutRights('namespaces "a" not found', [], 404), 'Events cannot be recorded'), []);
  });
});

it('of very many stuck services those of each controller are told', () => {
  const sim = createSliceSim({ options: { endpoints: true, kubeApiQps: 5000, kubeApiBurst: 5000 } });
  for (let i = 0; i < 300; i++) createService(sim, { name: `web-${i}` });
  sim.refuse = ({ pool }) => (pool === 'write' ? 422 : 0);
  sim.start();
  sim.run(10_000);
  const stuck = samples(sim.metrics!, 'endpointd_stuck_service', 0);
  const of = Map.groupBy(stuck, ({ labels }) => labels['controller']!);
  assert.deepEqual(
    [...of].map(([name, found]) => [name, found.length]),
    [
      ['endpoints', 128],
      ['endpointslice', 128],
    ],
  );
});

it('a refused create is an Event object on the Endpoints that do not exist', () => {
  const sim = createSim();
  createService(sim, { name: 'web' });
  sim.refuse = ({ method, path }) => (method === 'POST' && path === ENDPOINTS ? makeStatus(403, '', 'no quota') : 0);
  sim.start();
  sim.run(1000);
  assert.deepEqual(eventsOf(sim), [
    'Endpoints web: FailedToCreateEndpoint: Failed to create endpoint for service default/web: no quota',
  ]);
});

describe('an update that is refused', () => {
  it('a refused update is an Event object, and a line with reason and next try', () => {
    const sim = refusing(422);
    flip(sim, false);
    sim.run(1000);
    // On the Endpoints, as upstream records it; that a service is stuck is told on the Service.
    assert.deepEqual(eventsOf(sim), [
      'Endpoints web: FailedToUpdateEndpoint: Failed to update endpoint default/web: not like this',
      'Service web: EndpointsStuck: Endpoints default/web cannot be brought up to date: not like this',
    ]);
    const [line, ...more] = lines(sim, 'Sync failed, retrying');
    assert.deepEqual(more, []);
    const { retryMs, ...fields } = line!.fields;
    assert.ok(Number.isInteger(retryMs) && Number(retryMs) > 0, String(retryMs));
    assert.deepEqual(
      { ...line, fields },
      {
        level: 'info',
        v: 1,
        fields: {
          controller: 'endpoints',
          service: 'default/web',
          class: 'invalid',
          err: 'not like this',
          failures: 1,
        },
      },
    );
  });

  it('a refusal without a message is shown by its code and reason', () => {
    const sim = refusing(422);
    const bare: Status = {
      apiVersion: 'v1',
      kind: 'Status',
      metadata: {},
      status: 'Failure',
      code: 422,
      reason: 'Invalid',
    };
    sim.refuse = ({ method }) => (method === 'PUT' ? bare : 0);
    flip(sim, false);
    sim.run(1000);
    assert.equal(lines(sim, 'Sync failed, retrying')[0]?.fields['err'], '422 Invalid');
  });

  for (const status of [422, 403]) {
    it(`a refusal with ${status} is not tried again within two seconds`, () => {
      const sim = refusing(status);
      flip(sim, false);
      sim.run(1000);
      flip(sim, true);
      sim.run(200);
      flip(sim, false);
      sim.run(700);
      assert.equal(puts(sim), 1);
      sim.run(200);
      assert.equal(puts(sim), 2);
    });
  }

  it('500 makes a service stuck the sixth time in a row, and not before', () => {
    const sim = refusing(500);
    flip(sim, false);
    const stuck = (): number => lines(sim, 'Service is stuck: its objects may be wrong until this is mended').length;
    while (puts(sim) < 5) sim.run(10);
    sim.run(10);
    assert.equal(stuck(), 0);
    while (puts(sim) < 6) sim.run(10);
    sim.run(10);
    assert.equal(stuck(), 1);
    while (puts(sim) < 8) sim.run(10);
    assert.equal(stuck(), 1);
  });
});

it('retries for ever write no line at -v=0 but that their services are stuck', () => {
  const sim = createSim();
  for (let i = 0; i < 20; i++) createService(sim, { name: `web-${i}` });
  sim.refuse = ({ pool }) => (pool === 'write' ? makeStatus(403, '', 'not like this') : 0);
  sim.start();
  sim.run(3_600_000);
  const { sourceOf } = createLog({ verbosity: 0, format: 'text', destination: 1 });
  const written = sim.logLines.filter(({ level, v }) => sourceOf(level, v) !== '');
  const again = [...Map.groupBy(written, ({ message }) => message)].filter(([, { length }]) => length > 1);
  assert.deepEqual(
    again.map(([message, { length }]) => [message, length]),
    [['Service is stuck: its objects may be wrong until this is mended', 20]],
  );
  assert.ok(lines(sim, 'Sync failed, retrying').length > 20 * 12, 'it was tried again');
});

it('a conflict is expected, so only a verbose log has its line', () => {
  const sim = refusing(409);
  flip(sim, false);
  sim.run(100);
  const [line] = lines(sim, 'Sync failed, retrying');
  assert.deepEqual([line?.level, line?.v, line?.fields['class']], ['info', 3, 'conflict']);
});

it('a successful sync logs what it wrote and how long it took', () => {
  const sim = refusing(200);
  sim.refuse = () => 0;
  sim.logLines.length = 0;
  flip(sim, false);
  sim.run(1000);
  const [line, ...more] = lines(sim, 'Synced');
  assert.deepEqual(more, []);
  const { ms, ...fields } = line!.fields;
  assert.ok(Number.isInteger(ms) && Number(ms) > 0, String(ms));
  assert.deepEqual(
    { ...line, fields },
    {
      level: 'info',
      v: 2,
      fields: { controller: 'endpoints', service: 'default/web', writes: 1, ready: 0, notReady: 1 },
    },
  );
});
