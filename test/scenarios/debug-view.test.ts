/** What the debug page shows is what the controllers do. */
import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import { debugHeadline, debugJson, debugPage } from '../../src/cli/live/debug-page.ts';
import { debugViews } from '../../src/cli/live/debug-views.ts';
import { debugChanges, debugSummary, type DebugView } from '../../src/controller/reports/debug-view.ts';
import { leadershipOf } from '../support/election-world.ts';
import { settledWithOne } from '../support/settled.ts';
import { replicas } from '../support/sim-replicas.ts';
import { createPod, createService, createSim, setPodStatus, type Sim } from '../support/sim.ts';

function viewOf(sim: Sim, service = ''): DebugView {
  const { state } = sim.loop!;
  const summary = debugSummary(state, { nowMs: sim.processMs(), wallMs: 1_800_000_000_000 });
  return { ...summary, changes: debugChanges(state, service) };
}

describe('the debug view', () => {
  it('at rest the view has running watches, planners that know, and nothing waiting', () => {
    const { phase, leader, services, queues, shards, writes, watches, stuck } = viewOf(settledWithOne());
    assert.equal(leader, 'this process, without a Lease');
    // The API server's own Service is one.
    assert.deepEqual([phase, services, stuck], ['running', 2, []]);
    assert.deepEqual(
      queues.map(({ controller, fresh, chore, delayed, syncing }) => [controller, fresh, chore, delayed, syncing]),
      [['endpoints', 0, 0, 0, 0]],
    );
    assert.deepEqual([writes.inFlight, writes.fresh, writes.chore, writes.pauseMs], [0, 0, 0, 0]);
    assert.equal(
      shards.reduce((sum, shard) => sum + shard.services, 0),
      1,
    );
    assert.deepEqual(
      watches.map(({ resource, phase: state, downMs }) => [resource, state, downMs]),
      [
        ['endpoints', 'watching', -1],
        ['services', 'watching', -1],
        ['pods', 'watching', -1],
      ],
    );
  });

  it('the view shows a write without an answer, and the age of the change', () => {
    const sim = settledWithOne();
    sim.lag = ({ method }) => ({ toMs: 0, backMs: method === 'PUT' ? 5000 : 0 });
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(3000);
    const { writes, queues } = viewOf(sim);
    assert.deepEqual([writes.inFlight, queues[0]!.syncing], [1, 1]);
    assert.ok(queues[0]!.longestSyncMs > 2000 && queues[0]!.oldestChangeMs > 2000);
  });

  it('the view shows what fails again and again, and changes that back off', () => {
    const sim = settledWithOne();
    sim.refuse = ({ method }) => (method === 'PUT' ? 500 : 0);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(3000);
    const view = viewOf(sim);
    assert.deepEqual([view.stuckTotal, view.failing, view.queues[0]!.delayedChanges], [0, 1, 1]);
    assert.deepEqual(debugHeadline(view), { figure: '1 failing', words: '2 Services, running', tone: 'unsure' });
  });

  it('the view tells whether this process leads', () => {
    assert.equal(viewOf(settledWithOne()).role, 'leads');
    const sim = createSim({ leadership: leadershipOf('a') });
    sim.start();
    assert.equal(viewOf(sim).role, 'nobody');
    sim.run(5000);
    assert.equal(viewOf(sim).role, 'leads');
  });

  it('the view names a stuck service with its last error', () => {
    const sim = settledWithOne();
    sim.refuse = ({ method }) => (method === 'PUT' ? 422 : 0);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(1000);
    const { stuck, stuckTotal } = viewOf(sim);
    assert.equal(stuckTotal, 1);
    const { controller, service, class: failure, error } = stuck[0]!;
    assert.deepEqual([controller, service, failure], ['endpoints', 'default/web', 'invalid']);
    assert.notEqual(error, '');
  });

  it('the view names the fifty services that failed most, and counts all stuck ones', () => {
    const sim = createSim();
    for (let i = 0; i < 60; i++) createService(sim, { name: `web-${i}`, spec: { selector: { app: `web-${i}` } } });
    sim.refuse = ({ method, path }) => (method === 'POST' && path.includes('/endpoints') ? 422 : 0);
    sim.start();
    sim.run(2000);
    createPod(sim, { name: 'pod', labels: { app: 'web-59' }, ip: '10.0.0.1' });
    sim.run(3000);
    const { stuck, stuckTotal } = viewOf(sim);
    assert.deepEqual([stuck.length, stuckTotal], [50, 60]);
    assert.equal(stuck[0]!.service, 'default/web-59');
    assert.ok(stuck[0]!.failures > stuck[1]!.failures);
  });

  it('the view shows a watch that is down, and since when', () => {
    const sim = settledWithOne();
    sim.down();
    sim.cutWatches();
    sim.run(10_000);
    assert.ok(viewOf(sim).watches.every(({ downMs }) => downMs > 8000));
  });

  it('no watch is down while a first list takes long', () => {
    const sim = createSim();
    sim.lag = ({ path }) => ({ toMs: 0, backMs: path.startsWith('/api/v1/pods') ? 20_000 : 0 });
    sim.start();
    sim.run(5000);
    const view = viewOf(sim);
    assert.deepEqual(
      view.watches.map(({ downMs }) => downMs),
      [-1, -1, -1],
    );
    assert.deepEqual(debugHeadline(view), { figure: 'starting', words: '1 Services, starting', tone: 'unsure' });
  });

  it('a watch whose first list fails is down', () => {
    const sim = createSim();
    sim.refuse = ({ path }) => (path.startsWith('/api/v1/pods') ? 503 : 0);
    sim.start();
    sim.run(5000);
    assert.equal(debugHeadline(viewOf(sim)).figure, '1 watch down');
  });

  it('a cold standby stands by without caches, and its watches start when it leads', () => {
    const { leader, standby } = replicas('cold');
    leader.run(600_000);
    assert.deepEqual(debugHeadline(viewOf(standby)), { figure: 'stands by', words: 'without caches', tone: 'good' });
    leader.kill();
    standby.refuse = ({ path }) => (path.startsWith('/api/v1/pods') ? 503 : 0);
    leader.run(25_000);
    for (const { resource, downMs } of viewOf(standby).watches) {
      assert.ok(resource === 'pods' ? downMs > 0 && downMs < 20_000 : downMs === -1, `${resource} ${downMs}`);
    }
    const outages = standby.logLines.map(({ fields }) => fields['outage']).filter((outage) => outage !== undefined);
    assert.ok(outages.length > 0 && outages.every((outage) => /^\d+m?s$/.test(String(outage))), outages.join());
  });

  it("the view sums up the journal's changes, and those of one service", () => {
    const sim = settledWithOne();
    createService(sim, { name: 'other' });
    for (let i = 0; i < 4; i++) {
      setPodStatus(sim, { name: 'web-1', ready: i % 2 === 1 });
      sim.run(1000);
    }
    const { busiest, stages, changes } = viewOf(sim, 'default/other');
    assert.deepEqual(busiest.map(({ service, changes: count }) => `${service} ${count}`).sort(), [
      'default/other 4',
      'default/web 5',
    ]);
    assert.deepEqual([...new Set(changes.map(({ name }) => name))], ['other']);
    const total = stages.find(({ stage }) => stage === 'total')!;
    assert.ok(total.count === 9 && total.medianMs <= total.p99Ms && total.p99Ms <= total.maxMs);
  });

  it('the view shows as many of the newest changes as are asked for', () => {
    const sim = settledWithOne();
    for (let i = 0; i < 4; i++) {
      setPodStatus(sim, { name: 'web-1', ready: i % 2 === 1 });
      sim.run(1000);
    }
    const shown = (max: number): number[] => debugChanges(sim.loop!.state, '', max).map(({ id }) => id);
    assert.deepEqual(shown(2), [4, 3]);
    assert.deepEqual(shown(100_000), [4, 3, 2, 1, 0]);
  });

  it('all who ask within a second share a view, and have their own changes', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const sim = settledWithOne();
      let made = 0;
      const views = debugViews(
        () => sim.loop!.state,
        () => ({ nowMs: sim.processMs(), wallMs: ++made }),
      );
      const [all, none] = await Promise.all([views('', undefined), views('no/such', undefined)]);
      assert.deepEqual([all.changes.length > 0, none.changes.length], [true, 0]);
      setPodStatus(sim, { name: 'web-1', ready: false });
      sim.run(1000);
      assert.equal((await views('', undefined)).changes.length, all.changes.length + 1);
      assert.equal(made, 1);
      mock.timers.tick(1000);
      await views('', undefined);
      assert.equal(made, 2);
    } finally {
      mock.timers.reset();
    }
  });

  it('the page of the view shows texts of others as texts', () => {
    const view = viewOf(settledWithOne());
    const stuck = [
      { controller: 'endpoints', service: 'a/b', class: 'invalid', failures: 3, error: '<img src=x>\u001B' },
    ];
    const html = debugPage({ ...view, stuck, stuckTotal: 1 }, '1.2.3');
    assert.match(html, /&lt;img src=x&gt;\\u001b/);
    assert.ok(!html.includes('<img'));
    assert.match(html, /class="figure bad">1 stuck</);
  });

  it('the page says which changes it is of', () => {
    const view = viewOf(settledWithOne(), 'default/web');
    assert.match(
      debugPage(view, '1.2.3', 'default/web'),
      /<p class="notice">The last changes are those of default\/web alone, /,
    );
    const page = debugPage(view, '1.2.3');
    assert.ok(!page.includes('class="notice"'));
    assert.match(page, /of the newest changes of the journal \(--journal-size\), at most 4,096/);
  });

  it('a stuck service does not count in the age of the oldest change', () => {
    const sim = settledWithOne();
    sim.refuse = ({ method }) => (method === 'PUT' ? 422 : 0);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(3000);
    const { stuckTotal, queues } = viewOf(sim);
    assert.deepEqual([stuckTotal, queues[0]!.oldestChangeMs], [1, -1]);
  });

  it('the view as JSON has no character that steers a terminal', () => {
    const view = viewOf(settledWithOne());
    const stuck = [{ controller: 'endpoints', service: 'a/b', class: 'invalid', failures: 3, error: '\u009B2J\u202E' }];
    const json = debugJson({ ...view, stuck, stuckTotal: 1 }, '1.2.3');
    assert.ok(!/[^\P{C}\n]/u.test(json));
    assert.deepEqual((JSON.parse(json) as DebugView).stuck, stuck);
  });
});

describe('the headline of the page', () => {
  const AT_REST: DebugView = { ...viewOf(settledWithOne()), services: 7 };
  const [queue] = AT_REST.queues;
  const [watch] = AT_REST.watches;
  const changed = (fields: Partial<DebugView['queues'][number]>): Partial<DebugView> => ({
    queues: [{ ...queue!, ...fields }],
  });
  const paused: Partial<DebugView> = { writes: { ...AT_REST.writes, pauseMs: 4000 } };
  const late = changed({ oldestChangeMs: 20 * 60_000, delayedChanges: 1 });
  const cases: readonly (readonly [title: string, view: Partial<DebugView>, figure: string, tone: string])[] = [
    ['at rest', {}, '0 waiting', 'good'],
    ['with work', changed({ fresh: 1, chore: 2, delayed: 9, delayedChanges: 4 }), '7 waiting', 'good'],
    ['with a watch down', { watches: [{ ...watch!, downMs: 0 }], stuckTotal: 1 }, '1 watch down', 'bad'],
    ['with stuck services', { ...late, stuckTotal: 3, failing: 3 }, '3 stuck', 'bad'],
    ['while nobody leads', { role: 'nobody' }, 'nobody leads', 'bad'],
    ['while it starts', { phase: 'starting' }, 'starting', 'unsure'],
    ['with a change of 20 minutes', { ...late, ...paused }, '20 min since the oldest change', 'bad'],
    ['with a change of 20 minutes that the leader has to write', { ...late, role: 'stands by' }, '1 waiting', 'good'],
    ['while writes are paused', { ...paused, failing: 3 }, 'writes paused', 'unsure'],
    ['while all units back off', { failing: 3 }, '3 failing', 'unsure'],
    ['while it waits to take over', { role: 'waits' }, 'waits to take over', 'unsure'],
    ['before it writes', { role: 'catches up' }, 'brings its caches up to date before it writes', 'unsure'],
  ];
  for (const [title, view, figure, tone] of cases) {
    it(`${title} it is "${figure}"`, () => {
      assert.deepEqual(debugHeadline({ ...AT_REST, ...view }), {
        figure,
        words: `7 Services, ${view.phase ?? 'running'}`,
        tone,
      });
    });
  }
});
