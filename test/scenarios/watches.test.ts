/**
 * Watches and lists that end, lag, lie or break (docs/spec/wire.md "WatchList", "Errors of lists and watches"): the
 * cache is never emptied, nothing is lost.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  createPod,
  createService,
  createSim,
  deleteObject,
  endpointsTable,
  setPodStatus,
  writesOf,
  type Sim,
} from '../support/sim.ts';
import { edit, ENDPOINTS, PODS } from '../support/sim-objects.ts';
import { metric } from '../support/sim-reports.ts';
import { podRequests, settled } from '../support/settled.ts';
import { getPod } from '../../src/core/selector-index.ts';
import { encodeObject } from '../../src/kube/codec.ts';
import { PROTOBUF_WATCH } from '../../src/kube/media-type.ts';
import { makeStatus } from '../../src/kube/status.ts';
import type { PodRecord, Status } from '../../src/kube/types.ts';
import { encodeWatchFrame } from '../../src/kube/watch-framing.ts';
import { samples } from '../../src/metrics/store.ts';

describe('a watch that ends', () => {
  it('a watch that ends in order goes on at once, after a look at the version', () => {
    const sim = settled();
    const from = sim.exchanges.length;
    sim.run(5000);
    sim.cutWatches();
    sim.run(100);
    assert.deepEqual(podRequests(sim, from), ['look 200', 'watch 200']);
  });

  it('a watch that ended counts as down until the next one runs', () => {
    const sim = settled();
    const up = (): number[] => samples(sim.metrics!, 'endpointd_watch_up', 0).map(({ value }) => value);
    sim.cutWatches();
    sim.run(2.05);
    assert.deepEqual(up(), [0, 0, 0]);
    sim.run(10);
    assert.deepEqual(up(), [1, 1, 1]);
  });

  it('watches go on for hours without a list of all', () => {
    const sim = settled();
    const from = sim.exchanges.length;
    sim.run(2 * 3600_000);
    const requests = podRequests(sim, from);
    assert.ok(requests.length >= 24, requests.join());
    assert.deepEqual(new Set(requests), new Set(['look 200', 'watch 200']));
  });

  it('after an outage a watch is tried again, and sees what happened meanwhile', () => {
    const sim = settled();
    sim.down();
    deleteObject(sim, '/api/v1/namespaces/default/pods/web-2');
    sim.run(60_000);
    assert.deepEqual(
      sim
        .loop!.readiness()
        .filter(({ ok }) => !ok)
        .map(({ name }) => name),
      ['watch-endpoints', 'watch-services', 'watch-pods'],
    );
    sim.up();
    sim.run(60_000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
    assert.deepEqual(
      sim.loop!.readiness().filter(({ ok }) => !ok),
      [],
    );
  });

  it('a watch that is too old (410) leads to a list, and misses nothing', () => {
    const sim = settled();
    sim.down();
    deleteObject(sim, '/api/v1/namespaces/default/pods/web-2');
    setPodStatus(sim, { name: 'web-1', ready: false });
    createPod(sim, { name: 'web-3', ip: '10.0.0.3' });
    sim.compact();
    sim.up();
    sim.run(60_000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.3 | 10.0.0.1 : http:8080/TCP']);
  });

  it('a second outage after a good time does not wait longer', () => {
    const sim = settled();
    for (let outage = 0; outage < 8; outage++) {
      sim.down();
      sim.run(5000);
      sim.up();
      sim.run(20_000);
      setPodStatus(sim, { name: 'web-1', ready: outage % 2 === 0 });
      sim.run(1000);
      const line = outage % 2 === 0 ? '10.0.0.1 10.0.0.2' : '10.0.0.2 | 10.0.0.1';
      assert.deepEqual(endpointsTable(sim), [`default/web ${line} : http:8080/TCP`], `after outage ${outage + 1}`);
    }
  });

  it('watches that end as soon as they open do not become a storm of requests', () => {
    const sim = settled();
    const from = sim.exchanges.length;
    sim.faults.cutWatch = 1;
    sim.cutWatches();
    for (let i = 0; i < 60; i++) {
      setPodStatus(sim, { name: 'web-1', ready: i % 2 === 0 });
      sim.run(1000);
    }
    const requests = podRequests(sim, from).length;
    assert.ok(requests <= 30, `${requests} requests in a minute`);
  });
});

describe('a server without WatchList', () => {
  it('a server without WatchList is asked for pages', () => {
    const sim = settled({ serverWatchList: false });
    assert.deepEqual(podRequests(sim, 0), ['watch-list 422', 'page 200', 'watch 200']);
  });

  it('more than one page is asked for if there are more', () => {
    const sim = createSim({ serverWatchList: false });
    createService(sim, { name: 'web', spec: { publishNotReadyAddresses: true } });
    for (let i = 1; i <= 600; i++) createPod(sim, { name: `web-${i}`, ip: `10.0.${i >> 8}.${i & 255}` });
    sim.start();
    sim.run(5000);
    assert.deepEqual(podRequests(sim, 0), ['watch-list 422', 'page 200', 'page 200', 'watch 200']);
    assert.equal(
      endpointsTable(sim)[0]!
        .split(' ')
        .filter((word) => word.startsWith('10.')).length,
      600,
    );
  });

  it('--watch-list=false asks for no WatchList', () => {
    const sim = settled({ options: { watchList: false } });
    assert.deepEqual(podRequests(sim, 0), ['page 200', 'watch 200']);
  });
});

describe('an error instead of a stream', () => {
  const tooLarge = makeStatus(504, 'Timeout', 'Too large resource version: 9, current: 5', {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });

  /** What is asked about pods when the first stream of this kind is refused, and the table after a change meanwhile. */
  function refusedOnce(refusal: number | Status, what: 'watch' | 'watch-list'): string[] {
    const sim = createSim();
    createService(sim, { name: 'web' });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    let refused = 0;
    sim.refuse = ({ path }) =>
      path.startsWith('/api/v1/pods?watch') &&
      path.includes('sendInitialEvents') === (what === 'watch-list') &&
      refused++ === 0
        ? refusal
        : 0;
    sim.start();
    sim.run(5000);
    let from = 0;
    if (what === 'watch') {
      from = sim.exchanges.length;
      sim.cutWatches();
      setPodStatus(sim, { name: 'web-1', ready: false });
      sim.run(5000);
    }
    assert.equal(refused, 2, 'it was tried again');
    assert.deepEqual(endpointsTable(sim), [`default/web ${what === 'watch' ? '| ' : ''}10.0.0.1 : http:8080/TCP`]);
    return podRequests(sim, from);
  }

  it('429 in plain text at the start of a watch: it is tried again', () => {
    assert.deepEqual(refusedOnce(429, 'watch'), ['look 200', 'watch 429', 'look 200', 'watch 200']);
  });

  it('429 at the start of a WatchList is no reason for pages', () => {
    assert.deepEqual(refusedOnce(429, 'watch-list'), ['watch-list 429', 'watch-list 200']);
  });

  it('504 ResourceVersionTooLarge at the start of a WatchList: it is tried again', () => {
    assert.deepEqual(refusedOnce(tooLarge, 'watch-list'), ['watch-list 504', 'watch-list 200']);
  });

  it('504 ResourceVersionTooLarge at the start of each WatchList leads to pages', () => {
    const sim = createSim();
    sim.refuse = ({ path }) => (path.startsWith('/api/v1/pods?') && path.includes('sendInitialEvents') ? tooLarge : 0);
    sim.start();
    sim.run(30_000);
    assert.deepEqual(podRequests(sim, 0), ['watch-list 504', 'watch-list 504', 'page 200', 'watch 200']);
  });

  it('403 at the start of a watch: it is tried again', () => {
    assert.deepEqual(refusedOnce(403, 'watch'), ['look 200', 'watch 403', 'look 200', 'watch 200']);
  });

  it('400 at the start of a watch leads to another list, streamed as before', () => {
    const sim = settled();
    let refused = 0;
    sim.refuse = ({ path }) => (path.startsWith('/api/v1/pods?watch') && refused++ === 0 ? 400 : 0);
    const from = sim.exchanges.length;
    sim.cutWatches();
    sim.run(5000);
    assert.deepEqual(podRequests(sim, from), ['look 200', 'watch 400', 'watch-list 200']);
  });

  it('429 with a Retry-After of a day is tried again within minutes', () => {
    let refused = 0;
    const sim = createSim();
    const tomorrow = makeStatus(429, 'TooManyRequests', 'come back tomorrow', { retryAfterSeconds: 86_400 });
    sim.refuse = ({ path }) => (path.startsWith('/api/v1/pods?') && refused++ === 0 ? tomorrow : 0);
    sim.start();
    sim.run(6 * 60_000);
    assert.deepEqual(podRequests(sim, 0), ['watch-list 429', 'watch-list 200']);
  });

  it('504 ResourceVersionTooLarge on a page: the list is tried again', () => {
    let refused = 0;
    const sim = createSim({ options: { watchList: false } });
    sim.refuse = ({ path }) => (path.startsWith('/api/v1/pods?limit') && refused++ === 0 ? tooLarge : 0);
    sim.start();
    sim.run(5000);
    assert.deepEqual(podRequests(sim, 0), ['page 504', 'page 200', 'watch 200']);
  });
});

describe('an error in the middle of a list', () => {
  it('410 on a later page: the list begins anew, and keeps what it has shown', () => {
    let expired = 0;
    const sim = createSim({ options: { watchList: false } });
    sim.refuse = ({ path }) =>
      path.includes('continue=') && expired++ === 0
        ? makeStatus(410, 'Expired', 'The provided continue is too old')
        : 0;
    createService(sim, { name: 'web' });
    for (let i = 1; i <= 600; i++) createPod(sim, { name: `web-${i}`, ip: `10.0.${i >> 8}.${i & 255}` });
    sim.start();
    sim.run(10_000);
    assert.deepEqual(podRequests(sim, 0), ['page 200', 'page 410', 'page 200', 'page 200', 'watch 200']);
    const cached = samples(sim.metrics!, 'endpointd_cache_objects', 0);
    assert.equal(cached.find(({ labels }) => labels['resource'] === 'pods')?.value, 600);
    assert.equal(writesOf(sim).length, 1, 'nothing is written before a list is complete');
  });

  it('410 within a WatchList: the list begins anew, and nothing is written', () => {
    let sent = 0;
    const sim = createSim();
    sim.tamper = (bytes, { path }) =>
      path.startsWith('/api/v1/pods') && sent++ === 0
        ? encodeWatchFrame(PROTOBUF_WATCH, 'ERROR', encodeObject(makeStatus(410, 'Expired', 'too old')))
        : bytes;
    createService(sim, { name: 'web' });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    sim.start();
    sim.run(10_000);
    assert.deepEqual(podRequests(sim, 0), ['watch-list 200', 'watch-list 200']);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
    assert.equal(writesOf(sim).length, 1);
  });
});

describe('an API server whose watch cache stays behind etcd', () => {
  /** What is asked about pods where the first so many WatchLists end with that error. */
  function behindFor(count: number): string[] {
    const sim = createSim();
    const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }];
    const status = makeStatus(504, 'Timeout', 'Too large resource version', { causes });
    let sent = 0;
    sim.tamper = (bytes, { path }) =>
      path.startsWith('/api/v1/pods') && path.includes('sendInitialEvents') && sent++ < count
        ? encodeWatchFrame(PROTOBUF_WATCH, 'ERROR', encodeObject(status))
        : bytes;
    sim.start();
    sim.run(30_000);
    return podRequests(sim, 0);
  }

  it('504 ResourceVersionTooLarge within a WatchList: it is tried again', () => {
    assert.deepEqual(behindFor(1), ['watch-list 200', 'watch-list 200']);
  });

  it('504 ResourceVersionTooLarge within each WatchList leads to pages', () => {
    assert.deepEqual(behindFor(Infinity), ['watch-list 200', 'watch-list 200', 'page 200', 'watch 200']);
  });
});

describe('an API server whose etcd is too old for WatchList', () => {
  it('each WatchList ends with an error at once: pages fill the caches', () => {
    const sim = createSim();
    sim.tamper = (bytes, { path }) =>
      path.includes('sendInitialEvents')
        ? encodeWatchFrame(PROTOBUF_WATCH, 'ERROR', encodeObject(makeStatus(500, 'InternalError', 'etcd is too old')))
        : bytes;
    createService(sim, { name: 'web' });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    sim.start();
    sim.run(1000);
    assert.deepEqual(podRequests(sim, 0), ['watch-list 200', 'page 200', 'watch 200']);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
    const from = sim.exchanges.length;
    sim.compact();
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(10_000);
    assert.deepEqual(podRequests(sim, from).slice(-3), ['watch-list 200', 'page 200', 'watch 200']);
    assert.deepEqual(endpointsTable(sim), ['default/web | 10.0.0.1 : http:8080/TCP']);
  });
});

describe('a pod that is listed again', () => {
  const cached = (sim: Sim): PodRecord => getPod(sim.loop!.state.index, 'default', 'web-1')!;
  const listAgain = (sim: Sim): void => {
    sim.compact();
    sim.run(10_000);
  };

  it('a pod that is listed as before stays the cached object', () => {
    const sim = settled();
    const before = cached(sim);
    listAgain(sim);
    assert.equal(cached(sim), before);
  });

  it('a pod listed with another version only is known by that version', () => {
    const sim = settled();
    const { metadata } = edit(sim, `${PODS}/web-1`, { annotations: { seen: 'yes' } });
    listAgain(sim);
    assert.equal(cached(sim).resourceVersion, metadata.resourceVersion);
  });
});

describe('an ERROR in the middle of a watch', () => {
  /** The first event of a pod is replaced by the error: it has to be got in another way. */
  function brokenOffWith(status: Status): string[] {
    const sim = settled();
    const from = sim.exchanges.length;
    let sent = 0;
    sim.tamper = (bytes, { path }) =>
      path.startsWith('/api/v1/pods') && sent++ === 0
        ? encodeWatchFrame(PROTOBUF_WATCH, 'ERROR', encodeObject(status))
        : bytes;
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(5000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.2 | 10.0.0.1 : http:8080/TCP']);
    return podRequests(sim, from);
  }

  it('410 Expired within a watch leads to a list', () => {
    assert.deepEqual(brokenOffWith(makeStatus(410, 'Expired', 'too old resource version: 1 (5)')), ['watch-list 200']);
  });

  it('after 429 within a watch the watch goes on', () => {
    assert.deepEqual(brokenOffWith(makeStatus(429, 'TooManyRequests', 'later')), ['look 200', 'watch 200']);
  });

  it('500 within a watch leads to a list', () => {
    assert.deepEqual(brokenOffWith(makeStatus(500, 'InternalError', 'etcd lost')), ['watch-list 200']);
  });
});

describe('a server that answers in JSON alone', () => {
  for (const watchList of [true, false]) {
    it(`a server with JSON alone serves ${watchList ? 'WatchLists' : 'pages'}, watches and replies`, () => {
      const sim = settled({ answersInJson: true, options: { watchList } });
      setPodStatus(sim, { name: 'web-1', ready: false });
      sim.run(2000);
      assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.2 | 10.0.0.1 : http:8080/TCP']);
      assert.equal(writesOf(sim).length, 2);
      deleteObject(sim, '/api/v1/namespaces/default/pods/web-2');
      sim.run(2000);
      assert.deepEqual(endpointsTable(sim), ['default/web | 10.0.0.1 : http:8080/TCP']);
      assert.equal(metric(sim, 'endpointd_decode_errors_total'), 0);
      assert.deepEqual(samples(sim.metrics!, 'endpointd_foreign_edits_total', 0), []);
      sim.kill();
      sim.start();
      sim.run(5000);
      assert.equal(writesOf(sim).length, 3, 'a restart finds nothing to do');
    });
  }
});

describe('bytes that are no Kubernetes', () => {
  const garbage = (): Uint8Array => Buffer.from('0000000affffffffffffffffffff', 'hex');

  it('foreign bytes in a watch restart the stream, name the resource, empty nothing', () => {
    const sim = settled();
    const writes = writesOf(sim).length;
    let broken = 0;
    sim.tamper = (bytes, { path }) => (path.startsWith('/api/v1/pods') && broken++ < 1 ? garbage() : bytes);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(20_000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.2 | 10.0.0.1 : http:8080/TCP']);
    assert.equal(writesOf(sim).length, writes + 1);
    const errors = samples(sim.metrics!, 'endpointd_decode_errors_total', 0).filter(({ value }) => value > 0);
    assert.deepEqual(errors, [{ labels: { resource: 'pods' }, value: 1 }]);
    const lines = sim.logLines.filter(({ level }) => level === 'error');
    assert.deepEqual(
      lines.map(({ message, fields }) => [message, fields['resource'], fields['what']]),
      [['What the API server sent cannot be decoded', 'pods', 'stream']],
    );
  });

  it('foreign bytes in every watch of a resource lead to lists', () => {
    const sim = settled();
    sim.tamper = (bytes, { path, stream }) => (stream && path.startsWith('/api/v1/pods') ? garbage() : bytes);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(120_000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.2 | 10.0.0.1 : http:8080/TCP']);
  });

  it('foreign bytes in one object of a page leave out that object, known state stays', () => {
    const sim = settled({ options: { watchList: false }, answersInJson: true });
    const spoiled = (bytes: Uint8Array): Buffer =>
      Buffer.from(Buffer.from(bytes).toString().replace('"podIPs":[{"ip":"10.0.0.1"}]', '"podIPs":{}'));
    sim.tamper = (bytes, { path }) => (path.startsWith('/api/v1/pods?limit') ? spoiled(bytes) : bytes);
    let refused = 0;
    sim.refuse = ({ path }) => (path.startsWith('/api/v1/pods?watch') && refused++ === 0 ? 410 : 0);
    sim.cutWatches();
    setPodStatus(sim, { name: 'web-2', ready: false });
    sim.run(20_000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 | 10.0.0.2 : http:8080/TCP']);
    const errors = samples(sim.metrics!, 'endpointd_decode_errors_total', 0).filter(({ value }) => value > 0);
    assert.deepEqual(errors, [{ labels: { resource: 'pods' }, value: 1 }]);
  });

  /** web-2 was deleted while no watch ran, and these parts of web-1 are replaced in the list that follows. */
  function spoiledList(...parts: readonly (readonly [from: string, to: string])[]): Sim {
    const sim = settled({ options: { watchList: false }, answersInJson: true });
    let spoiled = 0;
    sim.tamper = (bytes, { path }) => {
      if (!path.startsWith('/api/v1/pods?limit=500') || spoiled++ > 0) return bytes;
      const text = Buffer.from(bytes).toString();
      for (const [from] of parts) assert.ok(text.includes(from), from);
      return Buffer.from(parts.reduce((changed, [from, to]) => changed.replace(from, to), text));
    };
    sim.down();
    deleteObject(sim, `${PODS}/web-2`);
    sim.compact();
    sim.run(1000);
    sim.up();
    sim.run(20_000);
    assert.equal(spoiled, 1);
    return sim;
  }
  const NO_IPS = ['"podIPs":[{"ip":"10.0.0.1"}]', '"podIPs":{}'] as const;

  it('a pod that a list could not read keeps its address, and what is gone goes', () => {
    const sim = spoiledList(NO_IPS);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
  });

  it('a list with a pod without a readable name is made up for when the watch ends', () => {
    const sim = spoiledList(NO_IPS, ['"name":"web-1"', '"name":""']);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 10.0.0.2 : http:8080/TCP'], 'nothing is removed');
    sim.run(15 * 60_000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
  });

  it('foreign bytes in all answers about a resource leave its state as it is', () => {
    const sim = settled();
    sim.tamper = (bytes, { path }) => (path.startsWith('/api/v1/pods') ? garbage() : bytes);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(120_000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 10.0.0.2 : http:8080/TCP']);
    sim.tamper = (bytes) => bytes;
    sim.run(120_000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.2 | 10.0.0.1 : http:8080/TCP']);
  });
});

describe('a watch that is damaged before it breaks', () => {
  const GARBAGE = Buffer.from('0000000affffffffffffffffffff', 'hex');

  /**
   * Changes the bytes of the first piece of the resource's watch that holds `text`, and lets it end in garbage. Returns
   * whether that has happened.
   */
  function damage(
    sim: Sim,
    resource: string,
    text: string,
    change: (bytes: Buffer, at: number) => void,
  ): () => boolean {
    let isDone = false;
    sim.tamper = (bytes, { path, stream }) => {
      const at = Buffer.from(bytes).indexOf(text);
      if (isDone || at < 0 || !stream || !path.startsWith(`/api/v1/${resource}?`)) return bytes;
      isDone = true;
      const changed = Buffer.from(bytes);
      change(changed, at);
      assert.ok(!changed.equals(bytes));
      return Buffer.concat([changed, GARBAGE]);
    };
    return () => isDone;
  }

  /** The object of the next write gets a version that is too high: the first digit of its field becomes 9. */
  function raiseNextVersion(sim: Sim, resource: string): () => boolean {
    const version = String(sim.server.revision + 1);
    // Field 6 of the metadata, then its length.
    const field = `2${String.fromCharCode(version.length)}`;
    return damage(sim, resource, field + version, (bytes, at) => bytes.write('9', at + field.length));
  }

  it('a pod with too high a version gives way to the list that follows', () => {
    const sim = settled();
    const isDone = raiseNextVersion(sim, 'pods');
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(5000);
    assert.ok(isDone());
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.2 | 10.0.0.1 : http:8080/TCP']);
    setPodStatus(sim, { name: 'web-1', ready: true });
    sim.run(5000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 10.0.0.2 : http:8080/TCP']);
    assert.equal(metric(sim, 'endpointd_history_resets_total'), 0);
  });

  it('an own write while a list is awaited shows nothing of history', () => {
    const sim = settled();
    const isDone = raiseNextVersion(sim, 'endpoints');
    edit(sim, `${ENDPOINTS}/web`, { labels: { theirs: 'yes' } });
    sim.run(100);
    assert.ok(isDone());
    const from = sim.exchanges.length;
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(500);
    setPodStatus(sim, { name: 'web-1', ready: true });
    sim.run(20_000);
    assert.deepEqual(podRequests(sim, from), []);
    assert.equal(metric(sim, 'endpointd_history_resets_total'), 0);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 10.0.0.2 : http:8080/TCP']);
  });

  it('Endpoints that planning could not decode are planned after the list', () => {
    const sim = settled();
    // The address claims to be longer than the subset that it is in.
    const isDone = damage(sim, 'endpoints', '10.0.0.1', (bytes, at) => (bytes[at - 1] = 0x7f));
    edit(sim, `${ENDPOINTS}/web`, { labels: { theirs: 'yes' } });
    sim.run(1000);
    assert.ok(isDone());
    assert.deepEqual(samples(sim.metrics!, 'endpointd_stuck_service', 0).length, 1);
    sim.run(10_000);
    assert.deepEqual(samples(sim.metrics!, 'endpointd_stuck_service', 0), []);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(2000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.2 | 10.0.0.1 : http:8080/TCP']);
  });

  it("a damaged annotation of another writer's is not written to the server", () => {
    const sim = settled();
    const isDone = damage(sim, 'endpoints', 'hello', (bytes, at) => bytes.write('hellO', at));
    const { annotations } = sim.request('GET', `${ENDPOINTS}/web`).metadata;
    edit(sim, `${ENDPOINTS}/web`, { annotations: { ...annotations, theirs: 'hello' } });
    sim.run(10_000);
    assert.ok(isDone());
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(2000);
    const { metadata } = sim.request('GET', `${ENDPOINTS}/web`);
    assert.equal(metadata.annotations?.['theirs'], 'hello');
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.2 | 10.0.0.1 : http:8080/TCP']);
  });
});
