import { labelsGet } from '../../kube/labels.ts';
import { MANAGED_BY_LABEL, MANAGED_BY_VALUE, SKIP_MIRROR_LABEL } from '../../kube/names.ts';
import type { OutputRecord, ServiceRecord } from '../../kube/types.ts';
import { hasOptOutLabel } from '../selects-pods.ts';

/** Why the Endpoints of a Service are not mirrored. */
export type Unmirrored =
  | 'no-service'
  | 'no-endpoints'
  /** The Service has a selector, and so slices of its own. */
  | 'selector'
  | 'opted-out'
  /** The Endpoints are left from a time when the Service had a selector, and are about to be deleted (D7). */
  | 'left-behind'
  | 'skip-label'
  | 'leader-election';

export interface MirrorScope {
  /** '' = there is no such label. */
  readonly optOutLabel: string;
  readonly cleanUpUnselected: boolean;
}

/**
 * Why Endpoints are not mirrored; null = they are. Mirrored are Endpoints made by hand for a Service without a
 * selector, whatever its type (docs/spec/endpointslice.md "Mirroring: events", "Mirroring: sync").
 */
export function whyUnmirrored(
  service: ServiceRecord | null,
  endpoints: OutputRecord | null,
  { optOutLabel, cleanUpUnselected }: MirrorScope,
): Unmirrored | null {
  if (service === null) return 'no-service';
  if (service.selector !== null) return 'selector';
  if (endpoints === null) return 'no-endpoints';
  if (hasOptOutLabel(service, optOutLabel)) return 'opted-out';
  if (cleanUpUnselected && isOwnEndpoints(endpoints)) return 'left-behind';
  if (endpoints.leaderElection) return 'leader-election';
  return labelsGet(endpoints.labels, SKIP_MIRROR_LABEL) === 'true' ? 'skip-label' : null;
}

/**
 * Whether the endpoints controller has made the Endpoints, by upstream's managed-by label. Endpoints that elect a
 * leader are never its own.
 */
export function isOwnEndpoints({ labels, leaderElection }: OutputRecord): boolean {
  return !leaderElection && labelsGet(labels, MANAGED_BY_LABEL) === MANAGED_BY_VALUE;
}
