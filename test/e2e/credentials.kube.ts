/**
 * Credentials that are replaced while endpointd is busy, before a real kube-apiserver with RBAC that refuses the old ones: no
 * sync fails, no socket stays, no secret is told. Needs openssl.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { request } from 'undici';
import { createApiClient, type ApiClient } from '../../src/node/api-client.ts';
import { auditLines } from './audit.ts';
import { createAuthority, issuerOf, type Authority } from './certificates.ts';
import { expectRight } from './client.ts';
import { writeServing, type Cluster } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from './cluster.ts';
import { startConnectProxy } from './connect-proxy.ts';
import { startEndpointd, type Endpointd, type EndpointdOptions } from './endpointd.ts';
import { startIssuer, type Issuer } from './oidc-issuer.ts';
import { kernelUse } from './process-use.ts';
import { createPod, createService, createWorld, setReady, until, type World } from './world.ts';

const run = promisify(execFile);
const DEPLOY = join(import.meta.dirname, '..', '..', 'deploy');
const CLIENT_ID = 'endpointd-of-the-test';
const ACCOUNTS = '/api/v1/namespaces/kube-system/serviceaccounts';
const SECRETS = '/api/v1/namespaces/kube-system/secrets';
const RBAC_API = '/apis/rbac.authorization.k8s.io/v1';
const FLAGS = ['--kube-api-qps=500', '--kube-api-burst=500', '--v=2'];
const ROTATIONS = 2;
const SERVICES = 4;
const PODS = 3;
const FLIP_EVERY_MS = 20;
/** kube-apiserver keeps the word about a token for so long. */
const TOKEN_CACHE_MS = 11_000;
const ID_TOKEN_SECONDS = 6;
/** endpointd has to start, and to write, while the first one is good. */
const CERTIFICATE_SECONDS = 15;
/** What comes and goes: a connection of each pool, and of the page that the test reads. */
const DESCRIPTORS_APART = 4;
/** An address of this machine that is not taken for loopback, which no proxy is asked for. */
const NOT_LOOPBACK = '0.0.0.0';

describe('credentials that are replaced under load', () => {
  let directory: string;
  let users: Authority;
  let issuer: Issuer;
  let servers: readonly [Authority, Authority];
  let cluster: Cluster;
  let client: ApiClient;
  let world: World;
  let endpointd: Endpointd | undefined;
  /** What must never be told. */
  const secrets = new Set<string>();
  let worlds = 0;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'endpointd-credentials-'));
    users = await createAuthority(join(directory, 'users'), 'users');
    servers = [
      await createAuthority(join(directory, 'servers-1'), 'servers-1'),
      await createAuthority(join(directory, 'servers-2'), 'servers-2'),
    ];
    issuer = await startIssuer('endpointd', CLIENT_ID, ID_TOKEN_SECONDS);
    await writeFile(path('issuer.crt'), issuer.cert);
    cluster = await startCluster({
      rbac: true,
      auditLog: true,
      serving: await servingOf(servers[0]),
      apiserverFlags: [
        `--client-ca-file=${users.certFile}`,
        `--oidc-issuer-url=${issuer.url}`,
        `--oidc-ca-file=${path('issuer.crt')}`,
        `--oidc-client-id=${CLIENT_ID}`,
        '--oidc-username-claim=sub',
        '--oidc-username-prefix=-',
      ],
    });
    secrets.add(cluster.token);
    const ca = servers[0].cert + servers[1].cert;
    client = createApiClient({ url: cluster.url, token: cluster.token, ca }, 8);
    const files = ['rbac.yaml', 'static-pod/identity.yaml'].flatMap((name) => ['-f', join(DEPLOY, name)]);
    await run(cluster.binaries.kubectl, [`--kubeconfig=${cluster.kubeconfigPath}`, 'apply', ...files]);
    await client.send({ method: 'POST', path: '/api/v1/nodes', body: { metadata: { name: 'node-1' } } });
  });

  after(async () => {
    await endpointd?.kill9();
    await client?.close();
    await cluster?.stop();
    await issuer?.[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });

  // One that a failed test leaves would be a second writer in the next.
  afterEach(() => endpointd?.kill9());

  /** With the authority behind it, as `cluster.caFile` is the same file. */
  async function servingOf(authority: Authority): Promise<{ cert: string; key: string }> {
    const { cert, key } = await authority.issue({ name: 'server', addresses: ['127.0.0.1', NOT_LOOPBACK] });
    return { cert: cert + authority.cert, key };
  }

  async function kubeconfigOf(user: object, moreOfCluster: object = {}): Promise<string> {
    await writeFile(path('ca.crt'), servers[0].cert);
    const content = {
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: cluster.url, 'certificate-authority': 'ca.crt', ...moreOfCluster } }],
      users: [{ name: 'u', user }],
    };
    await writeFile(path('kubeconfig'), JSON.stringify(content));
    return path('kubeconfig');
  }

  interface Token {
    readonly text: string;
    /** The API server refuses it from then on. */
    readonly revoke: () => Promise<void>;
  }

  /** It holds as long as the Secret that it is bound to exists. */
  async function tokenOf(account: string): Promise<Token> {
    const name = `bound-${secrets.size}`;
    const secret = await client.send({ method: 'POST', path: SECRETS, body: { metadata: { name } } });
    const { uid } = (secret as { metadata: { uid: string } }).metadata;
    const spec = { boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name, uid } };
    const answer = await client.send({ method: 'POST', path: `${ACCOUNTS}/${account}/token`, body: { spec } });
    const text = (answer as { status: { token: string } }).status.token;
    secrets.add(text);
    return {
      text,
      async revoke() {
        await client.send({ method: 'DELETE', path: `${SECRETS}/${name}` });
        await sleep(TOKEN_CACHE_MS);
      },
    };
  }

  async function fill(): Promise<void> {
    world = await createWorld(client, `shop-${worlds++}`);
    for (let service = 0; service < SERVICES; service++) {
      const name = `web-${service}`;
      await createService(world, name);
      for (let pod = 0; pod < PODS; pod++) {
        await createPod(world, `${name}-${pod}`, { ip: `10.1.${service}.${pod + 1}`, labels: { app: name } });
      }
    }
  }

  /** Readiness comes and goes, one pod after the other. */
  async function keepFlipping(signal: AbortSignal): Promise<void> {
    for (let n = 0; !signal.aborted; n++) {
      const pod = Math.floor(n / SERVICES) % PODS;
      await setReady(world, `web-${n % SERVICES}-${pod}`, Math.floor(n / SERVICES / PODS) % 2 === 1);
      await sleep(FLIP_EVERY_MS);
    }
  }

  // Before any credential that ends soon is issued: that of the load does not.
  beforeEach(fill);

  const path = (name: string): string => join(directory, name);

  /** Writes the file; gives what replaces the token in it and has the old one refused. */
  async function rotatedToken(account: string, file: string): Promise<() => Promise<void>> {
    let token = await tokenOf(account);
    await writeFile(path(file), token.text);
    return async () => {
      const old = token;
      token = await tokenOf(account);
      await writeFile(path(file), token.text);
      await old.revoke();
    };
  }

  /** As who is of the group, and nothing else: the rights of endpointd. */
  async function mayImpersonate(): Promise<void> {
    await client.send({ method: 'POST', path: ACCOUNTS, body: { metadata: { name: 'front' } } });
    const rules = [
      { apiGroups: [''], resources: ['users'], resourceNames: ['someone'], verbs: ['impersonate'] },
      { apiGroups: [''], resources: ['groups'], resourceNames: ['writers'], verbs: ['impersonate'] },
      { apiGroups: ['authentication.k8s.io'], resources: ['userextras/reason'], verbs: ['impersonate'] },
    ];
    const front = { kind: 'ServiceAccount', name: 'front', namespace: 'kube-system' };
    const writers = { kind: 'Group', name: 'writers', apiGroup: 'rbac.authorization.k8s.io' };
    await client.send({
      method: 'POST',
      path: `${RBAC_API}/clusterroles`,
      body: { metadata: { name: 'front' }, rules },
    });
    for (const [name, role, subject] of [
      ['front', 'front', front],
      ['writers', 'endpointd', writers],
    ] as const) {
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role };
      const body = { metadata: { name }, roleRef, subjects: [subject] };
      await client.send({ method: 'POST', path: `${RBAC_API}/clusterrolebindings`, body });
    }
  }

  const refusals = async (): Promise<number> =>
    (await endpointd!.metrics()).sum('rest_client_requests_total', { code: '401' });

  let seenRefusals = 0;
  /** The API server has refused old credentials since the last time. */
  async function refused(): Promise<void> {
    await until(async () => (await refusals()) > seenRefusals);
    seenRefusals = await refusals();
  }

  const writes = async (): Promise<number> => (await endpointd!.metrics()).sum('endpointd_writes_total');

  async function writesGoOn(): Promise<void> {
    const before = await writes();
    await until(async () => (await writes()) > before + 2 * SERVICES);
  }

  /** @param rotate replaces the credentials, and has the old ones refused */
  async function survives(
    kubeconfigPath: string,
    rotate: (n: number) => Promise<void>,
    options: EndpointdOptions = {},
  ): Promise<void> {
    seenRefusals = 0;
    endpointd = await startEndpointd({ directory, kubeconfigPath }, FLAGS, options);
    const load = new AbortController();
    const loaded = keepFlipping(load.signal);
    try {
      await writesGoOn();
      const { descriptors } = kernelUse(endpointd.child.pid);
      for (let n = 1; n <= ROTATIONS; n++) {
        await rotate(n);
        await writesGoOn();
      }
      await until(() =>
        Promise.resolve(kernelUse(endpointd!.child.pid).descriptors <= descriptors + DESCRIPTORS_APART),
      );
    } finally {
      load.abort();
      await loaded;
    }
    await expectRight(client);
    const metrics = await endpointd.metrics();
    const syncs = metrics.sum('endpointd_syncs_total');
    const right = ['written', 'unchanged'].map((result) => metrics.sum('endpointd_syncs_total', { result }));
    assert.ok(syncs > 0);
    assert.equal(right[0]! + right[1]!, syncs, metrics.lines('endpointd_syncs_total'));
    await expectNothingTold();
    assert.equal((await endpointd.term()).status, 0);
  }

  /** The log at a high level, and the pages for everybody. */
  async function expectNothingTold(): Promise<void> {
    const pages = ['/metrics', '/readyz?verbose', '/debug/endpointd'];
    const answers = pages.map(async (path) => (await request(`http://${endpointd!.address}${path}`)).body.text());
    const told = [await readFile(endpointd!.logPath, 'utf8'), ...(await Promise.all(answers))].join('\n');
    for (const secret of [...secrets, ...issuer.issued]) assert.ok(!told.includes(secret), 'a secret is told');
    assert.doesNotMatch(told, /PRIVATE KEY|Bearer /);
  }

  it('a client certificate is replaced before the old one expires', async () => {
    let endsMs = Date.now();
    /** Each one outlives the one before; the last one outlives the test. */
    async function issue(n: number): Promise<void> {
      endsMs = Math.max(endsMs, Date.now()) + (n < ROTATIONS ? CERTIFICATE_SECONDS : 3600) * 1000;
      const seconds = (endsMs - Date.now()) / 1000;
      const { cert, key } = await users.issue({ name: 'endpointd', seconds });
      secrets.add(key.split('\n')[1]!);
      await writeFile(path('client.key'), key);
      await writeFile(path('client.crt'), cert);
    }
    await issue(0);
    const user = { 'client-certificate': 'client.crt', 'client-key': 'client.key' };
    await survives(await kubeconfigOf(user), async (n) => {
      const oldEndsMs = endsMs;
      await issue(n);
      await sleep(Math.max(0, oldEndsMs - Date.now()));
      await refused();
    });
  });

  it("a service account's token file is replaced without a failed sync", async () => {
    const rotate = await rotatedToken('endpointd', 'token');
    await survives(await kubeconfigOf({ tokenFile: 'token' }), async () => {
      await rotate();
      await refused();
    });
  });

  it('a command that prints the token runs once for each token', async () => {
    const rotate = await rotatedToken('endpointd', 'printed');
    const answer = '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}';
    await writeFile(
      path('plugin'),
      `#!/bin/sh\ncd "$(dirname "$0")"\necho >> runs\nprintf '${answer}' "$(cat printed)"\n`,
    );
    await chmod(path('plugin'), 0o755);
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: './plugin', interactiveMode: 'Never' };
    await survives(await kubeconfigOf({ exec }), async () => {
      await rotate();
      await refused();
    });
    assert.equal((await readFile(path('runs'), 'utf8')).length, 1 + ROTATIONS);
  });

  it('an id token of OIDC is renewed by refresh tokens that are valid once', async () => {
    const config = {
      'idp-issuer-url': issuer.url,
      'idp-certificate-authority-data': Buffer.from(issuer.cert).toString('base64'),
      'client-id': CLIENT_ID,
      'client-secret': issuer.clientSecret,
      'refresh-token': issuer.refreshToken(),
    };
    secrets.add(issuer.clientSecret);
    await survives(await kubeconfigOf({ 'auth-provider': { name: 'oidc', config } }), async () => {
      const before = issuer.grants();
      await until(() => Promise.resolve(issuer.grants() > before));
    });
  });

  it('a user may act for another one', async () => {
    const acting = { as: 'someone', 'as-groups': ['writers'], 'as-user-extra': { reason: ['a test'] } };
    await mayImpersonate();
    const rotate = await rotatedToken('front', 'front-token');
    await survives(await kubeconfigOf({ tokenFile: 'front-token', ...acting }), async () => {
      await rotate();
      await refused();
    });
    const lines = (await auditLines(cluster)).filter((line) => line.includes('"someone"'));
    const written = lines.map((line) => JSON.parse(line) as AuditEntry).filter(({ verb }) => verb === 'update');
    assert.ok(written.length > 0);
    for (const { user, impersonatedUser, responseStatus } of written) {
      assert.equal(user.username, 'system:serviceaccount:kube-system:front');
      assert.ok(impersonatedUser.groups.includes('writers'));
      assert.deepEqual(impersonatedUser.extra, { reason: ['a test'] });
      assert.ok(responseStatus.code < 400 || responseStatus.code === 409, JSON.stringify(responseStatus));
    }
  });

  for (const [title, noProxy, isUsed] of [
    ['through a proxy that wants a password', '10.0.0.0/8', true],
    ['past the proxy where NO_PROXY has the range', '10.0.0.0/8, 0.0.0.0/8', false],
  ] as const) {
    it(title, async () => {
      await using proxy = await startConnectProxy();
      const rotate = await rotatedToken('endpointd', 'token');
      const server = cluster.url.replace('127.0.0.1', NOT_LOOPBACK);
      const kubeconfig = await kubeconfigOf({ tokenFile: 'token' }, { server });
      secrets.add(proxy.password);
      const env = { HTTPS_PROXY: proxy.url, NO_PROXY: noProxy };
      await survives(
        kubeconfig,
        async () => {
          await rotate();
          await refused();
        },
        { env },
      );
      assert.equal(proxy.tunnels() > 0, isUsed);
      await until(() => Promise.resolve(proxy.open() === 0));
    });
  }

  it("the API server's certificate may change to another authority", async () => {
    const rotate = await rotatedToken('endpointd', 'token');
    const kubeconfig = await kubeconfigOf({ tokenFile: 'token' });
    await survives(kubeconfig, async (n) => {
      // As authorities are replaced: both are trusted before the server has a certificate of the new one.
      const trusted = n === 1 ? servers[0].cert + servers[1].cert : servers[1].cert;
      await writeFile(path('ca.crt'), trusted);
      await rotate();
      await refused();
      if (n > 1) return;
      await writeServing(join(cluster.directory, 'certs'), await servingOf(servers[1]));
      await until(async () => (await issuerOf(cluster.url)) === 'servers-2');
    });
  });
});

interface AuditEntry {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly impersonatedUser: { readonly groups: readonly string[]; readonly extra: object };
  readonly responseStatus: { readonly code: number };
}
