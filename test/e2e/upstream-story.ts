/** Seeded clusters and changes after which kube-controller-manager has one right answer. */
import { CHURN_MIXES } from '../../src/workload/churn.ts';
import type { ChurnMix } from '../../src/workload/change.ts';
import { findProfile, type Profile } from '../../src/workload/profile.ts';

/**
 * Left out is what hangs on the moment at which kube-controller-manager looks, on any server: it learns of nodes with
 * the next change of a service only, shares hints by CPU out in the order of Go's maps, and may lose what is made again
 * at once (D1, D2, D9, D14 and D16 of docs/spec/endpointslice.md "Known defects"); and it may fail for minutes to lay
 * mirrored slices out anew (D24).
 */
export const UPSTREAM_PROFILE: Profile = { ...findProfile('small'), topologyShare: 0 };
export const UPSTREAM_MIX: ChurnMix = {
  ...CHURN_MIXES.everything,
  'service-topology': 0,
  'service-recreate': 0,
  'endpoints-edit': 0,
  'endpoints-recreate': 0,
  'node-zone': 0,
  'node-readiness': 0,
  'node-replace': 0,
};
