/** Commands that give credentials: what they are told, what they may answer, and that nothing of them stays behind. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { after, describe, it } from 'node:test';
import { createAuthPlugin } from '../../src/node/auth-plugin.ts';
import type { AuthPlugin } from '../../src/node/plugin-credentials.ts';
import { CredentialsError } from '../../src/node/credentials-error.ts';
import { parseKubeconfig } from '../../src/node/kubeconfig.ts';
import { BIN } from '../support/installed.ts';
import { runs } from '../support/runs-process.ts';
import { until } from '../support/until.ts';

const API_VERSION = 'client.authentication.k8s.io/v1';
const CANARY = 'CanaryQz';
const LONG_MS = 30_000;

const directory = mkdtempSync(join(tmpdir(), 'endpointd-exec-'));
after(() => rmSync(directory, { recursive: true }));

let files = 0;
function newPath(): string {
  return join(directory, `file-${files++}`);
}

/** A kubeconfig whose user runs `script` in a shell. */
function kubeconfigText(script: string, exec: object = {}, cluster: object = {}): string {
  return JSON.stringify({
    'current-context': 'x',
    contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
    clusters: [{ name: 'x', cluster: { server: 'https://10.0.0.1:6443', ...cluster } }],
    users: [{ name: 'x', user: { exec: { apiVersion: API_VERSION, command: 'sh', args: ['-c', script], ...exec } } }],
  });
}

async function plugin(script: string, msMax = LONG_MS, exec: object = {}, cluster: object = {}): Promise<AuthPlugin> {
  return createAuthPlugin(await parseKubeconfig('/k', kubeconfigText(script, exec, cluster)), msMax);
}

function answering(status: unknown, fields: object = {}): string {
  return `echo '${JSON.stringify({ apiVersion: API_VERSION, kind: 'ExecCredential', status, ...fields })}'`;
}

async function failure(asked: Promise<unknown>): Promise<string> {
  const error = await asked.then(
    () => assert.fail('it gave credentials'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof CredentialsError, String(error));
  assert.ok(!error.message.includes('\n'));
  assert.ok(error.cause === undefined, 'a cause would be printed with the message');
  return error.message;
}

/** Writes its pid and that of what it starts, and heeds no SIGTERM; neither ever ends. */
function stubborn(pids: string): string {
  return `trap '' TERM; sleep 1000 & echo "$$ $!" > ${pids}.part; mv ${pids}.part ${pids}; wait; sleep 1000`;
}

async function pidsIn(path: string): Promise<number[]> {
  await until(() => existsSync(path));
  return readFileSync(path, 'utf8').trim().split(' ').map(Number);
}

async function ended(pids: readonly number[]): Promise<void> {
  assert.equal(pids.length, 2);
  await until(() => !pids.some(runs));
}

const ENDLESS = { timeout: LONG_MS, skip: !existsSync('/proc/self/status') && 'only /proc tells a zombie' };

describe('a command that does not end', () => {
  it('an endless command is killed at the time limit, with its children', ENDLESS, async () => {
    const pids = newPath();
    const asked = failure((await plugin(stubborn(pids), 3000))(false));
    assert.match(await asked, /users\["x"\]: exec "sh" failed: no answer within 3000 ms$/);
    await ended(await pidsIn(pids));
  });

  it('an endless command is killed when this process ends', ENDLESS, async () => {
    const [pids, kubeconfig] = [newPath(), newPath()];
    writeFileSync(kubeconfig, kubeconfigText(stubborn(pids)));
    const child = spawn(execPath, [BIN, 'run', `--kubeconfig=${kubeconfig}`], { stdio: 'ignore' });
    const exited = once(child, 'exit');
    const started = await pidsIn(pids);
    child.kill('SIGTERM');
    await exited;
    await ended(started);
  });

  it('a command that prints without end is killed', { timeout: LONG_MS }, async () => {
    assert.match(await failure((await plugin(`yes ${CANARY}`))(false)), /failed: it printed more than 1048576 bytes$/);
  });
});

describe('a command is told', () => {
  /** What KUBERNETES_EXEC_INFO was. */
  async function told(exec: object, cluster: object): Promise<Record<string, unknown>> {
    const info = newPath();
    const script = `echo "$KUBERNETES_EXEC_INFO" > ${info}; ${answering({ token: 't' })}`;
    await (
      await plugin(script, LONG_MS, exec, cluster)
    )(false);
    return JSON.parse(readFileSync(info, 'utf8')) as Record<string, unknown>;
  }

  it('a command is told that nobody can answer questions', async () => {
    assert.deepEqual(await told({}, {}), {
      apiVersion: API_VERSION,
      kind: 'ExecCredential',
      spec: { interactive: false },
    });
  });

  it('a command is told of the cluster if it asks for that', async () => {
    const ca = newPath();
    writeFileSync(ca, 'pem');
    const extensions = [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'a' } }];
    const { spec } = await told({ provideClusterInfo: true }, { 'certificate-authority': ca, extensions });
    assert.deepEqual(spec, {
      interactive: false,
      cluster: {
        server: 'https://10.0.0.1:6443',
        'certificate-authority-data': Buffer.from('pem').toString('base64'),
        config: { audience: 'a' },
      },
    });
  });
});

describe('a command', () => {
  it('a command runs once for all who ask at the same time', async () => {
    const runs = newPath();
    const ask = await plugin(`echo run >> ${runs}; ${answering({ token: 't' })}`);
    await Promise.all([ask(false), ask(true), ask(false)]);
    assert.equal(readFileSync(runs, 'utf8'), 'run\n');
    await ask(true);
    assert.equal(readFileSync(runs, 'utf8'), 'run\nrun\n');
  });
});

describe('the answer of a command', () => {
  it("a command's answer may be a certificate and its key", async () => {
    const ask = await plugin(answering({ clientCertificateData: 'c', clientKeyData: 'k' }));
    assert.deepEqual(await ask(false), { authorization: null, cert: 'c', key: 'k' });
  });

  const refused: [what: string, script: string, message: string][] = [
    ['no JSON', `echo ${CANARY}`, 'its answer is not JSON'],
    ['half of JSON', `echo '{"status": {"token": "${CANARY}'`, 'its answer is not JSON (line 1, column 31)'],
    ['nothing', 'true', 'its answer is not JSON: it ends too early'],
    ['another object', answering({}, { kind: CANARY }), 'its answer is no ExecCredential'],
    [
      'of another version',
      answering({}, { apiVersion: CANARY }),
      `its answer is of another version than ${API_VERSION}`,
    ],
    ['without a status', answering(null), 'its answer holds neither token nor certificate'],
    [
      'without a key',
      answering({ clientCertificateData: CANARY }),
      'its answer holds a certificate or a key without the other',
    ],
    [
      'a token that is none',
      answering({ token: `${CANARY} ` }),
      'status.token of its answer holds characters that no token has',
    ],
    ['a number as token', answering({ token: 17 }), 'status.token of its answer is no string'],
    [
      'no time',
      answering({ token: CANARY, expirationTimestamp: CANARY }),
      'status.expirationTimestamp of its answer is no time',
    ],
  ];
  for (const [what, script, message] of refused) {
    it(`a command's answer is refused without being quoted: ${what}`, async () => {
      assert.equal(
        await failure((await plugin(script))(false)),
        `kubeconfig /k: users["x"]: exec "sh" failed: ${message}`,
      );
    });
  }

  it('a failed command gives no answer, and its last output is told', async () => {
    const message = await failure((await plugin('echo no login >&2; exit 3'))(false));
    assert.match(message, /failed: no login$/);
    assert.match(await failure((await plugin('exit 3'))(false)), /failed: it ended with status 3$/);
  });
});

describe('a kubeconfig is refused', () => {
  const wrong: [exec: object, message: RegExp][] = [
    [{ apiVersion: 'client.authentication.k8s.io/v1alpha1' }, /exec\.apiVersion: must be .*v1 or .*v1beta1$/],
    [{ interactiveMode: 'Always' }, /exec\.interactiveMode: is Always, but there is no terminal here$/],
    [{ command: '' }, /exec\.command is not set$/],
    [{ args: 'x' }, /exec\.args: must be a list of strings$/],
    [{ env: [{ name: CANARY }] }, /exec\.env: must be a list of names and values$/],
  ];
  for (const [exec, message] of wrong) {
    it(message.source, async () => {
      assert.match(await failure((async () => (await plugin('true', LONG_MS, exec))(false))()), message);
    });
  }

  it('an auth-provider that Kubernetes has removed is refused', async () => {
    const text = kubeconfigText('true').replace(/"exec":.*?\}/, '"auth-provider":{"name":"gcp"}');
    const config = await parseKubeconfig('/k', text);
    assert.throws(() => createAuthPlugin(config), /auth-provider: "gcp" is not supported: use oidc/);
  });
});
