/**
 * The alerts and the dashboard of `deploy/` ask for what a run really exports, and the alerts fire on it: two replicas, a service
 * that is stuck and another writer, on the embedded API server; and Prometheus' own promtool.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { request } from 'undici';
import type { MetricName } from '../../src/metrics/catalogue.ts';
import { parseMetrics, samplesOf, sumOf, type Metrics } from '../../src/metrics/text.ts';
import { createApiClient, type ApiClient } from '../../src/node/api-client.ts';
import { alerts, allExpressions, OF_OTHERS, ruleGroups, scrapeJob } from '../support/monitoring.ts';
import { metricsIn, unknownIn } from '../support/promql.ts';
import { startServe, type ServeProcess } from '../../src/testbed/serve-process.ts';
import { ALERT_CASES, unitTests, type AlertCase, type Series } from './alert-cases.ts';
import { promtoolBinary } from './binaries.ts';
import { startEndpointd, type Endpointd } from './endpointd.ts';
import { createPod, createService, createWorld, patch, setReady, until } from './world.ts';

const run = promisify(execFile);
/** Instead of what has a value in a run: what grows is to grow on. */
const GROWS = /_total$/;
/** A service of such labels is more than a batch may have. */
const BIG = Object.fromEntries(Array.from({ length: 600 }, (_, i) => [`${'k'.repeat(55)}-${i}`, 'v'.repeat(63)]));
/** The runs here have no client certificate and no port with TLS: cases of their own give these values. */
const OF_CERTIFICATES: readonly MetricName[] = [
  'endpointd_client_certificate_expiration_timestamp_seconds',
  'endpointd_client_certificate_lifetime_seconds',
  'endpointd_serving_certificate_expiration_timestamp_seconds',
  'endpointd_serving_certificate_lifetime_seconds',
];

describe('alerts and dashboard', () => {
  let server: ServeProcess;
  let place: { directory: string; kubeconfigPath: string };
  let client: ApiClient;
  let promtool: string;
  let rules: string;
  let replicas: Endpointd[] = [];
  /** Of the leader, then of the standby. */
  let exported: [leader: Metrics, standby: Metrics];

  before(async () => {
    promtool = await promtoolBinary();
    server = await startServe(['--life=false']);
    place = { directory: await mkdtemp(join(tmpdir(), 'endpointd-alerts-')), kubeconfigPath: server.kubeconfig };
    client = createApiClient({ url: server.url }, 4);
    rules = join(place.directory, 'rules.yaml');
    await writeFile(rules, JSON.stringify(ruleGroups()));
    await story();
  });

  after(async () => {
    for (const endpointd of replicas) await endpointd.kill9();
    await client?.close();
    await server?.stop();
    await rm(place.directory, { recursive: true, force: true });
  });

  /** One service cannot be planned, and somebody else changes the Endpoints of another. */
  async function story(): Promise<void> {
    const world = await createWorld(client, 'shop');
    await createService(world, 'big', { labels: BIG });
    await createService(world, 'web');
    await createPod(world, 'web-1', { ip: '10.1.1.1', labels: { app: 'web' } });
    // Nobody writes here under that name, so the leader begins as soon as it may.
    const flags = ['--leader-elect=true', '--max-batch-bytes=65536', '--take-over-from=nobody', '--take-over-after=1s'];
    const leader = await startEndpointd(place, flags);
    const standby = await startEndpointd(place, flags);
    replicas = [leader, standby];
    await until(async () => (sumOf(await scraped(leader), 'endpointd_writes_total') ?? 0) > 0);
    await until(async () => (await scraped(leader)).has('endpointd_stuck_service'));
    await setReady(world, 'web-1', false);
    await until(async () => (sumOf(await scraped(leader), 'endpointd_pod_change_duration_seconds_count') ?? 0) > 0);
    await patch(world, 'endpoints/web', { subsets: [] });
    await until(async () => (await scraped(leader)).has('endpointd_foreign_edits_total'));
    exported = [await scraped(leader), await scraped(standby)];
  }

  it('alerts and dashboard use metrics and labels that a run exports', () => {
    const labels = new Map<string, Set<string>>();
    for (const [name, samples] of exported.flatMap((metrics) => [...metrics])) {
      const known = labels.get(name) ?? new Set();
      for (const label of samples.flatMap((sample) => Object.keys(sample.labels))) known.add(label);
      labels.set(name, known);
    }
    for (const name of OF_CERTIFICATES) {
      assert.ok(!labels.has(name), `${name} is exported without a certificate`);
      labels.set(name, new Set());
    }
    for (const [name, own] of OF_OTHERS) labels.set(name, new Set(own));
    for (const { title, expr } of allExpressions()) assert.deepEqual(unknownIn(expr, labels), [], title);
  });

  it('promtool accepts the rules', async () => {
    const { stdout } = await run(promtool, ['check', 'rules', '--lint=all', '--lint-fatal', rules]);
    assert.match(stdout, new RegExp(`SUCCESS: ${alerts().length} rules found`));
  });

  it("promtool accepts the manual's job", async () => {
    const config = join(place.directory, 'prometheus.yaml');
    await writeFile(config, `scrape_configs:\n${scrapeJob()}`);
    // The token that the job reads is in a pod alone.
    const { stdout } = await run(promtool, ['check', 'config', '--syntax-only', '--lint-fatal', config]);
    assert.match(stdout, /SUCCESS/);
  });

  it('the leader of a run raises the alerts, and the standby none', async () => {
    const series = { ...seriesOf(exported[0], 'leader'), ...seriesOf(exported[1], 'standby') };
    const stuck = samplesOf(exported[0], 'endpointd_stuck_service').map(({ labels }) => labels['service']);
    assert.deepEqual([...new Set(stuck)], ['big']);
    assert.deepEqual(
      samplesOf(exported[1], 'leader_election_master_status').map(({ value }) => value),
      [0],
    );
    await passes({
      title: 'a real run',
      series,
      firing: ['EndpointdAnotherWriter leader', 'EndpointdServiceStuck leader'],
    });
  });

  for (const one of ALERT_CASES) {
    it(one.title, () => passes(one));
  }

  it('an alert that never fires is noticed', () =>
    assert.rejects(passes({ title: 'quiet', series: { 'up{job="endpointd"}': '1x60' }, firing: ['EndpointdDown -'] })));

  /** @throws Error with what promtool says */
  async function passes(one: AlertCase): Promise<void> {
    const tests = join(place.directory, 'tests.yaml');
    await writeFile(tests, unitTests(rules, [one]));
    await run(promtool, ['test', 'rules', tests]).catch((error: Error & { stdout: string; stderr: string }) => {
      assert.fail(`${error.stdout}${error.stderr}`);
    });
  }
});

async function scraped(endpointd: Endpointd): Promise<Metrics> {
  return parseMetrics(await (await request(`http://${endpointd.address}/metrics`)).body.text());
}

/** What one process told, for an hour: counters grow as at its start. */
function seriesOf(metrics: Metrics, instance: string): Series {
  const asked = new Set(alerts().flatMap(({ expr }) => metricsIn(expr)));
  const series: Record<string, string> = { [`up{job="endpointd",instance="${instance}"}`]: '1x60' };
  for (const name of asked) {
    for (const { labels, value } of metrics.get(name) ?? []) {
      const own = Object.entries({ ...labels, job: 'endpointd', instance }).map((pair) => `${pair[0]}="${pair[1]}"`);
      const step = GROWS.test(name) ? value : 0;
      series[`${name}{${own.join(',')}}`] = `${value}+${step}x60`;
    }
  }
  return series;
}
