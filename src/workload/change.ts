/** A stream of changes to a cluster, and one step of it, as data. */
import type { Cluster, PodModel, ServiceModel } from './cluster.ts';
import type { WorkloadRequest } from './request.ts';
import type { Prng } from '../lib/prng.ts';

export type ChangeKind =
  | 'readiness'
  | 'pod-replace'
  | 'pod-recreate'
  | 'pod-relabel'
  | 'scale-up'
  | 'scale-down'
  | 'rolling-update'
  | 'service-selector'
  | 'service-ports'
  | 'service-labels'
  | 'service-publish'
  | 'service-traffic'
  | 'service-topology'
  | 'service-create'
  | 'service-delete'
  | 'service-recreate'
  | 'node-zone'
  | 'node-readiness'
  | 'node-replace'
  | 'endpoints-edit'
  | 'endpoints-recreate';

/** How often each kind of change starts, relative to the sum of all weights. */
export type ChurnMix = Readonly<Partial<Record<ChangeKind, number>>>;

export interface Change {
  readonly kind: ChangeKind;
  readonly request: WorkloadRequest;
  /** The pod, service or Endpoints that the request is about, `<namespace>/<name>`, or the node. */
  readonly object: string;
  /** The pod as the request makes it; null = it is about something else. */
  readonly pod: PodModel | null;
}

export interface Churn {
  readonly cluster: Cluster;
  readonly prng: Prng;
  readonly mix: readonly { readonly kind: ChangeKind; readonly weight: number }[];
  readonly weightTotal: number;
  /** Changes whose last request is still to come, at most CHANGES_OPEN_MAX. */
  readonly open: Steps[];
  /** Deleted services, which may come back under their old name. */
  readonly deleted: ServiceModel[];
  /** No scaling up from here on, so that a long run stays as large as it began. */
  readonly podsMax: number;
  servicesMade: number;
  nowSeconds: number;
}

/** A change of several requests, told step by step. */
export type Steps = Generator<Change, void, void>;
