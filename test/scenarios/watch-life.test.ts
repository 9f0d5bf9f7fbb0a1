/** Streams that stay open and bring nothing: life is whole frames, and a stream without life is replaced. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPod, createService, createSim, endpointsTable, setPodStatus, type Sim } from '../support/sim.ts';
import { podLines, podRequests, settled } from '../support/settled.ts';
import type { HttpRequest } from '../../src/ports/transport.ts';
import { samples } from '../../src/metrics/store.ts';

const BOTH_READY = ['default/web 10.0.0.1 10.0.0.2 : http:8080/TCP'];
const ONE_READY = ['default/web 10.0.0.2 | 10.0.0.1 : http:8080/TCP'];

function ofPods({ path }: HttpRequest): boolean {
  return path.startsWith('/api/v1/pods');
}

function podRestarts(sim: Sim): number {
  const all = samples(sim.metrics!, 'endpointd_watch_restarts_total', 0);
  return all.find(({ labels }) => labels['resource'] === 'pods')?.value ?? 0;
}

/** Takes what the server says away, and sends as many bytes of a frame of 15 MiB that is never whole. */
function endlessFrame(): (bytes: Uint8Array, request: HttpRequest) => Uint8Array {
  let begun = false;
  return (bytes, request) => {
    if (!ofPods(request)) return bytes;
    const piece = Buffer.alloc(bytes.length);
    if (!begun) piece.writeUInt32BE(15 * 2 ** 20);
    begun = true;
    return piece;
  };
}

describe('a watch that stays open and silent', () => {
  it('a silent watch is replaced after 150 s, and nothing is missed', () => {
    const sim = settled();
    sim.run(60_000);
    const from = sim.exchanges.length;
    sim.muteWatches = true;
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(140_000);
    assert.deepEqual(podRequests(sim, from), []);
    assert.deepEqual(endpointsTable(sim), BOTH_READY);
    sim.muteWatches = false;
    sim.run(15_000);
    assert.deepEqual(podRequests(sim, from), ['look 200', 'watch 200']);
    assert.deepEqual(endpointsTable(sim), ONE_READY);
  });

  it('a silent watch is no alarm: one line at info, and the count of restarts', () => {
    const sim = settled();
    const restarts = podRestarts(sim);
    const lines = sim.logLines.length;
    sim.muteWatches = true;
    sim.run(200_000);
    assert.deepEqual(podLines(sim, lines), ['info Watch is opened anew']);
    const line = sim.logLines.slice(lines).find(({ message }) => message === 'Watch is opened anew');
    assert.match(line!.fields['reason'] as string, /150/);
    assert.equal(sim.logLines.slice(lines).filter(({ level }) => level !== 'info').length, 0);
    assert.equal(podRestarts(sim), restarts + 1);
  });

  it('a watch with bookmarks is left alone', () => {
    const sim = settled();
    const from = sim.exchanges.length;
    sim.run(290_000);
    assert.deepEqual(podRequests(sim, from), []);
  });
});

describe('a watch that a load balancer cuts because nothing happens', () => {
  it('the next watch follows at once, without an alarm, and nothing is missed', () => {
    const sim = settled();
    const [from, lines, restarts] = [sim.exchanges.length, sim.logLines.length, podRestarts(sim)];
    for (let i = 1; i <= 3; i++) {
      sim.run(20_000);
      for (const open of sim.connections) if (open.path.startsWith('/api/v1/pods')) open.reset();
      // Long before the first pause of a try again.
      sim.run(500);
      assert.deepEqual(podRequests(sim, from), Array.from({ length: i }, () => ['look 200', 'watch 200']).flat());
    }
    assert.equal(podRestarts(sim), restarts + 3);
    assert.equal(sim.logLines.slice(lines).filter(({ level }) => level !== 'info').length, 0);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(1000);
    assert.deepEqual(endpointsTable(sim), ONE_READY);
  });

  it('a watch that has just told something is tried again after a pause', () => {
    const sim = settled();
    sim.run(20_000);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(5000);
    const from = sim.exchanges.length;
    for (const open of sim.connections) if (open.path.startsWith('/api/v1/pods')) open.reset();
    sim.run(500);
    assert.deepEqual(podRequests(sim, from), []);
    sim.run(2000);
    assert.deepEqual(podRequests(sim, from), ['look 200', 'watch 200']);
  });
});

describe('bytes without a whole frame', () => {
  it('single bytes are no sign of life: a list follows after 150 s', () => {
    const sim = settled();
    const from = sim.exchanges.length;
    sim.trickleWatches = true;
    for (let i = 0; i < 5; i++) setPodStatus(sim, { name: 'web-1', ready: i % 2 === 1 });
    sim.run(145_000);
    sim.trickleWatches = false;
    sim.run(5000);
    assert.deepEqual(podRequests(sim, from), ['watch-list 200']);
    assert.deepEqual(endpointsTable(sim), ONE_READY);
  });

  it('bytes of an endless frame of 15 MiB are no sign of life', () => {
    const sim = settled();
    const from = sim.exchanges.length;
    sim.tamper = endlessFrame();
    for (let i = 1; i <= 14; i++) {
      setPodStatus(sim, { name: 'web-1', ready: i % 2 === 1 });
      sim.run(10_000);
    }
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.tamper = (bytes) => bytes;
    sim.run(10_000);
    assert.deepEqual(podRequests(sim, from), ['watch-list 200']);
    assert.deepEqual(endpointsTable(sim), ONE_READY);
  });

  it('bytes that end in a frame within 150 s are a sign of life: slow lines work', () => {
    const sim = settled();
    const from = sim.exchanges.length;
    let frame: Uint8Array = new Uint8Array(0);
    sim.tamper = (bytes, request) => {
      if (!ofPods(request)) return bytes;
      if (frame.length === 0) {
        frame = bytes;
        return bytes.subarray(0, 100);
      }
      // The rest comes with the bookmark a minute later.
      const rest = Buffer.concat([frame.subarray(100), bytes]);
      frame = new Uint8Array(0);
      return rest;
    };
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(100);
    assert.deepEqual(endpointsTable(sim), BOTH_READY);
    sim.run(125_000);
    assert.deepEqual(endpointsTable(sim), ONE_READY);
    assert.deepEqual(podRequests(sim, from), []);
  });
});

describe('a frame without a version', () => {
  for (const [name, type] of [
    ['a bookmark', 'BOOKMARK'],
    ['an event', 'MODIFIED'],
  ] as const) {
    it(`a frame without a version is refused, and asked for again: ${name}`, () => {
      const sim = settled({ answersInJson: true });
      const from = sim.exchanges.length;
      sim.tamper = (bytes, request) => {
        const text = Buffer.from(bytes).toString();
        if (!ofPods(request) || !text.includes(`"type":"${type}"`)) return bytes;
        return Buffer.from(text.replace(/"resourceVersion":"\d+"/, '"resourceVersion":""'));
      };
      setPodStatus(sim, { name: 'web-1', ready: false });
      sim.run(125_000);
      assert.ok(podRequests(sim, from).some((line) => line.startsWith('watch')));
      const told = sim.logLines.map(({ fields }) => String(fields?.['reason'] ?? fields?.['err'] ?? ''));
      assert.ok(
        told.some((text) => text.includes('resourceVersion: missing')),
        told.join('\n'),
      );
      sim.tamper = (bytes) => bytes;
      // The watches that it has opened end by themselves meanwhile.
      sim.run(700_000);
      assert.deepEqual(endpointsTable(sim), ONE_READY);
    });
  }
});

describe('a watch past its timeoutSeconds', () => {
  it('a watch is ended half a minute past its timeoutSeconds, and goes on', () => {
    const sim = settled();
    const asked = sim.exchanges.find(({ path }) => path.startsWith('/api/v1/pods?watch'))!;
    const seconds = Number(new URLSearchParams(asked.path.split('?')[1]).get('timeoutSeconds'));
    const from = sim.exchanges.length;
    sim.keepEndsBack = true;
    sim.run(asked.atMs + seconds * 1000 + 29_000 - sim.nowMs());
    assert.deepEqual(podRequests(sim, from), []);
    sim.run(2000);
    assert.deepEqual(podRequests(sim, from), ['look 200', 'watch 200']);
    assert.deepEqual(podLines(sim).at(-1), 'info Watch is opened anew');
  });
});

describe('a WatchList whose end bookmark does not come', () => {
  /** The bookmark at the end of the initial events is lost, of the first `times` streams. */
  function endLost(times: number): Sim {
    const sim = createSim();
    createService(sim, { name: 'web' });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    let lost = 0;
    sim.tamper = (bytes, request) =>
      ofPods(request) && Buffer.from(bytes).includes('initial-events-end') && lost++ < times
        ? new Uint8Array(0)
        : bytes;
    sim.start();
    return sim;
  }

  it('a WatchList without a frame for 30 s is given up: pages once, and one warning', () => {
    const sim = endLost(1);
    sim.run(29_000);
    assert.deepEqual(podRequests(sim, 0), ['watch-list 200']);
    sim.run(2000);
    assert.deepEqual(podRequests(sim, 0), ['watch-list 200', 'page 200', 'watch 200']);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
    const warnings = podLines(sim).filter((line) => line.startsWith('warning'));
    assert.deepEqual(warnings, ['warning WatchList is given up, listing in pages']);
  });

  it('the next list is a WatchList again', () => {
    const sim = endLost(1);
    sim.run(40_000);
    const from = sim.exchanges.length;
    sim.compact();
    sim.run(10_000);
    assert.deepEqual(podRequests(sim, from), ['look 200', 'watch 200', 'watch-list 200']);
  });

  it('a WatchList is not tried again before a list in pages is complete', () => {
    const sim = endLost(1);
    let pages = 0;
    sim.refuse = (request) => (request.path.startsWith('/api/v1/pods?limit') && pages++ < 2 ? 500 : 0);
    sim.run(60_000);
    assert.deepEqual(podRequests(sim, 0), ['watch-list 200', 'page 500', 'page 500', 'page 200', 'watch 200']);
  });

  it('a WatchList that is cut twice while it tells objects gives way to pages', () => {
    const sim = endLost(Infinity);
    // Sooner than the 30 s of silence.
    const cut = (): void => {
      for (const open of sim.connections) {
        if (open.path.startsWith('/api/v1/pods') && open.path.includes('sendInitialEvents')) open.reset();
      }
      sim.at(sim.nowMs() + 10_000, cut);
    };
    sim.at(10_000, cut);
    sim.run(60_000);
    assert.deepEqual(podRequests(sim, 0), ['watch-list 200', 'watch-list 200', 'page 200', 'watch 200']);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
  });

  it('a WatchList is given up at the first bookmark that is not the end', () => {
    const sim = createSim();
    createService(sim, { name: 'web' });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    sim.tamper = (bytes, request) =>
      ofPods(request)
        ? Buffer.from(
            Buffer.from(bytes).toString('latin1').replace('initial-events-end', 'initial-events-eno'),
            'latin1',
          )
        : bytes;
    sim.start();
    sim.run(1000);
    assert.deepEqual(podRequests(sim, 0), ['watch-list 200', 'page 200', 'watch 200']);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
  });

  it('a WatchList is not given up while objects come, however long that takes', () => {
    const sim = createSim();
    createService(sim, { name: 'web' });
    for (let i = 1; i <= 8; i++) createPod(sim, { name: `web-${i}`, ip: `10.0.0.${i}` });
    let pieces = 0;
    sim.lag = (request) => ({ toMs: 0, backMs: ofPods(request) ? 20_000 * pieces++ : 0 });
    sim.start();
    sim.run(155_000);
    assert.deepEqual(podRequests(sim, 0), ['watch-list 200']);
    assert.deepEqual(endpointsTable(sim), []);
    sim.run(30_000);
    assert.deepEqual(podRequests(sim, 0), ['watch-list 200']);
    assert.equal(endpointsTable(sim).length, 1);
  });

  it('a given-up WatchList leaves no objects that were deleted meanwhile', () => {
    const sim = endLost(1);
    createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
    sim.run(1000);
    sim.muteWatches = true;
    sim.request('DELETE', '/api/v1/namespaces/default/pods/web-2', { gracePeriodSeconds: 0 });
    sim.run(28_000);
    sim.muteWatches = false;
    sim.run(5000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
  });

  it('the log says every 10 s what a WatchList waits for, and how many have come', () => {
    const sim = endLost(1);
    sim.run(25_000);
    const lines = sim.logLines.filter(({ message }) => message === 'List is under way');
    assert.deepEqual(
      lines.map(({ level, v, fields }) => [level, v, fields]),
      [10, 20].map((seconds) => [
        'info',
        0,
        { resource: 'pods', waitsFor: 'the bookmark at the end', objects: 1, seconds },
      ]),
    );
  });

  it('a WatchList without an answer for 30 s fails, and is asked for again', () => {
    let asked = 0;
    const sim = createSim();
    createService(sim, { name: 'web' });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    sim.lag = (request) => ({ toMs: 0, backMs: ofPods(request) && asked++ === 0 ? 3600_000 : 0 });
    sim.start();
    sim.run(35_000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
  });
});
