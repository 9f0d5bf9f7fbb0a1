/** What a running endpointd tells of itself, to whom, and that no signal opens a debugger. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startReviewServer, type ReviewServer } from '../support/review-server.ts';
import { ask, type Said } from '../support/secure-pages.ts';
import { kubeconfigText, startServingProcess, type ServingProcess } from '../support/serving-process.ts';

const directory = mkdtempSync(join(tmpdir(), 'endpointd-serving-'));

describe('a running endpointd', () => {
  let reviews: ReviewServer;
  let running: ServingProcess;

  before(async () => {
    reviews = await startReviewServer();
    reviews.tokens.set('operator', { username: 'operator' });
    for (const path of [
      '/metrics',
      '/metrics/slis',
      '/configz',
      '/flagz',
      '/statusz',
      '/readyz/ping',
      '/debug/endpointd',
      '/debug/pprof/profile',
    ]) {
      reviews.rights.add(`operator get ${path}`);
    }
    const kubeconfig = join(directory, 'kubeconfig');
    writeFileSync(kubeconfig, kubeconfigText(reviews.url, { token: 'of-the-pod' }));
    running = await startServingProcess([
      `--kubeconfig=${kubeconfig}`,
      '--min-resync-period=90m',
      '--concurrent-service-endpoint-syncs=7',
    ]);
  });
  after(async () => {
    await running.end();
    await reviews.close();
    rmSync(directory, { recursive: true });
  });

  const get = (path: string, accept = ''): Promise<Said> => {
    const headers = { authorization: 'Bearer operator', ...(accept === '' ? {} : { accept }) };
    return ask(running.secure, path, { headers });
  };

  it('metrics are shown to users who may read them, and health to everybody', async () => {
    assert.equal((await ask(running.secure, '/metrics')).status, 403);
    assert.match((await get('/metrics')).body, /^endpointd_build_info\{/m);
    assert.equal((await ask(running.secure, '/livez')).body, 'ok');
    assert.match((await ask(running.secure, '/healthz?verbose')).body, /^\[\+\]ping ok\n\[\+\]leaderElection ok\n/);
    const ready = await ask(running.secure, '/readyz?verbose');
    assert.equal(ready.status, 500);
    assert.match(ready.body, /\[-\]watch-\w+ failed: not listed yet/);
    assert.equal((await get('/readyz/ping')).body, 'ok');
    assert.match((await get('/metrics/slis')).body, /kubernetes_healthcheck\{name="leaderElection",type="healthz"\} 1/);
  });

  it('a process with a token has no metric of a client certificate', async () => {
    const lines = (await get('/metrics')).body.split('\n').filter((line) => !line.startsWith('#'));
    const valueOf = (name: string): number | undefined => {
      const line = lines.find((one) => one.startsWith(`${name} `));
      return line === undefined ? undefined : Number(line.slice(name.length));
    };
    for (const name of [
      'endpointd_client_certificate_expiration_timestamp_seconds',
      'endpointd_client_certificate_lifetime_seconds',
      'endpointd_take_over_longest_due_seconds',
    ]) {
      assert.equal(valueOf(name), undefined, name);
    }
    const end = valueOf('endpointd_serving_certificate_expiration_timestamp_seconds')!;
    assert.ok(end > Date.now() / 1000, String(end));
    assert.equal(valueOf('endpointd_missing_rights'), 0);
    assert.equal(valueOf('endpointd_quarantines_total'), 0);
  });

  it('a process tells the bound of its heap beside the use of it', async () => {
    const { body } = await get('/metrics');
    const used = Number(/^nodejs_heap_size_used_bytes (\d+)$/m.exec(body)?.[1]);
    const limit = Number(/^endpointd_heap_limit_bytes (\S+)$/m.exec(body)?.[1]);
    assert.ok(used > 0 && used < limit, `${used} of ${limit}`);
  });

  it("/configz has the shape of kube-controller-manager's", async () => {
    const configuration = JSON.parse((await get('/configz')).body) as Record<string, Record<string, unknown>>;
    const { kind, Generic, EndpointSliceController } = configuration['kubecontrollermanager.config.k8s.io']!;
    assert.equal(kind, 'KubeControllerManagerConfiguration');
    assert.equal((Generic as Record<string, unknown>)['MinResyncPeriod'], '1h30m0s');
    assert.deepEqual(EndpointSliceController, {
      ConcurrentServiceEndpointSyncs: 7,
      MaxEndpointsPerSlice: 100,
      EndpointUpdatesBatchPeriod: '0s',
    });
  });

  it('/flagz and /statusz show the flags and the program', async () => {
    const flagz = await get('/flagz', 'application/json;v=v1beta1;g=config.k8s.io;as=Flagz');
    const { flags } = JSON.parse(flagz.body) as { flags: Record<string, string> };
    assert.equal(flags['min-resync-period'], '90m');
    assert.equal(flags['kube-api-qps'], '20');
    assert.match(
      (await get('/statusz')).body,
      /\nPaths: \/configz \/debug \/flagz \/healthz \/livez \/metrics \/readyz \/statusz\n/,
    );
    assert.match((await get('/debug/endpointd?format=json')).body, /^\{"version":/);
  });

  it('a CPU profile covers the time that is asked for', async () => {
    const { status, body } = await get('/debug/pprof/profile?seconds=0.2');
    assert.equal(status, 200);
    assert.ok(Array.isArray((JSON.parse(body) as { nodes: unknown }).nodes));
  });

  it('the port without TLS shows metrics to everybody', async () => {
    const answer = await fetch(`http://${running.plain}/metrics`);
    assert.match(await answer.text(), /^endpointd_build_info\{/m);
  });

  it('SIGUSR1 opens no debugger', async () => {
    running.child.kill('SIGUSR1');
    await sleep(300);
    assert.equal((await ask(running.secure, '/livez')).body, 'ok');
    assert.doesNotMatch(running.log(), /Debugger listening/);
  });

  it('SIGTERM ends endpointd with status 0', async () => {
    running.child.kill('SIGTERM');
    const [status] = await running.exited;
    assert.equal(status, 0, running.log());
  });
});
