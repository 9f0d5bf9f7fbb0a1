import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  commitTriggerTime,
  createTriggerTimes,
  notePodTime,
  revertTriggerTime,
  takeTriggerTime,
  type TriggerTimes,
} from '../../src/core/trigger-time.ts';
import { propertyRuns } from '../support/runs.ts';

const CREATED = 100;

/** A plan that takes effect. */
function sync(times: TriggerTimes, created = CREATED): number {
  const time = takeTriggerTime(times, created);
  commitTriggerTime(times);
  return time;
}

/** A service that was planned with these pods already. */
function planned(pods: Readonly<Record<string, number>> = {}): TriggerTimes {
  const times = createTriggerTimes();
  for (const [name, time] of Object.entries(pods)) notePodTime(times, name, 0, time);
  sync(times);
  return times;
}

test('a new service without pods has its creation as the trigger time', () =>
  assert.equal(sync(createTriggerTimes()), CREATED));

test('a new service with pods has its creation as the trigger time', () => {
  const times = createTriggerTimes();
  notePodTime(times, 'a', 0, 50);
  notePodTime(times, 'b', 0, 500);
  assert.equal(sync(times), CREATED);
});

test('added pods: the earliest is the trigger time', () => {
  const times = planned({ a: 110 });
  notePodTime(times, 'b', 0, 130);
  notePodTime(times, 'c', 0, 120);
  assert.equal(sync(times), 120);
});

test('a pod that changed gives the trigger time', () => {
  const times = planned({ a: 110, b: 120 });
  notePodTime(times, 'a', 110, 140);
  assert.equal(sync(times), 140);
});

test('without a change there is no trigger time', () => assert.equal(sync(planned({ a: 110 })), 0));

test('a pod that went gives no trigger time', () => {
  const times = planned({ a: 110 });
  notePodTime(times, 'a', 110, 0);
  assert.equal(sync(times), 0);
});

test('a pod that went and came again gives its time again', () => {
  const times = planned({ a: 110 });
  notePodTime(times, 'a', 110, 0);
  sync(times);
  notePodTime(times, 'a', 0, 110);
  assert.equal(sync(times), 110);
});

test('a pod that went and came between two plans counts as if it had stayed', () => {
  const times = planned({ a: 110 });
  notePodTime(times, 'a', 110, 0);
  notePodTime(times, 'a', 0, 110);
  assert.equal(sync(times), 0);
});

test('a time that goes back does not count', () => {
  const times = planned({ a: 110 });
  notePodTime(times, 'a', 110, 90);
  assert.equal(sync(times), 0);
});

test('a service deleted and made again has its new creation', () => assert.equal(sync(planned(), 300), 300));

test('a change of the service alone gives no trigger time', () => {
  const times = planned({ a: 110 });
  assert.equal(sync(times, CREATED), 0);
});

test('the retry of a failed write has the same trigger time', () => {
  const times = planned({ a: 110 });
  notePodTime(times, 'a', 110, 140);
  assert.equal(takeTriggerTime(times, CREATED), 140);
  revertTriggerTime(times);
  assert.equal(sync(times), 140);
  assert.equal(sync(times), 0);
});

test('a failed first write leaves the service new', () => {
  const times = createTriggerTimes();
  takeTriggerTime(times, CREATED);
  revertTriggerTime(times);
  assert.equal(sync(times), CREATED);
});

test('a change during a write is for the next plan', () => {
  const times = planned({ a: 110, b: 110 });
  notePodTime(times, 'a', 110, 140);
  assert.equal(takeTriggerTime(times, CREATED), 140);
  notePodTime(times, 'b', 110, 150);
  commitTriggerTime(times);
  assert.equal(sync(times), 150);
});

test('a failed write and a change during it are told together', () => {
  const times = planned({ a: 110, b: 110 });
  notePodTime(times, 'a', 110, 140);
  takeTriggerTime(times, CREATED);
  notePodTime(times, 'a', 140, 160);
  notePodTime(times, 'b', 110, 170);
  revertTriggerTime(times);
  assert.equal(sync(times), 160);
});

/** Walks all pods at each plan, as upstream does (docs/spec/endpoints.md "Trigger time"). */
interface Walk {
  known: boolean;
  service: number;
  pods: Map<string, number>;
}

function walk(state: Walk, pods: ReadonlyMap<string, number>, created: number): { time: number; next: Walk } {
  let earliest = created > state.service ? created : Infinity;
  const told = new Map<string, number>();
  for (const [name, time] of pods) {
    if (time === 0) continue;
    told.set(name, time);
    if (time > (state.pods.get(name) ?? 0)) earliest = Math.min(earliest, time);
  }
  const time = state.known ? (earliest === Infinity ? 0 : earliest) : created;
  return { time, next: { known: true, service: created, pods: told } };
}

test('the trigger time equals that of walking all pods', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd');
  const step = fc.oneof(
    { weight: 5, arbitrary: fc.tuple(fc.constant('pod'), name, fc.nat(6)) },
    {
      weight: 2,
      arbitrary: fc.tuple(fc.constant('plan'), fc.constantFrom(true, false), fc.integer({ min: 3, max: 4 })),
    },
    { weight: 1, arbitrary: fc.constant(['done'] as const) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const times = createTriggerTimes();
      const pods = new Map<string, number>();
      let state: Walk = { known: false, service: 0, pods: new Map() };
      let pending: { next: Walk; succeeds: boolean } | null = null;
      const settle = (): void => {
        if (pending === null) return;
        if (pending.succeeds) {
          commitTriggerTime(times);
          state = pending.next;
        } else revertTriggerTime(times);
        pending = null;
      };
      for (const [kind, what, value] of steps) {
        if (kind === 'pod') {
          notePodTime(times, what, pods.get(what) ?? 0, value);
          pods.set(what, value);
        } else if (kind === 'plan') {
          settle();
          const { time, next } = walk(state, pods, value);
          assert.equal(takeTriggerTime(times, value), time);
          pending = { next, succeeds: what };
        } else settle();
      }
    }),
    propertyRuns(500, 8),
  );
});

test('nothing is kept of pods without a trigger time', () => {
  const times = planned({ a: 110, b: 120 });
  notePodTime(times, 'a', 110, 140);
  notePodTime(times, 'a', 140, 110);
  assert.equal(times.untold, null);
});

test('nothing is kept of a pod whose time went back while a write failed', () => {
  const times = planned({ a: 110 });
  notePodTime(times, 'a', 110, 140);
  takeTriggerTime(times, CREATED);
  notePodTime(times, 'a', 140, 110);
  revertTriggerTime(times);
  assert.equal(times.untold, null);
});
