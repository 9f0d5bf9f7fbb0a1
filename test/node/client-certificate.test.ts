import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createMetricStore, samples } from '../../src/metrics/store.ts';
import { watchCertificate } from '../../src/node/client-certificate.ts';
import type { Access } from '../../src/node/access.ts';
import { PKI } from '../support/pki.ts';

const EXPIRATION = 'endpointd_client_certificate_expiration_timestamp_seconds';
const LIFETIME = 'endpointd_client_certificate_lifetime_seconds';
/** The certificates of these tests are valid from here on, for a hundred years. */
const FROM_MS = Date.parse('2026-11-21T12:15:28Z');
const UNTIL_MS = Date.parse('2126-10-28T12:15:28Z');
const DAY_MS = 86_400_000;

function accessWith(cert: string | null): Access {
  const tls = { ca: null, cert, key: null, serverName: null, verify: true };
  return { origin: 'https://kubernetes.test', basePath: '', proxyUrl: null, tls, headers: {} };
}

function watched(): {
  readonly lookAt: (cert: string | null, wallMs: number) => void;
  readonly told: string[];
  readonly values: () => (number | undefined)[];
} {
  const metrics = createMetricStore();
  const told: string[] = [];
  let nowMs = 0;
  const look = watchCertificate({
    metrics,
    log: ({ level, message, fields }) => told.push(`${level}: ${message} (${String(fields['until'])})`),
    wallMs: () => nowMs,
  });
  return {
    told,
    lookAt(cert, wallMs) {
      nowMs = wallMs;
      look(accessWith(cert));
    },
    values: () => [EXPIRATION, LIFETIME].map((name) => samples(metrics, name, 0)[0]?.value),
  };
}

describe('the life of the client certificate', () => {
  it('end and length of a certificate are metrics, which are absent without one', () => {
    const { lookAt, values } = watched();
    lookAt(PKI.clientCert, FROM_MS);
    assert.deepEqual(values(), [UNTIL_MS / 1000, (UNTIL_MS - FROM_MS) / 1000]);
    lookAt(null, FROM_MS);
    assert.deepEqual(values(), [undefined, undefined]);
  });

  it('the log tells of its last twentieth once a day, and of its end', () => {
    const { lookAt, told } = watched();
    const lastMs = UNTIL_MS - (UNTIL_MS - FROM_MS) / 20;
    for (const wallMs of [FROM_MS, lastMs - 1]) lookAt(PKI.clientCert, wallMs);
    assert.deepEqual(told, []);
    for (const afterMs of [0, 1000, DAY_MS - 1, DAY_MS]) lookAt(PKI.clientCert, lastMs + afterMs);
    lookAt(PKI.clientCert, UNTIL_MS);
    const soon = 'warning: The client certificate for the API server ends soon: renew it in the kubeconfig';
    const over = 'warning: The client certificate for the API server has ended: renew it in the kubeconfig';
    const until = '(2126-10-28T12:15:28.000Z)';
    assert.deepEqual(told, [`${soon} ${until}`, `${soon} ${until}`, `${over} ${until}`]);
  });
});
