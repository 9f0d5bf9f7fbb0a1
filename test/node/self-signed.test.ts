import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { request, Agent } from 'undici';
import { createApiServer } from '../../src/apiserver/server.ts';
import { kubeconfigFor, serveApi } from '../../src/node/apiserver-http.ts';
import { selfSigned } from '../../src/node/self-signed.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12);

function certificateOf(...hosts: string[]): X509Certificate {
  return new X509Certificate(selfSigned({ hosts, nowMs: NOW_MS, days: 10 }).cert);
}

test('a self-signed certificate is its own authority, and fits its key', () => {
  const { cert, key } = selfSigned({ hosts: ['localhost'], nowMs: NOW_MS, days: 10 });
  const certificate = new X509Certificate(cert);
  assert.equal(certificate.subject, 'CN=endpointd');
  assert.ok(certificate.ca);
  assert.ok(certificate.checkIssued(certificate));
  assert.ok(certificate.verify(certificate.publicKey));
  assert.match(key, /^-----BEGIN PRIVATE KEY-----/);
  assert.deepEqual(certificate.keyUsage, ['1.3.6.1.5.5.7.3.1']);
});

test('the certificate is valid for names and addresses', () => {
  const certificate = certificateOf('localhost', '127.0.0.1', '::1', 'fd00:10::20', '192.0.2.255');
  assert.equal(
    certificate.subjectAltName,
    'DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, IP Address:FD00:10:0:0:0:0:0:20, ' +
      'IP Address:192.0.2.255',
  );
  assert.equal(certificate.checkHost('localhost'), 'localhost');
  assert.equal(certificate.checkIP('192.0.2.255'), '192.0.2.255');
  assert.equal(certificate.checkIP('192.0.2.254'), undefined);
});

test('many hosts make a longer certificate', () => {
  const hosts = Array.from({ length: 40 }, (_, at) => `host-${at}.example`);
  assert.equal(certificateOf(...hosts).checkHost('host-39.example'), 'host-39.example');
});

test('the certificate begins an hour before and ends after its days, beyond 2049 too', () => {
  const certificate = certificateOf('localhost');
  assert.deepEqual(
    [certificate.validFrom, certificate.validTo],
    ['Nov 21 11:00:00 2026 GMT', 'Dec  1 12:00:00 2026 GMT'],
  );
  const late = selfSigned({ hosts: ['localhost'], nowMs: NOW_MS, days: 365 * 30 });
  assert.match(new X509Certificate(late.cert).validTo, /2056 GMT$/);
});

test('a host that no certificate can name is refused', () => {
  assert.throws(() => certificateOf('a host'), /"a host" is no host name/);
});

test('HTTPS works for clients that trust the certificate and know the token', async () => {
  const tls = selfSigned({ hosts: ['127.0.0.1'], nowMs: Date.now(), days: 1 });
  const http = await serveApi(createApiServer({ random: () => 0.5 }), { tls, token: 'secret' });
  const trusting = new Agent({ connect: { ca: tls.cert } });
  const statusOf = async (headers: Record<string, string>, dispatcher: Agent): Promise<number> => {
    const { statusCode, body } = await request(`${http.url}/api/v1/pods`, { headers, dispatcher });
    await body.dump();
    return statusCode;
  };
  try {
    assert.match(http.url, /^https:\/\/127\.0\.0\.1:/);
    assert.equal(await statusOf({ authorization: 'Bearer secret' }, trusting), 200);
    assert.equal(await statusOf({}, trusting), 401);
    await assert.rejects(statusOf({ authorization: 'Bearer secret' }, new Agent()), /self-signed certificate/);
    assert.match(kubeconfigFor(http.url, 'secret', tls.cert), /certificate-authority-data: LS0tLS1CRUdJTiBDRVJ/);
  } finally {
    await trusting.destroy();
    await http.close();
  }
});
