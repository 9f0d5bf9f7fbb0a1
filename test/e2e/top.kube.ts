/** `endpointd top` at a terminal, of each source that there is in a cluster. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ApiClient } from '../../src/node/api-client.ts';
import { atTerminal } from '../support/pty.ts';
import { clientOf } from './client.ts';
import { type Cluster, type ControllerManager, startControllerManager } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from './cluster.ts';
import { type Endpointd, startEndpointd } from './endpointd.ts';
import { createPod, createService, createWorld, until } from './world.ts';
import { BIN } from '../support/installed.ts';

describe('endpointd top in a cluster', () => {
  let cluster: Cluster;
  let client: ApiClient;
  let manager: ControllerManager;
  let endpointd: Endpointd;

  before(async () => {
    cluster = await startCluster();
    client = clientOf(cluster);
    const world = await createWorld(client, 'shop');
    await createService(world, 'web');
    await createPod(world, 'web-1', { ip: '10.1.1.1' });
    manager = await startControllerManager(cluster, ['endpointslice-controller']);
    endpointd = await startEndpointd(cluster, ['--controllers=endpoints-controller']);
    await until(() => manager.idle());
  });

  after(async () => {
    await endpointd?.kill9();
    await manager?.stop();
    await client?.close();
    await cluster?.stop();
  });

  for (const [source, flags, shown] of [
    ['the debug page of endpointd', () => [`--source=http://${endpointd.address}`], /endpoints +0 +0 +0 +0 +5/],
    ['its metrics', () => [`--source=http://${endpointd.address}/metrics`], /endpoint +0 +\d+\.\d\/s[^]*pods +up/],
    [
      'the metrics of kube-controller-manager',
      () => [`--source=${manager.metricsUrl}`, `--certificate-authority=${manager.caFile}`],
      /metrics of kube-controller-manager[^]*endpoint_slice +0 +\d+\.\d\/s[^]*endpoint_slice_controller +0 +1 +1/,
    ],
  ] as const) {
    it(`top shows ${source}`, async () => {
      const command = [process.execPath, BIN, 'top', '--interval=200ms', ...flags()];
      const { status } = await atTerminal(command, shown, 'q');
      assert.equal(status, 0);
    });
  }
});
