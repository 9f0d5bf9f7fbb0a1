/** Which controller of endpoints metrics are of. */
import { samplesOf, sumOf, type Metrics } from './text.ts';

/** Of the three controllers, by upstream's names. */
export const QUEUES = ['endpoint', 'endpoint_slice', 'endpoint_slice_mirroring'] as const;
export type QueueName = (typeof QUEUES)[number];

const LEASE = 'kube-controller-manager';

/** The minor version of kube-controller-manager; null = its metrics do not tell. */
export function kubeMinorIn(metrics: Metrics): number | null {
  const minor = Number.parseInt(samplesOf(metrics, 'kubernetes_build_info')[0]?.labels['minor'] ?? '', 10);
  return Number.isNaN(minor) ? null : minor;
}

/** Whether the process holds its Lease; null = its metrics do not tell. */
function isLeader(metrics: Metrics, controller: 'endpointd' | 'kube-controller-manager'): boolean | null {
  const held = sumOf(metrics, 'leader_election_master_status', controller === 'endpointd' ? {} : { name: LEASE });
  return held === null ? null : held > 0;
}

/** Whether the process led at the first look and at the second; null = its metrics do not tell it of both. */
export function ledAt(
  before: Metrics,
  after: Metrics,
  controller: 'endpointd' | 'kube-controller-manager',
): { readonly before: boolean; readonly after: boolean } | null {
  const [led, leads] = [isLeader(before, controller), isLeader(after, controller)];
  return led === null || leads === null ? null : { before: led, after: leads };
}

/**
 * `why`: they have no queue of these controllers. A kube-controller-manager makes its queues when it leads, so a standby
 * has none.
 */
export function controllerOf(metrics: Metrics): 'endpointd' | 'kube-controller-manager' | { readonly why: string } {
  if (metrics.has('endpointd_build_info')) return 'endpointd';
  if (QUEUES.some((name) => sumOf(metrics, 'workqueue_work_duration_seconds_count', { name }) !== null))
    return 'kube-controller-manager';
  return {
    why:
      isLeader(metrics, 'kube-controller-manager') === false
        ? `this kube-controller-manager stands by: its leader, which holds the Lease kube-system/${LEASE}, is the one to ask`
        : 'these are the metrics of another program: they have no queue of these controllers',
  };
}
