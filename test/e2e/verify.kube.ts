/** `endpointd verify` on real servers: what kube-controller-manager has left, beside it, and with few rights. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { ApiClient } from '../../src/node/api-client.ts';
import { loadCluster } from '../../src/testbed/load-cluster.ts';
import type { Report } from '../../src/verify/report.ts';
import type { Churn } from '../../src/workload/change.ts';
import { createChurn, nextChange } from '../../src/workload/churn.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
import { auditLines } from './audit.ts';
import { clientOf, keyOf } from './client.ts';
import { startControllerManager, type Cluster, type ControllerManager } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from './cluster.ts';
import { differenceLines } from '../support/difference-lines.ts';
import { createDamageWorld, DAMAGES, doAllDamage, saidOf, type Api } from '../suites/verify-damage.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { DUAL_STACK, SCRIPT } from './script.ts';
import { createZoneNodes, SLICES_SCRIPT } from './slices-script.ts';
import { UPSTREAM_MIX, UPSTREAM_PROFILE } from './upstream-story.ts';
import { createWorld, until } from './world.ts';
import { BIN } from '../support/installed.ts';

const run = promisify(execFile);
const RBAC = join(import.meta.dirname, '..', '..', 'deploy', 'rbac-verify.yaml');
const ACCOUNT = 'system:serviceaccount:kube-system:endpointd-verify';
const CONTROLLERS = ['endpoints-controller', 'endpointslice-controller', 'endpointslice-mirroring-controller'];
const RATES = { qps: 500, burst: 500 };
const SEED = 20_261_122;
const CHANGES = 400;
/** Times in conditions do not depend on when the script is told. */
const SCRIPT_MS = 1_800_000_000_000;
const MANAGED_BY = 'endpoints.kubernetes.io/managed-by';

interface Outcome {
  readonly status: number;
  readonly report: Report;
}

async function verify(kubeconfig: string, ...flags: string[]): Promise<Outcome> {
  const args = [BIN, 'verify', `--kubeconfig=${kubeconfig}`, '-o', 'json', '--kube-api-qps=100', ...flags];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { maxBuffer: 2 ** 28 }, (error, stdout, stderr) => {
      if (stdout === '') reject(new Error(stderr));
      else resolve({ status: error === null ? 0 : Number(error.code), report: JSON.parse(stdout) as Report });
    });
  });
}

/** A line for each field that differs. */
function linesOf({ different }: Report): string[] {
  return different.flatMap(({ namespace, service, differences }) =>
    differences.map(({ kind, field, stored, planned, listed }) => {
      return `${namespace}/${service} ${kind} ${field}: ${stored} -> ${planned} (${listed})`;
    }),
  );
}

async function settledOf(manager: ControllerManager): Promise<void> {
  // An event may still be on its way to it. And where it has failed with slices, it tries again 1 s later: until then the
  // queue, which does not count what is delayed, is empty.
  await sleep(1500);
  await until(() => manager.idle());
}

/** Speaks as the service account of deploy/rbac-verify.yaml. */
async function readerOf(cluster: Cluster): Promise<string> {
  await run(cluster.binaries.kubectl, [`--kubeconfig=${cluster.kubeconfigPath}`, 'apply', '-f', RBAC]);
  const text = await readFile(cluster.kubeconfigPath, 'utf8');
  const path = join(cluster.directory, 'kubeconfig-verify');
  await writeFile(path, text.replace(/user: \{ token: (\S+) \}/, `user: { token: $1, as: "${ACCOUNT}" }`));
  return path;
}

async function changeAtRandom(client: ApiClient, churn: Churn, changes: number): Promise<void> {
  for (let i = 0; i < changes; i++) await client.send(nextChange(churn, SCRIPT_MS)!.request);
}

describe('verify beside kube-controller-manager', () => {
  let cluster: Cluster;
  let client: ApiClient;
  let manager: ControllerManager;
  let reader: string;
  let churn: Churn;

  before(async () => {
    cluster = await startCluster({ rbac: true, auditLog: true, serviceClusterIPRanges: DUAL_STACK });
    client = clientOf(cluster);
    reader = await readerOf(cluster);
    manager = await startControllerManager(cluster, CONTROLLERS, RATES);
    const made = makeCluster(UPSTREAM_PROFILE, SEED);
    await loadCluster(client, made, 16);
    churn = createChurn(made, UPSTREAM_MIX, SEED);
    await changeAtRandom(client, churn, CHANGES);
    await settledOf(manager);
  });

  after(async () => {
    await client?.close();
    await cluster?.stop();
  });

  it('verify finds nothing but listed differences after a random script', async () => {
    const { status, report } = await verify(reader);
    assert.deepEqual(
      linesOf(report).filter((line) => line.endsWith('(null)')),
      [],
    );
    assert.equal(status, report.different.length === 0 ? 0 : 1);
    assert.ok(report.seen.services > 90 && report.seen.plans > 180, JSON.stringify(report.seen));
  });

  it('verify counts nothing while everything changes, and tells the lag', async () => {
    const changing = new AbortController();
    const changes = (async (): Promise<number> => {
      let count = 0;
      for (; !changing.signal.aborted; count++) {
        await changeAtRandom(client, churn, 1);
        await sleep(50);
      }
      return count;
    })();
    const { status, report } = await verify(reader, '--watch=45s');
    changing.abort();
    const count = await changes;
    assert.deepEqual(
      linesOf(report).filter((line) => line.endsWith('(null)')),
      [],
    );
    assert.equal(status, report.different.length === 0 ? 0 : 1);
    assert.ok(report.moving.count > 10, `${report.moving.count} moving`);
    assert.ok(report.lag !== null && report.lag.count > 50, `lag ${JSON.stringify(report.lag)} of ${count} changes`);
    assert.ok(report.lag.p50Ms < 10_000, JSON.stringify(report.lag));
  });

  it('verify names the label of 1.33 on each object that an older release has left', async () => {
    await settledOf(manager);
    await manager.stop();
    const before = await verify(reader);
    const { items } = await client.list('/api/v1/endpoints');
    const ours = items.filter(({ metadata }) => metadata.labels?.[MANAGED_BY] !== undefined);
    for (const { metadata } of ours) {
      const path = `/api/v1/namespaces/${metadata.namespace}/endpoints/${metadata.name}`;
      const body = { metadata: { labels: { [MANAGED_BY]: null } } };
      await client.send({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body });
    }
    const { status, report } = await verify(reader);
    assert.equal(status, 1);
    const reason = report.reasons.find(({ listed }) => listed === 'managed-by-label');
    const services = new Set((await client.list('/api/v1/services')).items.map(keyOf));
    assert.equal(reason?.units, ours.filter((one) => services.has(keyOf(one))).length);
    const known = new Set(linesOf(before.report));
    assert.deepEqual(
      linesOf(report).filter((line) => !line.endsWith('(managed-by-label)') && !known.has(line)),
      [],
    );
  });

  it('verify has only sent reads, and none was refused', async () => {
    const entries = (await auditLines(cluster))
      .filter((line) => line.includes(ACCOUNT))
      .map((line) => JSON.parse(line) as { verb: string; responseStatus: { code: number } });
    const reads = new Set(['get', 'list', 'watch']);
    assert.ok(entries.length > 20, `${entries.length} requests`);
    assert.deepEqual(
      entries.filter(({ verb }) => !reads.has(verb)),
      [],
    );
    assert.deepEqual(
      entries.filter(({ responseStatus: { code } }) => code === 403),
      [],
    );
  });

  it('verify answers for what it may read, and has status 2', async () => {
    const role = JSON.stringify([{ op: 'remove', path: '/rules/1/resources/1' }]);
    const { kubectl } = cluster.binaries;
    const patch = ['patch', 'clusterrole', 'endpointd-verify', '--type=json', '-p', role];
    await run(kubectl, [`--kubeconfig=${cluster.kubeconfigPath}`, ...patch]);
    const { status, report } = await verify(reader);
    assert.equal(status, 2);
    assert.deepEqual(
      report.unseen.map(({ resource, controllers }) => [resource, controllers]),
      [['nodes', ['endpointslice']]],
    );
    assert.match(report.unseen[0]!.reason, /nodes is forbidden/);
    assert.ok(report.different.some(({ controller }) => controller === 'endpoints'));
  });
});

/** Chapters that end otherwise than kube-controller-manager leaves them, which no object tells. */
const EXCEPT: ReadonlySet<string> = new Set([
  // What is to be created there would be refused: nobody here is a namespace controller.
  'terminating-namespace',
  // The listed difference empty-subset: it never gets as far as an object.
  'emptied-subset',
]);

describe('verify on what kube-controller-manager has left of the scripts', () => {
  let cluster: Cluster;
  let client: ApiClient;

  before(async () => {
    cluster = await startCluster({ serviceClusterIPRanges: DUAL_STACK });
    client = clientOf(cluster);
  });

  after(async () => {
    await client?.close();
    await cluster?.stop();
  });

  // As it is told that it were 1.33, the oldest that it can be: what features have come since are off.
  it('verify finds nothing but listed differences in what the scripts have left', async () => {
    const flags = ['--emulated-version=kube=1.33'];
    const manager = await startControllerManager(cluster, CONTROLLERS, { ...RATES, flags });
    await createZoneNodes(client);
    for (const { name, tell } of SCRIPT) await tell(await createWorld(client, name), () => settledOf(manager));
    for (const { name, steps } of SLICES_SCRIPT) {
      const world = await createWorld(client, name);
      for (const { tell } of steps) {
        await tell(world);
        await settledOf(manager);
      }
    }
    const { report } = await verify(cluster.kubeconfigPath);
    assert.deepEqual(
      linesOf(report).filter((line) => line.endsWith('(null)') && !EXCEPT.has(line.split('/')[0]!)),
      [],
    );
    assert.deepEqual(report.failed, []);
    const met = new Set(report.reasons.map(({ listed }) => listed));
    for (const listed of ['pod-phase', 'foreign-edits', 'headless-label', 'bad-pod-ip', 'empty-node-name']) {
      assert.ok(met.has(listed), `${listed} of ${[...met].join()}`);
    }
  });
});

/** The endpoints of a slice have the order of Go's maps, where kube-controller-manager has written it. */
function inOrder(line: string): string {
  return line.replaceAll(/\d+(?: \d+)+/g, (endpoints) => endpoints.split(' ').sort().join(' '));
}

describe('verify names damage on a real server', () => {
  let cluster: Cluster;
  let client: ApiClient;
  let report: Report;

  before(async () => {
    cluster = await startCluster();
    client = clientOf(cluster);
    const api: Api = {
      send: async (method, path, body) =>
        (await client.send({ method, path, ...(body === undefined ? {} : { body }) })) as KubeObject,
    };
    const labels = { 'topology.kubernetes.io/zone': 'zone-a' };
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1', labels } };
    await api.send('POST', '/api/v1/nodes', node);
    const manager = await startControllerManager(cluster, CONTROLLERS, RATES);
    await createDamageWorld(api);
    await settledOf(manager);
    await manager.stop();
    await doAllDamage(api);
    ({ report } = await verify(cluster.kubeconfigPath));
  });

  after(async () => {
    await client?.close();
    await cluster?.stop();
  });

  for (const damage of DAMAGES) {
    it(damage.title, () => {
      const said = saidOf(damage, (service) => differenceLines(report, service));
      // Here managedFields tell that it was somebody else.
      assert.deepEqual(
        said.map((line) => inOrder(line.replace(' (foreign-edits)', ''))),
        damage.expected.map(inOrder),
      );
    });
  }
});
