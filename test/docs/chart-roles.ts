import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROLES = join(import.meta.dirname, '../../deploy/rbac.yaml');
/** Of the account, as an object and as a subject. The Role of the Lease stays where the Lease is. */
const ACCOUNT_NAMESPACE =
  /(kind: ServiceAccount\n(?:metadata:\n {2}name: .*\n {2}|(?: {4}name: .*\n) {4})namespace: )kube-system/g;

/** The roles of the chart: those of `deploy/rbac.yaml`, with the name and the namespace of the release. */
export function chartRoles(): string {
  const roles = readFileSync(ROLES, 'utf8')
    .replaceAll(/^ *#.*\n/gm, '')
    .replaceAll(/(name: |\[)endpointd\b/g, '$1{{ .Values.name }}')
    .replaceAll(ACCOUNT_NAMESPACE, '$1{{ .Release.Namespace }}');
  return `{{- /* Made from deploy/rbac.yaml by \`npm run docs\`; please change that file. */}}\n${roles}`;
}
