/** Without an authority in the kubeconfig those of the machine count, as for client-go. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { after, it } from 'node:test';
import { createApiServer } from '../../src/apiserver/server.ts';
import { kubeconfigFor, serveApi } from '../../src/node/apiserver-http.ts';
import { selfSigned } from '../../src/node/self-signed.ts';
import { BIN } from '../support/installed.ts';

const directory = mkdtempSync(join(tmpdir(), 'endpointd-authorities-'));
after(() => rmSync(directory, { recursive: true }));

const certificate = (): ReturnType<typeof selfSigned> =>
  selfSigned({ hosts: ['127.0.0.1'], nowMs: Date.now(), days: 1 });

/** `check-rights` on a server whose certificate nobody has named. @param trusted PEM of the machine's authorities */
async function checkRights(url: string, trusted: string): Promise<string> {
  const [kubeconfig, authorities] = [join(directory, 'kubeconfig'), join(directory, 'authorities.pem')];
  writeFileSync(kubeconfig, kubeconfigFor(url, 'sesame'));
  writeFileSync(authorities, trusted);
  const env = { ...process.env, SSL_CERT_FILE: authorities, SSL_CERT_DIR: directory };
  return new Promise((resolve) => {
    const args = [BIN, 'check-rights', `--kubeconfig=${kubeconfig}`];
    execFile(process.execPath, args, { env }, (_, stdout, stderr) => resolve(stdout + stderr));
  });
}

it('a server is trusted whose authority only the machine knows', async () => {
  const tls = certificate();
  const http = await serveApi(createApiServer({ random: () => 0.5 }), { tls, token: 'sesame' });
  try {
    assert.doesNotMatch(await checkRights(http.url, tls.cert), /certificate/);
    assert.match(await checkRights(http.url, certificate().cert), /certificate/);
  } finally {
    await http.close();
  }
});
