/** What a planner has been told: each state, what leads into it and out of it, and what the next entry says. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  askFor,
  createPlannerView,
  createShardView,
  noteDismissed,
  dropNews,
  noteForgotten,
  isInPlanner,
  isSnapshotDue,
  needsRead,
  nextEntryParts,
  noteEntryAnswered,
  noteChangedPod,
  noteChangedSpec,
  noteLost,
  noteMovedNode,
  noteObserved,
  noteOutcome,
  noteRead,
  noteRemoved,
  noteSent,
  noteShardLost,
  noteUncertain,
  outdateInputs,
  takeBack,
  takeForgotten,
  takeShared,
  type PlannerView,
} from '../../../src/controller/syncs/planner-view.ts';
import type { Ack, ObjectBytes, Observed, OutputKind } from '../../../src/shard/protocol.ts';

const A = content('a');
const B = content('b');

describe('an entry for one output', () => {
  it('an entry for one output leaves an output that is to be read', () => {
    const view = toldView();
    noteUncertain(view, 'endpoints');
    tell(view, 'slices');
    assert.deepEqual([needsRead(view, 'endpoints'), needsRead(view, 'slices')], [true, false]);
  });
});

describe('inputs', () => {
  it('inputs of a service that no planner knows go out whole', () => {
    const view = createPlannerView();
    noteChangedPod(view, 'web-1');
    noteChangedSpec(view);
    assert.equal(view.inputs, 'none');
    const { base, specChanged, changedPods } = nextEntryParts(view, []);
    assert.deepEqual({ base, specChanged, changedPods }, { base: 0, specChanged: true, changedPods: 'all' });
  });

  it('inputs that the planner has go out as their changes', () => {
    const view = toldView();
    noteChangedPod(view, 'web-1');
    noteChangedPod(view, 'web-2');
    noteChangedPod(view, 'web-1');
    const { base, specChanged, changedPods } = nextEntryParts(view, []);
    assert.deepEqual([base, specChanged], [1, false]);
    assert.deepEqual(changedPods, new Set(['web-1', 'web-2']));
  });

  it('inputs go out whole after more than 1,000 changed pods', () => {
    const view = toldView();
    for (let i = 0; i < 1000; i++) noteChangedPod(view, `web-${i}`);
    noteChangedPod(view, 'web-0');
    assert.equal(isSnapshotDue(view), false);
    noteChangedPod(view, 'web-1000');
    assert.deepEqual([view.inputs, nextEntryParts(view, []).base], ['outdated', 0]);
  });

  it('inputs are clean once the entry has left', () => {
    const view = toldView();
    noteChangedPod(view, 'web-1');
    noteChangedSpec(view);
    assert.equal(nextEntryParts(view, []).specChanged, true);
    tell(view, 'slices');
    assert.deepEqual(view.inputs, { version: 2, specChanged: false, changedPods: null });
  });

  it('inputs after a change of pods go out whole, also to a planner with the service', () => {
    const view = toldView();
    outdateInputs(view);
    assert.deepEqual([view.inputs, isInPlanner(view), isSnapshotDue(view)], ['outdated', true, true]);
    assert.equal(nextEntryParts(view, []).base, 0);
  });

  it('inputs of a service that the planner never knew do not become outdated', () => {
    const view = createPlannerView();
    outdateInputs(view);
    assert.equal(view.inputs, 'none');
  });
});

describe('objects', () => {
  it('the newest observation of each object is told with the next entry', () => {
    const view = createPlannerView();
    noteObserved(view, 'slices', 'web-a', A);
    noteObserved(view, 'slices', 'web-b', A);
    noteObserved(view, 'slices', 'web-a', B);
    noteObserved(view, 'endpoints', 'web', null);
    assert.deepEqual(observedNext(view), ['slices web-a b', 'slices web-b a', 'endpoints web gone']);
    tell(view, 'slices');
    assert.deepEqual([view.slices, view.endpoints], ['told', 'told']);
  });

  it('objects are kept in a map only if they are several', () => {
    const view = createPlannerView();
    noteObserved(view, 'slices', 'web-a', A);
    noteObserved(view, 'slices', 'web-a', B);
    assert.deepEqual(view.slices, { listed: false, objects: { output: 'slices', name: 'web-a', content: B } });
  });

  it('objects of an output that waits for acks stay news', () => {
    const view = toldView();
    noteObserved(view, 'slices', 'web-a', A);
    noteObserved(view, 'mirror', 'web-m', A);
    assert.deepEqual(
      nextEntryParts(view, ['slices']).observed.map(({ name }) => name),
      ['web-m'],
    );
    tell(view, 'endpoints', ['slices']);
    assert.deepEqual(observedNext(view), ['slices web-a a']);
    assert.equal(view.mirror, 'told');
  });

  it('listed objects replace all that the planner held', () => {
    const view = toldView();
    noteRead(view, 'slices', [{ name: 'web-a', content: A }]);
    noteObserved(view, 'slices', 'web-b', B);
    assert.deepEqual(nextEntryParts(view, []).relisted, ['slices']);
    assert.deepEqual(observedNext(view), ['slices web-a a', 'slices web-b b']);
  });

  it('an empty list makes the planner forget what it held', () => {
    const view = toldView();
    noteRead(view, 'slices', []);
    assert.deepEqual(nextEntryParts(view, []), { ...nextEntryParts(toldView(), []), relisted: ['slices'] });
  });

  it('a read Endpoints object is news of one object', () => {
    const view = toldView();
    noteRead(view, 'endpoints', [{ name: 'web', content: null }]);
    assert.deepEqual(nextEntryParts(view, []).relisted, []);
    assert.deepEqual(observedNext(view), ['endpoints web gone']);
    assert.throws(() => noteRead(view, 'endpoints', []), /what was read of Endpoints is the object/);
  });

  it('objects whose content was not kept are read before they are planned from', () => {
    const view = createPlannerView();
    noteObserved(view, 'slices', 'web-a', A);
    dropNews(view, 'slices', true);
    assert.deepEqual([view.slices, needsRead(view, 'slices')], ['not-kept', true]);
    // One slice is not all of them.
    noteObserved(view, 'slices', 'web-b', B);
    assert.equal(view.slices, 'not-kept');
    noteRead(view, 'slices', []);
    assert.equal(needsRead(view, 'slices'), false);
  });

  it('a single object is known again by its content', () => {
    const view = createPlannerView();
    noteObserved(view, 'endpoints', 'web', A);
    dropNews(view, 'endpoints', true);
    assert.equal(view.endpoints, 'not-kept');
    noteObserved(view, 'endpoints', 'web', B);
    assert.deepEqual(observedNext(view), ['endpoints web b']);
  });

  it('absent objects are no secret for a planner that knows nothing', () => {
    const view = createPlannerView();
    noteObserved(view, 'endpoints', 'web', null);
    dropNews(view, 'endpoints', false);
    assert.equal(view.endpoints, 'told');
  });

  it('objects of which the planner has an old state are unknown, even when gone', () => {
    const view = toldView();
    noteObserved(view, 'endpoints', 'web', null);
    dropNews(view, 'endpoints', false);
    assert.equal(view.endpoints, 'not-kept');
  });

  it('objects that are told stay told when nobody plans from them any more', () => {
    const view = toldView();
    dropNews(view, 'slices', true);
    assert.equal(view.slices, 'told');
  });

  it('uncertain objects stay uncertain until they are read', () => {
    for (const kind of ['endpoints', 'slices'] as const) {
      const view = toldView();
      noteObserved(view, kind, 'web', A);
      noteUncertain(view, kind);
      noteObserved(view, kind, 'web', B);
      dropNews(view, kind, false);
      noteLost(view, () => false);
      assert.equal(view[kind], 'uncertain');
      noteRead(view, kind, [{ name: 'web', content: B }]);
      assert.deepEqual(observedNext(view), [`${kind} web b`]);
    }
  });
});

describe('outcomes of writes', () => {
  it('outcomes of writes are told with the next entry, in the order of the answers', () => {
    const view = toldView();
    noteOutcome(view, 'slices', 'web-a', ackOf(7, 'applied'), true);
    noteOutcome(view, 'slices', 'web-b', ackOf(6, 'refused'), true);
    assert.deepEqual(
      nextEntryParts(view, []).acks.map(({ write }) => write),
      [7, 6],
    );
    tell(view, 'slices');
    assert.deepEqual(nextEntryParts(view, []).acks, []);
  });

  it('an applied write overtakes earlier observations of the object', () => {
    const view = toldView();
    noteObserved(view, 'slices', 'web-a', A);
    noteObserved(view, 'slices', 'web-b', A);
    noteOutcome(view, 'slices', 'web-a', ackOf(7, 'applied'), true);
    assert.deepEqual(observedNext(view), ['slices web-b a']);
    noteOutcome(view, 'slices', 'web-b', ackOf(8, 'applied'), true);
    assert.equal(view.slices, 'told');
  });

  it('a refused write leaves the news', () => {
    const view = toldView();
    noteObserved(view, 'endpoints', 'web', A);
    noteOutcome(view, 'endpoints', 'web', ackOf(7, 'refused'), true);
    assert.deepEqual(observedNext(view), ['endpoints web a']);
  });

  it('a write with unknown outcome leaves its object uncertain, planner or not', () => {
    for (const view of [toldView(), createPlannerView()]) {
      noteOutcome(view, 'slices', 'web-a', ackOf(7, 'unknown'), true);
      assert.equal(view.slices, 'uncertain');
    }
  });

  it('a write whose planner is gone makes its object unknown', () => {
    const view = toldView();
    noteLost(view, () => false);
    noteOutcome(view, 'slices', 'web-a', ackOf(7, 'applied'), true);
    assert.deepEqual([view.acks, view.slices], [null, 'not-kept']);
  });

  it('a delete whose planner is gone leaves nothing to know', () => {
    const view = toldView();
    noteLost(view, () => true);
    noteOutcome(view, 'endpoints', 'web', ackOf(7, 'applied'), false);
    assert.equal(view.endpoints, 'told');
  });

  it('a write that no planner planned is news to one that knows the service', () => {
    const view = toldView();
    noteRemoved(view, 'slices', 'web-a');
    assert.deepEqual(observedNext(view), ['slices web-a gone']);
    const unknown = createPlannerView();
    noteObserved(unknown, 'slices', 'web-a', A);
    noteRemoved(unknown, 'slices', 'web-a');
    assert.equal(unknown.slices, 'told');
    noteObserved(unknown, 'endpoints', 'web', A);
    dropNews(unknown, 'endpoints', true);
    noteRemoved(unknown, 'endpoints', 'web');
    assert.equal(unknown.endpoints, 'told');
  });

  it('an outcome never comes between a list and the entry that tells it', () => {
    const view = toldView();
    noteRead(view, 'slices', [{ name: 'web-a', content: A }]);
    assert.throws(
      () => noteOutcome(view, 'slices', 'web-a', ackOf(7, 'applied'), true),
      /web-a was written before the planner was told of the list/,
    );
  });
});

describe('plans', () => {
  it('plans are asked for, sent and answered, each once', () => {
    const view = createPlannerView();
    askFor(view, 'slices');
    askFor(view, 'endpoints');
    assert.throws(() => askFor(view, 'slices'), /slices are asked for twice/);
    noteSent(view, nextEntryParts(view, []), []);
    assert.deepEqual([view.asked, view.planning], [[], ['slices', 'endpoints']]);
    assert.throws(() => askFor(view, 'slices'), /slices are asked for twice/);
    noteEntryAnswered(view, ['slices', 'endpoints']);
    assert.deepEqual(view.planning, []);
    assert.throws(() => noteEntryAnswered(view, ['slices']), /slices are not among none/);
  });

  it('plans are taken back only if they were asked for', () => {
    const view = createPlannerView();
    askFor(view, 'mirror');
    takeBack(view, ['mirror']);
    assert.deepEqual(view.asked, []);
    assert.throws(() => takeBack(view, ['mirror']), /mirror are not among none/);
  });

  it('plans wait until what they need was read', () => {
    const view = toldView();
    askFor(view, 'slices');
    noteLost(view, () => true);
    assert.throws(() => noteSent(view, nextEntryParts(view, []), []), /slices are to be planned before they were read/);
  });

  it('plans with a full snapshot wait for the answer to the last entry', () => {
    const view = createPlannerView();
    askFor(view, 'slices');
    noteSent(view, nextEntryParts(view, []), []);
    outdateInputs(view);
    askFor(view, 'endpoints');
    assert.throws(() => noteSent(view, nextEntryParts(view, []), []), /a full snapshot leaves before the last entry/);
  });
});

describe('a loss', () => {
  it('a loss makes existing objects unknown, and drops the news of others', () => {
    const view = toldView();
    noteOutcome(view, 'slices', 'web-a', ackOf(7, 'applied'), true);
    noteObserved(view, 'mirror', 'web-m', null);
    noteLost(view, (kind) => kind === 'slices');
    assert.deepEqual(view, { ...createPlannerView(), slices: 'not-kept' });
  });

  it('a loss keeps news that are everything known', () => {
    const view = toldView();
    noteObserved(view, 'endpoints', 'web', A);
    noteRead(view, 'slices', [{ name: 'web-a', content: A }]);
    noteObserved(view, 'mirror', 'web-m', A);
    noteLost(view, () => true);
    assert.deepEqual(observedNext(view), ['slices web-a a', 'endpoints web a']);
    assert.equal(view.mirror, 'not-kept');
  });

  it('a planner that may still hold something is told to forget it first', () => {
    const shard = createShardView();
    const view = toldView();
    noteDismissed(shard, 'shop/web', view, () => false);
    assert.equal(isInPlanner(view), false);
    // It knows nothing any more.
    noteDismissed(shard, 'shop/other', createPlannerView(), () => false);
    assert.deepEqual(takeForgotten(shard, 10), ['shop/web']);
    assert.deepEqual(takeForgotten(shard, 10), []);
  });

  it('a loss on purpose drops the news, too', () => {
    const shard = createShardView();
    const view = toldView();
    noteObserved(view, 'endpoints', 'web', A);
    noteUncertain(view, 'slices');
    noteForgotten(shard, 'shop/web', view, (kind) => kind === 'endpoints');
    assert.deepEqual(view, { ...createPlannerView(), endpoints: 'not-kept', slices: 'uncertain' });
    assert.deepEqual([...shard.toForget], ['shop/web']);
  });
});

describe('what concerns all services of a planner', () => {
  const zones = (node: string): string => (node === 'node-1' ? 'zone-a' : '');
  const shares = (version: number): { version: number; zones: [] } => ({ version, zones: [] });

  it('CPU shares are told once, and again when they change', () => {
    const shard = createShardView();
    assert.deepEqual(takeShared(shard, null, zones), { shares: null, zones: undefined });
    assert.deepEqual(takeShared(shard, null, zones), { shares: undefined, zones: undefined });
    assert.deepEqual(takeShared(shard, shares(1), zones).shares, shares(1));
    assert.deepEqual(takeShared(shard, shares(1), zones).shares, undefined);
    assert.deepEqual(takeShared(shard, shares(2), zones).shares, shares(2));
    assert.deepEqual(takeShared(shard, null, zones).shares, null);
  });

  it('zones of nodes that have moved are told to all planners', () => {
    const shard = createShardView();
    noteMovedNode(shard, 'node-1');
    noteMovedNode(shard, 'node-2');
    const told = [
      { node: 'node-1', zone: 'zone-a' },
      { node: 'node-2', zone: '' },
    ];
    assert.deepEqual(takeShared(shard, null, zones).zones, told);
    assert.equal(takeShared(shard, null, zones).zones, undefined);
  });

  it('keys to forget are told, so many in a batch', () => {
    const shard = createShardView();
    for (const key of ['shop/a', 'shop/b', 'shop/c']) noteDismissed(shard, key, toldView(), () => false);
    assert.deepEqual(takeForgotten(shard, 2), ['shop/a', 'shop/b']);
    assert.deepEqual(takeForgotten(shard, 2), ['shop/c']);
  });

  it('a lost planner is told everything anew, and nothing to forget', () => {
    const shard = createShardView();
    takeShared(shard, shares(1), zones);
    noteMovedNode(shard, 'node-9');
    noteDismissed(shard, 'shop/web', toldView(), () => false);
    noteShardLost(shard, ['node-1']);
    assert.deepEqual(takeForgotten(shard, 10), []);
    assert.deepEqual(takeShared(shard, shares(1), zones), {
      shares: shares(1),
      zones: [{ node: 'node-1', zone: 'zone-a' }],
    });
  });
});

/** Of a service that its planner knows, without objects. */
function toldView(): PlannerView {
  const view = createPlannerView();
  tell(view, 'slices');
  return view;
}

/** An entry leaves that asks for a plan, and is answered. */
function tell(view: PlannerView, kind: OutputKind, waiting: readonly OutputKind[] = []): void {
  askFor(view, kind);
  noteSent(view, nextEntryParts(view, waiting), waiting);
  noteEntryAnswered(view, [kind]);
}

function observedNext(view: PlannerView): string[] {
  return nextEntryParts(view, []).observed.map(
    ({ output, name, content: told }: Observed) => `${output} ${name} ${told === null ? 'gone' : textOf(told)}`,
  );
}

function content(text: string): ObjectBytes {
  return { encoding: 'json', bytes: Buffer.from(text) };
}

function textOf({ bytes }: ObjectBytes): string {
  return Buffer.from(bytes).toString();
}

function ackOf(write: number, result: Ack['result']): Ack {
  return { write, result, uid: '', resourceVersion: '' };
}
