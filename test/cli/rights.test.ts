/** The table of rights, which `check-rights` and the start of `run` ask about. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { loadAll } from 'js-yaml';
import { parseRunFlags } from '../../src/cli/flags/flags.ts';
import { rightsOf, rightText, ruleText, type Right } from '../../src/cli/rights/rights.ts';
import { askedBy } from '../support/asked-rights.ts';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

interface RoleObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules: readonly Rule[];
}

const ROOT = join(import.meta.dirname, '..', '..');
const EVERY = rightsOf(parseRunFlags(['--mirroring-zones', '--secure-port=10267'], () => undefined));
const ALL = EVERY.filter(({ rule }) => rule.role.isBuiltIn !== true);

/** What the file that a right names has in the role that it names. */
function roleOf({ rule: { role } }: Right): RoleObject {
  const objects = loadAll(readFileSync(join(ROOT, role.file), 'utf8')) as (RoleObject | null)[];
  const found = objects.filter((object) => object?.kind === role.kind && object.metadata.name === role.name);
  assert.equal(found.length, 1, `${role.kind} ${role.name} in ${role.file}`);
  return found[0]!;
}

describe('the table of rights', () => {
  it('the table of rights equals the roles of deploy/ in the files that it names', () => {
    const roles = new Map(ALL.map((right) => [`${right.rule.role.kind}/${right.rule.role.name}`, roleOf(right)]));
    const granted = [...roles.values()].flatMap(({ kind, metadata: { name, namespace = '' }, rules }) =>
      rules.flatMap(({ apiGroups, resources, resourceNames = [''], verbs }) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((resource) =>
            resourceNames.flatMap((object) =>
              verbs.map((verb) => [kind, name, verb, group, resource, namespace, object].join(' ')),
            ),
          ),
        ),
      ),
    );
    const table = ALL.map(({ verb, group, resource, namespace, name, rule: { role } }) =>
      [role.kind, role.name, verb, group, resource, namespace, name].join(' '),
    );
    assert.deepEqual(table.toSorted(), granted.toSorted());
  });

  for (const [flags, options] of [
    ['--controllers=endpoints-controller', { endpoints: true, slices: false, mirror: false }],
    ['--controllers=endpointslice-controller', { endpoints: false, slices: true, mirror: false }],
    ['--controllers=endpointslice-mirroring-controller', { endpoints: false, slices: false, mirror: true }],
  ] as const) {
    it(`the table covers all requests of a run with ${flags}`, () => {
      const rights = rightsOf(parseRunFlags([flags], () => undefined));
      const table = new Set(rights.map(({ group, resource, verb }) => `${group}/${resource} ${verb}`));
      const beyond = [...askedBy(options)].filter((asked) => !table.has(asked));
      assert.deepEqual(beyond, []);
    });
  }

  it('the table has the rights of serving, which built-in roles give', () => {
    const serving = EVERY.filter(({ rule }) => rule.role.isBuiltIn === true);
    assert.deepEqual(serving.map(rightText), [
      'create tokenreviews.authentication.k8s.io',
      'create subjectaccessreviews.authorization.k8s.io',
      'get configmaps kube-system/extension-apiserver-authentication',
    ]);
    for (const { rule } of serving) {
      const objects = loadAll(readFileSync(join(ROOT, rule.role.file), 'utf8')) as { roleRef?: object }[];
      const { kind, name } = rule.role;
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind, name };
      assert.ok(
        objects.some((object) => isDeepStrictEqual(object.roleRef, roleRef)),
        name,
      );
    }
    const flags = ['--authentication-kubeconfig=/k', '--authorization-kubeconfig=/k'];
    const asOther = rightsOf(parseRunFlags(flags, () => undefined));
    assert.deepEqual(asOther.map(rightText), ALL.map(rightText));
  });

  it('the table has the rights of serving where its flags name the own kubeconfig', () => {
    const flags = ['kubeconfig', 'authentication-kubeconfig', 'authorization-kubeconfig'].map((name) => `--${name}=/k`);
    const serving = (...more: string[]): string[] =>
      rightsOf(parseRunFlags([...flags, ...more], () => undefined))
        .filter(({ rule }) => rule.role.isBuiltIn === true)
        .map(rightText);
    assert.deepEqual(serving(), [
      'create tokenreviews.authentication.k8s.io',
      'create subjectaccessreviews.authorization.k8s.io',
      'get configmaps kube-system/extension-apiserver-authentication',
    ]);
    // It may be another server than the file's.
    assert.deepEqual(serving('--master=https://10.0.0.1:6443'), []);
  });

  it('the table has no ConfigMap of authorities if the flags name both files', () => {
    const configMaps = (...flags: string[]): string[] =>
      rightsOf(parseRunFlags(flags, () => undefined))
        .filter(({ resource }) => resource === 'configmaps')
        .map(({ verb }) => verb);
    const [users, proxies] = ['--client-ca-file=/ca.crt', '--requestheader-client-ca-file=/front-proxy-ca.crt'];
    assert.deepEqual(configMaps(users, proxies), []);
    assert.deepEqual(configMaps(users), ['get']);
    assert.deepEqual(configMaps(proxies), ['get']);
  });

  it("the table has the flags' Lease, and none without leader election", () => {
    const named = rightsOf(
      parseRunFlags(['--leader-elect-resource-name=mine', '--leader-elect-resource-namespace=ours'], () => undefined),
    );
    const lease = 'leases.coordination.k8s.io';
    assert.deepEqual(named.filter(({ resource }) => resource === 'leases').map(rightText), [
      `create ${lease} ours`,
      `get ${lease} ours/mine`,
      `watch ${lease} ours/mine`,
      `update ${lease} ours/mine`,
    ]);
    const alone = rightsOf(parseRunFlags(['--leader-elect=false'], () => undefined));
    assert.deepEqual(alone.map(rightText), EVERY.filter(({ resource }) => resource !== 'leases').map(rightText));
  });

  it('a rule is named as a person finds it', () => {
    const right = ALL.find(({ resource }) => resource === 'endpointslices')!;
    assert.equal(rightText(right), 'list endpointslices.discovery.k8s.io');
    assert.equal(
      ruleText(right.rule),
      'ClusterRole endpointd, rule endpointslices.discovery.k8s.io [list watch create update delete]',
    );
  });
});
