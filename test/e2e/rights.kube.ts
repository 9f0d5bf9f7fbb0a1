/**
 * With the rights of deploy/rbac.yaml, and as its service account, everything gets done, nothing is refused, and nothing is
 * granted that is not used. Without any one of its rules, something that the rule names does not get done.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import type { ApiClient } from '../../src/node/api-client.ts';
import { ASKED_BY_ADMISSION, rightsIn, rolesOf, type Role, type Rule } from '../support/roles.ts';
import { rightsUsed } from './audit.ts';
import { clientOf } from './client.ts';
import type { Cluster } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from './cluster.ts';
import { startEndpointd, type Endpointd, type EndpointdOptions } from './endpointd.ts';
import { startFaultProxy, type FaultProxy } from './fault-proxy.ts';
import type { ProxyFault } from './proxy-faults.ts';
import { createZoneNodes } from './slices-script.ts';
import { expectAllRight, seenByAll } from './whole-check.ts';
import {
  create,
  createPod,
  createService,
  createWorld,
  patch,
  read,
  remove,
  removePod,
  setReady,
  until,
  type World,
} from './world.ts';

const run = promisify(execFile);
const ACCOUNT = 'system:serviceaccount:kube-system:endpointd';
const RBAC = join(import.meta.dirname, '..', '..', 'deploy', 'rbac.yaml');
const ROLES = rolesOf('rbac.yaml');
/** Of another distribution, whose admission plugin is not here. */
const ELSEWHERE = /\/restricted create$/;

/** Everybody may ask these: the ClusterRole system:basic-user. */
const OF_ONESELF = /^auth(orization|entication)\.k8s\.io\/self/;
/** Not missing where no admission plugin asks for it; services that are stuck tell. */
const ONLY_BY_ADMISSION = /\/finalizers /;
const LOST: ProxyFault = { name: 'answers are lost', meets: ['write'], chance: 1, at: 'reply', does: 'lose' };

/** What does not get done without a rule, by the first right that it grants. */
type Loss = (endpointd: Endpointd) => Promise<boolean>;

const LOSSES: Readonly<Record<string, { readonly says: string; readonly lost: Loss }>> = {
  '/services get': { says: 'it never gets ready: services cannot be listed', lost: notListed('services') },
  '/pods list': { says: 'it never gets ready: pods cannot be listed', lost: notListed('pods') },
  '/nodes list': { says: 'it never gets ready: nodes cannot be listed', lost: notListed('nodes') },
  '/endpoints get': { says: 'it never gets ready: endpoints cannot be listed', lost: notListed('endpoints') },
  'discovery.k8s.io/endpointslices list': {
    says: 'it never gets ready: slices cannot be listed',
    lost: notListed('endpointslices'),
  },
  '/endpoints create': { says: 'a service stays without Endpoints', lost: refused('endpoints') },
  '/services/finalizers update': { says: 'a service stays without slices', lost: refused('endpointslice') },
  '/endpoints/finalizers update': {
    says: 'Endpoints made by hand stay without slices',
    lost: refused('endpointslice-mirroring'),
  },
  '/events create': { says: 'no Event object is recorded', lost: logged(/Events cannot be recorded/) },
  'coordination.k8s.io/leases create': {
    says: 'the Lease is not made, so nobody leads',
    lost: logged(/Cannot read or write the Lease.*cannot create resource/),
  },
  'coordination.k8s.io/leases get': {
    says: 'the Lease is not held, so nobody leads',
    lost: logged(/Cannot read or write the Lease.*cannot (get|watch|update) resource/),
  },
};

describe('the rights of deploy/rbac.yaml', () => {
  let cluster: Cluster;
  let client: ApiClient;
  let world: World;
  let endpointd: Endpointd;
  let proxy: FaultProxy;
  let round = 0;

  before(async () => {
    cluster = await startCluster({ rbac: true, auditLog: true });
    client = clientOf(cluster);
    proxy = await startFaultProxy(cluster, 1);
    await kubectlApply(RBAC);
    await createZoneNodes(client);
    world = await createWorld(client, 'shop');
    await createService(world, 'gone');
    await create(world, 'endpoints', {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'left', labels: { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' } },
    });
    endpointd = await startAs(ACCOUNT, ['--watch-list=false', '--leader-elect=true']);
  });

  after(async () => {
    await endpointd?.kill9();
    await proxy?.stop();
    await client?.close();
    await cluster?.stop();
  });

  async function kubectlApply(file: string): Promise<void> {
    await run(cluster.binaries.kubectl, [`--kubeconfig=${cluster.kubeconfigPath}`, 'apply', '-f', file]);
  }

  /** The administrator, who speaks as that user, through the proxy. */
  async function startAs(user: string, flags: readonly string[], options?: EndpointdOptions): Promise<Endpointd> {
    const text = await readFile(proxy.kubeconfigPath, 'utf8');
    const kubeconfigPath = join(cluster.directory, `kubeconfig-${user.replaceAll(':', '-')}`);
    await writeFile(kubeconfigPath, text.replace(/user: \{ token: (\S+) \}/, `user: { token: $1, as: "${user}" }`));
    return startEndpointd({ ...cluster, kubeconfigPath }, flags, options);
  }

  it('the rights suffice for Endpoints, slices, mirrored slices and Event objects', async () => {
    await createPod(world, 'web-1', { ip: '10.1.1.1', labels: { app: 'web' } });
    await createPod(world, 'web-2', { ip: '10.1.1.2', labels: { app: 'web' }, node: 'no-such-node' });
    await createService(world, 'web');
    await createService(world, 'manual', { spec: { selector: null } });
    await create(world, 'endpoints', {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'manual' },
      subsets: [{ addresses: [{ ip: '10.7.0.1' }], ports: [{ port: 80 }] }],
    });
    await seenByAll(client, 'after-creates');
    await setReady(world, 'web-1', false);
    await patch(world, 'endpoints/manual', { subsets: [] });
    await remove(world, 'services/gone');
    await seenByAll(client, 'after-changes');
    await expectAllRight(client);
    await until(async () => reasons('shop').then((all) => all.includes('EndpointOnUnknownNode')));
    await until(async () => !(await exists('endpoints/left')));
  });

  async function exists(object: string): Promise<boolean> {
    return read(world, object).then(
      () => true,
      () => false,
    );
  }

  async function reasons(namespace: string): Promise<unknown[]> {
    return (await client.list(`/api/v1/namespaces/${namespace}/events`)).items.map((event) => event['reason']);
  }

  it('the rights suffice for a take-over', async () => {
    const standby = await startAs(ACCOUNT, ['--leader-elect=true']);
    await endpointd.term();
    endpointd = standby;
    await setReady(world, 'web-1', true);
    await seenByAll(client, 'after-take-over');
    await expectAllRight(client);
  });

  it('the rights suffice where answers are lost, and Event objects repeat', async () => {
    proxy.setFault(LOST);
    await setReady(world, 'web-1', false);
    await until(async () => (await used()).has('/endpoints get'));
    proxy.heal();
    // A pod on a node that is not known, again: it is told how often, in the same Event object.
    await until(async () => {
      await removePod(world, 'web-2');
      await createPod(world, 'web-2', { ip: '10.1.1.2', labels: { app: 'web' }, node: 'no-such-node' });
      await seenByAll(client, `after-${++round}`);
      return (await used()).has('/events patch');
    });
    await expectAllRight(client);
  });

  const used = (): Promise<Map<string, Set<number>>> => rightsUsed(cluster, ACCOUNT);

  it('the requests need all rights, and no others', async () => {
    const asked = await used();
    const refused = [...asked].filter(([, statuses]) => statuses.has(403));
    assert.deepEqual(refused, []);
    const granted = ROLES.flatMap(({ rules }) => rules.flatMap(rightsIn));
    const needed = [...asked.keys()].filter((right) => !OF_ONESELF.test(right));
    assert.deepEqual([...needed, ...ASKED_BY_ADMISSION].toSorted(), granted.toSorted());
    const metrics = await endpointd.metrics();
    for (const name of ['endpointd_stuck_service', 'endpointd_missing_rights']) assert.equal(metrics.sum(name), 0);
    await endpointd.kill9();
  });

  const rules = ROLES.flatMap(({ rules: all }) => all);
  for (const [number, rule] of rules.entries()) {
    const [right] = rightsIn(rule) as [string];
    if (ELSEWHERE.test(right)) continue;
    const loss = LOSSES[right];
    it(`without ${right.trim()} of rule ${number + 1}: ${loss?.says}`, async () => {
      assert.ok(loss !== undefined, 'no case shows what this rule is for');
      const user = `without-${number}`;
      const file = join(cluster.directory, `${user}.json`);
      await writeFile(file, JSON.stringify(rolesWithout(rule, user)));
      await kubectlApply(file);
      const service = `of-${user}`;
      await createService(world, service);
      await createPod(world, service, { ip: '10.1.2.1', labels: { app: service }, node: 'no-such-node' });
      await createService(world, `hand-${number}`, { spec: { selector: null } });
      await create(world, 'endpoints', {
        apiVersion: 'v1',
        kind: 'Endpoints',
        metadata: { name: `hand-${number}` },
        subsets: [{ addresses: [{ ip: '10.7.0.1' }], ports: [{ port: 80 }] }],
      });
      const leases = rule.resources.includes('leases');
      const poor = await startAs(user, [`--leader-elect=${leases}`, ...leaseOf(user)], { untilReady: false });
      try {
        await until(() => loss.lost(poor));
        if (ONLY_BY_ADMISSION.test(right)) return;
        await until(async () => (await poor.metrics()).sum('endpointd_missing_rights') > 0);
      } finally {
        await poor.kill9();
      }
    });
  }
});

/** A Lease that nobody else holds: only who makes it shows that it may. */
function leaseOf(user: string): string[] {
  return [`--leader-elect-resource-name=${user}`];
}

/** The roles without one rule, for a user of that name, with a Lease of that name. */
function rolesWithout(rule: Rule, user: string): object {
  const items = ROLES.flatMap((role) => {
    const rules = role.rules
      .filter((one) => one !== rule)
      .map((one) => (one.resourceNames === undefined ? one : forLease(one, user)));
    const named = { ...role, metadata: { ...role.metadata, name: `${role.metadata.name}-${user}` }, rules };
    return [named, bindingOf(named, user)];
  });
  return { apiVersion: 'v1', kind: 'List', items };
}

function forLease(rule: Rule, name: string): Rule {
  return { ...rule, resourceNames: [name] };
}

function bindingOf({ kind, metadata }: Role, user: string): object {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: `${kind}Binding`,
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: metadata.name },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
  };
}

function notListed(resource: string): Loss {
  return logged(new RegExp(`(List|Watch) is tried again.*\\b${resource}\\b.*forbidden`));
}

function refused(controller: string): Loss {
  return async (endpointd) =>
    (await endpointd.metrics()).sum('endpointd_syncs_total', { controller, result: 'forbidden' }) > 0;
}

function logged(line: RegExp): Loss {
  return async ({ logPath }) => line.test(await readFile(logPath, 'utf8'));
}
