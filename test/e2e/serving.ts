import type { ApiClient } from '../../src/node/api-client.ts';

const RBAC_API = '/apis/rbac.authorization.k8s.io/v1';

/** The group `viewers`, and who else is named, may get /metrics, by the binding `read-metrics`. */
export async function viewersReadMetrics(client: ApiClient, ...others: readonly object[]): Promise<void> {
  const metadata = { name: 'read-metrics' };
  const rules = [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }];
  await client.send({ method: 'POST', path: `${RBAC_API}/clusterroles`, body: { metadata, rules } });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: metadata.name };
  const viewers = { kind: 'Group', name: 'viewers', apiGroup: 'rbac.authorization.k8s.io' };
  const body = { metadata, roleRef, subjects: [viewers, ...others] };
  await client.send({ method: 'POST', path: `${RBAC_API}/clusterrolebindings`, body });
}
