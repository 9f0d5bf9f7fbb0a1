/** Where the commands that look at a running controller send its token. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { after, describe, it } from 'node:test';
import { monitorOf, monitorUrl } from '../../src/cli/live/monitor.ts';
import { StartError } from '../../src/cli/usage.ts';
import { BIN } from '../support/installed.ts';

/** An address of documents (RFC 5737), which nobody has. */
const ELSEWHERE = '192.0.2.1:10267';

describe('the address of a running controller', () => {
  const directory = mkdtempSync(join(tmpdir(), 'monitor-'));
  after(() => rmSync(directory, { recursive: true }));
  const tokenFile = join(directory, 'token');
  writeFileSync(tokenFile, 'secret\n');
  const flags = { tokenFile, certificateAuthority: '', insecureSkipTlsVerify: false };

  it('an address without a scheme is https, but http on loopback', () => {
    const said = [ELSEWHERE, 'node-1:10257/metrics', 'localhost.example:1', 'localhost:1', '127.0.0.2:1', '[::1]:1'];
    assert.deepEqual(said.map(monitorUrl), [
      'https://192.0.2.1:10267',
      'https://node-1:10257/metrics',
      'https://localhost.example:1',
      'http://localhost:1',
      'http://127.0.0.2:1',
      'http://[::1]:1',
    ]);
  });

  it('there is not even a client for a token in plain http to another machine', async () => {
    const message = `--token-file=${tokenFile}: http://${ELSEWHERE} is plain http, a token is only sent to it on loopback; use https`;
    await assert.rejects(monitorOf(`http://${ELSEWHERE}/metrics`, flags), new StartError(message));
  });

  it('a token goes to https and to loopback, and plain http without a token anywhere', async () => {
    const monitors = [
      await monitorOf(`https://${ELSEWHERE}`, flags),
      await monitorOf('http://127.0.0.1:10268', flags),
      await monitorOf(`http://${ELSEWHERE}`, { ...flags, tokenFile: '' }),
    ];
    for (const monitor of monitors) await monitor.close();
  });

  it('a token file is read for each request, and its last token counts without one', async () => {
    const sent: unknown[] = [];
    const server = createServer(({ headers }, response) => {
      sent.push(headers.authorization);
      response.end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const path = join(directory, 'renewed');
    writeFileSync(path, 'first\n');
    const { port } = server.address() as AddressInfo;
    const monitor = await monitorOf(`http://127.0.0.1:${port}`, { ...flags, tokenFile: path });
    await monitor.get('/metrics');
    for (const renewed of ['second\n', '']) {
      writeFileSync(path, renewed);
      await monitor.get('/metrics');
    }
    rmSync(path);
    await monitor.get('/metrics');
    await monitor.close();
    server.close();
    assert.deepEqual(sent, ['Bearer first', 'Bearer second', 'Bearer second', 'Bearer second']);
  });

  const commands = {
    top: ['top', `--source=http://${ELSEWHERE}`],
    advise: ['advise', `--source=http://${ELSEWHERE}`],
    'tune --configz': ['tune', '--from=huge', `--configz=http://${ELSEWHERE}/configz`],
    'explain --endpointd': ['explain', 'pod', 'a/b', '--master=http://127.0.0.1:1', `--endpointd=http://${ELSEWHERE}`],
  };
  for (const [title, args] of Object.entries(commands)) {
    it(`${title} refuses it with one line and status 1`, async () => {
      const [code, said] = await new Promise<[unknown, string]>((resolve) => {
        execFile(execPath, [BIN, ...args, `--token-file=${tokenFile}`], (error, _stdout, stderr) =>
          resolve([error?.code, stderr]),
        );
      });
      assert.match(said, /^endpointd \w+: --token-file=\S+: http:\/\/192\.0\.2\.1:10267 is plain http, .*\n$/);
      assert.equal(code, 1);
    });
  }
});
