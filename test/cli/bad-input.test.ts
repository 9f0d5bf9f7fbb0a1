/** What is wrong with a server, with credentials, or with rights: one line that says so and how to mend it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import dns from 'node:dns';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { after, describe, it } from 'node:test';
import { parseRunFlags } from '../../src/cli/flags/flags.ts';
import { diagnose, wordsOf } from '../../src/cli/rights/diagnosis.ts';
import { startPreflight } from '../../src/cli/rights/preflight.ts';
import { credentialsOf } from '../../src/cli/api-connection.ts';
import type { HealthCheck } from '../../src/controller/reports/health.ts';
import { counter, createMetricStore, samples } from '../../src/metrics/store.ts';
import type { LogLine } from '../../src/node/log.ts';
import { selfSigned } from '../../src/node/self-signed.ts';
import { freePorts } from '../../src/testbed/free-ports.ts';
import { PKI } from '../support/pki.ts';
import {
  jsonAnswer,
  refusal,
  startStub,
  type StubAnswer,
  type StubRequest,
  type StubServer,
} from '../support/stub-server.ts';
import { BIN } from '../support/installed.ts';
import { until } from '../support/until.ts';

const DAY_MS = 86_400_000;
const directory = mkdtempSync(join(tmpdir(), 'endpointd-bad-input-'));
after(() => rmSync(directory, { recursive: true }));
const KUBECONFIG = join(directory, 'kubeconfig');

function writeKubeconfig(cluster: object, user: object = { token: 'sesame' }): void {
  const kubeconfig = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
  };
  writeFileSync(KUBECONFIG, JSON.stringify(kubeconfig));
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** All is well, but for what `answers` says by path. */
function apiServer(answers: Record<string, StubAnswer> = {}): (request: StubRequest) => StubAnswer {
  return ({ path }) => {
    const own = answers[path];
    if (own !== undefined) return own;
    if (path === '/version') return jsonAnswer({ gitVersion: 'v1.36.3' });
    if (path.endsWith('/selfsubjectaccessreviews')) {
      return jsonAnswer({ kind: 'SelfSubjectAccessReview', status: { allowed: true } }, 201);
    }
    return jsonAnswer({ kind: 'APIResourceList' });
  };
}

interface Found extends Disposable {
  readonly lines: readonly LogLine[];
  readonly checks: () => HealthCheck[];
  readonly missingRights: () => number;
  /** A request of the controller is refused. */
  readonly forbid: () => void;
  /** Resolves with what was last logged when there are so many lines. */
  readonly line: (count: number) => Promise<string>;
}

/** The looks of a controller, by default one whose watches are down. */
function look(flags: readonly string[] = [`--kubeconfig=${KUBECONFIG}`], isReady = false, againMs = 3_600_000): Found {
  const options = parseRunFlags(flags, () => undefined);
  const lines: LogLine[] = [];
  let onLine = (): void => undefined;
  const write = (line: LogLine): void => {
    lines.push(line);
    onLine();
  };
  const credentials = credentialsOf(options);
  const metrics = createMetricStore();
  const preflight = startPreflight({
    options,
    credentials,
    log: { write },
    loop: { readiness: () => [{ name: 'watch-pods', ok: isReady, message: isReady ? '' : 'not listed yet' }] },
    metrics,
    delays: { firstMs: 0, nextMs: 5, againMs },
  });
  return {
    lines,
    missingRights: () => samples(metrics, 'endpointd_missing_rights', 0)[0]!.value,
    forbid: () => counter(metrics, 'rest_client_requests_total', { code: '403', method: 'PUT', host: 'h' }).inc(),
    checks: () => preflight.readiness().slice(1),
    async line(count) {
      while (lines.length < count) await new Promise<void>((resolve) => (onLine = resolve));
      const { level, message, fields } = lines.at(-1)!;
      return [level, message, ...Object.values(fields)].join(': ');
    },
    [Symbol.dispose]: () => preflight.end(),
  };
}

const NO_CONNECTION = 'there is no connection to the API server';
const CERTIFICATE = 'a certificate is refused, of the API server or of this process';
const CREDENTIALS = 'the API server refuses the credentials';
const FOREIGN = 'what answers is no kube-apiserver';

/** What the log says, and what /readyz says to everybody. */
async function expectFound(what: RegExp, kind: string, flags?: readonly string[], isFatal = true): Promise<void> {
  using found = look(flags);
  const line = await found.line(1);
  assert.match(line, /^warning: The API server cannot be used as needed: /);
  assert.match(line, what);
  assert.ok(!line.includes('sesame') && !line.includes('\n'), line);
  const [server] = found.checks();
  assert.deepEqual(server, { name: 'server', ok: !isFatal, message: `${kind}: see the log` });
}

function tlsKubeconfig(server: StubServer, authority: string, more: object = {}, user?: object): void {
  writeKubeconfig({ server: server.url, 'certificate-authority-data': base64(authority), ...more }, user);
}

/** Waits until so many further looks have been answered and told. */
async function looked(looks: () => number, count: number): Promise<void> {
  const from = looks();
  // The last one has only been asked for.
  await until(() => looks() > from + count);
}

const NOW = String.raw`it is \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ here`;

describe('a look at the API server', () => {
  it('a look at the API server finds nothing if all is right, each time', async () => {
    let [looks, answered] = [0, (): void => undefined];
    const all = new Promise<void>((resolve) => (answered = resolve));
    await using server = await startStub((request) => {
      if (request.path === '/version' && ++looks === 3) answered();
      // As a server that tells its version to nobody.
      return apiServer({ '/version': refusal(403, 'Forbidden', 'not for you') })(request);
    });
    writeKubeconfig({ server: server.url });
    using found = look();
    await all;
    assert.deepEqual(found.lines, []);
    assert.deepEqual(found.checks(), [
      { name: 'server', ok: true, message: '' },
      { name: 'rights', ok: true, message: '' },
    ]);
  });

  it('a look finds that nothing listens, by kubeconfig and by --master', async () => {
    writeKubeconfig({ server: 'https://127.0.0.1:1' });
    await expectFound(
      /Nothing listens at https:\/\/127\.0\.0\.1:1: .* mend "server" in kubeconfig \/.*kubeconfig\.$/,
      NO_CONNECTION,
    );
    await expectFound(/Nothing listens at http:\/\/127\.0\.0\.1:1: .* mend --master\.$/, NO_CONNECTION, [
      '--master=http://127.0.0.1:1',
    ]);
  });

  it('a look finds a name that does not resolve', async (t) => {
    // This machine's name server may not answer.
    const lookup = t.mock.method(dns, 'lookup', (_host: string, _options: object, done: (error: Error) => void) =>
      process.nextTick(done, Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' })),
    );
    writeKubeconfig({ server: 'https://no-such-host.invalid' });
    await expectFound(
      /The name no-such-host\.invalid has no address \(ENOTFOUND\): mend "server" in .*, or the DNS/,
      NO_CONNECTION,
    );
    assert.equal(lookup.mock.calls[0]?.arguments[0], 'no-such-host.invalid');
  });

  it('a look finds an expired server certificate, with its time', async () => {
    const tls = selfSigned({ hosts: ['127.0.0.1'], nowMs: Date.now() - 10 * DAY_MS, days: 5 });
    await using server = await startStub(apiServer(), tls);
    tlsKubeconfig(server, tls.cert);
    await expectFound(
      new RegExp(
        String.raw`certificate of https://127.* has expired at \d{4}-.*Z \(${NOW}\): renew it on the server, or set`,
      ),
      CERTIFICATE,
    );
  });

  it('a look finds a certificate that is not valid yet: the clocks differ', async () => {
    const tls = selfSigned({ hosts: ['127.0.0.1'], nowMs: Date.now() + 2 * DAY_MS, days: 5 });
    await using server = await startStub(apiServer(), tls);
    tlsKubeconfig(server, tls.cert);
    await expectFound(new RegExp(String.raw`is not valid before \d{4}-.*Z \(${NOW}\): set the clocks`), CERTIFICATE);
  });

  it('a look finds a certificate of another authority, and names both', async () => {
    const tls = selfSigned({ hosts: ['127.0.0.1'], nowMs: Date.now(), days: 5 });
    await using server = await startStub(apiServer(), tls);
    tlsKubeconfig(server, PKI.ca);
    await expectFound(
      /signed by "endpointd", which "certificate-authority" in kubeconfig .* does not hold/,
      CERTIFICATE,
    );
  });

  it('a look finds a certificate for another name', async () => {
    await using server = await startStub(apiServer(), { cert: PKI.serverCert, key: PKI.serverKey });
    tlsKubeconfig(server, PKI.ca);
    await expectFound(
      /is not for 127\.0\.0\.1, but for DNS:kubernetes\.test: mend "server" .*"tls-server-name"/,
      CERTIFICATE,
    );
    tlsKubeconfig(server, PKI.ca, { 'tls-server-name': 'other.test' });
    await expectFound(/is not for other\.test, but for DNS:kubernetes\.test/, CERTIFICATE);
  });

  it('a look finds the own expired client certificate before the server says 401', async () => {
    const { cert, key } = selfSigned({ hosts: ['me'], nowMs: Date.now() - 10 * DAY_MS, days: 5 });
    await using server = await startStub(apiServer());
    const user = { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) };
    writeKubeconfig({ server: server.url }, user);
    await expectFound(
      new RegExp(String.raw`client certificate of the user in kubeconfig .* has expired at .* \(${NOW}\): renew it`),
      'the client certificate is not valid today',
    );
  });

  it('a look finds https where plain HTTP is spoken, and plain HTTP where TLS is', async () => {
    await using server = await startStub(apiServer());
    writeKubeconfig({ server: server.url.replace('http:', 'https:') });
    await expectFound(/https:\/\/127\.0\.0\.1:\d+ does not speak TLS: mend "server" in/, NO_CONNECTION);
    const go = { status: 400, body: 'Client sent an HTTP request to an HTTPS server.\n', headers: {} };
    await using secure = await startStub(() => ({ ...go, headers: { 'content-type': 'text/plain' } }));
    writeKubeconfig({ server: secure.url });
    await expectFound(/it answers 400 ".*" to \/version\. It speaks TLS: write https\. Mend "server"/, FOREIGN);
  });

  it('a look finds a server of another kind, and only the log has its answer', async () => {
    const page = { status: 200, body: '<html>\n<title>Sign in</title>', headers: { 'content-type': 'text/html' } };
    await using server = await startStub(() => page);
    writeKubeconfig({ server: `${server.url}/prefix` });
    await expectFound(
      /is no kube-apiserver: it answers 200 "<html> <title>Sign in<\/title>" to \/prefix\/version\. Mend/,
      FOREIGN,
    );
  });

  it('a look finds a server without discovery.k8s.io/v1, which slices need', async () => {
    const none = refusal(404, 'NotFound', 'the server could not find the requested resource');
    await using server = await startStub(apiServer({ '/apis/discovery.k8s.io/v1': none }));
    writeKubeconfig({ server: server.url });
    await expectFound(
      /has no discovery\.k8s\.io\/v1, which exists from Kubernetes 1\.21 on: run --controllers=/,
      'the API server has no discovery.k8s.io/v1',
    );
  });

  it('a look finds a server that is not ready, and only the log has its words', async () => {
    await using server = await startStub(() => refusal(503, 'ServiceUnavailable', 'etcd at 10.0.0.9 is away'));
    writeKubeconfig({ server: server.url });
    await expectFound(/ is not ready: 503 etcd at 10\.0\.0\.9 is away$/, 'the API server is not ready');
  });

  it('a look finds credentials that the server refuses, and absent ones', async () => {
    await using server = await startStub(() => refusal(401, 'Unauthorized', 'Unauthorized'));
    writeKubeconfig({ server: server.url });
    await expectFound(
      /refuses the credentials \(401\): it does not know, or no longer knows, the token or certificate of the user in/,
      CREDENTIALS,
    );
    writeKubeconfig({ server: server.url }, {});
    await expectFound(/\(401\): the user in kubeconfig .* has no credentials: give it a token/, CREDENTIALS);
  });

  it('a look says to give --kubeconfig where --master alone is not enough', async () => {
    const tls = selfSigned({ hosts: ['127.0.0.1'], nowMs: Date.now(), days: 5 });
    await using secure = await startStub(apiServer(), tls);
    const authority =
      /the list of authorities of Node does not hold .*: give --kubeconfig with a "certificate-authority"/;
    await expectFound(authority, CERTIFICATE, [`--master=${secure.url}`]);
    await using server = await startStub(() => refusal(401, 'Unauthorized', 'Unauthorized'));
    const user = /--master without --kubeconfig has no credentials: give --kubeconfig with a user\.$/;
    await expectFound(user, CREDENTIALS, [`--master=${server.url}`]);
  });

  it("a look finds a wrong clock by the answer's Date, and goes on", async () => {
    const headers = { date: new Date(Date.now() + 3_600_000).toUTCString() };
    await using server = await startStub((request) => ({ ...apiServer()(request), headers }));
    writeKubeconfig({ server: server.url });
    const clock = /The clock of this machine is 3\d\d\d s behind that of the API server: set the clocks/;
    await expectFound(clock, 'this clock is not that of the API server', undefined, false);
  });

  it('a look finds a proxy that blocks the way, and hides its password', async () => {
    const proxy = createServer((_request, response) => response.writeHead(403).end());
    proxy.on('connect', (_request, socket) => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n'));
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.address() as { port: number };
    writeKubeconfig({ server: 'https://10.0.0.1', 'proxy-url': `http://me:sesame@127.0.0.1:${port}` });
    await expectFound(
      /No way to https:\/\/10\.0\.0\.1 through the proxy 127\.0\.0\.1:\d+: .*403.* Mend "proxy-url"/,
      NO_CONNECTION,
    );
    proxy.close();
  });

  it('a look finds an unreadable kubeconfig, and keeps the last credentials', async () => {
    await using server = await startStub(apiServer());
    writeKubeconfig({ server: server.url });
    using found = look();
    writeFileSync(KUBECONFIG, '{"current-context": "lost", "contexts": []}');
    assert.match(await found.line(1), /current-context: "lost" is not among contexts.*last good credentials stay/);
    const shown = { name: 'server', ok: true, message: 'credentials cannot be read: see the log' };
    assert.deepEqual(found.checks()[0], shown);
  });

  it('only the log has the output of a command', async () => {
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: 'sh',
      args: ['-c', 'echo hush >&2; exit 1'],
    };
    writeKubeconfig({ server: 'https://127.0.0.1:1' }, { exec });
    using found = look();
    assert.match(await found.line(1), /exec "sh" failed: hush\. The last good credentials stay in use\.$/);
    assert.equal(found.checks()[0]!.message, 'credentials cannot be read: see the log');
  });

  it('a look says when a problem is over', async () => {
    let status = 401;
    await using server = await startStub((request) =>
      status === 401 ? refusal(401, 'Unauthorized', 'Unauthorized') : apiServer()(request),
    );
    writeKubeconfig({ server: server.url });
    using found = look();
    await found.line(1);
    status = 200;
    assert.equal(await found.line(2), 'info: The API server can be used as needed');
    assert.deepEqual(found.checks()[0], { name: 'server', ok: true, message: '' });
  });

  it('the same problem is told once, though its text has the present time', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
    const { cert, key } = selfSigned({ hosts: ['me'], nowMs: Date.now() - 10 * DAY_MS, days: 5 });
    let looks = 0;
    await using server = await startStub((request) => {
      if (request.path === '/version') {
        looks++;
        t.mock.timers.setTime(Date.now() + 1000);
      }
      return apiServer()(request);
    });
    const user = { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) };
    writeKubeconfig({ server: server.url }, user);
    using found = look();
    await looked(() => looks, 3);
    assert.deepEqual(
      found.lines.map(({ level, message }) => `${level}: ${message}`),
      ['warning: The API server cannot be used as needed'],
    );
  });

  it('a problem that lasts is told again after a while', async () => {
    await using server = await startStub(() => refusal(503, 'ServiceUnavailable', 'etcd is away'));
    writeKubeconfig({ server: server.url });
    using found = look(undefined, false, 50);
    assert.match(await found.line(2), /^warning: .* etcd is away$/);
  });

  it('clocks that differ by about a minute are told once', async () => {
    let looks = 0;
    let aheadMs = 70_000;
    await using server = await startStub((request) => {
      if (request.path === '/version') looks++;
      const headers = { date: new Date(Date.now() + aheadMs).toUTCString() };
      return { ...apiServer()(request), headers };
    });
    writeKubeconfig({ server: server.url });
    using found = look();
    await found.line(1);
    aheadMs = 57_000;
    await looked(() => looks, 3);
    assert.equal(found.lines.length, 1);
    aheadMs = 0;
    assert.equal(await found.line(2), 'info: The API server can be used as needed');
  });
});

describe('a TLS alert of the server', () => {
  const { cert, key } = selfSigned({ hosts: ['me'], nowMs: Date.now(), days: 5 });

  /** What is said of it to a user with that certificate. */
  function said(code: string, own: { readonly cert: string | null; readonly key: string | null }): string {
    const tls = { ca: null, serverName: null, verify: true, ...own };
    const access = { origin: 'https://10.0.0.1', basePath: '', proxyUrl: null, tls, headers: {} };
    const version = { kind: 'failure', code, message: 'alert', certificate: null } as const;
    const words = wordsOf({ kubeconfig: '/k', master: '' });
    return diagnose({ access, words, nowMs: Date.now(), version, discovery: null, before: null })!.text;
  }

  for (const alert of ['SSLV3_ALERT_BAD_CERTIFICATE', 'TLSV1_ALERT_UNKNOWN_CA', 'TLSV1_ALERT_ACCESS_DENIED']) {
    it(`a TLS alert is about the client certificate if one is sent: ${alert}`, () => {
      assert.match(said(`ERR_SSL_${alert}`, { cert, key }), /refuses the client certificate: .* Mend the user in/);
      const without = said(`ERR_SSL_${alert}`, { cert: null, key: null });
      assert.match(without, /ends the TLS handshake: .* Mend "server" in/);
    });
  }

  it('other TLS alerts are about TLS itself, with a certificate or without', () => {
    for (const own of [
      { cert, key },
      { cert: null, key: null },
    ]) {
      const version = said('ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', own);
      assert.match(version, /ends the TLS handshake: alert \(ERR_.*\)\. Mend .*, or the TLS versions and ciphers/);
      assert.doesNotMatch(version, /client certificate/);
    }
  });

  it('a TLS alert may ask for a certificate if none is sent', () => {
    const wanted = said('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', { cert: null, key: null });
    assert.match(wanted, /wants a client certificate, and the user in kubeconfig \/k has none .*: give it a token/);
  });
});

it('endpointd run reports a problem in the log, and its kind in /readyz?verbose', async () => {
  const flags = ['--master=http://127.0.0.1:1', '--secure-port=0', '--metrics-bind-address=127.0.0.1:0', '--shards=0'];
  const child = spawn(execPath, [BIN, 'run', ...flags], { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(child, 'exit');
  let said = '';
  const seen = new Promise<void>((resolve) => {
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('cannot be used as needed')) resolve();
    });
  });
  await Promise.race([seen, ended]);
  const why = 'Nothing listens at http://127.0.0.1:1: start the API server, or mend --master.';
  assert.ok(said.includes(`"The API server cannot be used as needed" why="${why}"`), said);
  const address = /(?:metrics|http)="([\d.:]+)"/.exec(said)![1]!;
  const ready = await fetch(`http://${address}/readyz?verbose`);
  assert.equal(ready.status, 500);
  assert.ok((await ready.text()).includes(`[-]server failed: ${NO_CONNECTION}: see the log\n[+]rights ok\n`));
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
});

describe('a look at the rights', () => {
  it('a look at the rights names each missing right and its rule, as advice', async () => {
    let denied = 'endpointslices';
    await using server = await startStub((request) => {
      if (!request.path.endsWith('/selfsubjectaccessreviews')) return apiServer()(request);
      const allowed = !request.body.includes(`"resource":"${denied}"`);
      return jsonAnswer({ kind: 'SelfSubjectAccessReview', status: { allowed } }, 201);
    });
    writeKubeconfig({ server: server.url });
    using found = look();
    const why =
      /Missing: list endpointslices\.discovery\.k8s\.io, watch .* Given by ClusterRole endpointd, rule endpointslices.* kubectl apply -f deploy\//;
    assert.match(await found.line(1), /^warning: Rights are missing: Missing: /);
    assert.match(await found.line(1), why);
    const rights = found.checks()[1]!;
    assert.deepEqual(rights, { name: 'rights', ok: true, message: 'some are missing: see the log' });
    denied = 'none';
    assert.equal(await found.line(2), 'info: No right is missing any more');
    assert.equal(found.checks()[1]!.message, '');
  });

  it('a refused request makes the look look again, and missing rights are a metric', async () => {
    let reviews = 0;
    let allowed = true;
    await using server = await startStub((request) => {
      if (!request.path.endsWith('/selfsubjectaccessreviews')) return apiServer()(request);
      reviews++;
      return jsonAnswer({ kind: 'SelfSubjectAccessReview', status: { allowed } }, 201);
    });
    writeKubeconfig({ server: server.url });
    using found = look(undefined, true);
    await until(() => reviews > 0);
    assert.equal(found.missingRights(), 0);
    allowed = false;
    found.forbid();
    assert.match(await found.line(1), /Rights are missing/);
    assert.ok(found.missingRights() > 0);
    allowed = true;
    assert.match(await found.line(2), /No right is missing/);
    assert.equal(found.missingRights(), 0);
  });

  it('a look at the rights keeps its last result while no answer comes', async () => {
    const denied = jsonAnswer({ kind: 'SelfSubjectAccessReview', status: { allowed: false } }, 201);
    const reviews = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
    const [port] = await freePorts(1);
    const before = await startStub(apiServer({ [reviews]: denied }), null, port);
    writeKubeconfig({ server: before.url });
    using found = look();
    await found.line(1);
    const { message } = found.checks()[1]!;
    await before[Symbol.asyncDispose]();
    assert.match(await found.line(2), /^warning: .*Nothing listens/);
    const silent = apiServer({ [reviews]: refusal(403, 'Forbidden', 'not for you') });
    await using after = await startStub(silent, null, port);
    assert.equal(after.url, before.url);
    assert.equal(await found.line(3), 'info: The API server can be used as needed');
    assert.equal(found.lines.length, 3);
    assert.equal(found.checks()[1]!.message, message);
  });
});
