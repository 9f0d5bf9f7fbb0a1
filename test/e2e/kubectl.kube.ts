/**
 * The real kubectl against the embedded server and against kube-apiserver: what it prints, on both channels, and its
 * exit status have to be the same, but for what differs from one run to the next.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createApiServer } from '../../src/apiserver/server.ts';
import { createPrng, nextFloat } from '../../src/lib/prng.ts';
import { kubeconfigFor, serveApi, type ApiServerHttp } from '../../src/node/apiserver-http.ts';
import { YAML_FORMAT } from '../../src/node/yaml.ts';
import type { Cluster } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from './cluster.ts';
import { KUBECTL_SCRIPT, type KubectlStep } from './kubectl-script.ts';

const STEP_MS_MAX = 60_000;

interface Side {
  readonly kubeconfig: string;
  readonly cacheDirectory: string;
}

interface Output {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

describe('kubectl on both servers', () => {
  let cluster: Cluster;
  let directory: string;
  let embedded: ApiServerHttp;
  let sides: readonly [Side, Side];

  before(async () => {
    cluster = await startCluster();
    directory = await mkdtemp(join(tmpdir(), 'endpointd-kubectl-'));
    const prng = createPrng(1);
    const random = (): number => nextFloat(prng);
    embedded = await serveApi(createApiServer({ random, startWallMs: Date.now(), yaml: YAML_FORMAT }));
    const kubeconfig = join(directory, 'kubeconfig');
    await writeFile(kubeconfig, kubeconfigFor(embedded.url, ''));
    sides = [
      { kubeconfig, cacheDirectory: join(directory, 'embedded') },
      { kubeconfig: cluster.kubeconfigPath, cacheDirectory: join(directory, 'real') },
    ];
  });

  after(async () => {
    await embedded?.close();
    await cluster?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  for (const [story, steps] of Object.entries(KUBECTL_SCRIPT)) {
    it(story, { timeout: STEP_MS_MAX * steps.length }, async () => {
      const ours: object[] = [];
      const theirs: object[] = [];
      for (const step of steps) {
        const title = `kubectl ${step.args}`;
        const [embedded, real] = await Promise.all(sides.map((side) => kubectl(cluster.binaries.kubectl, side, step)));
        ours.push({ title, ...normalised(embedded!) });
        theirs.push({ title, ...normalised(real!) });
        assert.equal(real!.status, step.fails === true ? 1 : 0, `${title}: ${real!.stderr}`);
      }
      assert.deepEqual(ours, theirs);
    });
  }

  it('server-side apply is refused with the reason', async () => {
    const stdin = 'apiVersion: v1\nkind: Endpoints\nmetadata: { name: ssa }\n';
    const { status, stderr } = await kubectl(cluster.binaries.kubectl, sides[0], {
      args: 'apply --server-side -f -',
      stdin,
    });
    assert.equal(status, 1);
    assert.match(stderr, /server-side apply is not served by this API server/);
  });
});

async function kubectl(path: string, { kubeconfig, cacheDirectory }: Side, step: KubectlStep): Promise<Output> {
  const args = step.args.match(/'[^']*'|\S+/g)!.map((arg) => arg.replaceAll("'", ''));
  const child = spawn(path, ['--kubeconfig', kubeconfig, '--cache-dir', cacheDirectory, ...args], {
    env: { HOME: cacheDirectory, PATH: process.env['PATH'] },
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += String(chunk)));
  child.stderr.on('data', (chunk: Buffer) => (stderr += String(chunk)));
  child.stdin.end(step.stdin ?? '');
  const status = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? -1));
  });
  return { status, stdout, stderr };
}

/** What may differ: times, ages, uids, versions, addresses that a server chose, and the spaces that follow from them. */
const VARYING: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME'],
  [/\w{3}, \d\d \w{3} \d{4} [\d:]+ [+-]\d{4}/g, 'TIME'],
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UID'],
  [/("?resourceVersion"?): ?"\d+"/g, '$1: VERSION'],
  [/\b10\.(9[6-9]|10\d|11[01])\.\d+\.\d+\b/g, 'CLUSTER-IP'],
  // Before the ports of nodes: a server may listen on one of those.
  [/https?:\/\/[\d.:]+/g, 'SERVER'],
  [/\b3[0-2]\d{3}\b/g, 'NODE-PORT'],
  [/\b\d+[smhd](\d+[smh])?\b/g, 'AGE'],
  [/ {2,}/g, '  '],
];

/** A line of JSON as the server sent it: the order of fields has no meaning, and only the real one keeps managedFields. */
function inOrder(line: string): string {
  if (!line.startsWith('{"')) return line;
  return JSON.stringify(JSON.parse(line), (key, value: unknown) => {
    if (key === 'managedFields') return undefined;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)));
  });
}

function normalised({ status, stdout, stderr }: Output): object {
  const tidy = (text: string): string[] => {
    let tidied = text.split('\n').map(inOrder).join('\n').trimEnd();
    for (const [pattern, replacement] of VARYING) tidied = tidied.replaceAll(pattern, replacement);
    return tidied.split('\n').map((line) => line.trimEnd());
  };
  return { status, stdout: tidy(stdout), stderr: tidy(stderr) };
}
