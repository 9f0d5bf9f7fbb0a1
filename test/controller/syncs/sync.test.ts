/** One sync, driven stage by stage: what each answer leads to, what is sent, and how it ends. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { serviceTarget } from '../../../src/controller/caches/inputs.ts';
import type { ServiceState, Unit } from '../../../src/controller/caches/service-state.ts';
import { ensureService, ensureSlice, ensureUnit } from '../../../src/controller/caches/services.ts';
import { startSweep } from '../../../src/controller/caches/sweep.ts';
import { createState } from '../../../src/controller/initial-state.ts';
import { takeWork } from '../../../src/controller/queues/workqueue.ts';
import type { ControllerState } from '../../../src/controller/state.ts';
import { noteEntryAnswered, noteObserved, noteUncertain } from '../../../src/controller/syncs/planner-view.ts';
import { flushShards } from '../../../src/controller/syncs/shard-batches.ts';
import { onOrphanConfirmed } from '../../../src/controller/syncs/clean-up.ts';
import { onWriteDone } from '../../../src/controller/syncs/sync-writes.ts';
import { onEndpointsRead, onPlanned, onSlicesRead, startSync } from '../../../src/controller/syncs/sync.ts';
import { isMoot, shadowOf } from '../../../src/controller/writes/shadow.ts';
import { outcomeOf } from '../../../src/controller/writes/write-outcome.ts';
import type { QueuedWrite } from '../../../src/controller/writes/writes.ts';
import { encodeObject } from '../../../src/kube/codec.ts';
import { MANAGED_BY_LABEL, MANAGED_BY_VALUE } from '../../../src/kube/names.ts';
import type { KubeObject, OutputRecord, ServiceRecord } from '../../../src/kube/types.ts';
import { allTurns, takeTurn } from '../../../src/lib/turns.ts';
import { createMetricStore } from '../../../src/metrics/store.ts';
import type { TransportEvent } from '../../../src/ports/transport.ts';
import type { Facts, OutputKind, PlannedWrite, ServiceResult } from '../../../src/shard/protocol.ts';
import { answered, failedWith, NAMESPACE_ENDS, refusedWith } from '../../support/answers.ts';
import { serviceRecord } from '../../support/batches.ts';
import { DEFAULT_OPTIONS } from '../../support/sim.ts';

const NO_SELECTOR = { selector: null };

/** The Service shop/web, its units, and what a sync of them asks for. */
interface World {
  readonly units: Readonly<Record<OutputKind, Unit>>;
  /** The unit is handed out, whatever it is that makes it due. */
  start(unit: Unit): void;
  /** Stage, and what is open in it; 'ended' = there is no sync. */
  stage(unit: Unit): string;
  /** GETs since the last look. */
  reads(): string[];
  /** Writes that wait for a token, as `<verb> <name>`. */
  writes(): string[];
  readEndpoints(unit: Unit, event: TransportEvent): void;
  readSlices(unit: Unit, event: TransportEvent): void;
  confirm(event: TransportEvent): void;
  /** What was asked for goes to the planner. */
  post(): void;
  /** The planner answers what it was asked, posted or not. */
  plan(result: Partial<ServiceResult>): void;
  /** The oldest write that waits is sent, and answered. */
  answer(event: TransportEvent): void;
  /** The same write is answered once more. */
  answerAgain(event: TransportEvent): void;
  /** The Service is there, with these fields; null = it goes. */
  service(change: Partial<ServiceRecord> | null): void;
  /** The unit has had the slice for long. */
  slice(kind: OutputKind, name: string): void;
  nowMs: number;
  readonly state: ControllerState;
}

function world(options: Partial<typeof DEFAULT_OPTIONS> = {}): World {
  const state = createState(
    {
      options: { ...DEFAULT_OPTIONS, slices: true, mirror: true, ...options },
      metrics: createMetricStore(),
      host: 'test',
    },
    1,
    1,
  );
  for (const controller of state.controllers) controller.running = true;
  const service = ensureService(state, 'shop', 'web');
  const units = Object.fromEntries(
    state.controllers.map((controller) => [controller.kind, ensureUnit(service, controller)]),
  ) as Record<OutputKind, Unit>;
  const target = serviceTarget(state);
  let version = 1;
  let last: ReturnType<typeof takeTurn<ServiceState, QueuedWrite>>;
  const now = (): { nowMs: number; wallMs: number } => ({ nowMs: world.nowMs, wallMs: world.nowMs });
  const done = (event: TransportEvent): void => {
    const { write } = last!;
    onWriteDone(state, last!, outcomeOf(write, event, false, state.interner), now());
  };
  const world: World = {
    state,
    units,
    start(unit) {
      const { queue } = unit.controller;
      let item = takeWork(queue, world.nowMs);
      while (item !== null && item.key !== unit) item = takeWork(queue, world.nowMs);
      assert.ok(item !== null, 'the unit is not due');
      startSync(state, unit, item.processing!, now());
    },
    stage({ sync }) {
      if (sync === null) return 'ended';
      return 'open' in sync.stage ? `${sync.stage.name} ${sync.stage.open}` : sync.stage.name;
    },
    reads() {
      const effects = state.outbox.effects.splice(0);
      return effects.flatMap((effect) => (effect.type === 'http' ? effect.request.path : []));
    },
    writes: () =>
      [...allTurns(state.writes.fresh), ...allTurns(state.writes.chore)].map(
        ({ write: { verb, name } }) => `${verb} ${name}`,
      ),
    readEndpoints: (unit, event) => onEndpointsRead(state, unit, event, now()),
    readSlices: (unit, event) => onSlicesRead(state, unit, event, now()),
    confirm: (event) => onOrphanConfirmed(state, units.endpoints, event, now()),
    post: () => assert.deepEqual(flushShards(state, now()), []),
    plan(result) {
      world.post();
      state.shards[0]!.inFlight.clear();
      const kinds = service.view.planning;
      noteEntryAnswered(service.view, kinds);
      const nothing = { service: 'shop/web', needFull: false, plans: [], failures: [], problems: [], error: null };
      onPlanned(state, service, kinds, { ...nothing, ...result }, now());
    },
    answer(event) {
      last = takeTurn(state.writes.fresh) ?? takeTurn(state.writes.chore);
      done(event);
    },
    answerAgain: done,
    slice(kind, name) {
      ensureSlice(state, units[kind], name).record = record(name);
    },
    service(change) {
      const record = { ...serviceRecord(change ?? {}), resourceVersion: `${++version}` };
      if (change === null) target.remove(record, now());
      else
        target.upsert(
          record,
          { encoding: 'json', kind: 'Service', apiVersion: 'v1', value: {} },
          record.resourceVersion,
          now(),
        );
    },
    nowMs: 1000,
  };
  return world;
}

describe('a sync of what is to be planned', () => {
  it('a sync asks for its plan at once if the planner knows the objects', () => {
    const w = world();
    w.service({});
    w.start(w.units.slices);
    assert.deepEqual([w.stage(w.units.slices), w.reads()], ['planning', []]);
    w.plan({ plans: [slicesPlan()] });
    assert.equal(w.stage(w.units.slices), 'ended');
  });

  it('a sync first reads what only the server knows', () => {
    const w = world();
    w.service({});
    noteUncertain(w.units.slices.service.view, 'slices');
    w.start(w.units.slices);
    assert.equal(w.stage(w.units.slices), 'reading 1');
    assert.match(w.reads().join(), /^\/apis\/discovery.k8s.io\/v1\/namespaces\/shop\/endpointslices\?labelSelector=/);
    w.readSlices(w.units.slices, listOf());
    assert.equal(w.stage(w.units.slices), 'planning');
  });

  it('a sync reads all that its plan needs before it asks', () => {
    const w = world();
    w.service(NO_SELECTOR);
    const { mirror } = w.units;
    mirror.service.endpoints.record = record('web');
    noteUncertain(mirror.service.view, 'endpoints');
    noteUncertain(mirror.service.view, 'mirror');
    w.start(mirror);
    assert.deepEqual([w.stage(mirror), w.reads().length], ['reading 2', 2]);
    w.readSlices(mirror, listOf());
    assert.equal(w.stage(mirror), 'reading 1');
    w.readEndpoints(mirror, answered(200, endpointsObject('5')));
    assert.equal(w.stage(mirror), 'planning');
  });

  it('a sync ends when a read has failed and all reads are answered', () => {
    const w = world();
    w.service(NO_SELECTOR);
    const { mirror } = w.units;
    mirror.service.endpoints.record = record('web');
    noteUncertain(mirror.service.view, 'endpoints');
    noteUncertain(mirror.service.view, 'mirror');
    w.start(mirror);
    w.readSlices(mirror, refusedWith(500));
    assert.equal(w.stage(mirror), 'reading 1');
    w.readEndpoints(mirror, answered(200, endpointsObject('5')));
    assert.deepEqual([w.stage(mirror), mirror.failures], ['ended', 1]);
  });

  it('a sync ends without a plan if its Service went away while it read', () => {
    const w = world();
    w.service({});
    noteUncertain(w.units.slices.service.view, 'slices');
    w.start(w.units.slices);
    w.service(null);
    w.readSlices(w.units.slices, listOf());
    assert.deepEqual([w.stage(w.units.slices), w.units.slices.failures], ['ended', 0]);
  });

  it('a sync awaits a read only while it reads', () => {
    const w = world();
    w.service({});
    w.start(w.units.slices);
    assert.throws(() => w.readSlices(w.units.slices, listOf()), /an answer to no list of slices of web/);
  });

  it('a sync begins no sooner than the last failure allows', () => {
    const w = world();
    w.service({});
    w.units.slices.notBeforeMs = 3000;
    w.start(w.units.slices);
    assert.equal(w.stage(w.units.slices), 'ended');
    w.nowMs = 3000;
    w.start(w.units.slices);
    assert.equal(w.stage(w.units.slices), 'planning');
  });
});

describe('the answer of a planner', () => {
  it('a planner without anything to build on makes the sync start over', () => {
    const w = world();
    w.service({});
    w.slice('slices', 'web-a');
    w.start(w.units.slices);
    w.plan({ needFull: true });
    assert.equal(w.stage(w.units.slices), 'reading 1');
  });

  it('the failure of one output leaves the other its plan', () => {
    const w = world();
    w.service({});
    w.start(w.units.slices);
    w.start(w.units.endpoints);
    w.plan({
      plans: [slicesPlan(write(1, 'create', 'web-a'))],
      failures: [{ output: 'endpoints', message: 'simulated' }],
    });
    assert.deepEqual([w.stage(w.units.slices), w.stage(w.units.endpoints)], ['writing 1', 'ended']);
    assert.equal(w.units.endpoints.controller.stuck.get(w.units.endpoints)?.message, 'simulated');
  });

  it('the error of a planner ends all syncs that had asked', () => {
    const w = world();
    w.service({});
    w.start(w.units.slices);
    w.start(w.units.endpoints);
    w.plan({ error: 'simulated' });
    assert.deepEqual([w.stage(w.units.slices), w.stage(w.units.endpoints)], ['ended', 'ended']);
    assert.deepEqual([w.units.slices.failures, w.units.endpoints.failures], [1, 1]);
  });

  it('an answer that nobody asked for is a bug', () => {
    const w = world();
    w.service({});
    w.start(w.units.slices);
    assert.throws(() => w.plan({ plans: [slicesPlan(), slicesPlan()] }), /a plan of slices of shop\/web comes unasked/);
  });

  it('an answer for a Service that no longer wants it is not sent', () => {
    const w = world();
    w.service({});
    const { slices } = w.units;
    w.start(slices);
    w.post();
    w.service(NO_SELECTOR);
    w.plan({ plans: [slicesPlan(write(1, 'create', 'web-a'))] });
    assert.deepEqual([w.stage(slices), w.writes()], ['ended', []]);
    assert.deepEqual(slices.service.view.acks, [{ write: 1, result: 'not-sent', uid: '', resourceVersion: '' }]);
  });
});

describe('writes', () => {
  it('writes go out phase by phase, those of one phase side by side', () => {
    const w = world();
    w.service({});
    for (const name of ['web-a', 'web-b', 'web-c']) w.slice('slices', name);
    w.start(w.units.slices);
    w.plan({
      plans: [
        slicesPlan(
          write(1, 'create', 'web-d'),
          write(2, 'delete', 'web-a', 3),
          write(3, 'update', 'web-b', 2),
          write(4, 'update', 'web-c', 2),
        ),
      ],
    });
    assert.deepEqual(w.writes(), ['create web-d']);
    w.answer(answered(201, sliceObject('web-d', '20')));
    assert.deepEqual(w.writes(), ['update web-b', 'update web-c']);
    w.answer(answered(200, sliceObject('web-b', '21')));
    assert.deepEqual([w.stage(w.units.slices), w.writes()], ['writing 1', ['update web-c']]);
    w.answer(answered(200, sliceObject('web-c', '22')));
    assert.deepEqual(w.writes(), ['delete web-a']);
    w.answer(answered(200, { kind: 'Status', apiVersion: 'v1', status: 'Success' }));
    assert.deepEqual([w.stage(w.units.slices), w.units.slices.failures], ['ended', 0]);
  });

  it('writes of later phases are not sent after a failure, and the planner is told', () => {
    const w = world();
    w.service({});
    w.slice('slices', 'web-a');
    w.start(w.units.slices);
    w.plan({ plans: [slicesPlan(write(1, 'create', 'web-d'), write(2, 'delete', 'web-a', 2))] });
    w.answer(refusedWith(403));
    assert.deepEqual([w.stage(w.units.slices), w.writes()], ['ended', []]);
    const { acks } = w.units.slices.service.view;
    assert.deepEqual(
      acks!.map(({ write: id, result }) => [id, result]),
      [
        [1, 'refused'],
        [2, 'not-sent'],
      ],
    );
  });

  it('a create that is refused because its namespace ends holds them back too', () => {
    const w = world();
    w.service({});
    w.slice('slices', 'web-a');
    w.start(w.units.slices);
    w.plan({ plans: [slicesPlan(write(1, 'create', 'web-d'), write(2, 'update', 'web-a', 2))] });
    w.answer(NAMESPACE_ENDS);
    assert.deepEqual([w.stage(w.units.slices), w.writes(), w.units.slices.failures], ['ended', [], 0]);
  });

  it('a failure holds back the later phases of its own family alone', () => {
    const w = world();
    w.service({});
    for (const name of ['web-a', 'web-b']) w.slice('slices', name);
    w.start(w.units.slices);
    w.plan({
      plans: [
        slicesPlan(
          write(1, 'create', 'web-d', 1, 'IPv6'),
          write(2, 'delete', 'web-a', 2, 'IPv6'),
          write(3, 'delete', 'web-b', 2, 'IPv4'),
        ),
      ],
    });
    w.answer(refusedWith(403));
    assert.deepEqual([w.stage(w.units.slices), w.writes()], ['writing 1', ['delete web-b']]);
    w.answer(answered(200, { kind: 'Status', apiVersion: 'v1', status: 'Success' }));
    assert.deepEqual([w.stage(w.units.slices), w.units.slices.failures], ['ended', 1]);
  });

  const UNDONE = answered(200, sliceObject('web-a', '9'));
  for (const [title, answer, sent] of [
    ['is undone', UNDONE, ['delete web-c']],
    ['is refused for its content', refusedWith(422), ['delete web-c']],
    ['fails otherwise', refusedWith(500), []],
  ] as const) {
    it(`a write that ${title} lets these go on: [${sent.join()}]`, () => {
      const w = world();
      w.service({});
      for (const name of ['web-a', 'web-b', 'web-c']) w.slice('slices', name);
      w.start(w.units.slices);
      const gone = { ...write(3, 'delete', 'web-c', 2), waits: false };
      w.plan({ plans: [slicesPlan(write(1, 'update', 'web-a'), write(2, 'delete', 'web-b', 2), gone)] });
      w.answer(answer);
      assert.deepEqual(w.writes(), sent);
    });
  }

  it('a write that waits is not sent once the process, or its sync, is a shadow', () => {
    const w = world();
    const { endpoints } = w.units;
    w.service({});
    w.start(endpoints);
    const queued = { unit: endpoints, object: endpoints.service.endpoints, write: write(1, 'create', 'web') };
    const times = { queuedAtMs: 0, tokenWaitBeforeMs: -1, sentAtMs: -1, reachedBefore: '' };
    const waits = { ...queued, ...times, lane: 'fresh' } as const;
    assert.equal(isMoot(w.state, waits), false);
    w.state.isShadow = true;
    assert.equal(isMoot(w.state, waits), true);
    const { sync } = endpoints;
    endpoints.sync = { ...sync!, shadow: shadowOf(w.state, endpoints) };
    w.state.isShadow = false;
    assert.equal(isMoot(w.state, waits), true);
  });

  it('a write whose reply was lost makes the next sync begin with a read', () => {
    const w = world();
    w.service({});
    w.start(w.units.slices);
    w.plan({ plans: [slicesPlan(write(1, 'create', 'web-d'))] });
    w.answer(failedWith('reset', true));
    assert.deepEqual([w.stage(w.units.slices), w.units.slices.service.view.slices], ['ended', 'uncertain']);
    w.nowMs = 60_000;
    w.start(w.units.slices);
    assert.equal(w.stage(w.units.slices), 'reading 1');
  });

  it('writes are answered once', () => {
    const w = world();
    w.service({});
    w.start(w.units.slices);
    w.plan({ plans: [slicesPlan(write(1, 'create', 'web-d'))] });
    w.answer(answered(201, sliceObject('web-d', '20')));
    assert.throws(() => w.answerAgain(answered(201, sliceObject('web-d', '20'))), /an answer to no write of shop\/web/);
  });
});

describe('a sync that failed', () => {
  /** The wait after the last of these answers to a create, one sync after the other. */
  function waitAfter(...answers: readonly TransportEvent[]): { waitMs: number; failures: number } {
    const w = world();
    const { slices } = w.units;
    w.service({});
    for (const event of answers) {
      w.nowMs += 600_000;
      w.start(slices);
      w.plan({ plans: [slicesPlan(write(1, 'create', 'web-a'))] });
      w.answer(event);
    }
    return { waitMs: slices.item.freshDueMs - w.nowMs, failures: slices.failures };
  }
  const AWAY = failedWith('refused', false);

  it('a refusal after an outage waits as long as one without, and counts on', () => {
    const { waitMs, failures } = waitAfter(...Array<TransportEvent>(10).fill(AWAY), refusedWith(403));
    assert.ok(waitMs >= 5000 && waitMs <= 6000, `${waitMs} ms`);
    assert.equal(failures, 11);
  });

  it('a refusal waits longer each time, whatever other failures come between', () => {
    const { waitMs } = waitAfter(refusedWith(403), AWAY, refusedWith(429), AWAY, refusedWith(403));
    assert.ok(waitMs >= 20_000 && waitMs <= 24_000, `${waitMs} ms`);
  });

  it('an API server that is not reached is tried more seldom, whatever came before', () => {
    const { waitMs } = waitAfter(refusedWith(429), refusedWith(429), AWAY);
    assert.ok(waitMs >= 1000 && waitMs <= 1500, `${waitMs} ms`);
  });

  it('of two failures the sooner one decides, but no Retry-After is lost', () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      const w = world();
      const { slices } = w.units;
      w.service({});
      w.start(slices);
      w.plan({ plans: [slicesPlan(write(1, 'create', 'web-a'), write(2, 'create', 'web-b'))] });
      const events = [refusedWith(409), { ...refusedWith(429), retryAfterSeconds: 20 }];
      for (const i of order) w.answer(events[i]!);
      assert.equal(slices.notBeforeMs - w.nowMs, 20_000);
    }
  });
});

/** Endpoints of the controller whose Service is gone, and their sync has begun. */
function orphan(): World {
  const w = world();
  const { endpoints } = w.units;
  w.service({});
  w.service(null);
  endpoints.service.endpoints.record = record('web', [MANAGED_BY_LABEL, MANAGED_BY_VALUE]);
  w.nowMs = 5000;
  w.start(endpoints);
  return w;
}

describe('a sync of what is not to be planned', () => {
  it('a sync deletes Endpoints if the server confirms that there is no Service', () => {
    const w = orphan();
    const { endpoints } = w.units;
    assert.deepEqual([w.stage(endpoints), w.reads()], ['confirming', ['/api/v1/namespaces/shop/services/web']]);
    w.confirm(refusedWith(404, 'NotFound'));
    assert.deepEqual([w.stage(endpoints), w.writes()], ['deleting 1', ['delete web']]);
    w.answer(answered(200, { kind: 'Status', apiVersion: 'v1', status: 'Success' }));
    assert.equal(w.stage(endpoints), 'ended');
  });

  it('a sync keeps Endpoints that somebody has made theirs while the server was asked', () => {
    const w = orphan();
    const { endpoints } = w.units;
    endpoints.service.endpoints.record = record('web');
    w.confirm(refusedWith(404, 'NotFound'));
    assert.deepEqual([w.stage(endpoints), w.writes(), endpoints.failures], ['ended', [], 0]);
  });

  it('a sync keeps Endpoints with a Service, and tries again if nobody can tell', () => {
    for (const [event, failures] of [
      [answered(200, { kind: 'Service', apiVersion: 'v1', metadata: { name: 'web' } }), 0],
      [refusedWith(500), 1],
    ] as const) {
      const w = orphan();
      const { endpoints } = w.units;
      w.confirm(event);
      assert.deepEqual([w.stage(endpoints), w.writes(), endpoints.failures], ['ended', [], failures]);
    }
  });

  for (const [title, end] of [
    ['the end', (w: World) => w.start(w.units.endpoints)],
    ['the sweep', (w: World) => startSweep(w.state, w.units.endpoints.controller, { nowMs: w.nowMs, wallMs: w.nowMs })],
  ] as const) {
    it(`${title} of a unit of Endpoints leaves their news to mirrored slices`, () => {
      const w = world();
      const { endpoints, mirror } = w.units;
      w.service(NO_SELECTOR);
      endpoints.service.endpoints.record = record('web');
      const content = { encoding: 'json', bytes: new Uint8Array(0) } as const;
      noteObserved(endpoints.service.view, 'endpoints', 'web', content);
      end(w);
      w.start(mirror);
      assert.deepEqual([w.stage(endpoints), w.stage(mirror)], ['ended', 'planning']);
    });
  }

  it('a sync deletes all slices of mirrored Endpoints that are gone, at once', () => {
    const w = world();
    const { mirror } = w.units;
    w.service(NO_SELECTOR);
    for (const name of ['web-m', 'web-n']) w.slice('mirror', name);
    w.start(mirror);
    assert.deepEqual([w.stage(mirror), w.writes()], ['deleting 2', ['delete web-m', 'delete web-n']]);
  });

  it('a sync takes back the delete of an object that is to stay by now', () => {
    const w = world();
    const { mirror } = w.units;
    w.service(NO_SELECTOR);
    w.slice('mirror', 'web-m');
    w.start(mirror);
    const queued = { unit: mirror, object: mirror.slices!.get('web-m')!, write: write(0, 'delete', 'web-m') };
    const times = { queuedAtMs: 0, tokenWaitBeforeMs: -1, sentAtMs: -1, reachedBefore: '' };
    const waits = { ...queued, ...times, lane: 'fresh' } as const;
    assert.equal(isMoot(w.state, waits), false);
    mirror.service.endpoints.record = record('web');
    assert.equal(isMoot(w.state, waits), true);
  });
});

function write(id: number, verb: PlannedWrite['verb'], name: string, phase = 1, family = 'IPv4'): PlannedWrite {
  const body = verb === 'delete' ? new Uint8Array(0) : encodeObject(sliceObject(name, ''));
  const resourceVersion = verb === 'create' ? '' : '9';
  return { id, verb, name, uid: '', resourceVersion, phase, waits: phase > 1, family, body };
}

function slicesPlan(...writes: readonly PlannedWrite[]): ServiceResult['plans'][number] {
  const facts: Facts<'slices'> = {
    kind: 'slices',
    families: [],
    topology: false,
    trafficDistribution: '',
    waitingForNode: 0,
  };
  return { facts, writes, isWhole: true };
}

function sliceObject(name: string, resourceVersion: string): KubeObject {
  const metadata = {
    name,
    namespace: 'shop',
    ...(resourceVersion === '' ? {} : { uid: `${name}-uid`, resourceVersion }),
  };
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata,
    addressType: 'IPv4',
    endpoints: [],
    ports: [],
  };
}

function endpointsObject(resourceVersion: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'web', namespace: 'shop', uid: 'u', resourceVersion },
  };
}

function listOf(...items: readonly KubeObject[]): TransportEvent {
  const apiVersion = 'discovery.k8s.io/v1';
  return answered(200, { kind: 'EndpointSliceList', apiVersion, metadata: { resourceVersion: '30' }, items });
}

function record(name: string, labels: readonly string[] = []): OutputRecord {
  const uid = `${name}-uid`;
  return { namespace: 'shop', name, uid, resourceVersion: '9', labels, leaderElection: false, deleting: false };
}
