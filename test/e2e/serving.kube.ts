/** Who may see what of endpointd, by the word of a real kube-apiserver with RBAC, and with the rights of deploy/rbac.yaml. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import type { ApiClient } from '../../src/node/api-client.ts';
import { AUTHORITIES, CLIENTS } from '../support/client-certificates.ts';
import { ask, type Said, type Sent } from '../support/secure-pages.ts';
import { auditLines } from './audit.ts';
import { clientOf } from './client.ts';
import { freePorts } from '../../src/testbed/free-ports.ts';
import type { Cluster } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from './cluster.ts';
import { startEndpointd, type Endpointd } from './endpointd.ts';
import { viewersReadMetrics } from './serving.ts';
import { until } from './world.ts';

const run = promisify(execFile);
const RBAC = join(import.meta.dirname, '..', '..', 'deploy', 'rbac.yaml');
const ACCOUNT = 'system:serviceaccount:kube-system:endpointd';
const RBAC_API = '/apis/rbac.authorization.k8s.io/v1';

describe('with a real kube-apiserver', () => {
  let directory: string;
  let cluster: Cluster;
  let client: ApiClient;
  let endpointd: Endpointd;
  let address: string;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'endpointd-serving-'));
    const [users, proxies] = [join(directory, 'users.crt'), join(directory, 'proxies.crt')];
    await writeFile(users, AUTHORITIES.users);
    await writeFile(proxies, AUTHORITIES.proxies);
    const apiserverFlags = [
      `--client-ca-file=${users}`,
      `--requestheader-client-ca-file=${proxies}`,
      '--requestheader-allowed-names=front-proxy',
      '--requestheader-username-headers=X-Remote-User',
      '--requestheader-group-headers=X-Remote-Group',
      '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    ];
    cluster = await startCluster({ rbac: true, auditLog: true, apiserverFlags });
    client = clientOf(cluster);
    await run(cluster.binaries.kubectl, [`--kubeconfig=${cluster.kubeconfigPath}`, 'apply', '-f', RBAC]);
    await client.send({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: 'monitoring' } } });
    for (const name of ['prometheus', 'nobody']) {
      const path = '/api/v1/namespaces/monitoring/serviceaccounts';
      await client.send({ method: 'POST', path, body: { metadata: { name } } });
    }
    await viewersReadMetrics(client, { kind: 'ServiceAccount', name: 'prometheus', namespace: 'monitoring' });
    const text = await readFile(cluster.kubeconfigPath, 'utf8');
    const kubeconfigPath = join(cluster.directory, 'kubeconfig-endpointd');
    await writeFile(kubeconfigPath, text.replace(/user: \{ token: (\S+) \}/, `user: { token: $1, as: "${ACCOUNT}" }`));
    const [port] = await freePorts(1);
    address = `127.0.0.1:${port}`;
    const flags = [`--secure-port=${port}`, '--bind-address=127.0.0.1'];
    endpointd = await startEndpointd({ ...cluster, kubeconfigPath }, flags);
  });

  after(async () => {
    await endpointd?.kill9();
    await client?.close();
    await cluster?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  async function tokenOf(account: string): Promise<string> {
    const path = `/api/v1/namespaces/monitoring/serviceaccounts/${account}/token`;
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    const answer = (await client.send({ method: 'POST', path, body })) as { status: { token: string } };
    return answer.status.token;
  }

  async function as(account: string, path: string): Promise<Said> {
    return ask(address, path, { headers: { authorization: `Bearer ${await tokenOf(account)}` } });
  }

  const statusOf = async (path: string, sent: Sent = {}): Promise<number> => (await ask(address, path, sent)).status;

  it('a service account that may get /metrics gets them, and nothing else', async () => {
    assert.match((await as('prometheus', '/metrics')).body, /^endpointd_build_info\{/m);
    const refused = await as('prometheus', '/configz');
    assert.equal(refused.status, 403);
    assert.equal(
      (JSON.parse(refused.body) as { message: string }).message,
      'forbidden: User "system:serviceaccount:monitoring:prometheus" cannot get path "/configz"',
    );
  });

  it('a service account without rights, a made-up token and nobody get health alone', async () => {
    assert.equal((await as('nobody', '/metrics')).status, 403);
    assert.equal(await statusOf('/metrics', { headers: { authorization: 'Bearer made-up' } }), 401);
    for (const path of ['/metrics', '/debug/endpointd', '/debug/pprof/heap', '/nonsense']) {
      assert.equal(await statusOf(path), 403);
    }
    for (const path of ['/healthz', '/livez', '/readyz']) assert.equal(await statusOf(path), 200);
  });

  it('an administrator gets every page', async () => {
    const headers = { authorization: `Bearer ${cluster.token}` };
    for (const path of ['/configz', '/flagz', '/statusz', '/metrics/slis']) {
      assert.equal(await statusOf(path, { headers }), 200);
    }
  });

  it('a client certificate counts by the authority that the API server publishes', async () => {
    await until(async () => (await statusOf('/metrics', { tls: { ...CLIENTS.alice } })) === 200);
    assert.equal(await statusOf('/configz', { tls: { ...CLIENTS.alice } }), 403);
    assert.equal(await statusOf('/metrics', { tls: { ...CLIENTS.stranger } }), 401);
    assert.equal(await statusOf('/configz', { tls: { ...CLIENTS.master } }), 200);
  });

  it('a front proxy of the API server speaks for others, another one does not', async () => {
    const headers = { 'X-Remote-User': 'carol', 'X-Remote-Group': 'viewers' };
    assert.equal(await statusOf('/metrics', { headers, tls: { ...CLIENTS.proxy } }), 200);
    assert.equal(await statusOf('/metrics', { headers, tls: { ...CLIENTS.other } }), 401);
  });

  it('deploy/rbac.yaml gives every right that serving needs', async () => {
    const entries = (await auditLines(cluster)).filter((line) => line.includes(ACCOUNT));
    assert.ok(entries.some((line) => line.includes('"resource":"subjectaccessreviews"')));
    assert.deepEqual(
      entries.filter((line) => line.includes('"code":403')),
      [],
    );
  });

  it('a right that is taken away is gone for the next token', async () => {
    assert.equal((await as('prometheus', '/metrics')).status, 200);
    await client.send({ method: 'DELETE', path: `${RBAC_API}/clusterrolebindings/read-metrics` });
    await until(async () => (await as('prometheus', '/metrics')).status === 403);
  });
});
