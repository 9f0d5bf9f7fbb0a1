/** Each flag of the ports does in a running endpointd what it says. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { selfSigned } from '../../src/node/self-signed.ts';
import { AUTHORITIES, CLIENTS } from '../support/client-certificates.ts';
import { startReviewServer, type ReviewServer } from '../support/review-server.ts';
import { ask, dial, type Said } from '../support/secure-pages.ts';
import { kubeconfigText, startServingProcess, type ServingProcess } from '../support/serving-process.ts';
import { until } from '../support/until.ts';

const directory = mkdtempSync(join(tmpdir(), 'endpointd-serving-flags-'));
const TLS_12 = { maxVersion: 'TLSv1.2' } as const;
const SUITE = 'ECDHE-ECDSA-AES256-GCM-SHA384';
const OTHER_SUITE = 'ECDHE-ECDSA-AES128-GCM-SHA256';

function kubeconfig(name: string, url: string): string {
  const path = join(directory, name);
  writeFileSync(path, kubeconfigText(url));
  return path;
}

describe('a running endpointd with flags of its ports', () => {
  let servers: readonly [own: ReviewServer, tokens: ReviewServer, rights: ReviewServer];
  let running: ServingProcess;

  before(async () => {
    servers = [await startReviewServer(), await startReviewServer(), await startReviewServer()];
    const [own, tokens, rights] = servers;
    tokens.tokens.set('operator', { username: 'operator' });
    for (const path of ['/metrics', '/debug/pprof/profile', '/statusz']) rights.rights.add(`operator get ${path}`);
    running = await startServingProcess([
      `--kubeconfig=${kubeconfig('own', own.url)}`,
      // It goes before the server of the kubeconfig.
      `--master=${own.url.replace('//', '//me:sesame@')}`,
      `--authentication-kubeconfig=${kubeconfig('tokens', tokens.url)}`,
      `--authorization-kubeconfig=${kubeconfig('rights', rights.url)}`,
      '--authentication-token-webhook-cache-ttl=0s',
      '--authorization-webhook-cache-authorized-ttl=0s',
      '--authorization-webhook-cache-unauthorized-ttl=1h',
      '--authorization-always-allow-paths=/flagz',
      '--authentication-tolerate-lookup-failure',
      '--tls-min-version=VersionTLS13',
      '--profiling=false',
      '--cluster-cidr=10.0.0.0/8',
      '--feature-gates=A=true',
    ]);
  });
  after(async () => {
    for (const server of servers) await server.close();
    await running.end();
  });

  const get = (path: string): Promise<Said> =>
    ask(running.secure, path, { headers: { authorization: 'Bearer operator' } });

  /** What is asked of each server while these paths are got. */
  async function askedFor(...paths: string[]): Promise<string[]> {
    for (const server of servers) server.asked.length = 0;
    for (const path of paths) await get(path);
    return servers.flatMap(({ asked }, i) => asked.map(({ path }) => `${i} ${path.split('/').at(-1)}`));
  }

  it('tokens and rights are asked for where their own kubeconfigs say', async () => {
    assert.deepEqual(await askedFor('/metrics'), ['1 tokenreviews', '2 subjectaccessreviews']);
    assert.equal((await get('/metrics')).status, 200);
  });

  it('answers are kept as long as the flags say', async () => {
    assert.deepEqual(await askedFor('/metrics', '/metrics'), [
      '1 tokenreviews',
      '1 tokenreviews',
      '2 subjectaccessreviews',
      '2 subjectaccessreviews',
    ]);
    assert.deepEqual(await askedFor('/configz', '/configz'), [
      '1 tokenreviews',
      '1 tokenreviews',
      '2 subjectaccessreviews',
    ]);
  });

  it('the paths that are always allowed are those of the flag', async () => {
    assert.equal((await ask(running.secure, '/flagz')).status, 200);
    assert.equal((await ask(running.secure, '/livez')).status, 403);
  });

  it('the page of flags has no password', async () => {
    const { body } = await ask(running.secure, '/flagz');
    assert.match(body, /^master=http:\/\/\.\.\.@127\.0\.0\.1/m);
    assert.doesNotMatch(body, /sesame/);
  });

  it('a lookup that fails is a warning with --authentication-tolerate-lookup-failure', async () => {
    const line = (): string | undefined =>
      running
        .log()
        .split('\n')
        .find((one) => one.includes('Cannot read ConfigMap'));
    await until(() => line() !== undefined);
    assert.equal((JSON.parse(line()!) as { level: string }).level, 'warning');
  });

  it('there are no profiles with --profiling=false', async () => {
    assert.equal((await get('/debug/pprof/profile?seconds=0.1')).status, 404);
  });

  it('TLS 1.2 is refused with --tls-min-version=VersionTLS13', async () => {
    await assert.rejects(ask(running.secure, '/flagz', { tls: TLS_12 }), /alert|protocol/i);
  });

  it('the port without TLS shows other machines health and metrics alone', async () => {
    assert.equal((await fetch(`http://${running.plain}/metrics`)).status, 200);
    // As a proxy of another machine would ask.
    const headers = { 'x-forwarded-for': '192.0.2.1' };
    assert.equal((await fetch(`http://${running.plain}/configz`, { headers })).status, 403);
  });

  it('one line of the log names the flags that mean nothing here', () => {
    const lines = running
      .log()
      .split('\n')
      .filter((line) => line.includes('no meaning here are ignored'));
    assert.equal(lines.length, 1);
    assert.equal((JSON.parse(lines[0]!) as { flags: string }).flags, '--cluster-cidr,--feature-gates');
  });
});

describe('a running endpointd whose kubeconfigs are one file', () => {
  it('the command of its user is run once', async () => {
    const server = await startReviewServer();
    const ran = join(directory, 'ran');
    const credential = {
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: { token: 't' },
    };
    const exec = {
      apiVersion: credential.apiVersion,
      command: '/bin/sh',
      args: ['-c', `echo ran >> '${ran}'; echo '${JSON.stringify(credential)}'`],
      interactiveMode: 'Never',
    };
    const path = join(directory, 'one');
    writeFileSync(path, kubeconfigText(server.url, { exec }));
    const flags = ['kubeconfig', 'authentication-kubeconfig', 'authorization-kubeconfig'];
    const running = await startServingProcess(flags.map((flag) => `--${flag}=${path}`));
    try {
      server.tokens.set('operator', { username: 'operator' });
      server.rights.add('operator get /metrics');
      const said = await ask(running.secure, '/metrics', { headers: { authorization: 'Bearer operator' } });
      assert.deepEqual([said.status, readFileSync(ran, 'utf8')], [200, 'ran\n']);
    } finally {
      await server.close();
      await running.end();
    }
  });
});

describe('a running endpointd with flags of certificates', () => {
  let server: ReviewServer;
  let running: ServingProcess;
  const certDir = join(directory, 'certs');
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };

  before(async () => {
    mkdirSync(certDir);
    server = await startReviewServer();
    for (const user of ['alice', 'carol']) server.rights.add(`${user} get /metrics`);
    const named = selfSigned({ hosts: ['named.test'], nowMs: Date.now(), days: 1 });
    running = await startServingProcess([
      `--kubeconfig=${kubeconfig('server', server.url)}`,
      '--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
      '--tls-curve-preferences=23,29',
      `--cert-dir=${certDir}`,
      `--tls-sni-cert-key=${file('named.crt', named.cert)},${file('named.key', named.key)}`,
      `--client-ca-file=${file('users.crt', AUTHORITIES.users)}`,
      `--requestheader-client-ca-file=${file('proxies.crt', AUTHORITIES.proxies)}`,
      '--requestheader-allowed-names=front-proxy',
      '--requestheader-username-headers=X-Name',
      '--requestheader-uid-headers=X-Number',
      '--requestheader-group-headers=X-Team',
      '--requestheader-extra-headers-prefix=X-More-',
    ]);
  });
  after(async () => {
    await server.close();
    await running.end();
    rmSync(directory, { recursive: true });
  });

  it('--bind-address is the only address that is served', () => {
    assert.match(running.secure, /^127\.0\.0\.1:/);
  });

  it('--client-ca-file is the authority of users', async () => {
    assert.equal((await ask(running.secure, '/metrics', { tls: { ...CLIENTS.alice } })).status, 200);
    assert.equal((await ask(running.secure, '/metrics', { tls: { ...CLIENTS.stranger } })).status, 401);
  });

  it('the --requestheader flags say who speaks for others, and in which headers', async () => {
    const headers = { 'X-Name': 'carol', 'X-Number': '7', 'X-Team': 'viewers', 'X-More-Why': 'a test' };
    server.asked.length = 0;
    assert.equal((await ask(running.secure, '/metrics', { headers, tls: { ...CLIENTS.proxy } })).status, 200);
    assert.deepEqual(server.asked[0]!.spec, {
      nonResourceAttributes: { path: '/metrics', verb: 'get' },
      user: 'carol',
      uid: '7',
      groups: ['viewers', 'system:authenticated'],
      extra: { why: ['a test'] },
    });
    assert.equal((await ask(running.secure, '/metrics', { headers, tls: { ...CLIENTS.other } })).status, 401);
  });

  it('--cert-dir keeps the certificate that is made', () => {
    assert.deepEqual(readdirSync(certDir).toSorted(), ['endpointd.crt', 'endpointd.key']);
  });

  it('--tls-sni-cert-key is served to clients that ask for its name', async () => {
    const served = async (servername: string): Promise<string | undefined> => {
      const socket = dial(running.secure, { servername });
      await once(socket, 'secureConnect');
      const { subjectaltname } = socket.getPeerCertificate();
      socket.destroy();
      return subjectaltname;
    };
    assert.equal(await served('named.test'), 'DNS:named.test');
    assert.notEqual(await served('other.test'), 'DNS:named.test');
  });

  it('--tls-cipher-suites are the suites of TLS 1.2', async () => {
    assert.equal((await ask(running.secure, '/livez', { tls: { ...TLS_12, ciphers: SUITE } })).status, 200);
    const other = ask(running.secure, '/livez', { tls: { ...TLS_12, ciphers: OTHER_SUITE } });
    await assert.rejects(other, /alert|handshake/i);
  });

  it('--tls-curve-preferences are the ways to exchange keys', async () => {
    assert.equal((await ask(running.secure, '/livez', { tls: { ecdhCurve: 'X25519' } })).status, 200);
    await assert.rejects(ask(running.secure, '/livez', { tls: { ecdhCurve: 'P-384' } }), /alert|handshake/i);
  });
});
