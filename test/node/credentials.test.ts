import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import fsPromises from 'node:fs/promises';
import { createServer } from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { after, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { createCredentials, type CredentialsConfig } from '../../src/node/credentials.ts';
import { CredentialsError } from '../../src/node/credentials-error.ts';
import { PKI } from '../support/pki.ts';
import { socketWorld } from '../support/scripted-server.ts';
import { httpRequest } from '../suites/transport.ts';

const directory = mkdtempSync(join(tmpdir(), 'endpointd-credentials-'));
after(() => rmSync(directory, { recursive: true }));

let files = 0;

function file(content: string): string {
  const path = join(directory, `file-${files++}`);
  writeFileSync(path, content);
  return path;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** A kubeconfig of one cluster and one user, as a file. */
function kubeconfig(cluster: Record<string, unknown>, user: Record<string, unknown>): string {
  return file(
    JSON.stringify({
      'current-context': 'x',
      contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
      clusters: [{ name: 'x', cluster: { server: 'https://10.0.0.1:6443', ...cluster } }],
      users: [{ name: 'x', user }],
    }),
  );
}

function config(fields: Partial<CredentialsConfig>): CredentialsConfig {
  return { kubeconfig: '', master: '', env: {}, serviceAccountDirectory: directory, ...fields };
}

async function access(fields: Partial<CredentialsConfig>) {
  return await createCredentials(config(fields)).read('refresh');
}

async function refused(fields: Partial<CredentialsConfig>, message: RegExp): Promise<void> {
  await assert.rejects(createCredentials(config(fields)).read('refresh'), (error) => {
    assert.ok(error instanceof CredentialsError, String(error));
    assert.match(error.message, message);
    return true;
  });
}

test('certificates may be embedded in the kubeconfig', async () => {
  const path = kubeconfig(
    { 'certificate-authority-data': base64(PKI.ca), 'tls-server-name': 'kubernetes.test' },
    { 'client-certificate-data': base64(PKI.clientCert), 'client-key-data': base64(PKI.clientKey) },
  );
  assert.deepEqual(await access({ kubeconfig: path }), {
    origin: 'https://10.0.0.1:6443',
    basePath: '',
    proxyUrl: null,
    tls: { ca: PKI.ca, cert: PKI.clientCert, key: PKI.clientKey, serverName: 'kubernetes.test', verify: true },
    headers: {},
  });
});

test('certificates in files are read again, and half a renewal is refused', async () => {
  const [cert, key] = [file(PKI.clientCert), file(PKI.clientKey)];
  const path = kubeconfig({}, { 'client-certificate': cert, 'client-key': key });
  const { read } = createCredentials(config({ kubeconfig: path }));
  assert.equal((await read('refresh')).tls.cert, PKI.clientCert);
  writeFileSync(cert, '');
  await assert.rejects(read('refresh'), /client-certificate: \/.* is not PEM$/);
  writeFileSync(cert, PKI.otherCert);
  await assert.rejects(read('refresh'), /client-certificate or client-key: .*mismatch/);
  writeFileSync(key, '');
  await assert.rejects(read('refresh'), /client-key: \/.* is not PEM$/);
  writeFileSync(key, PKI.otherKey);
  assert.equal((await read('refresh')).tls.cert, PKI.otherCert);
});

test('a client certificate that is replaced before its key is read is read again', async (t) => {
  const [cert, key] = [file(PKI.clientCert), file(PKI.clientKey)];
  const path = kubeconfig({}, { 'client-certificate': cert, 'client-key': key });
  const { readFile } = fsPromises;
  const { mock } = t.mock.method(fsPromises, 'readFile', async (of: string): Promise<string> => {
    const text = await readFile(of, 'utf8');
    if (of === cert) writeFileSync(cert, PKI.otherCert);
    if (of === cert) writeFileSync(key, PKI.otherKey);
    return text;
  });
  syncBuiltinESMExports();
  try {
    const { tls } = await access({ kubeconfig: path });
    assert.deepEqual([tls.cert, tls.key], [PKI.otherCert, PKI.otherKey]);
  } finally {
    mock.restore();
    syncBuiltinESMExports();
  }
});

test('a token file has precedence over a token, and is read again', async () => {
  const tokenFile = file('first\n');
  const { read } = createCredentials(config({ kubeconfig: kubeconfig({}, { token: 'static', tokenFile }) }));
  assert.deepEqual((await read('refresh')).headers, { Authorization: 'Bearer first' });
  writeFileSync(tokenFile, 'second');
  assert.deepEqual((await read('refresh')).headers, { Authorization: 'Bearer second' });
  writeFileSync(tokenFile, '\n');
  await assert.rejects(read('refresh'), /is empty/);
});

test('a kubeconfig that changes is read again', async () => {
  const path = kubeconfig({}, { token: 'first' });
  const { read } = createCredentials(config({ kubeconfig: path }));
  await read('refresh');
  writeFileSync(path, readFileSync(path, 'utf8').replace('first', 'second'));
  assert.deepEqual((await read('refresh')).headers, { Authorization: 'Bearer second' });
});

test('the cluster stays that of the start, whatever becomes the current context', async () => {
  const text = (current: string, server: string, token: string): string =>
    JSON.stringify({
      'current-context': current,
      contexts: ['a', 'b'].map((name) => ({ name, context: { cluster: name, user: name } })),
      clusters: [
        { name: 'a', cluster: { server } },
        { name: 'b', cluster: { server: 'https://b.example:6443' } },
      ],
      users: [
        { name: 'a', user: { token } },
        { name: 'b', user: { token: 'of b' } },
      ],
    });
  const path = file(text('a', 'https://a.example:6443', 'first'));
  const { read } = createCredentials(config({ kubeconfig: path }));
  await read('refresh');
  // As after `kubectl config use-context b`. A new token of the first user still counts.
  writeFileSync(path, text('b', 'https://a.example:6443', 'second'));
  const { origin, headers } = await read('unauthorized');
  assert.deepEqual([origin, headers], ['https://a.example:6443', { Authorization: 'Bearer second' }]);
  for (const server of ['https://b.example:6443', 'https://a.example:6443/prefix']) {
    writeFileSync(path, text('b', server, 'second'));
    await assert.rejects(read('refresh'), (error: Error) => {
      assert.ok(
        error.message.endsWith(
          `its server is ${server}, and was https://a.example:6443 at the start: only a restart changes the cluster`,
        ),
        error.message,
      );
      return error instanceof CredentialsError;
    });
  }
  // Also for as long as the file has nothing but the other one.
  writeFileSync(path, readFileSync(kubeconfig({ server: 'https://b.example:6443' }, { token: 'of x' })));
  await assert.rejects(read('refresh'), CredentialsError);
  writeFileSync(path, text('b', 'https://a.example:6443', 'second'));
  assert.deepEqual((await read('refresh')).headers, { Authorization: 'Bearer second' });
  // A file that has lost the context is read by its current one.
  writeFileSync(path, readFileSync(kubeconfig({ server: 'https://a.example:6443' }, { token: 'third' })));
  assert.deepEqual((await read('refresh')).headers, { Authorization: 'Bearer third' });
});

test('a user who has lost the credentials is an error, and never becomes anonymous', async () => {
  const path = kubeconfig({}, { token: 'one' });
  const { read } = createCredentials(config({ kubeconfig: path }));
  await read('refresh');
  writeFileSync(path, readFileSync(kubeconfig({}, { token: '' })));
  await assert.rejects(read('refresh'), /^CredentialsError: kubeconfig \/.*: its user has no credentials any more$/);
  writeFileSync(path, readFileSync(kubeconfig({}, { token: 'two' })));
  assert.equal((await read('refresh')).headers['Authorization'], 'Bearer two');
});

test('basic authentication and impersonation become headers', async () => {
  const user = {
    username: 'jane',
    password: 'secret',
    as: 'system:serviceaccount:a:b',
    'as-uid': '7',
    'as-groups': ['g1', 'g2'],
    'as-user-extra': { 'example.com/Scope': ['s1', 's2'] },
  };
  assert.deepEqual((await access({ kubeconfig: kubeconfig({}, user) })).headers, {
    Authorization: `Basic ${base64('jane:secret')}`,
    'Impersonate-User': 'system:serviceaccount:a:b',
    'Impersonate-Uid': '7',
    'Impersonate-Group': ['g1', 'g2'],
    'Impersonate-Extra-example.com%2Fscope': ['s1', 's2'],
  });
});

test("--master replaces the kubeconfig's server, and alone has no credentials", async () => {
  const path = kubeconfig({}, { token: 't' });
  const both = await access({ kubeconfig: path, master: 'https://10.9.9.9/prefix/' });
  assert.equal(both.origin, 'https://10.9.9.9');
  assert.equal(both.basePath, '/prefix');
  assert.deepEqual(both.headers, { Authorization: 'Bearer t' });
  // The name is that of the server which is replaced.
  const named = kubeconfig({ 'tls-server-name': 'kubernetes.test' }, {});
  const nameOf = async (master: string): Promise<unknown> =>
    (await access({ kubeconfig: named, master })).tls.serverName;
  assert.deepEqual([await nameOf(''), await nameOf('https://10.9.9.9')], ['kubernetes.test', null]);
  const alone = await access({ master: 'http://127.0.0.1:8080' });
  assert.equal(alone.origin, 'http://127.0.0.1:8080');
  assert.deepEqual(alone.headers, {});
});

test('in-cluster credentials come from environment, token and CA file', async () => {
  const mounted = mkdtempSync(join(directory, 'mount-'));
  writeFileSync(join(mounted, 'token'), 'mounted');
  writeFileSync(join(mounted, 'ca.crt'), PKI.ca);
  const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };
  const { read, refreshMs } = createCredentials(config({ env, serviceAccountDirectory: mounted }));
  const first = await read('refresh');
  assert.equal(first.origin, 'https://[fd00::1]');
  assert.equal(first.tls.ca, PKI.ca);
  assert.deepEqual(first.headers, { Authorization: 'Bearer mounted' });
  writeFileSync(join(mounted, 'token'), 'rotated');
  assert.deepEqual((await read('refresh')).headers, { Authorization: 'Bearer rotated' });
  assert.ok(refreshMs <= 60_000);
});

test('in-cluster without a CA file, the authorities of the machine count', async () => {
  const mounted = mkdtempSync(join(directory, 'mount-'));
  writeFileSync(join(mounted, 'token'), 'mounted');
  const env = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };
  const { read } = createCredentials(config({ env, serviceAccountDirectory: mounted }));
  assert.equal((await read('refresh')).tls.ca, null);
  assert.equal((await read('refresh')).tls.ca, null);
  writeFileSync(join(mounted, 'ca.crt'), PKI.ca);
  assert.equal((await read('refresh')).tls.ca, PKI.ca);
});

test('a CA file that is gone or unreadable is an error, so the last access stays', async () => {
  const mounted = mkdtempSync(join(directory, 'mount-'));
  const caFile = join(mounted, 'ca.crt');
  writeFileSync(join(mounted, 'token'), 'mounted');
  writeFileSync(caFile, PKI.ca);
  const env = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };
  const { read } = createCredentials(config({ env, serviceAccountDirectory: mounted }));
  await read('refresh');
  rmSync(caFile);
  const gone = new CredentialsError(`cannot read CA file ${caFile}: ENOENT`);
  await assert.rejects(read('refresh'), gone);
  await assert.rejects(read('refresh'), gone, 'nor does a second look take the file for one that never was');
  mkdirSync(caFile);
  await assert.rejects(read('refresh'), new CredentialsError(`cannot read CA file ${caFile}: EISDIR`));
  await refused({ env, serviceAccountDirectory: mounted }, /cannot read CA file .*: EISDIR$/);
  rmSync(caFile, { recursive: true });
  writeFileSync(caFile, PKI.ca);
  assert.equal((await read('refresh')).tls.ca, PKI.ca);
});

test("the proxy is the kubeconfig's, else the environment's", async () => {
  const env = { HTTPS_PROXY: 'http://env:3128' };
  const own = kubeconfig({ 'proxy-url': 'socks5://own:1080' }, {});
  assert.equal((await access({ kubeconfig: own, env })).proxyUrl, 'socks5://own:1080');
  assert.equal((await access({ kubeconfig: kubeconfig({}, {}), env })).proxyUrl, 'http://env:3128');
});

test('an address without a scheme is https where certificates are told of', async () => {
  const originOf = async (fields: Partial<CredentialsConfig>): Promise<string> => (await access(fields)).origin;
  const ca = { 'certificate-authority-data': base64(PKI.ca) };
  const client = { 'client-certificate-data': base64(PKI.clientCert), 'client-key-data': base64(PKI.clientKey) };
  const server = '10.0.0.1:6443';
  assert.deepEqual(
    await Promise.all([
      originOf({ master: '127.0.0.1:8080' }),
      originOf({ master: server, kubeconfig: kubeconfig(ca, { token: 't' }) }),
      originOf({ kubeconfig: kubeconfig({ server, ...ca }, {}) }),
      originOf({ kubeconfig: kubeconfig({ server }, client) }),
      originOf({ kubeconfig: kubeconfig({ server, 'insecure-skip-tls-verify': true }, {}) }),
      originOf({ kubeconfig: kubeconfig({ server }, {}) }),
    ]),
    ['http://127.0.0.1:8080', ...Array.from({ length: 4 }, () => `https://${server}`), `http://${server}`],
  );
});

test('a SOCKS proxy and an IPv6 address exclude each other', async () => {
  const message = /neither a SOCKS proxy nor the server behind it may be an IPv6 address: use names$/;
  const v6 = 'https://[fd00::1]:6443';
  await refused({ kubeconfig: kubeconfig({ server: v6, 'proxy-url': 'socks5://127.0.0.1:1080' }, {}) }, message);
  await refused({ kubeconfig: kubeconfig({ 'proxy-url': 'socks5://[::1]:1080' }, {}) }, message);
  assert.equal(
    (await access({ kubeconfig: kubeconfig({ server: v6, 'proxy-url': 'http://[::1]:3128' }, {}) })).origin,
    v6,
  );
});

test('errors name the file and the field, and hold no secret', async () => {
  await refused({}, /neither --kubeconfig nor --master is given/);
  await refused({ kubeconfig: '/no/such/file' }, /cannot read kubeconfig \/no\/such\/file: ENOENT/);
  await refused(
    { kubeconfig: kubeconfig({ server: 'ftp://10.0.0.1' }, {}) },
    /server: "ftp:\/\/10\.0\.0\.1" is no http or https URL/,
  );
  await refused(
    { kubeconfig: kubeconfig({ 'certificate-authority': '/no/ca' }, {}) },
    /certificate-authority: \/no\/ca: ENOENT/,
  );
  await refused(
    { kubeconfig: kubeconfig({ 'certificate-authority': file('nothing of the kind\n') }, {}) },
    /certificate-authority: \/.* is not PEM$/,
  );
  await refused(
    { kubeconfig: kubeconfig({ 'certificate-authority': file(PKI.clientKey) }, {}) },
    /certificate-authority \/.*: holds no certificate \(PEM/,
  );
  await refused(
    { kubeconfig: kubeconfig({ 'certificate-authority-data': base64(PKI.clientKey) }, {}) },
    /certificate-authority-data: holds no certificate/,
  );
  await refused(
    { kubeconfig: kubeconfig({ 'certificate-authority-data': '!!!' }, {}) },
    /certificate-authority-data: is not PEM in base64/,
  );
  await refused(
    { kubeconfig: kubeconfig({}, { 'client-certificate': file(PKI.clientCert) }) },
    /must be given together/,
  );
  await refused(
    { kubeconfig: kubeconfig({ 'proxy-url': 'ftp://user:secret@x' }, {}) },
    /proxy-url: is no http, https or socks5 URL$/,
  );
  await refused(
    { kubeconfig: kubeconfig({}, {}), env: { HTTPS_PROXY: 'http://user:secret@[x' } },
    /^HTTPS_PROXY or HTTP_PROXY: is no http, https or socks5 URL$/,
  );
  await refused({ kubeconfig: kubeconfig({ server: 'ftp://user:secret@x' }, {}) }, /server: "\.\.\.@x" is no http/);
  await refused({ kubeconfig: kubeconfig({}, { token: 'sec ret' }) }, /token holds characters that no token has$/);
  await refused(
    { kubeconfig: kubeconfig({ 'insecure-skip-tls-verify': true, 'certificate-authority-data': base64(PKI.ca) }, {}) },
    /exclude each other/,
  );
  await refused(
    { kubeconfig: kubeconfig({ server: 'http://10.0.0.1' }, { token: 't' }) },
    /plain http, credentials are only sent to it on loopback/,
  );
});

/** A script that prints an ExecCredential with the number of its call as the token. */
function execScript(status: string): string {
  const path = join(directory, `exec-${files++}.cjs`);
  const counter = `${path}.count`;
  writeFileSync(
    path,
    `#!${execPath}
const fs = require('node:fs');
const n = fs.existsSync('${counter}') ? Number(fs.readFileSync('${counter}', 'utf8')) + 1 : 1;
fs.writeFileSync('${counter}', String(n));
const info = JSON.parse(process.env.KUBERNETES_EXEC_INFO);
const token = ['call', n, process.env.EXTRA, info.spec.cluster.server.length].join('-');
console.log(JSON.stringify({ apiVersion: info.apiVersion, kind: info.kind, status: { token, ...${status} } }));
`,
  );
  chmodSync(path, 0o755);
  return path;
}

function execUser(status: string): Record<string, unknown> {
  const env = [{ name: 'EXTRA', value: 'env' }];
  const apiVersion = 'client.authentication.k8s.io/v1';
  return { exec: { apiVersion, command: execScript(status), env, interactiveMode: 'Never', provideClusterInfo: true } };
}

test('exec: a valid token is kept, and asked for again after a 401 or its end', async () => {
  const { read, refreshMs } = createCredentials(config({ kubeconfig: kubeconfig({}, execUser('{}')) }));
  assert.deepEqual((await read('refresh')).headers, { Authorization: 'Bearer call-1-env-21' });
  assert.deepEqual((await read('refresh')).headers, { Authorization: 'Bearer call-1-env-21' });
  assert.deepEqual((await read('unauthorized')).headers, { Authorization: 'Bearer call-2-env-21' });
  assert.ok(refreshMs <= 50_000);

  const expired = createCredentials(
    config({ kubeconfig: kubeconfig({}, execUser(`{ expirationTimestamp: '2020-01-01T00:00:00Z' }`)) }),
  );
  assert.deepEqual((await expired.read('refresh')).headers, { Authorization: 'Bearer call-1-env-21' });
  assert.deepEqual((await expired.read('refresh')).headers, { Authorization: 'Bearer call-2-env-21' });
});

test('exec: a file that names another cluster for a while runs no command', async () => {
  const path = kubeconfig({}, execUser('{}'));
  const { read } = createCredentials(config({ kubeconfig: path }));
  await read('refresh');
  const own = readFileSync(path);
  const ran = join(directory, 'ran-for-b');
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: '/bin/sh', args: ['-c', `touch ${ran}`] };
  writeFileSync(path, readFileSync(kubeconfig({ server: 'https://b.example:6443' }, { exec })));
  await assert.rejects(read('unauthorized'), /its server is https:\/\/b\.example:6443, and was /);
  assert.ok(!existsSync(ran));
  writeFileSync(path, own);
  // The plugin of before knows its last answer. A new one would run the command again.
  assert.deepEqual((await read('refresh')).headers, { Authorization: 'Bearer call-1-env-21' });
});

test('exec: a failed command is named with its output', async () => {
  const apiVersion = 'client.authentication.k8s.io/v1';
  const exec = {
    apiVersion,
    command: execPath,
    args: ['-e', 'console.error("no login"); process.exit(3)'],
  };
  await refused({ kubeconfig: kubeconfig({}, { exec }) }, /users\["x"\]: exec ".*" failed: no login/);
  await refused(
    { kubeconfig: kubeconfig({}, { exec: { apiVersion, command: '/no/such/command' } }) },
    /failed: .*ENOENT/,
  );
});

test('oidc: a valid id token is used as it is', async () => {
  const payload = Buffer.from(JSON.stringify({ exp: Date.now() / 1000 + 3600 })).toString('base64url');
  const header = Buffer.from('{"alg":"none"}').toString('base64url');
  const idToken = `${header}.${payload}.sig`;
  const user = { 'auth-provider': { name: 'oidc', config: { 'id-token': idToken, 'client-id': 'x' } } };
  const { read } = createCredentials(config({ kubeconfig: kubeconfig({}, user) }));
  assert.deepEqual((await read('refresh')).headers, { Authorization: `Bearer ${idToken}` });
  assert.deepEqual((await read('refresh')).headers, { Authorization: `Bearer ${idToken}` });
});

/**
 * A transport with the credentials given, and a server with a certificate for `kubernetes.test` that notes whose
 * certificate each connection brought. `asked` has why the credentials were read again.
 */
async function tlsWorld(cluster: Record<string, unknown>, user: Record<string, unknown>) {
  const peers: string[] = [];
  const asked: string[] = [];
  const { read } = createCredentials(config({ kubeconfig: kubeconfig(cluster, user) }));
  const first = await read('refresh');
  const world = await socketWorld(
    () => ({ status: 200, body: '' }),
    {
      refreshMs: 5,
      accessOf: (origin) => ({ ...first, origin }),
      readAccess: async (why, origin) => {
        asked.push(why);
        return { ...(await read(why)), origin };
      },
    },
    (handler) => {
      const certificate = { cert: PKI.serverCert, key: PKI.serverKey, ca: PKI.ca };
      const server = createServer({ ...certificate, requestCert: true, rejectUnauthorized: false }, handler);
      server.on('secureConnection', (socket: TLSSocket) => {
        const { subject } = socket.getPeerCertificate();
        peers.push(`${String(subject?.CN ?? 'nobody')} over ${String(socket.alpnProtocol)}`);
      });
      return server;
    },
  );
  return Object.assign(world, { peers, asked, [Symbol.asyncDispose]: () => world.close() });
}

const TRUSTED = { 'certificate-authority-data': base64(PKI.ca), 'tls-server-name': 'kubernetes.test' };

test('TLS: client certificate and tls-server-name reach the server, over HTTP/1.1', async () => {
  const user = { 'client-certificate-data': base64(PKI.clientCert), 'client-key-data': base64(PKI.clientKey) };
  await using world = await tlsWorld(TRUSTED, user);
  world.transport.send(httpRequest());
  await world.until(() => world.events.length === 1);
  assert.equal(world.events[0]!.type, 'response');
  assert.deepEqual(world.peers, ['client over http/1.1']);
});

test('TLS: new connections use a certificate that was replaced in its file', async () => {
  const [cert, key] = [file(PKI.clientCert), file(PKI.clientKey)];
  await using world = await tlsWorld(TRUSTED, { 'client-certificate': cert, 'client-key': key });
  world.transport.send(httpRequest());
  await world.until(() => world.events.length === 1);
  writeFileSync(cert, PKI.otherCert);
  writeFileSync(key, PKI.otherKey);
  await world.until(() => world.logged.some((line) => line.message.startsWith('Credentials changed')));
  world.transport.send(httpRequest());
  await world.until(() => world.events.length === 2);
  assert.equal(world.events[1]!.type, 'response');
  assert.deepEqual(world.peers, ['client over http/1.1', 'client2 over http/1.1']);
});

const untrusted: [name: string, cluster: Record<string, unknown>, message: RegExp][] = [
  ['another name', { 'certificate-authority-data': base64(PKI.ca) }, /does not match certificate's altnames/],
  ['an unknown authority', { 'tls-server-name': 'kubernetes.test' }, /unable to verify|self-signed/],
];
for (const [name, cluster, message] of untrusted) {
  test(`TLS: a server with ${name} gets no request`, async () => {
    await using world = await tlsWorld(cluster, {});
    world.transport.send(httpRequest({ pool: 'write', method: 'PUT', body: new Uint8Array([1]) }));
    await world.until(() => world.events.length === 1);
    const failure = world.events[0]!;
    assert.ok(failure.type === 'failure');
    assert.equal(failure.mayHaveArrived, false);
    assert.match(failure.message, message);
    assert.equal(world.seen.length, 0);
    // A command or an issuer can do nothing about the server's certificate, and is not asked for fresh credentials.
    await world.until(() => world.asked.length > 2);
    assert.ok(!world.asked.includes('unauthorized'));
  });
}

test('TLS: NODE_TLS_REJECT_UNAUTHORIZED=0 trusts no server', async () => {
  await using world = await tlsWorld({ 'tls-server-name': 'kubernetes.test' }, {});
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  try {
    world.transport.send(httpRequest());
    await world.until(() => world.events.length === 1);
  } finally {
    delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
  }
  assert.equal(world.events[0]!.type, 'failure');
  assert.equal(world.seen.length, 0);
});

test('credentials over plain http leave the machine through no proxy', async () => {
  const local = { server: 'http://127.0.0.1:8080' };
  assert.equal((await access({ kubeconfig: kubeconfig(local, { token: 't' }) })).origin, 'http://127.0.0.1:8080');
  const away = kubeconfig({ ...local, 'proxy-url': 'http://proxy.example:3128' }, { token: 't' });
  await refused({ kubeconfig: away }, /is plain http, credentials are only sent to it without a proxy$/);
});

test('TLS: insecure-skip-tls-verify trusts any server', async () => {
  await using world = await tlsWorld({ 'insecure-skip-tls-verify': true }, {});
  world.transport.send(httpRequest());
  await world.until(() => world.events.length === 1);
  assert.equal(world.events[0]!.type, 'response');
  assert.deepEqual(world.peers, ['nobody over http/1.1']);
});
