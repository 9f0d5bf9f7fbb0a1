import { parseTime } from '../kube/time.ts';
import type { KubeObject } from '../kube/types.ts';

/** The fields of a pod that the scheduler and the kubelets read. A text is '' if the pod has none. */
export interface PodView {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly nodeName: string;
  readonly phase: string;
  readonly podIP: string;
  readonly startTime: string;
  /** Whether the condition Ready is true. */
  readonly ready: boolean;
  /** The end of its grace period in seconds since the epoch; null = it is not being deleted. */
  readonly deletionSeconds: number | null;
  readonly graceSeconds: number;
  /** Whether it is for the default scheduler and no scheduling gate holds it back. */
  readonly schedulable: boolean;
  /** Whether every readiness gate is met. */
  readonly gatesOpen: boolean;
  readonly hostNetwork: boolean;
  readonly hasReadinessProbe: boolean;
  readonly nodeSelector: readonly (readonly [string, string])[];
  readonly containers: readonly { readonly name: string; readonly image: string }[];
}

export interface NodeView {
  readonly name: string;
  readonly address: string;
  readonly unschedulable: boolean;
  readonly labels: Readonly<Record<string, string>>;
}

interface PodFields {
  readonly spec?: {
    readonly nodeName?: string;
    readonly schedulerName?: string;
    readonly schedulingGates?: readonly unknown[];
    readonly readinessGates?: readonly { readonly conditionType: string }[];
    readonly nodeSelector?: Readonly<Record<string, string>>;
    readonly hostNetwork?: boolean;
    readonly containers?: readonly {
      readonly name: string;
      readonly image?: string;
      readonly readinessProbe?: object;
    }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly podIP?: string;
    readonly startTime?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

export function readPod(object: KubeObject): PodView {
  const { metadata } = object;
  const { spec = {}, status = {} } = object as PodFields;
  const met = (type: string): boolean =>
    (status.conditions ?? []).some((condition) => condition.type === type && condition.status === 'True');
  const { containers = [] } = spec;
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    nodeName: spec.nodeName ?? '',
    phase: status.phase ?? '',
    podIP: status.podIP ?? '',
    startTime: status.startTime ?? '',
    ready: met('Ready'),
    deletionSeconds: metadata.deletionTimestamp === undefined ? null : parseTime(metadata.deletionTimestamp),
    graceSeconds: metadata.deletionGracePeriodSeconds ?? 0,
    schedulable:
      (spec.schedulerName ?? 'default-scheduler') === 'default-scheduler' && (spec.schedulingGates ?? []).length === 0,
    gatesOpen: (spec.readinessGates ?? []).every(({ conditionType }) => met(conditionType)),
    hostNetwork: spec.hostNetwork ?? false,
    hasReadinessProbe: containers.some(({ readinessProbe }) => readinessProbe !== undefined),
    nodeSelector: Object.entries(spec.nodeSelector ?? {}),
    containers: containers.map(({ name, image = '' }) => ({ name, image })),
  };
}

interface NodeFields {
  readonly spec?: { readonly unschedulable?: boolean };
  readonly status?: { readonly addresses?: readonly { readonly type: string; readonly address: string }[] };
}

/** The address of a node that has none. It is of a documentation network. */
const ADDRESS_UNKNOWN = '192.0.2.1';

export function readNode(object: KubeObject): NodeView {
  const { spec = {}, status = {} } = object as NodeFields;
  const internal = (status.addresses ?? []).find(({ type }) => type === 'InternalIP');
  return {
    name: object.metadata.name ?? '',
    address: internal?.address ?? ADDRESS_UNKNOWN,
    unschedulable: spec.unschedulable ?? false,
    labels: object.metadata.labels ?? {},
  };
}

/** Whether both nodes take the same pods. */
export function sameNode(a: NodeView, b: NodeView): boolean {
  const labels = Object.entries(a.labels);
  return (
    a.unschedulable === b.unschedulable &&
    labels.length === Object.keys(b.labels).length &&
    labels.every(([key, value]) => b.labels[key] === value)
  );
}
