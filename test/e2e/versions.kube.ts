/**
 * endpointd on older API servers, beside kube-controller-manager: on the usual server, which behaves as an older release, or
 * with KUBE_VERSION=1.34 on the real programs of that release, which are built when they are not cached (some ten minutes).
 * The support matrix of README.md says which were tried.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { MANAGED_BY_LABEL } from '../../src/kube/names.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import type { ApiClient } from '../../src/node/api-client.ts';
import { startControllerManager, type Cluster, type ControllerManager } from '../../src/testbed/kube-cluster.ts';
import { loadCluster } from '../../src/testbed/load-cluster.ts';
import { readObjects } from '../../src/testbed/read-objects.ts';
import { sendThrough } from '../../src/testbed/send-through.ts';
import { createChurn, nextChange } from '../../src/workload/churn.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
import { findProfile } from '../../src/workload/profile.ts';
import { MERGE_PATCH } from '../../src/workload/request.ts';
import { OLDER_RELEASES, type OlderRelease } from './binaries.ts';
import { clientOf } from './client.ts';
import { startCluster, type TestClusterOptions } from './cluster.ts';
import { startEndpointd, type Endpointd } from './endpointd.ts';
import { expectAllRight, seenByAll } from './whole-check.ts';
import { UPSTREAM_MIX } from './upstream-story.ts';
import { until } from './world.ts';

const SEED = 20_261_122;
/** Hints by CPU hang on whether kube-controller-manager's first look at a Service comes before that at the nodes. */
const PROFILE = { ...findProfile('tiny'), topologyShare: 0 };
const CHANGES = 60;
const AWAY_MS_MAX = 60_000;
const FLAGS = ['--kube-api-qps=500', '--kube-api-burst=500'];
const CONTROLLERS = ['endpoints-controller', 'endpointslice-controller', 'endpointslice-mirroring-controller'];

const EMULATED = ['1.34', '1.35'];

/** By what is said of them. @throws Error for a KUBE_VERSION that is not to be had */
function servers(real = process.env['KUBE_VERSION']): Readonly<Record<string, TestClusterOptions>> {
  if (real === undefined) {
    return Object.fromEntries(EMULATED.map((one) => [`a server that behaves as ${one}`, { emulatedVersion: one }]));
  }
  const releases = Object.keys(OLDER_RELEASES);
  if (!releases.includes(real)) throw new Error(`KUBE_VERSION=${real}: allowed are ${releases.join(', ')}`);
  const release = real as OlderRelease;
  return { [`the real programs of ${OLDER_RELEASES[release]}`]: { release } };
}

/** They put ports and subsets of Endpoints in order by MD5, so that their order is another one (#133511). */
const BY_MD5: readonly (string | undefined)[] = ['1.34'];

for (const [title, options] of Object.entries(servers())) {
  const isByMd5 = BY_MD5.includes(options.release);
  describe(`endpointd on ${title}`, () => {
    const model = makeCluster(PROFILE, SEED);
    let cluster: Cluster;
    let client: ApiClient;
    let endpointd: Endpointd | undefined;

    before(async () => {
      cluster = await startCluster(options);
      client = clientOf(cluster);
      await loadCluster(client, model, 8);
    });

    after(async () => {
      await endpointd?.kill9();
      await client?.close();
      await cluster?.stop();
    });

    async function start(): Promise<void> {
      await endpointd?.term();
      endpointd = await startEndpointd(cluster, FLAGS);
      await until(() => endpointd!.idle());
    }

    it('endpointd writes nothing over what kube-controller-manager has left', async () => {
      const manager = await startControllerManager(cluster, CONTROLLERS, { qps: 500, burst: 500 });
      await managerIsDone(manager, 'canary-0');
      await manager.stop();
      const left = await versions();
      await start();
      assert.deepEqual(await versions(), left);
    });

    it('endpointd follows changes', async () => {
      const churn = createChurn(model, UPSTREAM_MIX, SEED);
      for (let i = 0; i < CHANGES; i++) {
        const change = nextChange(churn, Date.now());
        await sendThrough(client, change!.request, AbortSignal.timeout(AWAY_MS_MAX));
      }
      await expectAllRight(client);
    });

    it('kube-controller-manager then writes what any start of it writes', async () => {
      await endpointd!.term();
      const first = await writtenByManager('canary-1');
      const second = await writtenByManager('canary-2');
      assert.deepEqual(
        first.filter((key) => !second.includes(key)),
        [],
      );
    });

    it('Endpoints of before 1.33 get their label, by one write of each', async () => {
      const { endpoints } = await readObjects(client);
      const labelled = endpoints.filter(({ metadata }) => metadata.labels?.[MANAGED_BY_LABEL] !== undefined);
      await endpointd!.term();
      for (const { metadata } of labelled) {
        const path = `/api/v1/namespaces/${metadata.namespace}/endpoints/${metadata.name}`;
        const body = { metadata: { labels: { [MANAGED_BY_LABEL]: null } } };
        await client.send({ method: 'PATCH', path, contentType: MERGE_PATCH, body });
      }
      await start();
      await expectAllRight(client);
      const written = (await endpointd!.metrics()).sum('endpointd_writes_total');
      assert.equal(written, labelled.length);
    });

    async function managerIsDone(manager: ControllerManager, canary: string): Promise<void> {
      await seenByAll(client, canary);
      if (!isByMd5) await expectAllRight(client);
      await until(() => manager.idle());
    }

    /** What it writes between its start and rest. */
    async function writtenByManager(canary: string): Promise<string[]> {
      const before = new Set(await versions());
      const manager = await startControllerManager(cluster, CONTROLLERS, { qps: 500, burst: 500 });
      await managerIsDone(manager, canary);
      await manager.stop();
      const written = (await versions()).filter((text) => !before.has(text)).map(withoutVersion);
      return written.filter((key) => !key.includes(`/${canary}`));
    }

    /** Of all objects that a controller writes: `<kind> <namespace>/<name> <version>`, or content where its order differs. */
    async function versions(): Promise<string[]> {
      const { endpoints, slices } = await readObjects(client);
      const texts = endpoints.map((object) => textOf(object, isByMd5 ? contentOf(object) : versionOf(object)));
      return [...texts, ...slices.map((object) => textOf(object, versionOf(object)))].sort();
    }
  });
}

function textOf({ kind, metadata: { namespace, name } }: KubeObject, what: string): string {
  return `${kind} ${namespace}/${name} ${what}`;
}

function versionOf({ metadata }: KubeObject): string {
  return metadata.resourceVersion!;
}

/** In an order of its own, without a space. */
function contentOf({ subsets }: KubeObject): string {
  const all = ((subsets ?? []) as readonly { readonly ports?: readonly object[] }[]).map(({ ports = [], ...rest }) =>
    JSON.stringify([rest, ports.map((port) => JSON.stringify(port)).toSorted()]),
  );
  return all.toSorted().join().replaceAll(' ', '');
}

function withoutVersion(text: string): string {
  return text.slice(0, text.lastIndexOf(' '));
}
