/** Lists whose pages are too big for the transport: they go on with smaller ones, and those grow again. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPod, createService, createSim, endpointsTable, type Sim, type SimConfig } from '../support/sim.ts';
import { samples } from '../../src/metrics/store.ts';

/** `limit status`, from the second page on with `+`, of each page of pods since `from`. */
function podPages(sim: Sim, from = 0): string[] {
  return sim.exchanges
    .slice(from)
    .filter(({ path }) => path.startsWith('/api/v1/pods?limit'))
    .map(({ path, status }) => {
      const query = new URLSearchParams(path.split('?')[1]);
      return `${query.has('continue') ? '+' : ''}${query.get('limit')} ${status}`;
    });
}

function cachedPods(sim: Sim): number | undefined {
  const cached = samples(sim.metrics!, 'endpointd_cache_objects', 0);
  return cached.find(({ labels }) => labels['resource'] === 'pods')?.value;
}

/** So many pods, listed in pages of at most so many bytes; a pod has some 300. */
function withPods(count: number, pageBytesMax: number, config: SimConfig = {}): Sim {
  const sim = createSim({ options: { watchList: false }, ...config });
  createService(sim, { name: 'web' });
  for (let i = 0; i < count; i++) createPod(sim, { name: `web-${i}`, ip: `10.0.${i >> 8}.${i & 255}` });
  limitPages(sim, pageBytesMax);
  sim.start();
  return sim;
}

function limitPages(sim: Sim, bytesMax: number): void {
  sim.pageBytesMax = ({ path }) => (path.startsWith('/api/v1/pods') ? bytesMax : Infinity);
}

function listAgain(sim: Sim): string[] {
  const from = sim.exchanges.length;
  // What is compacted has to be newer than what the watch has seen.
  createService(sim, { name: `at-${from}`, spec: { selector: null } });
  sim.compact();
  sim.run(10_000);
  const [look, ...pages] = podPages(sim, from);
  assert.equal(look, '1 200', 'before the watch that is too old');
  return pages;
}

describe('a page that is too big', () => {
  it('a page of 300 pods of 250 KB is halved at once, and the list is complete', () => {
    const sim = createSim({ options: { watchList: false } });
    createService(sim, { name: 'web' });
    const annotations = { big: 'x'.repeat(250_000) };
    for (let i = 0; i < 300; i++) {
      sim.request('POST', '/api/v1/namespaces/default/pods', {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: `big-${i}`, labels: { app: 'web' }, annotations },
        spec: { containers: [{ name: 'main', image: 'main:1' }] },
      });
    }
    sim.start();
    sim.run(5000);
    assert.deepEqual(podPages(sim), ['500 200', '250 200', '+250 200']);
    assert.equal(cachedPods(sim), 300);
    assert.deepEqual(
      sim.loop!.readiness().filter(({ ok }) => !ok),
      [],
    );
  });

  it('a big page within a list is asked for again alone', () => {
    const sim = withPods(600, Infinity);
    let pages = 0;
    sim.pageBytesMax = ({ path }) => (path.startsWith('/api/v1/pods') && ++pages === 2 ? 1000 : Infinity);
    sim.run(5000);
    assert.deepEqual(podPages(sim), ['500 200', '+500 200', '+250 200']);
    assert.equal(cachedPods(sim), 600);
  });

  it('the next lists keep the page size that fitted, which grows again', () => {
    const sim = withPods(600, 20_000);
    sim.run(5000);
    assert.equal(cachedPods(sim), 600);
    assert.deepEqual(podPages(sim).slice(0, 5), ['500 200', '250 200', '125 200', '62 200', '31 200']);
    limitPages(sim, Infinity);
    assert.deepEqual(listAgain(sim), ['62 200', '+124 200', '+248 200', '+496 200']);
    assert.deepEqual(listAgain(sim), ['496 200', '+500 200']);
    assert.equal(cachedPods(sim), 600);
  });

  it('a big page with one object is tried again with pauses, and logged', () => {
    const sim = withPods(3, 10);
    sim.run(60_000);
    assert.ok(podPages(sim).length < 20, `${podPages(sim).length} pages in a minute`);
    const warning = sim.logLines.find(({ level, fields }) => level === 'warning' && fields['resource'] === 'pods');
    assert.equal(warning?.message, 'List is tried again');
    assert.match(String(warning?.fields['err']), /^too-big: /);
    limitPages(sim, Infinity);
    sim.run(40_000);
    assert.equal(cachedPods(sim), 3);
    assert.equal(endpointsTable(sim).length, 1);
  });
});

describe('a server that refuses WatchList', () => {
  it('a server that refuses WatchList is asked for it again with each list', () => {
    const sim = withPods(1, Infinity, { options: { watchList: true } });
    sim.refuse = ({ path }) => (path.includes('sendInitialEvents') ? 422 : 0);
    sim.run(5000);
    assert.deepEqual(podPages(sim), ['500 200']);
    assert.deepEqual(listAgain(sim), ['500 200']);
    sim.refuse = () => 0;
    const from = sim.exchanges.length;
    assert.deepEqual(listAgain(sim), []);
    assert.ok(sim.exchanges.slice(from).some(({ path }) => path.startsWith('/api/v1/pods') && path.includes('sendIn')));
  });
});

describe('a page that is refused', () => {
  it('a page is asked for again alone, whether it was refused, lost, or both', () => {
    const sim = withPods(1200, Infinity);
    const answers = [0, 429, 503, 0];
    sim.refuse = ({ path }) => (path.startsWith('/api/v1/pods?limit') ? (answers.shift() ?? 0) : 0);
    sim.run(20_000);
    assert.deepEqual(podPages(sim), ['500 200', '+500 429', '+500 503', '+500 200', '+500 200']);
    assert.equal(cachedPods(sim), 1200);
    const warning = sim.logLines.find(({ level, fields }) => level === 'warning' && fields['resource'] === 'pods');
    assert.equal(warning?.message, 'Page of a list is tried again');
  });

  it('the list begins again where the server has forgotten where it stood', () => {
    const sim = withPods(600, Infinity);
    const answers = [0, 503, 410];
    sim.refuse = ({ path }) => (path.startsWith('/api/v1/pods?limit') ? (answers.shift() ?? 0) : 0);
    sim.run(20_000);
    assert.deepEqual(podPages(sim), ['500 200', '+500 503', '+500 410', '500 200', '+500 200']);
    assert.equal(cachedPods(sim), 600);
  });

  it('what goes while a page is awaited is gone at the end of the list', () => {
    const sim = withPods(600, Infinity);
    const answers = [0, 503];
    sim.refuse = ({ path }) => (path.startsWith('/api/v1/pods?limit') ? (answers.shift() ?? 0) : 0);
    sim.run(500);
    for (const name of ['web-1', 'web-99'])
      sim.request('DELETE', `/api/v1/namespaces/default/pods/${name}?gracePeriodSeconds=0`);
    sim.run(20_000);
    assert.equal(cachedPods(sim), 598);
  });
});
