/** A run whose judge sees no more, and a peer that does not do what a story asks for. */
import assert from 'node:assert/strict';
import process from 'node:process';
import { describe, it, type TestContext } from 'node:test';
import { notAtRest } from '../../bench/peers/known.ts';
import { parsePeersFlags } from '../../bench/peers/flags.ts';
import type { Peer, RunningPeer, Scenario, Stage } from '../../bench/peers/scenario.ts';
import { SPREAD } from '../../bench/peers/scenarios/profiles.ts';
import type { BenchServer } from '../../bench/peers/server.ts';
import { play, type RunResult } from '../../bench/peers/stage.ts';
import { MANAGED_BY_LABEL, MANAGED_BY_VALUE } from '../../src/kube/names.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { parseMetrics } from '../../src/metrics/text.ts';
import type { ApiClient } from '../../src/node/api-client.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
import { clusterObjects } from '../../src/workload/objects.ts';

it('a start of 0.29 s has not ended before a fifth of it, and one of 5 s may', () => {
  assert.equal(notAtRest(0.29, 0.05, 'full'), null);
  assert.equal(notAtRest(0.29, 0.06, 'full'), 'was not at rest: 0.06 s of CPU came after the measure of 0.29 s');
  assert.deepEqual([notAtRest(5, 0.5, 'full'), notAtRest(0.29, 0.29, 'tiny')], [null, null]);
  assert.notEqual(notAtRest(5, 0.51, 'full'), null);
});

/** Above the largest number that Linux gives to a process. */
const NO_PROCESS = 2 ** 22 + 1;

const IDLE: RunningPeer = {
  processes: {},
  stop: () => Promise.resolve(),
  kill: () => Promise.resolve(),
  failed: new Promise(() => undefined),
};

const CLUSTER = makeCluster(SPREAD('tiny'), 1);

/** What a cluster is made of, without Endpoints and slices. */
const INPUTS: readonly KubeObject[] = [...clusterObjects(CLUSTER)];

const LEFT_OVER: KubeObject = {
  apiVersion: 'v1',
  kind: 'Endpoints',
  metadata: { namespace: CLUSTER.namespaces[0]!, name: 'gone', labels: { [MANAGED_BY_LABEL]: MANAGED_BY_VALUE } },
};

/** Nothing is then wrong at the end. */
const NOTHING_HELD = (): readonly KubeObject[] => [];

/** A peer that does nothing. @param held what the server holds now */
function played(
  story: (stage: Stage, cutWatches: () => void) => Promise<void>,
  running: RunningPeer = IDLE,
  held: () => readonly KubeObject[] = () => INPUTS,
): Promise<RunResult> {
  const { promise: cut, reject } = Promise.withResolvers<never>();
  const client: ApiClient = {
    send: () => Promise.resolve(null),
    text: () => Promise.resolve(''),
    list: (path) => {
      const [resource, namespace] = path.split('/').toReversed();
      const items = held().filter(
        ({ kind, metadata }) =>
          kind.toLowerCase().replace(/s?$/, 's') === resource && (metadata.namespace ?? namespace) === namespace,
      );
      return Promise.resolve({ resourceVersion: '1', items });
    },
    watch: () => ({ stop: () => undefined, ended: cut }),
    close: () => Promise.resolve(),
  };
  const server: BenchServer = {
    kind: 'embedded',
    target: { url: 'http://nowhere' },
    kubeconfigPath: '',
    kubeconfigOf: () => Promise.resolve(''),
    client,
    processes: () => ({ apiserver: process.pid }),
    managed: () => Promise.reject(new Error('not here')),
    restart: () => Promise.resolve(),
    stop: () => Promise.resolve(),
  };
  const peer: Peer = {
    name: 'idle',
    echoes: false,
    writer: 'endpointd',
    start: () => Promise.resolve(running),
  };
  const scenario: Scenario = {
    name: 'made-up',
    what: '',
    pairSeconds: 1,
    server: 'embedded',
    outset: 'nothing',
    profile: SPREAD,
    story: (stage) => story(stage, () => reject(new Error('the last version is too old'))),
  };
  const { settings } = parsePeersFlags([], true);
  return play(scenario, settings, peer, { server, cluster: CLUSTER }, [
    'endpoints-controller',
    'endpointslice-controller',
  ]);
}

/** The clock of this process, which a test may put forward. */
function movedClock(t: TestContext): { aheadMs: number } {
  const now = performance.now.bind(performance);
  const clock = { aheadMs: 0 };
  t.mock.method(performance, 'now', () => now() + clock.aheadMs);
  return clock;
}

describe('a run of a story', () => {
  it('a run fails at once where a watch that judges is lost while changes are awaited', async () => {
    const run = played((stage, cutWatches) =>
      stage.measure(async () => {
        await stage.turn(stage.cluster.pods[0]!, true, performance.now());
        cutWatches();
        await stage.seen();
      }),
    );
    await assert.rejects(run, { message: 'the last version is too old' });
  });

  it('a run fails where a watch that judges was lost while nobody waited for it', async () => {
    const run = played((stage, cutWatches) => stage.measure(async () => cutWatches()));
    await assert.rejects(run, { message: 'the last version is too old' });
  });

  it('a run fails with the last words of a peer that has ended', async () => {
    const words = new Error('more than 50 syncs are not allowed');
    const failed = Promise.reject(words);
    failed.catch(() => undefined);
    const ended = { ...IDLE, processes: { idle: NO_PROCESS }, failed };
    const run = played(async (stage) => {
      await stage.start();
      await stage.measure(() => Promise.resolve());
    }, ended);
    await assert.rejects(run, words);
  });

  it('a controller that follows no change after its start does not know the cluster', async (t) => {
    const run = played(async (stage) => {
      await stage.start();
      await stage.measure(() => Promise.resolve());
      t.mock.timers.enable({ apis: ['setTimeout'] });
      const ticking = setInterval(() => t.mock.timers.tick(1000), 1);
      await stage.knows().finally(() => {
        clearInterval(ticking);
        t.mock.timers.reset();
      });
    });
    await assert.rejects(run, { message: /^the controller does not follow pod \S+ after its start$/ });
  });

  it('changes that nothing shows are taken back after ten seconds of looks', async (t) => {
    const clock = movedClock(t);
    let looks = 0;
    const story = (stage: Stage): Promise<void> =>
      stage.measure(async () => {
        for (const ready of [true, false]) await stage.turn(stage.cluster.pods[0]!, ready, performance.now());
        t.mock.timers.enable({ apis: ['setTimeout'] });
        const over = new AbortController();
        const seen = stage.seen().finally(() => over.abort());
        // The machine stands still. What the controller has written meanwhile is not read yet.
        clock.aheadMs = 60_000;
        for (; !over.signal.aborted && looks < 1000; looks++) {
          t.mock.timers.tick(20);
          await new Promise((resolve) => void setImmediate(resolve));
        }
        t.mock.timers.reset();
        assert.ok(over.signal.aborted, `still looking after ${looks} looks`);
        await seen;
      });
    const { wrong, figures } = await played(story, IDLE, NOTHING_HELD);
    assert.ok(looks > 500, `${looks} looks`);
    assert.deepEqual([wrong, figures['coalesced']], [[], 2]);
  });

  it('questions to the controller are no part of the measured time', async (t) => {
    const clock = movedClock(t);
    const tell: NonNullable<RunningPeer['tell']> = () => {
      clock.aheadMs += 1_000_000;
      return Promise.resolve({ metrics: parseMetrics(''), journal: [] });
    };
    const { figures } = await played(
      async (stage) => {
        await stage.start();
        await stage.measure(() => Promise.resolve());
      },
      { ...IDLE, tell },
      NOTHING_HELD,
    );
    assert.equal(clock.aheadMs, 2_000_000);
    assert.ok(figures['wall']! < 1000, `${figures['wall']} s`);
  });

  it('the story goes on where a peer does not follow, and the run says what', async (t) => {
    let wentOn = false;
    const { wrong } = await played(async (stage) => {
      await stage.start();
      await stage.measure(async () => {
        t.mock.timers.enable({ apis: ['setTimeout'] });
        const follows = stage.follows("a node's new zone");
        t.mock.timers.tick(20_000);
        t.mock.timers.reset();
        assert.equal(await follows, false);
        wentOn = true;
      });
    });
    assert.ok(wentOn);
    assert.equal(wrong.length, 1);
    assert.match(wrong[0]!, /^does not follow a node's new zone: .* are still wrong after 20000 ms/);
  });

  it('what a late write puts right is not wrong at the end', async () => {
    const held = [LEFT_OVER];
    const lateWrite = (stage: Stage): Promise<void> =>
      stage.measure(() => {
        setTimeout(() => held.pop(), 100);
        return Promise.resolve();
      });
    const { wrong } = await played(lateWrite, IDLE, () => held);
    assert.deepEqual(wrong, []);
  });

  it('what nobody puts right in time is wrong at the end', async (t) => {
    const clock = movedClock(t);
    const skipsTime = (stage: Stage): Promise<void> =>
      stage.measure(() => {
        setTimeout(() => void (clock.aheadMs = 20_000), 100);
        return Promise.resolve();
      });
    const { wrong } = await played(skipsTime, IDLE, () => [LEFT_OVER]);
    assert.equal(wrong.length, 1);
    assert.match(wrong[0]!, /^1 objects are wrong at the end: Endpoints \S+\/gone: has no Service$/);
  });
});
