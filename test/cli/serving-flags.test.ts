/** Each flag of the ports does in a running endpointd what it says. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startReviewServer, type ReviewServer } from '../support/review-server.ts';
import { ask, type Said } from '../support/secure-pages.ts';
import { kubeconfigText, startServingProcess, type ServingProcess } from '../support/serving-process.ts';

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
      '--tls-min-version=VersionTLS13',
      '--profiling=false',
      '--cluster-cidr=10.0.0.0/8',
      '--feature-gates=A=true',
    ]);
  });
  after(async () => {
    await running.end();
    for (const server of servers) await server.close();
    rmSync(directory, { recursive: true });
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

it('--tls-cipher-suites are the suites of TLS 1.2', async () => {
  const running = await startServingProcess([
    '--master=http://127.0.0.1:1',
    '--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
  ]);
  try {
    assert.equal((await ask(running.secure, '/livez', { tls: { ...TLS_12, ciphers: SUITE } })).status, 200);
    await assert.rejects(
      ask(running.secure, '/livez', { tls: { ...TLS_12, ciphers: OTHER_SUITE } }),
      /alert|handshake/i,
    );
  } finally {
    await running.end();
  }
});
