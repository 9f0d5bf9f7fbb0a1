/** The brake alone: what is to become of objects that a list has missed. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  createBrake,
  judgeRemovals,
  judgeWithout,
  noteListBegins,
  type BrakeHands,
} from '../../../src/controller/reflectors/brake.ts';
import type { Reflector } from '../../../src/controller/reflectors/reflector.ts';
import { createInstruments } from '../../../src/controller/reports/instruments.ts';
import { createMetricStore } from '../../../src/metrics/store.ts';

const REMOVAL = { marks: new Set<object>(), upTo: '10' };

/** Reflectors of pods and Services, and 1,000 ready endpoints of which `lost` would go. */
function world(isOn = true) {
  const reflectorOf = (resource: Reflector['resource']): Reflector => ({ resource }) as Reflector;
  const [pods, services, nodes] = [reflectorOf('pods'), reflectorOf('services'), reflectorOf('nodes')];
  const brake = createBrake(isOn);
  const lines: string[] = [];
  const all = [pods, services, reflectorOf('endpoints')];
  const self = { brake, pods, services, nodes, all, lines, lost: 0, begin, end, refuse };
  const hands: BrakeHands = {
    reflectors: () => all,
    countPublished: () => ({ ready: 1000, lost: self.lost }),
    metrics: createInstruments(createMetricStore(), 'test'),
    log: (_level, _v, message) => lines.push(message),
  };
  function begin(reflector: Reflector): void {
    noteListBegins(brake, hands, reflector);
  }
  /** A list that has missed so many endpoints ends. */
  function end(reflector: Reflector, lost: number): string {
    self.lost = lost;
    if (lost > 0) brake.removals.set(reflector, REMOVAL);
    return judgeRemovals(brake, hands, reflector);
  }
  function refuse(reflector: Reflector): string {
    return judgeWithout(brake, hands, reflector);
  }
  return self;
}

it('half of the ready endpoints, or a hundred of them, are removed at once', () => {
  const { pods, begin, end, lines } = world();
  for (const lost of [0, 100, 500]) {
    begin(pods);
    assert.equal(end(pods, lost), 'remove', `${lost}`);
  }
  assert.deepEqual(lines, []);
});

it('more are removed only after second lists of pods and Services agree', () => {
  const { pods, services, begin, end, lines } = world();
  begin(pods);
  assert.equal(end(pods, 501), 'list-again');
  begin(pods);
  begin(services);
  assert.equal(end(pods, 501), 'wait');
  assert.equal(end(services, 501), 'remove');
  assert.equal(lines.length, 2);
  assert.match(lines[0]!, /^A list would take away most ready endpoints/);
  assert.match(lines[1]!, /^Second lists say the same/);
});

it('a hundred are removed at once even if they are most, and one more is not', () => {
  const { brake, pods, begin, end } = world();
  for (const [lost, what] of [
    [100, 'remove'],
    [101, 'list-again'],
  ] as const) {
    begin(pods);
    brake.readyBefore = 120;
    assert.equal(end(pods, lost), what, `${lost} of 120`);
  }
});

it('nobody waits for nodes whose list is refused', () => {
  const { brake, all, pods, services, nodes, begin, end, refuse, lines } = world();
  all.push(nodes);
  begin(pods);
  assert.equal(end(pods, 501), 'list-again');
  for (const one of [pods, services, nodes]) begin(one);
  assert.deepEqual([end(pods, 501), end(services, 501)], ['wait', 'wait']);
  assert.equal(refuse(nodes), 'remove');
  assert.match(lines[1]!, /^Second lists say the same/);
  assert.deepEqual([brake.awaited, brake.listing.size], [null, 0]);
  // The next try is refused too, and decides nothing.
  begin(nodes);
  assert.equal(refuse(nodes), 'wait');
});

it('pods whose list is refused are waited for', () => {
  const { pods, services, begin, end, refuse } = world();
  begin(services);
  assert.equal(end(services, 501), 'list-again');
  for (const one of [pods, services]) begin(one);
  assert.deepEqual([refuse(pods), end(services, 501), end(pods, 501)], ['wait', 'wait', 'remove']);
});

it('endpoints stay if second lists have them again', () => {
  const { brake, pods, services, begin, end, lines } = world();
  begin(services);
  end(services, 900);
  begin(services);
  begin(pods);
  assert.equal(brake.removals.size, 0, 'a list that begins takes back what the one before has missed');
  assert.deepEqual([end(services, 0), end(pods, 0)], ['wait', 'remove']);
  assert.match(lines[1]!, /^Second lists do not say the same/);
});

it('endpoints that came since the list began do not offset those it removes', () => {
  const { brake, pods, begin, end } = world();
  begin(pods);
  brake.readyBefore = 300;
  assert.equal(end(pods, 151), 'list-again');
});
