/**
 * The times for the annotation `endpoints.kubernetes.io/last-change-trigger-time`, which tells the earliest cause of a
 * write (docs/spec/endpoints.md "Trigger time"). A cause is a pod's Ready transition that has moved on since the last
 * plan that took effect. The other cause is the creation of a service that is seen for the first time. Unlike upstream,
 * a time counts as told only once the write has succeeded or was not needed. So a retry still carries it.
 *
 * Only pods whose time differs from the one told last are remembered.
 */
export interface TriggerTimes {
  /** Creation time of the service as last told; -1 = nothing has been told yet. */
  toldService: number;
  /** Times that have not been told yet, by pod name; null = none. */
  untold: Map<string, PodTime> | null;
  /** Times that the plan in flight tells. */
  telling: { readonly service: number; readonly pods: Map<string, PodTime> | null } | null;
}

/** Seconds since the epoch; 0 = no such time, or no such pod among those selected. */
interface PodTime {
  readonly told: number;
  readonly now: number;
}

export function createTriggerTimes(): TriggerTimes {
  return { toldService: -1, untold: null, telling: null };
}

/** Notes that a pod's Ready transition moved; `before` and `after` in seconds, 0 = none, or not selected. */
export function notePodTime(times: TriggerTimes, podName: string, before: number, after: number): void {
  const told = times.untold?.get(podName)?.told ?? before;
  times.untold = withTime(times.untold, podName, told, after);
}

/**
 * The trigger time of the plan that is being made; seconds, 0 = none. The caller calls `commitTriggerTime` or
 * `revertTriggerTime` before the next plan. What is noted in between is for the next plan.
 */
export function takeTriggerTime(times: TriggerTimes, serviceCreationTime: number): number {
  revertTriggerTime(times);
  const pods = times.untold;
  times.untold = null;
  times.telling = { service: serviceCreationTime, pods };
  if (times.toldService < 0) return serviceCreationTime;
  let earliest = serviceCreationTime > times.toldService ? serviceCreationTime : Infinity;
  for (const { told, now } of pods?.values() ?? []) if (now > told && now < earliest) earliest = now;
  return earliest === Infinity ? 0 : earliest;
}

/** The plan took effect, or there was nothing to write. */
export function commitTriggerTime(times: TriggerTimes): void {
  if (times.telling === null) return;
  times.toldService = times.telling.service;
  times.telling = null;
}

/** The plan did not take effect: the next one tells its times. */
export function revertTriggerTime(times: TriggerTimes): void {
  if (times.telling === null) return;
  let { pods } = times.telling;
  times.telling = null;
  for (const [podName, since] of times.untold ?? []) {
    const told = pods?.get(podName)?.told ?? since.told;
    pods = withTime(pods, podName, told, since.now);
  }
  times.untold = pods;
}

/** The map given must not be used any more. A time that was told is none. */
function withTime(pods: TriggerTimes['untold'], podName: string, told: number, now: number): TriggerTimes['untold'] {
  if (told !== now) return (pods ?? new Map<string, PodTime>()).set(podName, { told, now });
  pods?.delete(podName);
  return pods === null || pods.size === 0 ? null : pods;
}
