/** `endpointd check-rights` as a process, against servers that allow all, some, or nothing that can be told. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { endpointd } from '../support/command.ts';
import { jsonAnswer, refusal, startStub, type StubAnswer, type StubRequest } from '../support/stub-server.ts';

interface Attributes {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

const FLAGS = ['--controllers=endpointslice-controller', '--leader-elect-resource-namespace=shop', '--secure-port=0'];

/** Reviews of somebody who may do what `may` says. */
function reviews(may: (attributes: Attributes) => object): (request: StubRequest) => StubAnswer {
  return ({ method, path, body }) => {
    assert.equal(method, 'POST');
    if (path === '/apis/authentication.k8s.io/v1/selfsubjectreviews') {
      return jsonAnswer({ kind: 'SelfSubjectReview', status: { userInfo: { username: 'jane\u001B[2J' } } }, 201);
    }
    assert.equal(path, '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews');
    const { spec } = JSON.parse(body) as { spec: { resourceAttributes: Attributes } };
    return jsonAnswer({ kind: 'SelfSubjectAccessReview', status: may(spec.resourceAttributes) }, 201);
  };
}

describe('endpointd check-rights', () => {
  it('check-rights has status 0 and a row for each right if all are allowed', async () => {
    await using server = await startStub(reviews(() => ({ allowed: true })));
    const { status, stdout, stderr } = await endpointd('check-rights', `--master=${server.url}`, ...FLAGS);
    assert.deepEqual([status, stderr], [0, '']);
    const lines = stdout.replaceAll(/ {2,}/g, ' | ').split('\n');
    assert.equal(lines[0], String.raw`jane\u001b[2J at ${server.url}:`);
    const role = 'deploy/rbac.yaml: ClusterRole endpointd, rule';
    const slices = 'endpointslices.discovery.k8s.io';
    const lease = 'leases.coordination.k8s.io';
    const leader = `deploy/rbac.yaml: Role endpointd-leader-election, rule ${lease}`;
    const each = (verbs: string[], resource: string, more = ''): string[] =>
      verbs.map((verb) => `${verb} | ${resource} | all | yes | ${role} ${resource} [${verbs.join(' ')}]${more}`);
    assert.deepEqual(lines.slice(2), [
      'VERB | RESOURCE | OBJECTS | ALLOWED | GIVEN BY',
      ...each(['get', 'list', 'watch'], 'services'),
      ...each(['list', 'watch'], 'pods'),
      ...each(['list', 'watch'], 'nodes'),
      ...each(['list', 'watch', 'create', 'update', 'delete'], slices),
      ...each(['create'], `${slices}/restricted`, ', on OpenShift'),
      ...each(
        ['update'],
        'services/finalizers',
        ', where the admission plugin OwnerReferencesPermissionEnforcement is on',
      ),
      ...each(['create', 'patch'], 'events'),
      `create | ${lease} | shop/* | yes | ${leader} [create]`,
      ...['get', 'watch', 'update'].map(
        (verb) => `${verb} | ${lease} | shop/endpointd | yes | ${leader} [get watch update]`,
      ),
      '',
      'The user has all rights that these flags need.',
      '',
    ]);
  });

  it('check-rights has status 1 and names the rule and file of each missing right', async () => {
    const missing = ['update endpointslices ', 'watch leases endpointd'];
    await using server = await startStub(
      reviews(({ verb, resource, name }) => ({ allowed: !missing.includes(`${verb} ${resource} ${name}`) })),
    );
    const { status, stdout } = await endpointd('check-rights', `--master=${server.url}`, ...FLAGS);
    assert.equal(status, 1);
    assert.match(stdout, /^update +endpointslices\.discovery\.k8s\.io +all +no +deploy\/rbac\.yaml: ClusterRole/m);
    assert.equal(
      stdout.split('\n').at(-2),
      'Missing: update endpointslices.discovery.k8s.io, watch leases.coordination.k8s.io shop/endpointd. ' +
        'Given by ClusterRole endpointd, rule endpointslices.discovery.k8s.io [list watch create update delete]; ' +
        'Role endpointd-leader-election, rule leases.coordination.k8s.io [get watch update]: ' +
        'kubectl apply -f deploy/rbac.yaml, for the service account kube-system/endpointd alone. Installed elsewhere, apply the overlay again or helm upgrade; any other user needs a binding of its own.',
    );
  });

  it('check-rights does not fail for a right that only some clusters need', async () => {
    await using server = await startStub(reviews(({ subresource }) => ({ allowed: subresource === '' })));
    const { status, stdout } = await endpointd('check-rights', `--master=${server.url}`, '-o', 'json');
    const { allowed, rights } = JSON.parse(stdout) as { allowed: string; rights: Record<string, string>[] };
    assert.deepEqual([status, allowed], [0, 'yes']);
    assert.deepEqual(
      rights.filter((right) => right['allowed'] === 'no').map(({ verb, resource, only }) => [verb, resource, only]),
      [
        ['create', 'endpoints/restricted', 'on OpenShift'],
        ['create', 'endpointslices/restricted', 'on OpenShift'],
        ['update', 'services/finalizers', 'where the admission plugin OwnerReferencesPermissionEnforcement is on'],
        ['update', 'endpoints/finalizers', 'where the admission plugin OwnerReferencesPermissionEnforcement is on'],
      ],
    );
  });

  for (const [title, answer, reason] of [
    [
      'an authorizer could not be asked',
      reviews(() => ({ allowed: false, evaluationError: 'webhook down' })),
      /: webhook down$/m,
    ],
    ['the server refuses the question', () => refusal(403, 'Forbidden', 'not for you'), /: 403 not for you$/m],
    [
      'it is no API server',
      () => ({ status: 404, body: '<html>', headers: { 'content-type': 'text/html' } }),
      /: no answer of an API server: HTTP status 404$/m,
    ],
  ] as const) {
    it(`check-rights has status 2 where ${title}`, async () => {
      await using server = await startStub(answer);
      const { status, stdout } = await endpointd('check-rights', `--master=${server.url}`);
      assert.equal(status, 2);
      assert.match(stdout, /^get +services +all +unknown +deploy/m);
      assert.match(stdout, reason);
      assert.doesNotMatch(stdout, /All that/);
    });
  }

  it('check-rights goes on after one right that an authorizer could not decide', async () => {
    const failing = { allowed: false, evaluationError: 'webhook down' };
    await using server = await startStub(
      reviews(({ verb, resource }) => (`${verb} ${resource}` === 'get services' ? failing : { allowed: true })),
    );
    const { status, stdout } = await endpointd('check-rights', `--master=${server.url}`, ...FLAGS, '-o', 'json');
    const { rights } = JSON.parse(stdout) as { rights: Record<string, string>[] };
    const unknown = rights.filter(({ allowed }) => allowed === 'unknown');
    assert.deepEqual([status, ...unknown.map(({ verb, resource }) => `${verb} ${resource}`)], [2, 'get services']);
  });

  it('check-rights has status 2 without an answer, and without its kubeconfig', async () => {
    const nobody = await endpointd('check-rights', '--master=http://127.0.0.1:1');
    assert.equal(nobody.status, 2);
    assert.match(nobody.stdout, /^Could not tell: no answer: connect ECONNREFUSED 127\.0\.0\.1:1$/m);
    const { status, stderr } = await endpointd('check-rights', '--kubeconfig=/no/such');
    assert.deepEqual([status, stderr], [2, 'endpointd check-rights: cannot read kubeconfig /no/such: ENOENT\n']);
  });
});
