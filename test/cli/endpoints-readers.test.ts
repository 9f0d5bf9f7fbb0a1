/** `endpointd endpoints-readers` as a process. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { after, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { BIN } from '../support/installed.ts';

const directory = mkdtempSync(join(tmpdir(), 'endpointd-audit-'));
after(() => rmSync(directory, { recursive: true }));

interface Said {
  readonly user?: string;
  readonly agent?: string;
  readonly verb?: string;
  readonly stage?: string;
  readonly resource?: string;
  readonly group?: string;
  readonly name?: string;
  readonly minute?: number;
}

function line(said: Said = {}): string {
  const { user = 'ingress', agent = 'nginx/1', verb = 'watch', stage = 'ResponseComplete', minute = 0 } = said;
  const { resource = 'endpoints', group, name } = said;
  return `${JSON.stringify({
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    stage,
    verb,
    user: { username: user },
    userAgent: agent,
    objectRef: { resource, apiGroup: group, namespace: 'shop', name },
    requestReceivedTimestamp: `2026-11-22T08:${String(minute).padStart(2, '0')}:00.000000Z`,
  })}\n`;
}

function log(name: string, content: string | Buffer): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

interface Ended {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

function readers(args: readonly string[], stdin: string | Buffer = ''): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(execPath, [BIN, 'endpoints-readers', ...args], (error, stdout, stderr) => {
      resolve({ status: error === null ? 0 : Number(error.code), stdout, stderr });
    });
    child.stdin!.end(stdin);
  });
}

async function asJson(args: readonly string[], stdin?: string | Buffer): Promise<Report> {
  return JSON.parse((await readers([...args, '-o', 'json'], stdin)).stdout) as Report;
}

interface Row {
  readonly user: string;
  readonly verb: string;
  readonly requests: number;
  readonly lastSeen: string;
  readonly object: string | null;
}

interface Report {
  readonly readers: readonly Row[];
  readonly writers: readonly Row[];
  readonly keepers: readonly Row[];
  readonly unlisted: number;
  readonly unread: { readonly lines: number; readonly logs: readonly string[] };
}

const brief = (rows: readonly Row[]): unknown[] => rows.map(({ user, verb, requests }) => [user, verb, requests]);

describe('endpointd endpoints-readers', () => {
  it('endpoints-readers says who reads and writes Endpoints, how often and when last', async () => {
    const path = log(
      'plain.log',
      [
        line({ minute: 3 }),
        line({ minute: 1 }),
        line({ user: 'alice', agent: 'kubectl/v1', verb: 'get', name: 'web', minute: 2 }),
        line({ user: 'system:serviceaccount:kube-system:endpoint-controller', verb: 'update', name: 'web' }),
        line({ user: 'system:serviceaccount:kube-system:endpoint-controller', verb: 'create', name: 'api' }),
        line({ user: 'kube-proxy', resource: 'endpointslices', group: 'discovery.k8s.io' }),
      ].join(''),
    );
    const { status, stdout, stderr } = await readers([path]);
    assert.deepEqual([status, stderr], [0, '']);
    assert.deepEqual(stdout.replaceAll(/ {2,}/g, ' | ').split('\n'), [
      '6 audit events, 2026-11-22T08:00:00.000000Z to 2026-11-22T08:03:00.000000Z.',
      'Requests that the audit policy leaves out are not in the log: some policies leave kube-proxy out.',
      '',
      'Who reads Endpoints:',
      'USER | USER AGENT | VERB | REQUESTS | LAST SEEN | OBJECT',
      'ingress | nginx/1 | watch | 2 | 2026-11-22T08:03:00.000000Z | several',
      'alice | kubectl/v1 | get | 1 | 2026-11-22T08:02:00.000000Z | shop/web',
      '',
      'Who writes Endpoints:',
      'USER | USER AGENT | VERB | REQUESTS | LAST SEEN | OBJECT',
      'system:serviceaccount:kube-system:endpoint-controller | nginx/1 | create | 1 | 2026-11-22T08:00:00.000000Z | several',
      'system:serviceaccount:kube-system:endpoint-controller | nginx/1 | update | 1 | 2026-11-22T08:00:00.000000Z | several',
      '',
    ]);
  });

  it('a request counts once, whichever of its stages are logged', async () => {
    const stages = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'RequestReceived', 'Panic'];
    const { readers } = await asJson(['-'], stages.map((stage) => line({ stage })).join(''));
    assert.deepEqual(brief(readers), [['ingress', 'watch', 2]]);
  });

  it('a running watch counts', async () => {
    const { readers } = await asJson(['-'], line({ stage: 'ResponseStarted' }));
    assert.deepEqual(brief(readers), [['ingress', 'watch', 1]]);
  });

  it('users of one object alone, such as a lock, are listed apart', async () => {
    const lock = { user: 'elector', name: 'elector' };
    const { readers, writers, keepers } = await asJson(
      ['-'],
      [line({ ...lock, verb: 'get' }), line({ ...lock, verb: 'update' }), line({ verb: 'get', name: 'web' })].join(''),
    );
    assert.deepEqual(brief(readers), [['ingress', 'get', 1]]);
    assert.deepEqual(writers, []);
    assert.deepEqual(brief(keepers), [
      ['elector', 'get', 1],
      ['elector', 'update', 1],
    ]);
  });

  it('several logs, compressed logs and standard input are read', async () => {
    const { readers, unread } = await asJson(
      [log('a.log', line()), log('b', gzipSync(line() + line())), '-'],
      gzipSync(line().trimEnd()),
    );
    assert.deepEqual(brief(readers), [['ingress', 'watch', 4]]);
    assert.deepEqual(unread, { lines: 0, logs: [] });
  });

  it('lines that are no audit events are counted and skipped', async () => {
    const path = log('torn.log', `${line().slice(0, 50)}\n\n{"level":"info"}\n${line()}`);
    const { status, stdout } = await readers([path]);
    assert.equal(status, 0);
    assert.match(stdout, /^Lines that are no audit event: 2\n1 audit events, /);
  });

  it('a line that is too long to be kept is counted and skipped', async () => {
    const path = log('long.log', `${'x'.repeat(33 * 2 ** 20)}\n${line()}`);
    const { readers, unread } = await asJson([path]);
    assert.deepEqual(brief(readers), [['ingress', 'watch', 1]]);
    assert.equal(unread.lines, 1);
  });

  it('a log that cannot be read to its end is named, with status 1', async () => {
    const whole = gzipSync(
      Array.from({ length: 2000 }, (_, i) => line({ agent: `agent-${(i * 7919) % 1999}` })).join(''),
    );
    const cut = log('cut.gz', whole.subarray(0, whole.length - 20));
    const { status, stdout } = await readers([cut, join(directory, 'absent'), log('good', line()), '-o', 'json']);
    const { readers: rows, unread } = JSON.parse(stdout) as Report;
    assert.equal(status, 1);
    assert.match(unread.logs.join('\n'), /cut\.gz: unexpected end of file\n.*absent: ENOENT/);
    assert.ok(rows.some(({ requests }) => requests > 0));
  });

  it('a file without audit events has an empty report, with status 1', async () => {
    const { status, stdout } = await readers([log('other.log', '{"level":"info"}\n')]);
    assert.equal(status, 1);
    assert.equal(stdout, 'Lines that are no audit event: 1\nThere are no audit events, so the report is empty.\n');
  });

  it('the report says if the audit policy logs no reads at all', async () => {
    const { stdout } = await readers(['-'], line({ verb: 'update', name: 'web' }));
    assert.match(stdout, /^There is no read of any resource: /m);
    assert.match(stdout, /^The logs have no read of Endpoints\.$/m);
  });

  it('the report doubts a log with reads, but none of Endpoints', async () => {
    const { stdout } = await readers(['-'], line({ resource: 'secrets' }) + line({ verb: 'update', name: 'web' }));
    assert.match(
      stdout,
      /^There is no read of Endpoints, although the garbage collector .* leaves reads of Endpoints out, /m,
    );
    const { stdout: other } = await readers(['-'], line({}) + line({ verb: 'update', name: 'web' }));
    assert.match(other, /^Requests that the audit policy leaves out are not in the log/m);
  });

  it('no more users than --users-max are listed, and the others are counted', async () => {
    const lines = ['a', 'b', 'c', 'b', 'a'].map((user) => line({ user })).join('');
    const { readers, unlisted } = await asJson(['-', '--users-max=2'], lines);
    assert.deepEqual(brief(readers), [
      ['a', 'watch', 2],
      ['b', 'watch', 2],
    ]);
    assert.equal(unlisted, 1);
  });

  it('characters that steer a terminal are shown as escapes', async () => {
    const { stdout } = await readers(['-'], line({ agent: '\u001B[2Jnice/1', user: 'bob\u202E' }));
    assert.match(stdout, /^bob\\u202e {2}\\u001b\[2Jnice\/1 {2}watch/m);
  });

  it('endpoints-readers needs a log', async () => {
    const { status, stderr } = await readers([]);
    assert.equal(status, 2);
    assert.match(stderr, /^endpointd endpoints-readers: missing required argument 'audit-log'\. Allowed: /);
  });
});
