/** What a scraper reads after a busy morning: every metric has something to say, once, as a number. */
import assert from 'node:assert/strict';
import { leadershipOf } from '../support/election-world.ts';
import { describe, it } from 'node:test';
import { createPod, createService, createSim, deleteObject, setPodStatus, type Sim } from '../support/sim.ts';
import {
  createNode,
  edit,
  ENDPOINTS,
  makeEndpoints,
  removeLabels,
  SERVICES,
  setPodIPs,
} from '../support/sim-objects.ts';
import { metric } from '../support/sim-reports.ts';
import { createSliceSim } from '../support/sim-slices.ts';
import { CATALOGUE } from '../../src/metrics/catalogue.ts';
import { gauge } from '../../src/metrics/store.ts';
import { createRegistry } from '../../src/node/metrics-registry.ts';

/** `name{labels} value`, the value a number. */
const SAMPLE = /^([a-zA-Z_:][\w:]*)(\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\.)*",?)*\})? (-?[\d.]+(?:e[+-]?\d+)?)$/;
/** Of the adapters around the loop, which a simulation does not have: test/node and test/cli show them. */
const OUTSIDE_THE_LOOP =
  /^rest_client_re(quest|sponse)|^endpointd_(heap_|shard_heap_|log_|missing_rights|(client|serving)_certificate_)/;

/**
 * Writes, failures, a lost shard, a poisonous service, foreign edits, orphans, events, an undecodable stream, a restore
 * from a backup.
 */
function busy(): Sim {
  let poisoned = false;
  const sim = createSim({
    poison: ({ entries }) => {
      if (poisoned && entries.some(({ service }) => service.includes('/bad-'))) throw new Error('poison');
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
  const backup = sim.backup();
  createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
  sim.run(2000);
  sim.restore(backup);
  sim.run(20_000);
  gauge(sim.metrics!, 'endpointd_build_info', { version: '0.1.0', node: 'v26.0.0' }).set(1);
  return sim;
}

/**
 * Of two families, in slices of two: service `web` with three pods, one of them on a node that comes later; Endpoints
 * made by hand of which one address is too many.
 */
function slicesMorning(): Sim {
  const sim = createSliceSim({
    serviceClusterIPRanges: ['10.96.0.0/12', 'fd00:96::/108'],
    options: {
      endpoints: true,
      mirror: true,
      maxEndpointsPerSlice: 2,
      mirroringMaxEndpointsPerSubset: 3,
      endpointsliceUpdatesBatchPeriodMs: 100,
    },
  });
  createService(sim, {
    name: 'web',
    spec: { ipFamilyPolicy: 'RequireDualStack', trafficDistribution: 'PreferClose' },
  });
  for (let i = 1; i <= 3; i++) {
    createPod(sim, { name: `web-${i}`, ip: `10.0.0.${i}`, node: i === 3 ? 'node-new' : 'node-1' });
    setPodIPs(sim, `web-${i}`, [`10.0.0.${i}`, `fd00::${i}`]);
  }
  createService(sim, { name: 'hand', spec: { selector: null } });
  const ips = ['10.9.0.1', '10.9.0.2', '10.9.0.3', '10.9.0.4'];
  makeEndpoints(sim, 'hand', [{ addresses: ips.map((ip) => ({ ip })), ports: [{ port: 80 }] }]);
  sim.start();
  sim.run(5000);
  return sim;
}

function leading(): Sim {
  const takeOver = { from: 'kube-controller-manager', afterMs: 30_000 };
  const sim = createSim({ leadership: { ...leadershipOf('replica'), takeOver } });
  sim.start();
  sim.run(5000);
  return sim;
}

/** Lines without those of the runtime, whose means are no numbers before their first sample. */
async function scrape(sim: Sim): Promise<string[]> {
  const text = await createRegistry(sim.metrics!, () => sim.nowMs()).text();
  return text.split('\n').filter((line) => line !== '' && !/^(# \w+ )?nodejs_/.test(line));
}

describe('a scrape', () => {
  it('a scrape announces each metric once, and has each series once, as a number', async () => {
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

  it('a scrape has a series of every metric of the catalogue', async () => {
    const stories = [busy(), slicesMorning(), leading()];
    const lines = (await Promise.all(stories.map(scrape))).flat();
    const silent = CATALOGUE.map(({ name }) => name).filter(
      (name) =>
        !lines.some(
          (line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `) || line.startsWith(`${name}_count`),
        ),
    );
    assert.deepEqual(
      silent.filter((name) => !OUTSIDE_THE_LOOP.test(name)),
      [],
    );
  });

  it('counters whose labels are known begin at 0, before anything happens', async () => {
    const sim = createSim({ shards: 2 });
    sim.start();
    const lines = await scrape(sim);
    for (const name of ['watch_restarts', 'history_resets', 'decode_errors']) {
      for (const resource of ['endpoints', 'services', 'pods']) {
        assert.ok(lines.includes(`endpointd_${name}_total{resource="${resource}"} 0`), `${name} ${resource}`);
      }
    }
    for (const shard of [0, 1]) assert.ok(lines.includes(`endpointd_shard_restarts_total{shard="${shard}"} 0`));
    assert.ok(lines.includes('endpointd_problems_total{kind="mirror-truncated"} 0'));
    assert.equal(lines.filter((line) => line.startsWith('endpointd_problems_total{')).length, 10);
  });

  it('a scrape counts what has happened', async () => {
    const lines = await scrape(busy());
    for (const line of [
      'endpointd_history_resets_total{resource="pods"} 1',
      // The write that was refused, and one from before the restore.
      'endpointd_write_conflicts_total 2',
      // By hand, and what the restore has brought back.
      'endpointd_foreign_edits_total{manager="unknown"} 2',
      'endpointd_orphans_kept_total 1',
      'endpointd_stuck_service{controller="endpoints",namespace="default",service="bad-one",class="poison"} 1',
      'endpointd_decode_errors_total{resource="pods"} 1',
      'endpointd_watch_up{resource="pods"} 1',
      'workqueue_depth{name="endpoint"} 0',
      'endpointd_services{controller="endpoints",state="known"} 3',
      'endpointd_services{controller="endpoints",state="syncing"} 0',
      'endpointd_services{controller="endpoints",state="stuck"} 1',
    ]) {
      assert.ok(
        lines.includes(line),
        `${line}\nis not in\n${lines.filter((l) => l.startsWith(line.split(/[{ ]/)[0]!)).join('\n')}`,
      );
    }
  });

  it('a scrape tells how much each cache holds', async () => {
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

describe('the metrics of slices (docs/spec/endpointslice.md "Metrics")', () => {
  const COUNTED = /^endpoint_slice_(mirroring_)?controller_\w+?(_sum|_count)?(?<!_bucket)(\{| )/;

  /** What is counted of slices, without buckets, in the order of the names. */
  async function counted(sim: Sim): Promise<Record<string, number>> {
    const lines = (await scrape(sim)).filter((line) => COUNTED.test(line) && !/_rate_limiter_use|_duration/.test(line));
    return Object.fromEntries(
      lines.map((line) => {
        const [, name = '', labels = '', value] = SAMPLE.exec(line) ?? assert.fail(line);
        return [name.replace('endpoint_slice_', '') + labels, Number(value)];
      }),
    );
  }

  /** What is another number after the story has gone on: `before -> after`. */
  async function changed(sim: Sim, before: Record<string, number>): Promise<Record<string, string>> {
    const after = await counted(sim);
    const pairs = Object.entries(after).filter(([name, value]) => before[name] !== value);
    return Object.fromEntries(pairs.map(([name, value]) => [name, `${before[name] ?? 0} -> ${value}`]));
  }

  const PER_SYNC = '{topology="Disabled",traffic_distribution="PreferClose"}';

  it('Services without trafficDistribution are not counted by it', async () => {
    const sim = createSim({ options: { slices: true } });
    createService(sim, { name: 'web' });
    sim.start();
    sim.run(2000);
    const lines = await scrape(sim);
    assert.deepEqual(
      lines.filter((line) => line.startsWith('endpoint_slice_controller_services_count_by_traffic_distribution{')),
      [],
    );
  });

  it('metrics after a start count existing slices, both families together (D6)', async () => {
    assert.deepEqual(await counted(slicesMorning()), {
      // Two of three pods, in two families.
      controller_endpoints_desired: 4,
      controller_num_endpoint_slices: 2,
      controller_desired_endpoint_slices: 2,
      'controller_services_count_by_traffic_distribution{traffic_distribution="PreferClose"}': 1,
      'controller_changes{operation="create"}': 2,
      'controller_changes_total{operation="create"}': 2,
      'controller_syncs{result="success"}': 1,
      // One sync is counted for each family.
      controller_endpoints_added_per_sync_count: 2,
      controller_endpoints_added_per_sync_sum: 4,
      controller_endpoints_removed_per_sync_count: 2,
      controller_endpoints_removed_per_sync_sum: 0,
      [`controller_endpointslices_changed_per_sync_count${PER_SYNC}`]: 2,
      [`controller_endpointslices_changed_per_sync_sum${PER_SYNC}`]: 2,

      mirroring_controller_endpoints_desired: 3,
      mirroring_controller_num_endpoint_slices: 1,
      mirroring_controller_desired_endpoint_slices: 1,
      'mirroring_controller_changes{operation="create"}': 1,
      mirroring_controller_endpoints_added_per_sync_count: 1,
      mirroring_controller_endpoints_added_per_sync_sum: 3,
      mirroring_controller_endpoints_updated_per_sync_count: 1,
      mirroring_controller_endpoints_updated_per_sync_sum: 0,
      mirroring_controller_endpoints_removed_per_sync_count: 1,
      mirroring_controller_endpoints_removed_per_sync_sum: 0,
      mirroring_controller_addresses_skipped_per_sync_count: 1,
      mirroring_controller_addresses_skipped_per_sync_sum: 1,
    });
  });

  it('metrics follow a node that appears: one more pod in each family', async () => {
    const sim = slicesMorning();
    assert.equal(metric(sim, 'endpointd_services_waiting_for_node'), 1);
    const before = await counted(sim);
    createNode(sim, { name: 'node-new', zone: 'zone-b' });
    sim.run(5000);
    assert.equal(metric(sim, 'endpointd_services_waiting_for_node'), 0);
    assert.deepEqual(await changed(sim, before), {
      controller_endpoints_desired: '4 -> 6',
      controller_num_endpoint_slices: '2 -> 4',
      controller_desired_endpoint_slices: '2 -> 4',
      'controller_changes{operation="create"}': '2 -> 4',
      'controller_changes_total{operation="create"}': '2 -> 4',
      'controller_syncs{result="success"}': '1 -> 2',
      controller_endpoints_added_per_sync_count: '2 -> 4',
      controller_endpoints_added_per_sync_sum: '4 -> 6',
      controller_endpoints_removed_per_sync_count: '2 -> 4',
      [`controller_endpointslices_changed_per_sync_count${PER_SYNC}`]: '2 -> 4',
      [`controller_endpointslices_changed_per_sync_sum${PER_SYNC}`]: '2 -> 4',
    });
  });

  it('metrics follow a pod that leaves, and mirrored slices', async () => {
    const sim = slicesMorning();
    const before = await counted(sim);
    removeLabels(sim, 'web-2');
    edit(sim, `${ENDPOINTS}/hand`, {}, { subsets: [{ addresses: [{ ip: '10.9.0.1' }], ports: [{ port: 80 }] }] });
    sim.run(5000);
    assert.deepEqual(await changed(sim, before), {
      controller_endpoints_desired: '4 -> 2',
      'controller_changes{operation="update"}': '0 -> 2',
      'controller_changes_total{operation="update"}': '0 -> 2',
      'controller_syncs{result="success"}': '1 -> 2',
      controller_endpoints_added_per_sync_count: '2 -> 4',
      controller_endpoints_removed_per_sync_count: '2 -> 4',
      controller_endpoints_removed_per_sync_sum: '0 -> 2',
      [`controller_endpointslices_changed_per_sync_count${PER_SYNC}`]: '2 -> 4',
      [`controller_endpointslices_changed_per_sync_sum${PER_SYNC}`]: '2 -> 4',
      mirroring_controller_endpoints_desired: '3 -> 1',
      'mirroring_controller_changes{operation="update"}': '0 -> 1',
      mirroring_controller_endpoints_added_per_sync_count: '1 -> 2',
      mirroring_controller_endpoints_updated_per_sync_count: '1 -> 2',
      mirroring_controller_endpoints_removed_per_sync_count: '1 -> 2',
      mirroring_controller_endpoints_removed_per_sync_sum: '0 -> 2',
      mirroring_controller_addresses_skipped_per_sync_count: '1 -> 2',
    });
  });

  it('metrics forget a deleted Service, and the slices mirrored for one', async () => {
    const sim = slicesMorning();
    for (const name of ['web', 'hand']) deleteObject(sim, `${SERVICES}/${name}`);
    sim.run(5000);
    const after = await counted(sim);
    for (const prefix of ['controller', 'mirroring_controller']) {
      for (const name of ['endpoints_desired', 'num_endpoint_slices', 'desired_endpoint_slices']) {
        assert.equal(after[`${prefix}_${name}`], 0, `${prefix}_${name}`);
      }
    }
    const distributions = Object.keys(after).filter((name) => name.includes('services_count_by'));
    assert.deepEqual(distributions, []);
    assert.equal(metric(sim, 'endpointd_services_waiting_for_node'), 0);
  });

  it('the queues have upstream’s names', async () => {
    const lines = await scrape(slicesMorning());
    for (const name of ['endpoint', 'endpoint_slice', 'endpoint_slice_mirroring']) {
      assert.ok(lines.includes(`workqueue_depth{name="${name}"} 0`), name);
    }
  });

  it('the use of the one token bucket has upstream’s names', () => {
    const sim = slicesMorning();
    edit(sim, `${SERVICES}/web`, { labels: { version: '2' } });
    sim.run(10);
    const used = metric(sim, 'endpoint_slice_controller_rate_limiter_use');
    assert.ok(used > 0 && used <= 1, String(used));
    assert.equal(metric(sim, 'endpoint_slice_mirroring_controller_rate_limiter_use'), used);
  });
});
