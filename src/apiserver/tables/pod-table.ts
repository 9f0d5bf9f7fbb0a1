import { child, items, text, type ApiObject } from '../object.ts';
import { parseTime } from '../../kube/time.ts';
import { age, shortDuration } from './age.ts';
import { column, NAME, wide, type TableRules } from './table-rules.ts';

interface Terminated {
  readonly exitCode?: number;
  readonly signal?: number;
  readonly reason?: string;
  readonly finishedAt?: string;
}

interface ContainerStatus {
  readonly name: string;
  readonly ready?: boolean;
  readonly started?: boolean;
  readonly restartCount?: number;
  readonly state?: {
    readonly waiting?: { readonly reason?: string };
    readonly running?: object;
    readonly terminated?: Terminated;
  };
  readonly lastState?: { readonly terminated?: Terminated };
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
}

/** core/v1 Pod. */
export const POD_TABLE: TableRules = {
  columns: [
    NAME,
    column('Ready'),
    column('Status'),
    column('Restarts'),
    column('Age'),
    wide('IP'),
    wide('Node'),
    wide('Nominated Node'),
    wide('Readiness Gates'),
  ],
  cells: (object, nowMs) => {
    const spec = child(object, 'spec');
    const status = child(object, 'status');
    const summary = summarise(object);
    const ip = items<{ ip?: string }>(status, 'podIPs')[0]?.ip ?? '';
    return [
      object.metadata.name ?? '',
      `${summary.ready}/${summary.containers}`,
      summary.status,
      restartsText(summary, nowMs),
      age(object.metadata.creationTimestamp, nowMs),
      orNone(ip),
      orNone(text(spec, 'nodeName')),
      orNone(text(status, 'nominatedNodeName')),
      readinessGates(object),
    ];
  },
  conditions: (object) => {
    const phase = text(child(object, 'status'), 'phase');
    if (phase === 'Succeeded') return [completed(phase, 'The pod has completed successfully.')];
    return phase === 'Failed' ? [completed(phase, 'The pod failed.')] : [];
  },
};

function completed(reason: string, message: string) {
  return { type: 'Completed', status: 'True', reason, message };
}

interface Summary {
  containers: number;
  ready: number;
  status: string;
  restarts: number;
  /** Seconds since the epoch; 0 = never. */
  lastRestart: number;
}

/** Sums up the states of the pod's containers, in the order in which the server reads them. */
function summarise(object: ApiObject): Summary {
  const spec = child(object, 'spec');
  const status = child(object, 'status');
  const phase = text(status, 'phase');
  const summary: Summary = {
    containers: items(spec, 'containers').length,
    ready: 0,
    status: text(status, 'reason') === '' ? phase : text(status, 'reason'),
    restarts: 0,
    lastRestart: 0,
  };
  const gated = (condition: Condition): boolean =>
    condition.type === 'PodScheduled' && condition.reason === 'SchedulingGated';
  if (items<Condition>(status, 'conditions').some(gated)) summary.status = 'SchedulingGated';
  const sidecars = summariseInitContainers(summary, object);
  if (!sidecars.initializing || hasCondition(status, 'Initialized')) {
    summary.restarts = sidecars.restarts;
    summary.lastRestart = sidecars.lastRestart;
    summariseContainers(summary, status);
  }
  if (object.metadata.deletionTimestamp !== undefined) {
    if (text(status, 'reason') === 'NodeLost') summary.status = 'Unknown';
    else if (phase !== 'Succeeded' && phase !== 'Failed') summary.status = 'Terminating';
  }
  return summary;
}

interface Sidecars {
  initializing: boolean;
  restarts: number;
  lastRestart: number;
}

/** Init containers that keep running (sidecars) count as containers. */
function summariseInitContainers(summary: Summary, object: ApiObject): Sidecars {
  const containers = items<{ name: string; restartPolicy?: string }>(child(object, 'spec'), 'initContainers');
  const sidecarNames = new Set(
    containers.filter(({ restartPolicy }) => restartPolicy === 'Always').map(({ name }) => name),
  );
  summary.containers += sidecarNames.size;
  const sidecars: Sidecars = { initializing: false, restarts: 0, lastRestart: 0 };
  for (const [at, container] of items<ContainerStatus>(child(object, 'status'), 'initContainerStatuses').entries()) {
    addRestarts(summary, container);
    const isSidecar = sidecarNames.has(container.name);
    if (isSidecar) addRestarts(sidecars, container);
    const { terminated, waiting } = container.state ?? {};
    if (terminated !== undefined && (terminated.exitCode ?? 0) === 0) continue;
    if (isSidecar && container.started === true) {
      if (container.ready === true) summary.ready++;
      continue;
    }
    const waitsFor = waiting?.reason ?? '';
    if (terminated !== undefined) summary.status = `Init:${endOf(terminated)}`;
    else if (waitsFor !== '' && waitsFor !== 'PodInitializing') summary.status = `Init:${waitsFor}`;
    else summary.status = `Init:${at}/${containers.length}`;
    sidecars.initializing = true;
    break;
  }
  return sidecars;
}

function summariseContainers(summary: Summary, status: Record<string, unknown>): void {
  let running = false;
  for (const container of items<ContainerStatus>(status, 'containerStatuses').toReversed()) {
    addRestarts(summary, container);
    const { waiting, terminated, running: runs } = container.state ?? {};
    if ((waiting?.reason ?? '') !== '') summary.status = waiting!.reason!;
    else if (terminated !== undefined) summary.status = endOf(terminated);
    else if (container.ready === true && runs !== undefined) {
      running = true;
      summary.ready++;
    }
  }
  if (summary.status === 'Completed' && running) {
    summary.status = hasCondition(status, 'Ready') ? 'Running' : 'NotReady';
  }
}

function addRestarts(total: { restarts: number; lastRestart: number }, container: ContainerStatus): void {
  total.restarts += container.restartCount ?? 0;
  total.lastRestart = Math.max(total.lastRestart, parseTime(container.lastState?.terminated?.finishedAt));
}

function endOf({ reason = '', signal = 0, exitCode = 0 }: Terminated): string {
  if (reason !== '') return reason;
  return signal === 0 ? `ExitCode:${exitCode}` : `Signal:${signal}`;
}

function hasCondition(status: Record<string, unknown>, type: string): boolean {
  return items<Condition>(status, 'conditions').some(
    (condition) => condition.type === type && condition.status === 'True',
  );
}

function restartsText({ restarts, lastRestart }: Summary, nowMs: number): string {
  if (restarts === 0 || lastRestart === 0) return String(restarts);
  return `${restarts} (${shortDuration(nowMs / 1000 - lastRestart)} ago)`;
}

function readinessGates(object: ApiObject): string {
  const gates = items<{ conditionType: string }>(child(object, 'spec'), 'readinessGates');
  if (gates.length === 0) return '<none>';
  const status = child(object, 'status');
  return `${gates.filter(({ conditionType }) => hasCondition(status, conditionType)).length}/${gates.length}`;
}

function orNone(value: string): string {
  return value === '' ? '<none>' : value;
}
