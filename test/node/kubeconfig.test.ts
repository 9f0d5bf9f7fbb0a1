import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CredentialsError } from '../../src/node/credentials-error.ts';
import { parseKubeconfig } from '../../src/node/kubeconfig.ts';

const YAML = `
apiVersion: v1
kind: Config
current-context: here
contexts:
- name: elsewhere
  context: {cluster: other, user: other}
- name: here
  context:
    cluster: c1
    user: u1
    namespace: ignored
clusters:
- name: c1
  cluster:
    server: https://10.0.0.1:6443
    certificate-authority: pki/ca.crt
    tls-server-name: kubernetes
users:
- name: u1
  user:
    client-certificate: /abs/client.crt
    client-key: ../client.key
    as: jane
    as-groups: [a, b]
    as-user-extra:
      example.com/Scope: [x, y]
`;

test("the current context is resolved, with paths from the file's directory", async () => {
  const { path, cluster, user } = await parseKubeconfig('/etc/endpointd/kubeconfig', YAML);
  assert.equal(path, '/etc/endpointd/kubeconfig');
  assert.deepEqual(cluster, {
    server: 'https://10.0.0.1:6443',
    tlsServerName: 'kubernetes',
    insecureSkipTlsVerify: false,
    caFile: '/etc/endpointd/pki/ca.crt',
    caData: '',
    proxyUrl: '',
    execConfig: undefined,
  });
  assert.equal(user.certFile, '/abs/client.crt');
  assert.equal(user.keyFile, '/etc/client.key');
  assert.equal(user.as, 'jane');
  assert.deepEqual(user.asGroups, ['a', 'b']);
  assert.deepEqual(user.asUserExtra, { 'example.com/Scope': ['x', 'y'] });
  assert.equal(user.exec, null);
});

test('JSON is read too', async () => {
  const json = JSON.stringify({
    'current-context': 'x',
    contexts: [{ name: 'x', context: { cluster: 'x' } }],
    clusters: [{ name: 'x', cluster: { server: 'http://localhost:8080' } }],
  });
  const { cluster, user } = await parseKubeconfig('/k', json);
  assert.equal(cluster.server, 'http://localhost:8080');
  assert.equal(user.token, '');
});

const bad: [text: string, message: string][] = [
  ['', 'kubeconfig /k: expected a document'],
  ['[]', 'kubeconfig /k: must be a mapping'],
  [
    '{"current-context": "x"',
    'kubeconfig /k: unexpected end of the stream within a flow collection (line 1, column 24)',
  ],
  ['a: b: c', 'kubeconfig /k: '],
  ['kind: Config', 'kubeconfig /k: current-context is not set'],
  ['current-context: x', 'kubeconfig /k: current-context: "x" is not among contexts (there are none)'],
  [
    YAML.replace('cluster: c1', 'cluster: c2'),
    'kubeconfig /k: contexts["here"].cluster: "c2" is not among clusters (there are: c1)',
  ],
  [YAML.replace('user: u1', 'user: u2'), 'kubeconfig /k: contexts["here"].user: "u2" is not among users'],
  [YAML.replace('as: jane', 'token: 123'), 'kubeconfig /k: users["u1"].token: must be a string'],
  [YAML.replace('[a, b]', 'a'), 'kubeconfig /k: users["u1"].as-groups: must be a list of strings'],
  [YAML.replace('as: jane', 'exec: aws'), 'kubeconfig /k: users["u1"].exec: must be a mapping'],
];
for (const [text, message] of bad) {
  test(`the kubeconfig ${JSON.stringify(text.slice(0, 20))} gives: ${message}`, async () => {
    await assert.rejects(parseKubeconfig('/k', text), (error) => {
      assert.ok(error instanceof CredentialsError);
      assert.ok(error.message.startsWith(message), error.message);
      assert.ok(!error.message.includes('\n'));
      return true;
    });
  });
}
