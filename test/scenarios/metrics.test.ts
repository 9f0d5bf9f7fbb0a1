/** What a scraper reads after a busy morning: every metric has something to say, once, as a number. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPod, createService, createSim, deleteObject, setPodStatus, type Sim } from '../support/sim.ts';
import { CATALOGUE } from '../../src/metrics/catalogue.ts';
import { gauge } from '../../src/metrics/store.ts';
import { createRegistry } from '../../src/node/metrics-registry.ts';

const ENDPOINTS = '/api/v1/namespaces/default/endpoints';
/** `name{labels} value`, the value a number. */
const SAMPLE = /^([a-zA-Z_:][\w:]*)(\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\.)*",?)*\})? (-?[\d.]+(?:e[+-]?\d+)?)$/;
/** Of the adapters around the loop, which a simulation does not have: test/node shows them. */
const OUTSIDE_THE_LOOP = /^rest_client_re(quest|sponse)|^endpointd_shard_heap_bytes$/;
/** Of controllers that do not run in this story. */
const NOT_RUNNING = /^endpoint_slice_|^endpointd_services_waiting_for_node$/;

/** Writes, failures, a lost shard, a poisonous service, foreign edits, orphans, events, an undecodable stream. */
function busy(): Sim {
  let poisoned = false;
  const sim = createSim({
    poison: (batch) => {
      if (poisoned && Buffer.from(batch).includes('bad-')) throw new Error('poison');
    },
  });
  createService(sim, { name: 'web' });
  createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
  createPod(sim, { name: 'local', ip: '169.254.7.7' });
  sim.request('POST', ENDPOINTS, { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'orphan' } });
  sim.start();
  sim.run(2000);
  let conflicts = 0;
  sim.refuse = ({ method }) => (method === 'PUT' && conflicts++ === 0 ? 409 : 0);
  setPodStatus(sim, { name: 'web-1', ready: false });
  sim.run(5000);
  const object = sim.request('GET', `${ENDPOINTS}/web`);
  sim.request('PUT', `${ENDPOINTS}/web`, { ...object, subsets: [] });
  sim.run(5000);
  poisoned = true;
  createService(sim, { name: 'bad-one' });
  sim.run(60_000);
  let broken = 0;
  sim.tamper = (bytes, { path }) =>
    path.startsWith('/api/v1/pods') && broken++ === 0 ? Buffer.from('0000000affffffffffffffffffff', 'hex') : bytes;
  setPodStatus(sim, { name: 'web-1', ready: true });
  sim.run(20_000);
  gauge(sim.metrics!, 'endpointd_build_info', { version: '0.1.0', node: 'v26.0.0' }).set(1);
  return sim;
}

/** Lines without those of the runtime, whose means are no numbers before their first sample. */
async function scrape(sim: Sim): Promise<string[]> {
  const text = await createRegistry(sim.metrics!, () => sim.nowMs()).text();
  return text.split('\n').filter((line) => line !== '' && !/^(# \w+ )?nodejs_/.test(line));
}

describe('a scrape', () => {
  it('announces each metric once, and holds nothing but numbers, each series once', async () => {
    const lines = await scrape(busy());
    const announced = lines.filter((line) => line.startsWith('# TYPE ')).map((line) => line.split(' ')[2]!);
    assert.deepEqual(announced.toSorted(), [...new Set(announced)].toSorted());
    const series = lines
      .filter((line) => !line.startsWith('#'))
      .map((line) => {
        const [, name = '', labels = ''] = SAMPLE.exec(line) ?? assert.fail(line);
        return { name, key: name + labels };
      });
    assert.equal(new Set(series.map(({ key }) => key)).size, series.length);
    const families = new Set(announced);
    for (const { name } of series) {
      assert.ok(families.has(name) || families.has(name.replace(/_(bucket|sum|count)$/, '')), name);
    }
  });

  it('has a series of every metric of the catalogue', async () => {
    const lines = await scrape(busy());
    const silent = CATALOGUE.map(({ name }) => name).filter(
      (name) =>
        !lines.some(
          (line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `) || line.startsWith(`${name}_count`),
        ),
    );
    assert.deepEqual(
      silent.filter((name) => !OUTSIDE_THE_LOOP.test(name) && !NOT_RUNNING.test(name)),
      [],
    );
  });

  it('counts what the story did', async () => {
    const lines = await scrape(busy());
    for (const line of [
      'endpointd_write_conflicts_total 1',
      'endpointd_foreign_edits_total 1',
      'endpointd_orphans_kept_total 1',
      'endpointd_stuck_service{controller="endpoints",namespace="default",service="bad-one",class="poison"} 1',
      'endpointd_decode_errors_total{resource="pods"} 1',
      'endpointd_watch_up{resource="pods"} 1',
      'workqueue_depth{name="endpoint"} 0',
    ]) {
      assert.ok(
        lines.includes(line),
        `${line}\nis not in\n${lines.filter((l) => l.startsWith(line.split(/[{ ]/)[0]!)).join('\n')}`,
      );
    }
  });

  it('tells how much each cache holds', async () => {
    const sim = createSim();
    createService(sim, { name: 'web' });
    createService(sim, { name: 'unselecting', spec: { selector: null } });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
    sim.request('POST', ENDPOINTS, { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'orphan' } });
    sim.start();
    sim.run(2000);
    deleteObject(sim, '/api/v1/namespaces/default/pods/web-2');
    sim.run(2000);
    const held = (await scrape(sim)).filter((line) => line.startsWith('endpointd_cache_objects{'));
    const services = (sim.request('GET', '/api/v1/services') as unknown as { items: object[] }).items.length;
    const endpoints = (sim.request('GET', '/api/v1/endpoints') as unknown as { items: object[] }).items.length;
    assert.deepEqual(held, [
      `endpointd_cache_objects{resource="endpoints"} ${endpoints}`,
      `endpointd_cache_objects{resource="services"} ${services}`,
      'endpointd_cache_objects{resource="pods"} 1',
    ]);
  });
});
