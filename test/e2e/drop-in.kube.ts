/** In place of kube-controller-manager: its command line, as kubeadm writes it, and its identity. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { RUN_FLAGS } from '../../src/cli/flags/flags.ts';
import { FOREIGN_CONTROLLERS, FOREIGN_FLAGS, FOREIGN_SWITCHES } from '../../src/cli/flags/kube-controller-manager.ts';
import type { ApiClient } from '../../src/node/api-client.ts';
import { KUBEADM_LINE } from '../support/manager-lines.ts';
import { clientOf, differences } from './client.ts';
import type { Cluster } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from './cluster.ts';
import { startEndpointd, type Endpointd } from './endpointd.ts';
import { createPod, createService, createWorld, until } from './world.ts';

const run = promisify(execFile);
const DEPLOY = join(import.meta.dirname, '..', '..', 'deploy');
const OWN_CONTROLLERS = ['endpoints-controller', 'endpointslice-controller', 'endpointslice-mirroring-controller'];

describe('in place of kube-controller-manager', () => {
  let cluster: Cluster;
  let client: ApiClient;
  let endpointd: Endpointd | undefined;

  before(async () => {
    cluster = await startCluster({ rbac: true });
    client = clientOf(cluster);
  });

  after(async () => {
    await endpointd?.kill9();
    await client?.close();
    await cluster?.stop();
  });

  it('every flag and controller of the real program is known', async () => {
    const { stdout } = await run(cluster.binaries.kubeControllerManager, ['--help']);
    const flags = [...stdout.matchAll(/^ +(?:-\w, )?--([a-z0-9-]+)(?: (\S+))?(?: {2,}|$)/gm)];
    const own = ['help', 'version', ...RUN_FLAGS.groups.flatMap(({ flags: group }) => Object.keys(group))];
    const names = (isSwitch: boolean): string[] =>
      flags
        .filter(([, name, value]) => (value === undefined) === isSwitch && !own.includes(name!))
        .map(([, name]) => name!)
        .sort();
    assert.ok(flags.length > 100, stdout);
    assert.deepEqual(names(true), FOREIGN_SWITCHES.toSorted());
    assert.deepEqual(names(false), FOREIGN_FLAGS.toSorted());
    const controllers = /All controllers: ([^\n]+)/
      .exec(stdout)![1]!
      .split(',')
      .map((name) => name.trim());
    assert.deepEqual(
      controllers.filter((name) => !OWN_CONTROLLERS.includes(name)).toSorted(),
      FOREIGN_CONTROLLERS.toSorted(),
    );
  });

  it('the line and the identity of kubeadm lead to the first right slice', async () => {
    const files = ['rbac.yaml', 'kubeadm-identity.yaml'].flatMap((name) => ['-f', join(DEPLOY, name)]);
    await run(cluster.binaries.kubectl, [`--kubeconfig=${cluster.kubeconfigPath}`, 'apply', ...files]);
    const world = await createWorld(client, 'shop');
    await createService(world, 'web');
    await createPod(world, 'web-1', { ip: '10.1.1.1', labels: { app: 'web' } });
    const kubeconfigPath = join(cluster.directory, 'controller-manager.conf');
    const text = await readFile(cluster.kubeconfigPath, 'utf8');
    const user = 'user: { token: $1, as: "system:kube-controller-manager" }';
    await writeFile(kubeconfigPath, text.replace(/user: \{ token: (\S+) \}/, user));
    const line = KUBEADM_LINE.map((flag) =>
      flag.startsWith('--kubeconfig=') ? `--kubeconfig=${kubeconfigPath}` : flag,
    );
    endpointd = await startEndpointd({ ...cluster, kubeconfigPath }, line);
    await until(async () => (await differences(client)).length === 0);
    const log = await readFile(endpointd.logPath, 'utf8');
    assert.match(log, /This process leads/);
    assert.match(log, /without a meaning here are ignored.*--use-service-account-credentials/);
    assert.doesNotMatch(log, /forbidden/i);
  });
});
