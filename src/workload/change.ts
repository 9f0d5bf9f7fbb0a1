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
  /** The pod, Service or Endpoints of the request as `<namespace>/<name>`, or the node's name. */
  readonly object: string;
  /** The pod after the request; null = the request is about something else. */
  readonly pod: PodModel | null;
}

export interface Churn {
  readonly cluster: Cluster;
  readonly prng: Prng;
  readonly mix: readonly { readonly kind: ChangeKind; readonly weight: number }[];
  readonly weightTotal: number;
  /** Changes that have more requests to make, at most CHANGES_OPEN_MAX. */
  readonly open: Steps[];
  /** Deleted services, which may come back under their old name. */
  readonly deleted: ServiceModel[];
  /** With so many pods nothing is scaled up, so that a long run stays as large as it began. */
  readonly podsMax: number;
  servicesMade: number;
  nowSeconds: number;
}

/** A change of several requests, step by step. */
export type Steps = Generator<Change, void, void>;
