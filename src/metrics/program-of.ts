/** Which program metrics are of. */
import { samplesOf, sumOf, type Metrics } from './text.ts';

/** Of the three controllers, by upstream's names. */
export const QUEUES = ['endpoint', 'endpoint_slice', 'endpoint_slice_mirroring'] as const;
export type QueueName = (typeof QUEUES)[number];

/** The most syncs at the same time that upstream's flag of each controller allows: with more, neither program starts. */
export const SYNCS_MOST: Readonly<Record<QueueName, number>> = {
  endpoint: Infinity,
  endpoint_slice: 50,
  endpoint_slice_mirroring: 50,
};

/**
 * The programs that have controllers of endpoints. k3s, RKE2 and MicroK8s have kube-controller-manager in a process of their
 * own.
 */
export type Program = 'endpointd' | 'kube-controller-manager';

const LEASE = 'kube-controller-manager';

/** The minor version of kube-controller-manager; null = its metrics do not tell. */
export function kubeMinorIn(metrics: Metrics): number | null {
  const minor = Number.parseInt(samplesOf(metrics, 'kubernetes_build_info')[0]?.labels['minor'] ?? '', 10);
  return Number.isNaN(minor) ? null : minor;
}

/** kube-controller-manager is built for Go 1.25 from this minor version on, whose threads follow a container's CPU limit. */
const CPU_LIMIT_MINOR = 35;

/** Whether Go's number of threads would show a CPU limit. A version that is not told is taken for a new one. */
export function showsCpuLimit(metrics: Metrics): boolean {
  return (kubeMinorIn(metrics) ?? CPU_LIMIT_MINOR) >= CPU_LIMIT_MINOR;
}

/** Whether the process holds its Lease; null = its metrics do not tell. */
function isLeader(metrics: Metrics, program: Program): boolean | null {
  const held = sumOf(metrics, 'leader_election_master_status', program === 'endpointd' ? {} : { name: LEASE });
  return held === null ? null : held > 0;
}

/** Whether the process led at the first look and at the second; null = its metrics do not tell it of both. */
export function ledAt(
  before: Metrics,
  after: Metrics,
  program: Program,
): { readonly before: boolean; readonly after: boolean } | null {
  const [led, leads] = [isLeader(before, program), isLeader(after, program)];
  return led === null || leads === null ? null : { before: led, after: leads };
}

/**
 * `why`: they have no queue of these controllers. A kube-controller-manager makes its queues when it leads, so a standby
 * has none.
 */
export function programOf(metrics: Metrics): Program | { readonly why: string } {
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
