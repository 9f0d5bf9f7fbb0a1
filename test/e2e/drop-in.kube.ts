/** In place of kube-controller-manager: its command line, as installers write it, and its identity. Needs openssl. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { RUN_FLAGS } from '../../src/cli/flags/flags.ts';
import { FOREIGN_CONTROLLERS, FOREIGN_FLAGS, FOREIGN_SWITCHES } from '../../src/cli/flags/kube-controller-manager.ts';
import type { ApiClient } from '../../src/node/api-client.ts';
import { AUTHORITIES, CLIENTS } from '../support/client-certificates.ts';
import { GARDENER_LINE, KOPS_LINE, KUBEADM_LINE } from '../support/manager-lines.ts';
import { ask, type Sent } from '../support/secure-pages.ts';
import { createAuthority, issuerOf, type Issued } from './certificates.ts';
import { clientOf, differences } from './client.ts';
import { freePorts } from '../../src/testbed/free-ports.ts';
import type { Cluster } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from './cluster.ts';
import { startEndpointd, type Endpointd } from './endpointd.ts';
import { viewersReadMetrics } from './serving.ts';
import { createPod, createService, createWorld, until, type World } from './world.ts';

const run = promisify(execFile);
const DEPLOY = join(import.meta.dirname, '..', '..', 'deploy');
const LINES = { kubeadm: KUBEADM_LINE, kops: KOPS_LINE, Gardener: GARDENER_LINE };
/** Flags that the real program takes and does not list, because they are deprecated. */
const UNLISTED_SWITCHES = ['allow-untagged-cloud'];
const UNLISTED_FLAGS = ['node-sync-period'];
const OWN_CONTROLLERS = ['endpoints-controller', 'endpointslice-controller', 'endpointslice-mirroring-controller'];

describe('in place of kube-controller-manager', () => {
  let cluster: Cluster;
  let client: ApiClient;
  let endpointd: Endpointd | undefined;
  let directory: string;
  let world: World;
  /** Contents by the flags that name them; what other flags name is not read. */
  const files = new Map<string, string>();

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'endpointd-drop-in-'));
    const users = await createAuthority(join(directory, 'users'), 'users');
    files.set('client-ca-file', users.cert + AUTHORITIES.users);
    files.set('requestheader-client-ca-file', AUTHORITIES.proxies);
    const [usersFile, proxiesFile] = await withFiles(['--client-ca-file=/u', '--requestheader-client-ca-file=/p']);
    const apiserverFlags = [usersFile!, proxiesFile!, '--requestheader-allowed-names=front-proxy'];
    for (const header of ['username-headers=X-Remote-User', 'group-headers=X-Remote-Group']) {
      apiserverFlags.push(`--requestheader-${header}`);
    }
    cluster = await startCluster({ rbac: true, apiserverFlags });
    client = clientOf(cluster);
    const identity = await users.issue({ name: 'system:kube-controller-manager' });
    const kubeconfig = kubeconfigText(cluster, await readFile(cluster.caFile, 'utf8'), identity);
    for (const purpose of ['', 'authentication-', 'authorization-']) files.set(`${purpose}kubeconfig`, kubeconfig);
    const { cert, key } = await users.issue({ name: 'kube-controller-manager', addresses: ['127.0.0.1'] });
    files.set('tls-cert-file', cert);
    files.set('tls-private-key-file', key);
    const manifests = ['rbac.yaml', 'kubeadm-identity.yaml'].flatMap((name) => ['-f', join(DEPLOY, name)]);
    await run(cluster.binaries.kubectl, [`--kubeconfig=${cluster.kubeconfigPath}`, 'apply', ...manifests]);
    await viewersReadMetrics(client);
    world = await createWorld(client, 'shop');
    await createService(world, 'web');
  });

  after(async () => {
    await endpointd?.kill9();
    await client?.close();
    await cluster?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  it('every flag and controller of the real program is known', async () => {
    const unlisted = [...UNLISTED_SWITCHES.map((name) => `--${name}`), ...UNLISTED_FLAGS.map((name) => `--${name}=1s`)];
    const { stdout, stderr } = await run(cluster.binaries.kubeControllerManager, [...unlisted, '--help']);
    for (const name of [...UNLISTED_SWITCHES, ...UNLISTED_FLAGS]) {
      assert.ok(stderr.includes(`Flag --${name} has been deprecated`), stderr);
    }
    const flags = [...stdout.matchAll(/^ +(?:-\w, )?--([a-z0-9-]+)(?: (\S+))?(?: {2,}|$)/gm)];
    const own = ['help', 'version', ...RUN_FLAGS.groups.flatMap(({ flags: group }) => Object.keys(group))];
    const names = (isSwitch: boolean): string[] =>
      flags
        .filter(([, name, value]) => (value === undefined) === isSwitch && !own.includes(name!))
        .map(([, name]) => name!)
        .sort();
    assert.ok(flags.length > 100, stdout);
    assert.deepEqual([...names(true), ...UNLISTED_SWITCHES].toSorted(), FOREIGN_SWITCHES.toSorted());
    assert.deepEqual([...names(false), ...UNLISTED_FLAGS].toSorted(), FOREIGN_FLAGS.toSorted());
    const controllers = /All controllers: ([^\n]+)/
      .exec(stdout)![1]!
      .split(',')
      .map((name) => name.trim());
    assert.deepEqual(
      controllers.filter((name) => !OWN_CONTROLLERS.includes(name)).toSorted(),
      FOREIGN_CONTROLLERS.toSorted(),
    );
  });

  for (const [installer, line] of Object.entries(LINES)) {
    it(`the command line of ${installer} leads to right slices, and is served`, async () => {
      await createPod(world, `of-${installer.toLowerCase()}`, { ip: '10.1.1.1' });
      const [port] = await freePorts(1);
      const address = `127.0.0.1:${port}`;
      endpointd = await startEndpointd(cluster, [...(await withFiles(line)), `--secure-port=${port}`]);
      await until(async () => (await differences(client)).length === 0);
      assert.ok((await endpointd.metrics()).sum('endpointd_writes_total') > 0);
      const log = await readFile(endpointd.logPath, 'utf8');
      assert.match(log, /This process leads/);
      assert.match(log, /that have no meaning here are ignored.*--use-service-account-credentials/);
      assert.doesNotMatch(log, /forbidden|"level":"error"/i);

      const statusOf = async (path: string, sent: Sent = {}): Promise<number> =>
        (await ask(address, path, sent)).status;
      const carol = { 'X-Remote-User': 'carol', 'X-Remote-Group': 'viewers' };
      // By the word of the API server, which also publishes the authorities that no flag gives.
      await until(async () => (await statusOf('/metrics', { tls: { ...CLIENTS.alice } })) === 200);
      assert.equal(await statusOf('/configz', { tls: { ...CLIENTS.alice } }), 403);
      assert.equal(await statusOf('/metrics', { tls: { ...CLIENTS.stranger } }), 401);
      assert.equal(await statusOf('/metrics', { headers: carol, tls: { ...CLIENTS.proxy } }), 200);
      assert.equal(await statusOf('/metrics', { headers: carol }), 403);
      assert.equal(await statusOf('/healthz'), 200);
      const isGiven = line.some((flag) => flag.startsWith('--tls-cert-file='));
      assert.equal(await issuerOf(`https://${address}`), isGiven ? 'users' : 'endpointd');
      assert.equal((await endpointd.term()).status, 0);
    });
  }

  /** The same flags with files in a directory of the test. */
  async function withFiles(line: readonly string[]): Promise<string[]> {
    const written: string[] = [];
    for (const flag of line) {
      const [, name = '', path = ''] = /^--([\w-]+)=(\/.*)$/.exec(flag) ?? [];
      const content = path === '' ? undefined : files.get(name);
      const place = join(directory, path);
      if (content !== undefined) {
        await mkdir(dirname(place), { recursive: true });
        await writeFile(place, content);
      }
      written.push(content === undefined ? flag : `--${name}=${place}`);
    }
    return written;
  }
});

/** As kubeadm writes it: a client certificate within. */
function kubeconfigText({ url }: Cluster, ca: string, { cert, key }: Issued): string {
  const data = (pem: string): string => Buffer.from(pem).toString('base64');
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: url, 'certificate-authority-data': data(ca) } }],
    users: [{ name: 'u', user: { 'client-certificate-data': data(cert), 'client-key-data': data(key) } }],
  });
}
