/** What is deployed is held to what the program does. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadAll } from 'js-yaml';
import { askedBy } from './support/asked-rights.ts';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** Never asked for by itself: admission looks whether we might. */
const ASKED_BY_ADMISSION = [
  '/endpoints/restricted create',
  '/endpoints/finalizers update',
  '/services/finalizers update',
];

function granted(): string[] {
  const text = readFileSync(join(import.meta.dirname, '..', 'deploy', 'rbac.yaml'), 'utf8');
  const objects = loadAll(text) as { readonly kind: string; readonly rules?: readonly Rule[] }[];
  const rules = objects
    .filter(({ kind }) => kind === 'ClusterRole' || kind === 'Role')
    .flatMap((role) => role.rules ?? []);
  return rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => `${group}/${resource} ${verb}`))),
  );
}

test('deploy/rbac.yaml grants what the three controllers ask for, and nothing more', () => {
  const asked = askedBy({ endpoints: true, slices: true, mirroring: true });
  assert.deepEqual(granted().sort(), [...asked, ...ASKED_BY_ADMISSION].sort());
});
