import type { PodRecord } from '../kube/types.ts';

/** A pod of a service, and what the main thread knows of its node. */
export interface Member {
  readonly pod: PodRecord;
  /** Label `topology.kubernetes.io/zone` of its node; '' = it has none; null = there is no such node. */
  readonly zone: string | null;
}
