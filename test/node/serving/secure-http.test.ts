/** The port with TLS: versions and ciphers, certificates that are replaced while it is used, and clients of every kind. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import fsPromises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { connect } from 'node:net';
import os, { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it, mock } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { setTimeout as sleep } from 'node:timers/promises';
import { createMetricStore, samples } from '../../../src/metrics/store.ts';
import type { LogLine } from '../../../src/node/log.ts';
import { selfSigned, type TlsIdentity } from '../../../src/node/self-signed.ts';
import { startHttp, type HttpServer } from '../../../src/node/serving/http.ts';
import { CURVES, opensslCiphers, opensslCurves } from '../../../src/node/serving/tls-names.ts';
import type { SecureHttpConfig } from '../../../src/node/serving/secure-http.ts';
import { AUTHORITIES, CLIENTS } from '../../support/client-certificates.ts';
import { startReviewServer, type ReviewServer } from '../../support/review-server.ts';
import { ask, dial, say, serveSecurely } from '../../support/secure-pages.ts';
import { until } from '../../support/until.ts';

const FILES_EVERY_MS = 20;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Common name, hosts in the certificate and names in the flag, for each flag; then what is served by name. */
type Flag = readonly [name: string, hosts: readonly string[], names: readonly string[]];
const NAMED: readonly (readonly [rule: string, flags: readonly Flag[], expected: Readonly<Record<string, string>>])[] =
  [
    [
      'a whole one comes before a wildcard, whichever flag is first',
      [
        ['wide', [], ['*.example.com']],
        ['whole', [], ['a.example.com']],
      ],
      { 'a.example.com': 'CN=whole', 'A.Example.COM': 'CN=whole', 'b.example.com': 'CN=wide' },
    ],
    [
      'a given one comes before the same in a certificate',
      [
        ['found', ['a.test', '*.b.test'], []],
        ['given', [], ['a.test', '*.b.test']],
      ],
      { 'a.test': 'CN=given', 'one.b.test': 'CN=given' },
    ],
    [
      'a whole one in a certificate comes before a given wildcard',
      [
        ['given', [], ['*.test']],
        ['found', ['a.test'], []],
      ],
      { 'a.test': 'CN=found', 'b.test': 'CN=given' },
    ],
    [
      'the first of several flags counts',
      [
        ['first', ['a.test'], []],
        ['second', ['a.test', 'b.test'], []],
      ],
      { 'a.test': 'CN=first', 'b.test': 'CN=second' },
    ],
    [
      'a wildcard is for one whole label, the first',
      [['wide', [], ['*.a.test', 'b.*.test', 'c*.test', '*']]],
      {
        'one.a.test': 'CN=wide',
        'two.one.a.test': 'CN=default',
        'a.test': 'CN=default',
        'b.one.test': 'CN=default',
        'cc.test': 'CN=default',
        host: 'CN=wide',
      },
    ],
    [
      'the common name counts, beside addresses and beside hosts',
      [
        ['bare.test', ['127.0.0.1'], []],
        ['common.test', ['other.test'], []],
      ],
      { 'bare.test': 'CN=bare.test', 'common.test': 'CN=common.test', 'other.test': 'CN=common.test' },
    ],
    [
      'who asks for one that no flag has gets what is valid for it, the default first',
      [['valid', ['valid.test', 'both.test'], ['given.test']]],
      { 'valid.test': 'CN=valid', 'both.test': 'CN=default', 'none.test': 'CN=default' },
    ],
  ];

let directory: string;
let reviews: ReviewServer;
let log: LogLine[];
let server: HttpServer | undefined;

before(async () => {
  reviews = await startReviewServer();
  reviews.rights.add('alice get /metrics');
});
after(() => reviews.close());
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'endpointd-tls-'));
  log = [];
});
afterEach(async () => {
  await server?.close();
  server = undefined;
  rmSync(directory, { recursive: true });
});

async function serve(more: Partial<SecureHttpConfig> = {}): Promise<string> {
  server = await serveSecurely(reviews, log, { filesEveryMs: FILES_EVERY_MS, ...more });
  return server.address;
}

function identityOf(name: string, hosts: readonly string[] = ['127.0.0.1']): TlsIdentity {
  return selfSigned({ name, hosts, nowMs: Date.now(), days: 1 });
}

function writePair(name: string, identity: TlsIdentity): { certFile: string; keyFile: string } {
  const [certFile, keyFile] = [join(directory, `${name}.crt`), join(directory, `${name}.key`)];
  writeFileSync(certFile, identity.cert);
  writeFileSync(keyFile, identity.key);
  return { certFile, keyFile };
}

/** As a Secret is mounted: both files change at once, by one link. */
function mount({ cert, key }: TlsIdentity): { certFile: string; keyFile: string } {
  const version = mkdtempSync(join(directory, 'v-'));
  writeFileSync(join(version, 'tls.crt'), cert);
  writeFileSync(join(version, 'tls.key'), key);
  symlinkSync(version, join(directory, 'next'));
  renameSync(join(directory, 'next'), join(directory, 'now'));
  return { certFile: join(directory, 'now', 'tls.crt'), keyFile: join(directory, 'now', 'tls.key') };
}

async function nameServed(address: string, servername?: string): Promise<string> {
  const socket = dial(address, servername === undefined ? {} : { servername });
  await once(socket, 'secureConnect');
  const { subject } = socket.getPeerX509Certificate()!;
  socket.destroy();
  return subject;
}

describe('the certificate', () => {
  it('without a given certificate a self-signed one names this machine', async () => {
    const address = await serve();
    const socket = dial(address);
    await once(socket, 'secureConnect');
    const certificate = socket.getPeerX509Certificate()!;
    socket.destroy();
    assert.equal(certificate.subject, 'CN=endpointd');
    assert.ok(certificate.checkIP('127.0.0.1') !== undefined && certificate.checkHost('localhost') !== undefined);
  });

  it('a made certificate leaves out a name of this machine that is not ASCII', async (t) => {
    const { mock } = t.mock.method(os, 'hostname', () => 'büro');
    syncBuiltinESMExports();
    const address = await serve();
    mock.restore();
    syncBuiltinESMExports();
    const socket = dial(address);
    await once(socket, 'secureConnect');
    const { subjectAltName } = socket.getPeerX509Certificate()!;
    socket.destroy();
    assert.equal(subjectAltName, 'DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1');
  });

  it('a made certificate is kept in --cert-dir, private, and used again', async () => {
    const kept = join(directory, 'certs');
    await serve({ directory: kept });
    const made = readFileSync(join(kept, 'endpointd.crt'), 'utf8');
    assert.equal(statSync(join(kept, 'endpointd.key')).mode & 0o777, 0o600);
    await server!.close();
    const address = await serve({ directory: kept });
    const socket = dial(address, { rejectUnauthorized: true, ca: made });
    await once(socket, 'secureConnect');
    socket.destroy();
  });

  it('a certificate replaced under load is served from then on; no request fails', async () => {
    const address = await serve(mount(identityOf('first')));
    const seen = new Set<string>();
    let requests = 0;
    const over = new AbortController();
    const load = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const { status } = await ask(address, '/healthz');
        assert.equal(status, 200);
        requests++;
      }
    };
    seen.add(await nameServed(address));
    const clients = [load(), load()];
    for (const name of ['second', 'third']) {
      mount(identityOf(name));
      const before = requests;
      await until(async () => {
        const subject = await nameServed(address);
        seen.add(subject);
        return subject === `CN=${name}` && requests > before + 2;
      });
    }
    over.abort();
    await Promise.all(clients);
    assert.deepEqual([...seen].toSorted(), ['CN=first', 'CN=second', 'CN=third']);
    assert.deepEqual(
      new Set(log.map(({ message }) => message)),
      new Set(['Serving certificate changed, new connections use it']),
    );
  });

  it('a pair that is replaced between the reads of its files is read again at once', async (t) => {
    const files = mount(identityOf('first'));
    const { readFile } = fsPromises;
    const replaced = Promise.withResolvers<void>();
    let reads = 0;
    const { mock } = t.mock.method(fsPromises, 'readFile', async (path: string): Promise<string> => {
      if (path === files.keyFile) await replaced.promise;
      const text = await readFile(path, 'utf8');
      if (path === files.certFile && ++reads === 1) mount(identityOf('second'));
      replaced.resolve();
      return text;
    });
    syncBuiltinESMExports();
    try {
      assert.equal(await nameServed(await serve(files)), 'CN=second');
    } finally {
      mock.restore();
      syncBuiltinESMExports();
    }
    assert.deepEqual(log, []);
  });

  it('a client that asks for a name gets the first certificate that has it', async () => {
    const given = { ...writePair('given', identityOf('given')), names: ['*.example', 'Metrics.test'] };
    const second = { ...writePair('second', identityOf('second')), names: ['metrics.test', 'second.test'] };
    const own = { ...writePair('own', identityOf('own', ['own.test', '*.own.test', '127.0.0.1'])), names: [] };
    const address = await serve({ ...mount(identityOf('default')), named: [given, second, own] });
    const served = async (name: string): Promise<string> => (await nameServed(address, name)).slice('CN='.length);
    for (const [name, subject] of Object.entries({
      'one.example': 'given',
      'two.one.example': 'default',
      'metrics.test': 'given',
      'second.test': 'second',
      'own.test': 'own',
      'sub.own.test': 'own',
      'other.test': 'default',
    })) {
      assert.equal(await served(name), subject, name);
    }
    assert.equal(await nameServed(address), 'CN=default');
    writePair('own', identityOf('replaced', ['own.test']));
    await until(async () => (await served('own.test')) === 'replaced');
  });

  it('a certificate for a name accepts the same certificates of clients', async () => {
    const named = [{ ...writePair('named', identityOf('named')), names: ['named.test'] }];
    const clientCaFile = join(directory, 'users.crt');
    writeFileSync(clientCaFile, AUTHORITIES.users);
    const address = await serve({ named, clientCaFile });
    const tls = { ...CLIENTS.alice, servername: 'named.test' };
    assert.equal((await ask(address, '/metrics', { tls })).status, 200);
    assert.equal(
      (await ask(address, '/metrics', { tls: { ...CLIENTS.stranger, servername: 'named.test' } })).status,
      401,
    );
  });

  for (const [rule, flags, expected] of NAMED) {
    it(`the certificate by name: ${rule}`, async () => {
      const named = flags.map(([name, hosts, names]) => {
        const { certFile, keyFile } = writePair(name, identityOf(name, hosts));
        return { certFile, keyFile, names };
      });
      const address = await serve({ ...mount(identityOf('default', ['both.test'])), named });
      const served: Record<string, string> = {};
      for (const name of Object.keys(expected)) served[name] = await nameServed(address, name);
      assert.deepEqual(served, expected);
    });
  }

  it('a client that asks for no name gets the certificate of the given address', async () => {
    const named = [
      { ...writePair('here', identityOf('here')), names: ['127.0.0.1', 'here.test'] },
      { ...writePair('there', identityOf('there')), names: ['there.test', '127.0.0.2'] },
    ];
    const address = await serve({ ...mount(identityOf('default')), named, host: '' });
    const port = address.slice(address.lastIndexOf(':') + 1);
    assert.equal(await nameServed(`127.0.0.1:${port}`), 'CN=here');
    assert.equal(await nameServed(`127.0.0.2:${port}`), 'CN=there');
    assert.equal(await nameServed(`127.0.0.3:${port}`), 'CN=default');
    assert.equal(await nameServed(`127.0.0.1:${port}`, 'there.test'), 'CN=there');
    assert.equal(await nameServed(`127.0.0.1:${port}`, 'other.test'), 'CN=default');
  });

  it('a certificate that names no host needs names', async () => {
    const named = [{ ...writePair('named', identityOf('no host')), names: [] }];
    await assert.rejects(serve({ named }), /named\.crt names no host: give names behind it, as CERT,KEY:NAME,NAME$/);
  });

  it('a replaced certificate leaves open connections as they are', async () => {
    const address = await serve(mount(identityOf('first')));
    const open = dial(address);
    await once(open, 'secureConnect');
    mount(identityOf('second'));
    await until(async () => (await nameServed(address)) === 'CN=second');
    open.write('GET /livez HTTP/1.1\r\nhost: a\r\n\r\n');
    const [said] = (await once(open, 'data')) as [Buffer];
    assert.match(said.toString(), /^HTTP\/1\.1 200 OK/);
    open.destroy();
  });

  for (const [what, breakIt] of [
    [
      'whose key has not come yet',
      (): void => writeFileSync(join(directory, 'now', 'tls.crt'), identityOf('next').cert),
    ],
    [
      'that is cut off',
      (): void => writeFileSync(join(directory, 'now', 'tls.crt'), '-----BEGIN CERTIFICATE-----\nMII'),
    ],
    ['that is gone', (): void => rmSync(join(directory, 'now', 'tls.crt'))],
  ] as const) {
    it(`${what} is logged once, and the last certificate stays in use`, async () => {
      const address = await serve(mount(identityOf('first')));
      breakIt();
      await until(() => log.length > 0);
      await sleep(3 * FILES_EVERY_MS);
      assert.equal(await nameServed(address), 'CN=first');
      assert.deepEqual(
        log.map(({ level, message }) => [level, message]),
        [['error', 'Cannot read the serving certificate again, going on with the last one']],
      );
      assert.ok(String(log[0]!.fields['err']).includes(directory));
      mount(identityOf('second'));
      await until(async () => (await nameServed(address)) === 'CN=second');
    });
  }

  it('an expired certificate is served with a warning', async () => {
    const over = selfSigned({ hosts: ['127.0.0.1'], nowMs: Date.now() - 3 * DAY_MS, days: 1 });
    await serve(mount(over));
    assert.deepEqual(
      log.map(({ level, message }) => [level, message]),
      [['warning', 'Serving certificate is not valid today']],
    );
  });

  it('a certificate that ends while it is served is told, once a day', async (t) => {
    const realMs = Date.now.bind(Date);
    let laterMs = 0;
    t.mock.method(Date, 'now', () => realMs() + laterMs);
    const endMs = Date.now() + HOUR_MS;
    const endsSoon = selfSigned({ hosts: ['127.0.0.1'], nowMs: endMs - 3 * DAY_MS, days: 3 });
    const metrics = createMetricStore();
    await serve({ ...mount(endsSoon), metrics });
    const name = 'endpointd_serving_certificate_expiration_timestamp_seconds';
    const [end] = samples(metrics, name, 0);
    assert.equal(end?.value, Math.floor(endMs / 1000));
    laterMs = 2 * HOUR_MS;
    await until(() => log.length > 1);
    await sleep(3 * FILES_EVERY_MS);
    assert.deepEqual(
      log.map(({ level, message }) => [level, message]),
      [
        ['warning', 'Serving certificate ends soon: renew it'],
        ['warning', 'Serving certificate is not valid today'],
      ],
    );
  });

  it('a made certificate in --cert-dir is made anew when it ends soon, no other', async () => {
    const kept = join(directory, 'ending');
    mkdirSync(kept);
    const put = (name: string): string => {
      const nowMs = Date.now() - 360 * DAY_MS;
      const { cert, key } = selfSigned({ name, hosts: ['127.0.0.1'], nowMs, days: 365 });
      writeFileSync(join(kept, 'endpointd.crt'), cert);
      writeFileSync(join(kept, 'endpointd.key'), key);
      return cert;
    };
    const inPlace = (): string => readFileSync(join(kept, 'endpointd.crt'), 'utf8');
    const theirs = put('theirs');
    await serve({ directory: kept });
    assert.equal(inPlace(), theirs);
    await server!.close();
    const ending = put('endpointd');
    log.length = 0;
    const address = await serve({ directory: kept });
    assert.notEqual(inPlace(), ending);
    assert.deepEqual(log, []);
    const socket = dial(address, { rejectUnauthorized: true, ca: inPlace() });
    await once(socket, 'secureConnect');
    socket.destroy();
  });

  it('an unusable certificate at the start is an error that names the file', async () => {
    const files = mount(identityOf('first'));
    const other = join(directory, 'other.key');
    writeFileSync(other, identityOf('other').key);
    await assert.rejects(serve({ ...files, keyFile: other }), /other\.key is not the key of .*tls\.crt$/);
    await assert.rejects(serve({ ...files, certFile: join(directory, 'none') }), /ENOENT.*none/);
    await assert.rejects(serve({ ...files, keyFile: files.certFile }), /does not hold a private key in PEM$/);
    assert.ok(existsSync(files.certFile));
  });
});

describe('authorities of clients', () => {
  const alice = { tls: { cert: CLIENTS.alice.cert, key: CLIENTS.alice.key } };

  it('replaced authorities count for the next connection', async () => {
    const clientCaFile = join(directory, 'ca.crt');
    writeFileSync(clientCaFile, AUTHORITIES.proxies);
    const address = await serve({ clientCaFile });
    assert.equal((await ask(address, '/metrics', alice)).status, 401);
    writeFileSync(clientCaFile, AUTHORITIES.users);
    await until(async () => (await ask(address, '/metrics', alice)).status === 200);
    writeFileSync(clientCaFile, '');
    await until(() => log.some(({ level }) => level === 'error'));
    assert.equal((await ask(address, '/metrics', alice)).status, 200);
  });

  it('unusable authorities at the start are an error that names flag and file', async () => {
    const clientCaFile = join(directory, 'ca.crt');
    await assert.rejects(serve({ clientCaFile }), /^Error: --client-ca-file=.*ca\.crt: ENOENT$/);
    writeFileSync(clientCaFile, 'nonsense');
    await assert.rejects(serve({ clientCaFile }), /^Error: --client-ca-file=.*ca\.crt holds no certificate$/);
  });
});

describe('TLS', () => {
  const protocolOf = async (socket: TLSSocket): Promise<string> => {
    await once(socket, 'secureConnect');
    const said = `${socket.getProtocol()} ${socket.getCipher().name}`;
    socket.destroy();
    return said;
  };

  it('TLS 1.2 and 1.3 are served, and 1.1 is not', async () => {
    const address = await serve();
    assert.match(await protocolOf(dial(address)), /^TLSv1\.3 /);
    assert.match(await protocolOf(dial(address, { maxVersion: 'TLSv1.2' })), /^TLSv1\.2 /);
    const old = { maxVersion: 'TLSv1.1', minVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    await assert.rejects(protocolOf(dial(address, old)));
  });

  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    it(`TLS sessions are not resumed (${maxVersion})`, async () => {
      const address = await serve();
      const first = dial(address, { maxVersion });
      let session: Buffer | undefined;
      first.on('session', (given: Buffer) => (session = given));
      first.once('secureConnect', () => first.write('GET /livez HTTP/1.1\r\nhost: a\r\n\r\n'));
      await once(first.resume(), 'close');
      const second = dial(address, { maxVersion, session });
      await once(second, 'secureConnect');
      assert.equal(second.isSessionReused(), false);
      second.destroy();
    });
  }

  it('TLS 1.2 can be refused', async () => {
    const address = await serve({ minVersion: 'TLSv1.3' });
    await assert.rejects(protocolOf(dial(address, { maxVersion: 'TLSv1.2' })), /alert protocol version/);
  });

  it('TLS 1.2 has the named suites only, and 1.3 has its own', async () => {
    const address = await serve({ ciphers: opensslCiphers(['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384']) });
    const old = { maxVersion: 'TLSv1.2' } as const;
    assert.equal(await protocolOf(dial(address, old)), 'TLSv1.2 ECDHE-ECDSA-AES256-GCM-SHA384');
    await assert.rejects(protocolOf(dial(address, { ...old, ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' })));
    assert.match(await protocolOf(dial(address)), /^TLSv1\.3 TLS_AES_/);
  });

  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    it(`keys are exchanged in the named ways only (${maxVersion})`, async () => {
      const address = await serve({ curves: opensslCurves([24, 29]) });
      const way = async (ecdhCurve: string): Promise<string | undefined> => {
        const socket = dial(address, { maxVersion, ecdhCurve });
        await once(socket, 'secureConnect');
        const { name } = socket.getEphemeralKeyInfo() as { name?: string };
        socket.destroy();
        return name;
      };
      // TLS 1.2 asks for the curve of the certificate, too.
      assert.equal(await way('P-256:P-384:X25519'), 'X25519');
      assert.equal(await way('P-256:P-384'), 'secp384r1');
      await assert.rejects(way('P-256:P-521'), /handshake failure/);
    });
  }

  it('each way to exchange keys that the flag names is served', async () => {
    for (const [id, name] of CURVES) {
      const address = await serve({ curves: opensslCurves([id]) });
      assert.match(await protocolOf(dial(address, { ecdhCurve: name })), /^TLSv1\.3 /);
      await server?.close();
      server = undefined;
    }
  });

  it('a request without TLS gets an error that asks for it', async () => {
    const address = await serve();
    const socket = connect(Number(address.split(':')[1]), '127.0.0.1');
    socket.write('GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n');
    let said = '';
    socket.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await once(socket, 'close');
    assert.equal(said, 'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n');
  });

  it('masses of handshakes begin 50 a second, after 25 at once', async () => {
    let nowMs = Math.ceil(performance.now());
    const clock = mock.method(performance, 'now', () => nowMs);
    const address = await serve();
    const clients = { connected: 0, over: false };
    const flood = async (): Promise<void> => {
      while (!clients.over) {
        const one = dial(address);
        one.on('error', () => undefined);
        await Promise.race([once(one, 'secureConnect').then(() => clients.connected++), once(one, 'close')]).catch(
          () => undefined,
        );
        one.destroy();
      }
    };
    const floods = Promise.all(Array.from({ length: 4 }, flood));
    try {
      for (const [ms, count] of [
        [0, 25],
        [20, 26],
        [100, 31],
        [200, 41],
      ] as const) {
        nowMs += ms;
        await until(() => clients.connected >= count);
        await sleep(100);
        assert.equal(clients.connected, count, `${ms} ms later`);
      }
    } finally {
      clients.over = true;
      nowMs += 1000;
      await floods;
      clock.mock.restore();
    }
  });
});

it('an address in use is an error', async () => {
  const address = await serve();
  const port = Number(address.split(':')[1]);
  await assert.rejects(serveSecurely(reviews, log, { port }), /EADDRINUSE/);
  const plain = {
    gate: () => Promise.resolve(null),
    pages: () => null,
    handshakes: null,
    onAcceptError: assert.fail,
    onPageError: assert.fail,
  };
  await assert.rejects(startHttp({ host: '127.0.0.1', port, ...plain }), /EADDRINUSE/);
});

it('a connection has one answer, whatever follows the request', async () => {
  const address = await serve();
  const { body, head } = await say(address, 'GET /livez HTTP/1.1\r\nhost: a\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n');
  assert.equal(body, 'page /livez');
  assert.match(head, /\r\nConnection: close/);
});
