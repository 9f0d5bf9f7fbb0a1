/** An admission webhook that is down, and that a real API server may pass over: writes come late, and each one comes. */
import assert from 'node:assert/strict';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { after, before, it } from 'node:test';
import type { ApiClient } from '../../src/node/api-client.ts';
import type { Cluster } from '../../src/testbed/kube-cluster.ts';
import { clientOf, differences } from './client.ts';
import { startCluster } from './cluster.ts';
import { startEndpointd, type Endpointd } from './endpointd.ts';
import { createPod, createService, createWorld, setReady, until } from './world.ts';

const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
/** Of `timeoutSeconds`, by default. */
const WEBHOOK_MS = 10_000;
/** Of a write that is tried a second time at the most. */
const LATE_MS_MAX = 40_000;

let cluster: Cluster;
let client: ApiClient;
let endpointd: Endpointd;
let webhook: Server;
const asked = new Set<Socket>();

before(async () => {
  cluster = await startCluster();
  client = clientOf(cluster);
  // It takes connections and never says a word, as one behind a Service whose only pod has lost its node.
  webhook = createServer((socket) => void asked.add(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => void webhook.listen(0, '127.0.0.1', resolve));
});

after(async () => {
  await endpointd?.kill9();
  await client?.close();
  await cluster?.stop();
  for (const socket of asked) socket.destroy();
  webhook?.close();
});

it('a leader writes through an API server that waits for a webhook which is down', async () => {
  const world = await createWorld(client, 'shop');
  await createService(world, 'web');
  await createPod(world, 'web-1', { ip: '10.1.1.1' });
  endpointd = await startEndpointd(cluster, ['--leader-elect=true']);
  await until(async () => (await differences(client)).length === 0);
  const { port } = webhook.address() as AddressInfo;
  const rules = [
    { apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['endpoints'] },
    { apiGroups: ['discovery.k8s.io'], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['endpointslices'] },
  ];
  const silent = {
    name: 'silent.example.com',
    clientConfig: { url: `https://127.0.0.1:${port}/` },
    rules,
    failurePolicy: 'Ignore',
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  };
  const metadata = { name: 'silent' };
  const configuration = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata,
    webhooks: [silent],
  };
  await client.send({ method: 'POST', path: WEBHOOKS, body: configuration });
  // The API server takes a moment to know of it: until then writes come at once.
  for (let ready = false; asked.size === 0; ready = !ready) {
    await setReady(world, 'web-1', ready);
    await until(async () => asked.size > 0 || (await differences(client)).length === 0);
  }
  const fromMs = Date.now();
  await until(async () => (await differences(client)).length === 0);
  const tookMs = Date.now() - fromMs;
  assert.ok(tookMs > WEBHOOK_MS / 2 && tookMs < LATE_MS_MAX, `right after ${tookMs} ms`);
});
