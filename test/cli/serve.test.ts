import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { parseServeFlags } from '../../src/cli/serve.ts';
import { HelpShown, UsageError } from '../../src/cli/usage.ts';
import { startServe } from '../../src/testbed/serve-process.ts';
import { MAIN } from '../support/installed.ts';

const directory = mkdtempSync(join(tmpdir(), 'endpointd-serve-'));
after(() => rmSync(directory, { recursive: true }));

function parse(...args: string[]) {
  return parseServeFlags(args, () => undefined);
}

test('an empty cluster on any port is the default', () => {
  assert.deepEqual(parse(), {
    port: 0,
    bindAddress: '127.0.0.1',
    secure: false,
    kubeconfig: 'endpointd.kubeconfig',
    profile: null,
    seed: 1,
    life: true,
    endNamespaces: true,
    collectGarbage: true,
    podStepMs: 300,
    nodes: 3,
    churnRate: 0,
    fault: [],
    faultAdmin: false,
    dualStack: false,
    watchList: true,
  });
});

test('a profile is found by its name', () => {
  const { profile, seed, port } = parse('--profile=tiny', '--seed=7', '--port=8080');
  assert.deepEqual([profile?.name, seed, port], ['tiny', 7, 8080]);
});

test('fault rules are read at once, and their texts are kept', () => {
  const rules = ['verb=get,gone=0.5', 'too-many=0.1'];
  assert.deepEqual(parse(...rules.map((rule) => `--fault=${rule}`)).fault, rules);
  assert.throws(() => parse('--fault=gone=2'), /'gone=2' is invalid. gone: "2" is not a chance from 0 to 1./);
});

test('an error about a wrong value says what is allowed', () => {
  assert.throws(
    () => parse('--profile=big'),
    new UsageError(
      "option '--profile <name>' argument 'big' is invalid. Allowed: none, tiny, small, patchy, demo, load, spread, onens, huge, large.",
    ),
  );
  assert.throws(() => parse('--churn-rate=5'), /needs a --profile/);
  assert.throws(() => parse('--port=70000'), /from 0 to 65535/);
  assert.throws(() => parse('--help'), HelpShown);
});

test('an address beyond loopback needs HTTPS and a token', () => {
  assert.throws(() => parse('--bind-address=0.0.0.0'), /--bind-address=0.0.0.0 needs --secure/);
  const { bindAddress, secure } = parse('--bind-address=0.0.0.0', '--secure');
  assert.deepEqual([bindAddress, secure], ['0.0.0.0', true]);
  assert.equal(parse('--bind-address=::1').bindAddress, '::1');
  assert.throws(() => parse('--bind-address=localhost'), /Allowed: an IP address/);
});

test('a kubeconfig that serve has not made is left alone', async () => {
  const path = join(directory, 'foreign');
  const text = 'apiVersion: v1\nkind: Config\ncontexts: []\n';
  writeFileSync(path, text);
  await assert.rejects(
    startServe([`--kubeconfig=${path}`], MAIN),
    /ended with status 2:\n[^]*foreign has no first line of endpointd serve/,
  );
  assert.equal(readFileSync(path, 'utf8'), text);
});

test('a kubeconfig of an earlier start is replaced by a file for its user alone', async () => {
  const own = mkdtempSync(join(directory, 'own-'));
  const path = join(own, 'kubeconfig');
  writeFileSync(path, '');
  await (await startServe([`--kubeconfig=${path}`], MAIN)).stop();
  chmodSync(path, 0o644);
  const server = await startServe([`--kubeconfig=${path}`], MAIN);
  await server.stop();
  assert.ok(readFileSync(path, 'utf8').includes(server.url));
  assert.deepEqual([statSync(path).mode & 0o777, readdirSync(own)], [0o600, ['kubeconfig']]);
});
