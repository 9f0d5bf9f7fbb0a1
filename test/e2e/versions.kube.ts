/**
 * endpointd on older API servers: the usual one behaves as an older release. The support matrix of README.md says which
 * were tried.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { MANAGED_BY_LABEL } from '../../src/kube/names.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import type { ApiClient } from '../../src/node/api-client.ts';
import { loadCluster } from '../../src/testbed/load-cluster.ts';
import { readObjects } from '../../src/testbed/read-objects.ts';
import { sendThrough } from '../../src/testbed/send-through.ts';
import { CHURN_MIXES, createChurn, nextChange } from '../../src/workload/churn.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
import { findProfile } from '../../src/workload/profile.ts';
import { MERGE_PATCH } from '../../src/workload/request.ts';
import { clientOf } from './client.ts';
import { startCluster, startControllerManager, type Cluster } from './cluster.ts';
import { startEndpointd, type Endpointd } from './endpointd.ts';
import { expectAllRight } from './whole-check.ts';
import { until } from './world.ts';

const SEED = 20_261_122;
const CHANGES = 60;
const AWAY_MS_MAX = 60_000;
const FLAGS = ['--kube-api-qps=500', '--kube-api-burst=500'];
const CONTROLLERS = ['endpoints-controller', 'endpointslice-controller', 'endpointslice-mirroring-controller'];

const VERSIONS = ['1.34', '1.35'];

for (const version of VERSIONS) {
  describe(`endpointd on a server that behaves as ${version}`, () => {
    const model = makeCluster(findProfile('tiny'), SEED);
    let cluster: Cluster;
    let client: ApiClient;
    let endpointd: Endpointd | undefined;

    before(async () => {
      cluster = await startCluster({ emulatedVersion: version });
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

    it('writes nothing over what kube-controller-manager has left', async () => {
      const manager = await startControllerManager(cluster, CONTROLLERS, { qps: 500, burst: 500 });
      await expectAllRight(client);
      await until(() => manager.idle());
      await manager.stop();
      const left = await versions();
      await start();
      assert.deepEqual(await versions(), left);
    });

    it('follows changes', async () => {
      const churn = createChurn(model, CHURN_MIXES.everything, SEED);
      for (let i = 0; i < CHANGES; i++) {
        const change = nextChange(churn, Date.now());
        await sendThrough(client, change!.request, AbortSignal.timeout(AWAY_MS_MAX));
      }
      await expectAllRight(client);
    });

    it('gives Endpoints of before 1.33 their label, by one write of each', async () => {
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

    /** Of all objects that a controller writes. */
    async function versions(): Promise<string[]> {
      const { endpoints, slices } = await readObjects(client);
      return [...endpoints, ...slices].map(({ kind, metadata }) => textOf(kind, metadata)).sort();
    }
  });
}

function textOf(kind: string, { namespace, name, resourceVersion }: KubeObject['metadata']): string {
  return `${kind} ${namespace}/${name} ${resourceVersion}`;
}
