/** The official client of Kubernetes for JavaScript as a second opinion: on kubeconfigs, and on the embedded API server. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CoreV1Api, DiscoveryV1Api, KubeConfig, makeInformer, type V1EndpointSlice } from '@kubernetes/client-node';
import { startServe, type ServeProcess } from '../../src/testbed/serve-process.ts';
import { parseKubeconfig } from '../../src/node/kubeconfig.ts';
import { MAIN } from '../support/installed.ts';

const KUBECONFIG = `
apiVersion: v1
kind: Config
current-context: here
contexts:
- {name: elsewhere, context: {cluster: other, user: other}}
- {name: here, context: {cluster: c1, user: u1}}
clusters:
- {name: other, cluster: {server: 'https://10.9.9.9'}}
- name: c1
  cluster:
    server: https://10.0.0.1:6443
    certificate-authority-data: Y2E=
    tls-server-name: kubernetes
    insecure-skip-tls-verify: true
    proxy-url: http://proxy.example:3128
users:
- name: u1
  user: {token: secret, client-certificate: /abs/client.crt, client-key: /abs/client.key}
`;

describe('a kubeconfig', () => {
  it('a kubeconfig is read as the official client reads it', async () => {
    const theirs = new KubeConfig();
    theirs.loadFromString(KUBECONFIG);
    const { cluster, user } = await parseKubeconfig('/etc/kubeconfig', KUBECONFIG);
    const [theirCluster, theirUser] = [theirs.getCurrentCluster()!, theirs.getCurrentUser()!];
    assert.deepEqual(
      [cluster.server, cluster.tlsServerName, cluster.insecureSkipTlsVerify, cluster.caData, cluster.proxyUrl],
      [
        theirCluster.server,
        theirCluster.tlsServerName,
        theirCluster.skipTLSVerify,
        theirCluster.caData,
        theirCluster.proxyUrl,
      ],
    );
    assert.deepEqual(
      [user.token, user.certFile, user.keyFile],
      [theirUser.token, theirUser.certFile, theirUser.keyFile],
    );
  });
});

describe('the embedded API server', () => {
  let server: ServeProcess;
  let config: KubeConfig;
  before(async () => {
    server = await startServe(['--profile=tiny', '--secure'], MAIN);
    config = new KubeConfig();
    config.loadFromFile(server.kubeconfig);
  });
  after(() => server.stop());

  it('the official client can list, create and delete', async () => {
    const core = config.makeApiClient(CoreV1Api);
    const { items } = await core.listPodForAllNamespaces();
    assert.ok(items.length > 0 && items.every(({ metadata }) => metadata?.uid !== undefined));
    const name = 'by-the-official-client';
    await core.createNamespacedService({
      namespace: 'default',
      body: { metadata: { name }, spec: { selector: { app: name }, ports: [{ port: 80 }] } },
    });
    const { spec } = await core.readNamespacedService({ namespace: 'default', name });
    assert.deepEqual(spec?.selector, { app: name });
    await core.deleteNamespacedService({ namespace: 'default', name });
  });

  it('an informer of the official client stays up to date', async () => {
    const discovery = config.makeApiClient(DiscoveryV1Api);
    const path = '/apis/discovery.k8s.io/v1/endpointslices';
    const informer = makeInformer<V1EndpointSlice>(config, path, () => discovery.listEndpointSliceForAllNamespaces());
    const seen = new Promise<V1EndpointSlice>((resolve) => {
      informer.on('add', (slice) => {
        if (slice.metadata?.name === 'seen') resolve(slice);
      });
    });
    await informer.start();
    await discovery.createNamespacedEndpointSlice({
      namespace: 'default',
      body: { metadata: { name: 'seen' }, addressType: 'IPv4', endpoints: [{ addresses: ['10.0.0.1'] }] },
    });
    assert.deepEqual((await seen).endpoints?.[0]?.addresses, ['10.0.0.1']);
    await informer.stop();
  });
});
