/** Every line of a start, some work and a stop is one that collectors of Kubernetes' logs can read. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { execPath } from 'node:process';
import { after, before, describe, it } from 'node:test';
import { assertSaidBySource, KLOG_LINE, strangeLines } from '../support/log-patterns.ts';
import { startServe, type ServeProcess } from '../../src/testbed/serve-process.ts';
import { BIN, MAIN } from '../support/installed.ts';

interface JsonLine {
  readonly ts: number;
  readonly caller: string;
  readonly msg: string;
  readonly v?: number;
  readonly level?: string;
  readonly logger?: string;
}

describe('the log of a process', () => {
  let server: ServeProcess;
  before(async () => {
    server = await startServe(['--profile=tiny'], MAIN);
  });
  after(() => server.stop());

  async function logOf(...flags: string[]): Promise<string> {
    const all = ['run', `--kubeconfig=${server.kubeconfig}`, '--shards=0', '--secure-port=0', '-v=4', ...flags];
    const child = spawn(execPath, [BIN, ...all], { stdio: ['ignore', 'ignore', 'pipe'] });
    const closed = once(child.stderr, 'close');
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (!child.killed && said.includes('All services are synced')) child.kill('SIGTERM');
    });
    await closed;
    assert.match(said, /"Stopped"/);
    return said;
  }

  it('the log is klog text with the source line of each message', async () => {
    const said = await logOf();
    assert.deepEqual(strangeLines(said), []);
    const lines = said.trim().split('\n');
    assert.ok(lines.length > 30, `${lines.length} lines`);
    const sources = new Set(lines.map((line) => KLOG_LINE.exec(line)!.groups!['file']!));
    assert.ok(sources.has('start.ts') && sources.has('run.ts') && sources.has('reports.ts'), [...sources].join());
  });

  it('the log in JSON has the keys of component-base', async () => {
    const lines = (await logOf('--logging-format=json')).trim().split('\n');
    for (const line of lines) {
      const { ts, caller, msg, v, level, logger } = JSON.parse(line) as JsonLine;
      assert.ok(typeof ts === 'number' && typeof msg === 'string', line);
      assert.equal(typeof v === 'number', level === undefined, line);
      assert.ok(logger === undefined || /^endpoint\w+(-mirroring)?-controller$/.test(logger), line);
      assertSaidBySource(caller);
    }
  });
});
