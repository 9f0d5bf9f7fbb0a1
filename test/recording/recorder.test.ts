import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { zstdDecompressSync } from 'node:zlib';
import { createBeginning } from '../../src/cli/record/beginning.ts';
import { ZSTD } from '../../src/cli/record/recording-file.ts';
import { createPrng, nextUint32 } from '../../src/lib/prng.ts';
import { figuresOf } from '../../src/recording/figures.ts';
import { readFrames } from '../../src/recording/frames.ts';
import { NOT_SHOWN } from '../../src/recording/recorder.ts';
import { playedOf } from '../../src/tune/played.ts';
import { CANARY, canariesEverywhere, canariesInLists } from './canary.ts';
import { apiEndpoints, apiPod, apiService, scriptedCluster } from './scripted-cluster.ts';

describe('the recorder', () => {
  it('the recorder sends lists and watches only, and asks for no slices of others', () => {
    const cluster = scriptedCluster('plain');
    cluster.recorder.start();
    cluster.pass(10_000);
    assert.deepEqual(new Set(cluster.requests.map(({ method }) => method)), new Set(['GET']));
    const asked = new Set(cluster.requests.map(({ path }) => path.replace(/\?.*/, '')));
    assert.deepEqual([...asked].toSorted(), [
      '/api/v1/endpoints',
      '/api/v1/nodes',
      '/api/v1/pods',
      '/api/v1/services',
      '/apis/discovery.k8s.io/v1/endpointslices',
    ]);
    for (const { path } of cluster.requests.filter(({ path }) => path.includes('endpointslices'))) {
      assert.match(decodeURIComponent(path), /labelSelector=endpointslice\.kubernetes\.io\/managed-by in \(/);
    }
  });

  it('a stream that is answered with a success other than 200 is cancelled', () => {
    const cluster = scriptedCluster('plain');
    cluster.refusals.pods = { status: 203, message: 'from a proxy' };
    cluster.recorder.start();
    const { id } = cluster.requests.find(({ path, stream }) => stream && path.startsWith('/api/v1/pods?'))!;
    assert.ok(cluster.cancelled.includes(id));
  });

  it('a watch that ends at its time limit leaves no doubt, one that breaks off does', () => {
    for (const [error, doubts] of [
      [null, []],
      ['the connection was closed', ['the watch of pods was lost for a while']],
    ] as const) {
      const cluster = scriptedCluster('plain');
      cluster.objects.pods.push(apiPod('web-1'));
      cluster.recorder.start();
      cluster.pass(10_000);
      cluster.event('pods', 'MODIFIED', apiPod('web-1', { ready: false }));
      cluster.end('pods', error);
      cluster.pass(5000);
      cluster.event('pods', 'MODIFIED', apiPod('web-1'));
      cluster.recorder.stop();
      assert.deepEqual(playedOf('made', cluster.events()).doubts, doubts);
    }
  });

  it('only a watch that is lost when the recording ends leaves a doubt', () => {
    for (const [error, doubts] of [
      [null, []],
      ['the connection was closed', ['the watch of pods was lost for a while']],
    ] as const) {
      const cluster = scriptedCluster('plain');
      cluster.recorder.start();
      cluster.pass(5000);
      cluster.end('pods', error);
      cluster.recorder.stop();
      assert.deepEqual(playedOf('made', cluster.events()).doubts, doubts);
    }
  });

  it('a watch that is cut while nothing happens is lost only if it may tell late', () => {
    for (const [newsAfterMs, lost] of [
      [2000, 0],
      [500, 1],
    ] as const) {
      const cluster = scriptedCluster('plain');
      cluster.recorder.start();
      cluster.pass(30_000);
      cluster.end('pods', 'cut by a load balancer');
      cluster.pass(newsAfterMs);
      cluster.event('pods', 'ADDED', apiPod('web-1'));
      cluster.pass(10_000);
      cluster.recorder.stop();
      assert.equal(cluster.recorder.status().rewatched, lost);
      assert.equal(playedOf('made', cluster.events()).doubts.length, lost);
    }
  });

  it('a watch that is cut while nothing happens, and does not go on at once, is lost', () => {
    const cluster = scriptedCluster('plain');
    cluster.recorder.start();
    cluster.pass(30_000);
    cluster.refusals.pods = { status: 503, message: 'etcd is away' };
    cluster.end('pods', 'cut by a load balancer');
    delete cluster.refusals.pods;
    cluster.pass(20_000);
    cluster.recorder.stop();
    assert.equal(cluster.recorder.status().rewatched, 1);
  });

  it('what a lost watch tells first has no latency', () => {
    const cluster = scriptedCluster('plain');
    cluster.objects.services.push(apiService('web'));
    cluster.recorder.start();
    cluster.pass(30_000);
    cluster.end('pods', 'cut by a load balancer');
    cluster.event('pods', 'ADDED', apiPod('web-1'));
    cluster.pass(30);
    cluster.event('endpoints', 'ADDED', apiEndpoints('web', 'kube-controller-manager', 0));
    cluster.recorder.stop();
    const { addedMs, hidden } = figuresOf(cluster.events()).controller.endpoints!;
    assert.deepEqual([addedMs.count, hidden], [0, 1]);
  });

  describe('a recorder that stands still', () => {
    /** How many watches were lost, and the latencies of three pods: the first two changes come when it goes on. */
    const found = (still: 'standStill' | 'sleep', ms: number): (number | null)[] => {
      const cluster = scriptedCluster('plain');
      cluster.objects.services.push(apiService('web'));
      cluster.recorder.start();
      cluster.pass(10_000);
      cluster.event('pods', 'ADDED', apiPod('web-1'));
      cluster[still](ms);
      cluster.event('endpoints', 'ADDED', apiEndpoints('web', 'kube-controller-manager', 0));
      for (const pod of [2, 3]) {
        cluster.event('pods', 'ADDED', apiPod(`web-${pod}`, { ip: `192.0.2.${pod}` }));
        cluster.pass(30);
        const shown = apiEndpoints('web', 'kube-controller-manager', 0, `192.0.2.${pod}`);
        cluster.event('endpoints', 'MODIFIED', shown);
        cluster.pass(10_000);
      }
      cluster.recorder.stop();
      const { count, max } = figuresOf(cluster.events()).controller.endpoints!.addedMs;
      return [playedOf('made', cluster.events()).doubts.length, count, max];
    };

    it('its watches are lost meanwhile, and what they tell first has no latency', () => {
      assert.deepEqual(found('standStill', 20_000), [5, 1, 30]);
    });

    it('a machine that sleeps stops the monotonic clock, but not the one on the wall', () => {
      assert.deepEqual(found('sleep', 20_000), [5, 1, 30]);
    });

    it('a recorder that is a little late has not stood still', () => {
      assert.deepEqual(found('standStill', 2900), [0, 3, 2900]);
    });
  });

  it('the recorder tells the first state, then changes as they come, then its end', () => {
    const cluster = scriptedCluster('plain');
    cluster.objects.pods.push(apiPod('web-1'), apiPod('web-2'));
    cluster.recorder.start();
    cluster.pass(1000);
    cluster.event('pods', 'MODIFIED', apiPod('web-1', { ready: false }));
    cluster.event('pods', 'MODIFIED', apiPod('web-1', { ready: false }));
    cluster.pass(500);
    cluster.event('pods', 'DELETED', apiPod('web-2'));
    cluster.recorder.stop();
    // The second event of web-1 changes nothing that is recorded.
    assert.equal(cluster.recorder.status().changes, 2);
    const told = cluster.events().flatMap((event) => {
      if (event.type === 'change')
        return [
          `${event.told} ${event.atMs} ${(event.after ?? event.before)!.name}${event.after === null ? ' gone' : ''}`,
        ];
      return event.type === 'irrelevant' ? [`irrelevant ${event.counts.pods}`] : event.type === 'end' ? ['end'] : [];
    });
    assert.deepEqual(told.toSorted(), [
      'end',
      'irrelevant 1',
      'start 0 web-1',
      'start 0 web-2',
      'watch 1000 web-1',
      'watch 1500 web-2 gone',
    ]);
  });

  it('a gap has its begin, and the changes that the list after it shows', () => {
    const cluster = scriptedCluster('plain');
    cluster.objects.pods.push(apiPod('web-1'), apiPod('web-2'));
    cluster.recorder.start();
    cluster.pass(5000);
    cluster.event('pods', 'BOOKMARK', { metadata: {} });
    cluster.pass(1000);
    cluster.objects.pods.splice(0, 2, apiPod('web-2', { ready: false }), apiPod('web-3'));
    cluster.expire('pods');
    cluster.pass(20_000);
    assert.equal(cluster.recorder.status().gaps, 1);
    cluster.recorder.stop();
    const told = cluster.events().flatMap((event) => {
      if (event.type === 'change' && event.told === 'list')
        return [`${(event.after ?? event.before)!.name} ${event.after === null ? 'gone' : 'there'}`];
      if (event.type === 'lost') return [`lost at ${event.atMs} since ${event.sinceMs}`];
      return event.type === 'listed' && event.told === 'list' ? [`gap since ${event.sinceMs}`] : [];
    });
    assert.deepEqual(told.toSorted(), [
      'gap since 5000',
      'lost at 6000 since 5000',
      'web-1 gone',
      'web-2 there',
      'web-3 there',
    ]);
  });

  it('a gap has frames of its own, apart from what was told before and after it', () => {
    const cluster = scriptedCluster('plain');
    cluster.objects.pods.push(apiPod('web-1'), apiPod('web-2'));
    cluster.recorder.start();
    cluster.pass(10_000);
    cluster.objects.pods.splice(0, 2, apiPod('web-2', { ready: false }));
    cluster.expire('pods');
    // The frames of each two seconds have much else in them.
    for (let i = 0; i < 100; i++) {
      cluster.pass(100);
      cluster.event('services', 'ADDED', apiService(`s-${i}`));
    }
    cluster.recorder.stop();
    const file = cluster.file();
    const frames = [...readFrames((at, bytes) => file.subarray(at, at + bytes), ZSTD)].map((frame) => {
      assert.ok('lines' in frame);
      return frame.lines.map((line) => Object.keys(JSON.parse(line) as object).find((key) => key !== 't'));
    });
    // The header's and those of the first lists come before.
    const at = frames.findLastIndex((words) => words.includes('listing'));
    assert.deepEqual(frames[at], ['listing', 'pod', 'pod', 'listed']);
    assert.deepEqual([frames[at - 1]!.at(-1), frames[at + 1]![0]], ['service', 'service']);
  });

  it('a watch that is lost and does not come back is a gap to the end', () => {
    const cluster = scriptedCluster('plain');
    cluster.recorder.start();
    cluster.pass(4000);
    cluster.event('pods', 'ADDED', apiPod('web-1'));
    cluster.pass(1000);
    cluster.refusals.pods = { status: 500, message: 'etcd is away' };
    cluster.end('pods', 'the connection was closed');
    cluster.pass(20_000);
    assert.equal(cluster.recorder.status().gaps, 1);
    const gaps = [{ resource: 'pods', fromSeconds: 4, toSeconds: null }];
    // It is in the file before the recorder ends.
    assert.deepEqual(figuresOf(cluster.events()).contents.gaps, gaps);
    cluster.recorder.stop();
    assert.deepEqual(figuresOf(cluster.events()).contents.gaps, gaps);
  });

  it('a watch that goes on where it was is no gap, and is counted', () => {
    const cluster = scriptedCluster('plain');
    cluster.recorder.start();
    cluster.pass(5000);
    cluster.end('pods', 'the connection was closed');
    cluster.pass(20_000);
    assert.equal(cluster.recorder.status().gaps, 0);
    cluster.recorder.stop();
    const { gaps, resources } = figuresOf(cluster.events()).contents;
    assert.deepEqual([gaps, resources.pods.rewatched], [[], 1]);
  });

  it('a refusal after the first list is a gap, and what comes after it counts', () => {
    const cluster = scriptedCluster('plain');
    cluster.objects.services.push(apiService('web'));
    cluster.recorder.start();
    cluster.pass(5000);
    cluster.refusals.endpoints = { status: 403, message: 'the server starts' };
    cluster.expire('endpoints');
    cluster.pass(10_000);
    assert.deepEqual([cluster.recorder.status().refused, cluster.recorder.status().gaps], [[], 1]);
    cluster.event('pods', 'ADDED', apiPod('unseen'));
    delete cluster.refusals.endpoints;
    cluster.objects.endpoints.push(apiEndpoints('web', 'kube-controller-manager', 0));
    cluster.pass(60_000);
    cluster.event('pods', 'ADDED', apiPod('web-2', { ip: '192.0.2.2' }));
    cluster.pass(30);
    cluster.event('endpoints', 'MODIFIED', apiEndpoints('web', 'kube-controller-manager', 0, '192.0.2.2'));
    cluster.recorder.stop();
    const { contents, controller } = figuresOf(cluster.events());
    assert.equal(contents.resources.endpoints.refused, false);
    assert.deepEqual([contents.gaps.length, contents.seconds], [1, 75.03]);
    const { addedMs, hidden } = controller.endpoints!;
    assert.deepEqual([addedMs.count, addedMs.max, hidden], [1, 30, 1]);
  });

  it('a recording whose token expires ends, and is played up to there', () => {
    const cluster = scriptedCluster('plain');
    cluster.recorder.start();
    const beginningOf = createBeginning();
    const looks: string[] = [];
    for (let second = 0; second < 300; second += 10) {
      cluster.pass(10_000);
      for (const resource of ['nodes', 'services', 'pods', 'endpoints', 'endpointslices'] as const) {
        cluster.event(resource, 'BOOKMARK', { metadata: {} });
      }
      if (second === 100) {
        cluster.refusals.pods = { status: 401, message: 'Unauthorized' };
        cluster.end('pods', null);
      }
      looks.push(beginningOf(cluster.recorder.status()).hopeless);
      if (looks.at(-1) !== '') break;
    }
    cluster.recorder.stop();
    assert.match(looks.at(-1)!, /^the server has refused pods for 120 s/);
    assert.equal(looks.length, 23);
    const { doubts, lost } = playedOf('made', cluster.events());
    assert.deepEqual(doubts, ['the watch of pods was lost for a while']);
    assert.deepEqual(lost, { resource: 'pods', sinceMs: 110_000, afterMs: 110_000 });
    assert.deepEqual(playedOf('made', cluster.events(), 110_000).doubts, []);
  });

  it('a list that is answered after a refusal is not turned away', () => {
    const cluster = scriptedCluster('plain');
    cluster.objects.pods.push(apiPod('web-1'), apiPod('web-2'));
    cluster.recorder.start();
    cluster.pass(10_000);
    cluster.refusals.pods = { status: 403, message: 'the server starts' };
    cluster.expire('pods');
    cluster.pass(20_000);
    assert.deepEqual(cluster.recorder.status().turnedAway, ['pods']);
    delete cluster.refusals.pods;
    cluster.held.add('pods');
    cluster.pass(60_000);
    assert.deepEqual(cluster.recorder.status().turnedAway, []);
  });

  it('what the server grants late moves no beginning, and its rates are its own', () => {
    const cluster = scriptedCluster('plain');
    for (const resource of ['nodes', 'endpoints'] as const) {
      cluster.refusals[resource] = { status: 403, message: 'forbidden' };
    }
    cluster.objects.endpoints.push(apiEndpoints('web', 'kube-controller-manager', 0));
    cluster.recorder.start();
    cluster.pass(100_000);
    for (const resource of ['nodes', 'endpoints'] as const) delete cluster.refusals[resource];
    cluster.pass(100_000);
    assert.deepEqual([cluster.recorder.status().refused, cluster.recorder.status().changes], [[], 0]);
    cluster.event('endpoints', 'MODIFIED', apiEndpoints('web', 'kube-controller-manager', 0, '192.0.2.2'));
    cluster.recorder.stop();
    const { contents, controller } = figuresOf(cluster.events());
    const { refused, objects, lateSeconds } = contents.resources.endpoints;
    assert.deepEqual([contents.seconds, refused, objects], [200, false, 1]);
    assert.ok(lateSeconds >= 100 && lateSeconds < 200, String(lateSeconds));
    assert.equal(controller.endpoints!.writesPerSecond, 1 / (200 - lateSeconds));
    assert.equal(playedOf('made', cluster.events()).story.durationMs, 200_000);
  });

  describe('who has written', () => {
    const writersOf = (...writes: (readonly [manager: string, second: number])[]): readonly string[] => {
      const cluster = scriptedCluster('pseudonyms');
      cluster.objects.endpoints.push(apiEndpoints('web', 'kube-controller-manager', 0));
      cluster.recorder.start();
      cluster.pass(5000);
      for (const [i, [manager, second]] of writes.entries()) {
        cluster.event('endpoints', 'MODIFIED', apiEndpoints('web', manager, second, `192.0.2.${i + 2}`));
        cluster.pass(10);
      }
      cluster.recorder.stop();
      const { endpoints, slices } = playedOf('made', cluster.events()).writers;
      assert.deepEqual(slices, []);
      assert.deepEqual(figuresOf(cluster.events()).contents.writers, { endpoints, endpointslices: [] });
      return endpoints;
    };

    it('a controller that writes is told once, by its field manager', () => {
      assert.deepEqual(writersOf(['endpointd', 2], ['endpointd', 3]), ['endpointd']);
      assert.deepEqual(writersOf(['endpointd', 2], ['k3s', 3]), ['endpointd', 'kube-controller-manager']);
    });

    it('a list does not tell when, and others are no controllers', () => {
      assert.deepEqual(writersOf(['kubectl', 1]), []);
    });

    it('mirrored slices do not count: another program may mirror', () => {
      const cluster = scriptedCluster('pseudonyms');
      cluster.recorder.start();
      cluster.pass(5000);
      for (const [i, controller] of ['endpointslice', 'endpointslicemirroring'].entries()) {
        const labels = { 'endpointslice.kubernetes.io/managed-by': `${controller}-controller.k8s.io` };
        const managedFields = [{ manager: ['endpointd', 'k3s'][i], time: '2023-11-14T22:00:01Z' }];
        const metadata = { namespace: 'shop', name: `web-${i}`, uid: `uid-${i}`, labels, managedFields };
        cluster.event('endpointslices', 'ADDED', { metadata, addressType: 'IPv4', endpoints: [] });
      }
      cluster.recorder.stop();
      assert.deepEqual(playedOf('made', cluster.events()).writers.slices, ['endpointd']);
    });

    it('an entry that was there before tells of no write', () => {
      // A write that only takes fields away leaves the time of its manager, and the other one's is the newest.
      assert.deepEqual(writersOf(['kube-controller-manager', 0]), []);
      assert.deepEqual(writersOf(['endpointd', 2], ['endpointd', 2]), ['endpointd']);
    });
  });

  it('what comes before a refusal of pods ends is no part of the recording', () => {
    const cluster = scriptedCluster('plain');
    cluster.objects.services.push(apiService('web'));
    cluster.refusals.pods = { status: 403, message: 'the server starts' };
    cluster.recorder.start();
    cluster.pass(1500);
    cluster.event('endpoints', 'ADDED', apiEndpoints('web', 'kube-controller-manager', 0));
    cluster.end('services', 'the connection was closed');
    cluster.pass(4000);
    cluster.event('endpoints', 'MODIFIED', apiEndpoints('web', 'kube-controller-manager', 0, '192.0.2.2'));
    delete cluster.refusals.pods;
    cluster.pass(10_000);
    assert.equal(cluster.recorder.status().changes, 0);
    cluster.event('endpoints', 'MODIFIED', apiEndpoints('web', 'kube-controller-manager', 0, '192.0.2.3'));
    cluster.recorder.stop();
    const { doubts, evidence, story } = playedOf('made', cluster.events());
    assert.deepEqual(doubts, []);
    assert.deepEqual(evidence.writes.endpoints, [{ atMs: story.durationMs, endpoints: 1, service: 0 }]);
    assert.equal(figuresOf(cluster.events()).controller.endpoints!.writes, 1);
  });

  it('an output is late only if the recording has begun with the other one', () => {
    const cluster = scriptedCluster('plain');
    for (const resource of ['endpoints', 'endpointslices'] as const) {
      cluster.refusals[resource] = { status: 403, message: 'the server starts' };
    }
    cluster.recorder.start();
    cluster.pass(1000);
    delete cluster.refusals.endpoints;
    cluster.pass(10_000);
    delete cluster.refusals.endpointslices;
    cluster.pass(10_000);
    cluster.recorder.stop();
    const lists = cluster.events().flatMap((event) => (event.type === 'listed' ? [event] : []));
    assert.deepEqual(
      lists.slice(-2).map(({ resource, told }) => [resource, told]),
      [
        ['endpoints', 'start'],
        ['endpointslices', 'late'],
      ],
    );
    const { contents } = figuresOf(cluster.events());
    const { endpoints, endpointslices } = contents.resources;
    const [from, until] = lists.slice(-2).map(({ atMs }) => atMs) as [number, number];
    assert.deepEqual([endpoints.lateSeconds, endpointslices.lateSeconds], [0, (until - from) / 1000]);
    assert.equal(contents.seconds, (21_000 - from) / 1000);
  });

  it('a list that is answered after a refusal is waited for, however long it takes', () => {
    const cluster = scriptedCluster('plain');
    cluster.objects.pods.push(apiPod('web-1'), apiPod('web-2'));
    cluster.refusals.pods = { status: 403, message: 'the server starts' };
    cluster.recorder.start();
    cluster.pass(500);
    delete cluster.refusals.pods;
    cluster.held.add('pods');
    const beginningOf = createBeginning();
    const looks: (string | number)[][] = [];
    for (let second = 0; second < 20; second += 5) {
      cluster.pass(5000);
      const status = cluster.recorder.status();
      const { begunAt, hopeless } = beginningOf(status);
      looks.push([status.waitsFor, status.objects.pods, status.refused.length, begunAt === null ? hopeless : 'begun']);
      if (second === 10) cluster.held.clear();
    }
    const waits = ['pods', 2, 0, ''];
    assert.deepEqual(looks, [waits, waits, waits, ['', 2, 0, 'begun']]);
    assert.deepEqual(cluster.recorder.status().changes, 0);
  });

  it("an edit by somebody else is told from the controllers' writes", () => {
    const cluster = scriptedCluster('plain');
    cluster.objects.endpoints.push(
      apiEndpoints('web', 'kube-controller-manager', 0),
      apiEndpoints('by-hand', 'kubectl', 9),
    );
    cluster.recorder.start();
    cluster.pass(1000);
    cluster.event('endpoints', 'MODIFIED', apiEndpoints('web', 'kube-controller-manager', 0, '192.0.2.2'));
    cluster.event('endpoints', 'MODIFIED', apiEndpoints('web', 'kubectl', 30, '192.0.2.3'));
    cluster.event('endpoints', 'MODIFIED', apiEndpoints('web', 'kubectl', 30, '192.0.2.4'));
    cluster.event('endpoints', 'DELETED', apiEndpoints('web', 'kubectl', 30, '192.0.2.4'));
    cluster.recorder.stop();
    const by = cluster
      .events()
      .flatMap((event) => (event.type === 'change' ? [`${(event.after ?? event.before)!.name} ${event.by}`] : []));
    assert.deepEqual(by.toSorted(), [
      'by-hand other',
      'web controller',
      'web controller',
      'web controller',
      'web other',
      'web unknown',
    ]);
  });

  it('an edit by somebody else is told as such by a list that needs two tries', () => {
    const cluster = scriptedCluster('plain');
    cluster.objects.endpoints.push(apiEndpoints('web', 'kube-controller-manager', 0));
    cluster.recorder.start();
    cluster.pass(1000);
    cluster.objects.endpoints.splice(0, 1, apiEndpoints('web', 'kubectl', 30, '192.0.2.3'));
    cluster.cut.add('endpoints');
    cluster.expire('endpoints');
    cluster.pass(60_000);
    cluster.event('endpoints', 'MODIFIED', apiEndpoints('web', 'kubectl', 30, '192.0.2.4'));
    cluster.recorder.stop();
    const by = cluster.events().flatMap((event) => (event.type === 'change' ? [`${event.told} ${event.by}`] : []));
    assert.deepEqual(by, ['start controller', 'list other', 'watch controller']);
  });

  it('the recorder goes on without nodes if the server refuses them, and tells it', () => {
    const cluster = scriptedCluster('plain');
    cluster.refusals.nodes = { status: 403, message: 'nodes is forbidden' };
    cluster.recorder.start();
    cluster.pass(60_000);
    assert.deepEqual([cluster.recorder.status().waitsFor, cluster.recorder.status().refused], ['', ['nodes']]);
    cluster.recorder.stop();
    assert.equal(cluster.events().filter((event) => event.type === 'refused').length, 1);
  });

  it('a frame is written every two seconds in which something was told', () => {
    const cluster = scriptedCluster('plain');
    cluster.recorder.start();
    cluster.pass(4000);
    const before = cluster.file().length;
    cluster.event('pods', 'ADDED', apiPod('web-1'));
    assert.equal(cluster.file().length, before);
    cluster.pass(2000);
    assert.ok(cluster.file().length > before);
  });

  it('lists are told in random order, so that numbers do not follow the alphabet', () => {
    const orders = new Set<string>();
    for (let seed = 0; seed < 8; seed++) {
      const prng = createPrng(seed);
      const cluster = scriptedCluster('plain', () => nextUint32(prng));
      cluster.objects.pods.push(...'abcdef'.split('').map((name) => apiPod(name)));
      cluster.recorder.start();
      cluster.recorder.stop();
      orders.add(
        cluster
          .events()
          .flatMap((event) => (event.type === 'change' ? [event.after!.name] : []))
          .join(''),
      );
    }
    assert.ok(orders.size > 4, [...orders].join(' '));
  });

  it('texts that nothing has any more are forgotten, so memory stays bounded', () => {
    const cluster = scriptedCluster('pseudonyms');
    cluster.objects.pods.push(apiPod('kept'));
    cluster.recorder.start();
    const texts = (): number => cluster.recorder.status().texts;
    const kept = texts();
    const found = Array.from({ length: 22 }, (_, round) => {
      for (let i = 0; i < 100; i++) {
        const labels = Object.fromEntries(Array.from({ length: 50 }, (_, j) => [`key-${round}-${i}-${j}`, 'x']));
        cluster.event('pods', 'ADDED', apiPod(`p-${round}-${i}`, { labels }));
        cluster.event('pods', 'DELETED', apiPod(`p-${round}-${i}`));
      }
      cluster.pass(2000);
      return texts();
    });
    // A round has more than 10,000 texts, so the tenth brings 100,000 new ones. Then all are forgotten but those in use.
    const perRound = found[0]! - kept;
    assert.ok(perRound >= 10_000, String(perRound));
    assert.deepEqual(
      found,
      found.map((_, round) => kept + perRound * ((round + 1) % 10)),
    );
    cluster.event('pods', 'MODIFIED', apiPod('kept', { labels: { app: 'web', more: 'yes' } }));
    cluster.recorder.stop();
    const changes = cluster.events().filter((event) => event.type === 'change');
    const last = changes.at(-1)!;
    assert.ok(last.resource === 'pods');
    // Its name and its label are what they were before 220,000 other texts, most of which are forgotten.
    assert.equal(last.after!.name, last.before!.name);
    assert.deepEqual(last.after!.labels.slice(0, 2), last.before!.labels);
  });
});

describe('a recording under pseudonyms', () => {
  it('a recording and its log have no text of the cluster', () => {
    const cluster = scriptedCluster('pseudonyms');
    const everywhere = canariesEverywhere();
    const inLists = canariesInLists();
    for (const { resource, ...object } of everywhere) cluster.objects[resource].push(object);
    cluster.recorder.start();
    cluster.pass(3000);
    for (const [i, { resource, ...object }] of inLists.entries()) {
      cluster.event(resource, 'ADDED', object);
      const { metadata } = everywhere[i]!;
      cluster.event(resource, 'MODIFIED', { ...object, metadata });
      cluster.event(resource, 'DELETED', { ...object, metadata });
      cluster.pass(100);
    }
    cluster.recorder.stop();
    const told = cluster.events().flatMap((event) => (event.type === 'change' ? [event.told] : []));
    const { length } = everywhere;
    assert.deepEqual(told, [...Array(length).fill('start'), ...Array(3 * length).fill('watch')]);
    assert.ok(!CANARY.test(JSON.stringify(cluster.log)), JSON.stringify(cluster.log));
    const text = zstdDecompressSync(cluster.file()).toString();
    assert.match(text, /"phase":"other"/);
    assert.doesNotMatch(text, CANARY);
  });

  it('the log of a recording has no text of what went wrong', () => {
    const cluster = scriptedCluster('pseudonyms');
    const refusal = { reason: 'CanaryReason', message: 'user canary may not' };
    cluster.refusals.nodes = { status: 403, ...refusal };
    cluster.recorder.start();
    cluster.pass(3000);
    // An event that cannot be read, one that is no JSON, one of an error, and a stream that fails.
    cluster.event('pods', 'MODIFIED', { metadata: { namespace: 'canary', name: 'canary', labels: 7 } });
    cluster.pass(20_000);
    cluster.bytes('services', '{"canary": \n');
    cluster.pass(20_000);
    const error = { apiVersion: 'v1', kind: 'Status', status: 'Failure', code: 500, ...refusal };
    cluster.bytes('endpointslices', `${JSON.stringify({ type: 'ERROR', object: error })}\n`);
    cluster.pass(20_000);
    cluster.end('pods', 'reset by canary.example.com');
    cluster.pass(20_000);
    cluster.refusals.endpoints = { status: 500, ...refusal };
    cluster.expire('endpoints');
    cluster.pass(20_000);
    cluster.recorder.stop();
    const errors = new Set(cluster.log.map(({ fields }) => fields['err']));
    for (const err of ['403', '500', NOT_SHOWN]) assert.ok(errors.has(err), JSON.stringify(cluster.log));
    assert.ok(cluster.log.length >= 6, JSON.stringify(cluster.log));
    assert.ok(!CANARY.test(JSON.stringify(cluster.log)), JSON.stringify(cluster.log));
    assert.doesNotMatch(zstdDecompressSync(cluster.file()).toString(), CANARY);
  });

  it('no version tells the age of an object, nor what the server calls it', () => {
    const cluster = scriptedCluster('pseudonyms');
    cluster.objects.pods.push(apiPod('web-1'), apiPod('web-2'));
    cluster.recorder.start();
    cluster.pass(3000);
    const versions = (): number[] =>
      cluster.events().flatMap((event) => (event.type === 'change' && event.told !== 'start' ? [event.version] : []));
    // The list that follows lacks a pod of the first list.
    cluster.objects.pods.splice(0, 1);
    cluster.expire('pods');
    cluster.pass(20_000);
    // A frame that cannot be read makes the recorder doubt all versions.
    cluster.objects.pods.splice(0, 1);
    cluster.bytes('pods', '{"type": \n');
    cluster.pass(20_000);
    cluster.event('pods', 'ADDED', apiPod('web-3'));
    cluster.recorder.stop();
    const [first, second, last, ...more] = versions();
    assert.deepEqual([first, second, more], [Number.NaN, Number.NaN, []]);
    assert.ok(last! > 0 && last! < 20, String(last));
  });

  it('an output that cannot be read is left out, and named by a pseudonym', () => {
    const broken = apiEndpoints('canary', 'kubectl', 0);
    const subsets = [{ addresses: [null, 'canary-host'] }];
    for (const fields of [
      { subsets },
      { subsets: 'canary' },
      { metadata: { namespace: 'shop', name: 'canary', annotations: { a: ['canary'] } } },
      { metadata: { namespace: 'shop', name: 'canary', creationTimestamp: 'canary' } },
    ]) {
      const cluster = scriptedCluster('pseudonyms');
      cluster.objects.endpoints.push({ ...broken, ...fields }, apiEndpoints('web', 'kubectl', 0));
      cluster.recorder.start();
      cluster.pass(1000);
      cluster.event('endpoints', 'MODIFIED', { ...broken, ...fields });
      cluster.pass(20_000);
      cluster.event('endpoints', 'MODIFIED', apiEndpoints('web', 'kubectl', 9, '192.0.2.9'));
      cluster.recorder.stop();
      const changes = cluster.events().filter((event) => event.type === 'change');
      assert.deepEqual(
        changes.map(({ told, after }) => `${told} ${after!.name}`),
        ['start s2', 'watch s2'],
      );
      assert.ok(!CANARY.test(JSON.stringify(cluster.log)), JSON.stringify(cluster.log));
      const errors = cluster.log.map((line) => String(line.fields['err']));
      assert.ok(
        errors.some((text) => /^endpoints n1\/s1: \w+\.\w+ cannot be read$/.test(text)),
        errors.join(),
      );
    }
  });
});
