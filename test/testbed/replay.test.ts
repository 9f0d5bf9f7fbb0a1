/** A story that happens on the embedded API server, with the real controller as a process. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../../src/node/api-client.ts';
import { createFixedObjects, replay, type Replayed, REQUESTS_AT_ONCE } from '../../src/testbed/replay.ts';
import { createStoryCluster, type StoryCluster } from '../../src/testbed/story-cluster.ts';
import { startEndpointd, startTestServer, type TestServer } from '../../src/testbed/test-programs.ts';
import { cpuOf } from '../../src/twin/figures.ts';
import { USUAL_SIZES } from '../../src/twin/profiles.ts';
import { NOTHING, type Published, type Story, type StoryChange } from '../../src/twin/story.ts';

const READY: Published = { endpoints: 1, slices: 1, isReady: true };
const UNREADY: Published = { endpoints: 2, slices: 2, isReady: false };
const TERMINATING: Published = { endpoints: 0, slices: 3, isReady: false };

/** Of two services: one that flips, and one in which a new pod takes the place of an old one. */
const CHANGES: readonly (readonly [atMs: number, place: number, wanted: Published])[] = [
  [0, 0, UNREADY],
  [200, 2, NOTHING],
  [400, 2, UNREADY],
  [600, 2, READY],
  [800, 1, TERMINATING],
  [1000, 1, NOTHING],
  // A machine that is held up until then merges it with the first change into none.
  [4000, 0, READY],
];

const STORY: Story = {
  name: 'small',
  durationMs: 4400,
  namespaces: [{ services: 2, pods: 2 }],
  services: [
    { namespace: 0, families: 1 },
    { namespace: 0, families: 1 },
  ],
  places: [
    { service: 0, start: READY },
    { service: 1, start: READY },
    { service: 1, start: NOTHING },
  ],
  changes: CHANGES.map(([atMs, place, wanted]): StoryChange => ({
    atMs,
    namespace: 0,
    kind: 'pod',
    places: [{ place, wanted }],
    service: -1,
  })),
  objects: USUAL_SIZES,
};

const EACH = ['add', 'add', 'remove', 'remove'];

function kinds({ ledger }: Replayed): object {
  return {
    endpoints: ledger.samples.endpoints.map(({ kind }) => kind).toSorted(),
    slices: ledger.samples.slices.map(({ kind }) => kind).toSorted(),
  };
}

/** The first pod turns unready, and ready at once. */
const FLIPS_OF_FIRST = [UNREADY, READY].map((wanted): StoryChange => ({
  atMs: 0,
  namespace: 0,
  kind: 'pod',
  places: [{ place: 0, wanted }],
  service: -1,
}));

interface Stage {
  server: TestServer;
  cluster: StoryCluster;
}

/** For the tests of a suite, one after the other. */
function openedStage(): Stage {
  const stage = {} as Stage;
  before(async () => {
    stage.server = await startTestServer({ server: null });
    stage.cluster = createStoryCluster(STORY);
    await createFixedObjects(stage.server, stage.cluster);
  });
  after(() => stage.server.stop());
  return stage;
}

function run({ server, cluster }: Stage): Promise<Replayed> {
  return replay(server, cluster, () => startEndpointd(server, ['--kube-api-qps=500']));
}

// Each run mostly waits.
describe('a story that happens on an API server', { concurrency: 2 }, () => {
  describe('with all of its changes', { concurrency: 1 }, () => {
    const stage = openedStage();

    it('where no Endpoints are written, none are awaited', async () => {
      const { server, cluster } = stage;
      const story: Story = { ...STORY, outputs: ['slices'] };
      const { ledger } = await replay(server, { ...cluster, story }, () =>
        startEndpointd(server, ['--kube-api-qps=500'], ['slices']),
      );
      assert.deepEqual([ledger.writes.endpoints.length, ledger.samples.endpoints.length], [0, 0]);
      assert.ok(ledger.writes.slices.length > 0 && ledger.samples.slices.length > 0);
    });

    it('a story shows each change of readiness in both outputs', async () => {
      const played = await run(stage);
      assert.deepEqual(kinds(played), { endpoints: EACH, slices: EACH });
      const { writes, samples, open } = played.ledger;
      assert.deepEqual(open, { endpoints: 0, slices: 0 });
      assert.ok(writes.slices.length >= 4 && writes.slices.every(({ endpoints }) => endpoints > 0));
      assert.ok(cpuOf(played.ledger) > 0);
      for (const { atMs, latencyMs } of samples.slices)
        assert.ok(latencyMs > 0 && atMs >= 0, `${latencyMs} ms at ${atMs}`);
    });

    it('every run of a story begins with the same pods', async () => {
      assert.deepEqual(kinds(await run(stage)), { endpoints: EACH, slices: EACH });
    });

    it('a server that is slow to answer makes changes late, and is asked no more', async () => {
      const { server, cluster } = stage;
      let [isSlow, asked, most] = [false, 0, 0];
      const send: ApiClient['send'] = async (request) => {
        if (!isSlow) return server.client.send(request);
        most = Math.max(most, ++asked);
        await sleep(300);
        asked--;
        return server.client.send(request);
      };
      const noise: StoryChange = { atMs: 0, namespace: 0, kind: 'quiet', events: 50, places: [], service: -1 };
      const story: Story = { ...cluster.story, changes: [noise, STORY.changes[0]!] };
      const { lateMs, ledger } = await replay(
        { ...server, client: { ...server.client, send } },
        { ...cluster, story },
        async () => {
          isSlow = true;
          return startEndpointd(server, ['--kube-api-qps=500']);
        },
      );
      assert.equal(most, REQUESTS_AT_ONCE);
      assert.ok(lateMs > 500, `${lateMs} ms late`);
      // The time until the change was sent is not the controller's.
      const { atMs } = ledger.samples.slices[0]!;
      assert.ok(atMs > 250, `sent after ${atMs} ms`);
    });
  });

  describe('with other changes', { concurrency: 1 }, () => {
    const stage = openedStage();

    it('writes after the last change that is awaited count', async () => {
      const { server, cluster } = stage;
      // The pod of the other service has an address, and is not ready, when the batch of the first is nearly written.
      const changes = [
        { ...FLIPS_OF_FIRST[0]!, atMs: 0 },
        { ...FLIPS_OF_FIRST[0]!, atMs: 800, places: [{ place: 2, wanted: UNREADY }] },
      ];
      const story: Story = { ...cluster.story, durationMs: 1000, changes };
      const batch = ['--endpoint-updates-batch-period=1s', '--endpointslice-updates-batch-period=1s'];
      const { ledger } = await replay(server, { ...cluster, story }, () => startEndpointd(server, batch), 1000);
      assert.deepEqual([ledger.samples.slices.length, ledger.writes.slices.length], [1, 2]);
    });

    it('a run whose watch breaks is given up, and the next one begins right', async () => {
      const { server, cluster } = stage;
      const breaks = Promise.withResolvers<never>();
      let isBreaking = false;
      const send: ApiClient['send'] = async (request) => {
        if (isBreaking && request.path.includes('pod-0')) {
          breaks.reject(new Error('the watch has ended'));
          // The next request for the pod waits meanwhile.
          await sleep(200);
        }
        return server.client.send(request);
      };
      const watch: ApiClient['watch'] = (path, ...rest) => {
        const own = server.client.watch(path, ...rest);
        return path.includes('endpointslices') ? { ...own, ended: Promise.race([own.ended, breaks.promise]) } : own;
      };
      const story: Story = { ...cluster.story, changes: FLIPS_OF_FIRST };
      const replayed = replay(
        { ...server, client: { ...server.client, watch, send } },
        { ...cluster, story },
        async () => {
          isBreaking = true;
          return startEndpointd(server, []);
        },
      );
      await assert.rejects(replayed, { message: 'the watch has ended' });
      assert.deepEqual(kinds(await run(stage)), { endpoints: EACH, slices: EACH });
    });

    it('a change that is undone before it shows is not awaited', async () => {
      const { server, cluster } = stage;
      const story = { ...cluster.story, durationMs: 1600, changes: FLIPS_OF_FIRST };
      const batch = ['--endpoint-updates-batch-period=1s', '--endpointslice-updates-batch-period=1s'];
      const { ledger } = await replay(server, { ...cluster, story }, () => startEndpointd(server, batch));
      assert.deepEqual(
        [ledger.overtaken, ledger.open],
        [
          { endpoints: 2, slices: 2 },
          { endpoints: 0, slices: 0 },
        ],
      );
      assert.deepEqual(ledger.samples, { endpoints: [], slices: [] });
    });
  });
});
