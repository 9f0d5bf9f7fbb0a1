/** The roles of `deploy/`, as data. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

export interface Role {
  readonly apiVersion: string;
  readonly kind: 'ClusterRole' | 'Role';
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules: readonly Rule[];
}

/** Never asked for by a request of its own: admission looks whether we might. */
export const ASKED_BY_ADMISSION = [
  '/endpoints/restricted create',
  'discovery.k8s.io/endpointslices/restricted create',
  '/endpoints/finalizers update',
  '/services/finalizers update',
];

export function rolesOf(file: string): Role[] {
  const text = readFileSync(join(import.meta.dirname, '..', '..', 'deploy', file), 'utf8');
  return (loadAll(text) as Role[]).filter(({ kind }) => kind === 'ClusterRole' || kind === 'Role');
}

/** `<group>/<resource> <verb>` of each. */
export function rightsIn({ apiGroups, resources, verbs }: Rule): string[] {
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) => verbs.map((verb) => `${group}/${resource} ${verb}`)),
  );
}
