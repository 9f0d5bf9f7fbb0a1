/** The cells: settings and workloads. Four settings of one workload are for calibration. The others are held out. */
import { fnv1a32 } from '../../src/lib/hash.ts';
import { DEFAULT_SETTINGS, type Settings } from '../../src/twin/settings.ts';
import type { StoryProfile } from '../../src/twin/profiles.ts';

export type Role = 'calibration' | 'held-out' | 'reference';

/** One setting under one workload. */
export interface CellPlan {
  /** A name that no other cell has. */
  readonly name: string;
  readonly role: Role;
  readonly workload: StoryProfile;
  readonly settings: Settings;
}

/** Only two controllers run. endpointd's token bucket is the sum of both. */
const CONTROLLERS = 2;
/** Far more than any workload needs. */
const ENOUGH_QPS = 1000;

const CALM = { what: '', namespaces: 2, minutes: 2, flipsPerSecond: 0, isStorm: false, rolloutsPerMinute: 0 };

/** The first workload is the one of calibration. */
export const WORKLOADS: readonly StoryProfile[] = [
  { ...CALM, name: 'flap', services: [{ count: 20, pods: 10 }], flipsPerSecond: 15, podsPerSecond: 4 },
  { ...CALM, name: 'rollout', services: [{ count: 5, pods: 30 }], rolloutsPerMinute: 20, podsPerSecond: 4 },
  {
    ...CALM,
    name: 'mixed',
    services: [
      { count: 1, pods: 100 },
      { count: 3, pods: 30 },
      { count: 30, pods: 5 },
    ],
    flipsPerSecond: 8,
    rolloutsPerMinute: 8,
    podsPerSecond: 4,
  },
];

const CALIBRATION: readonly Settings[] = [
  settings(10, 0, ENOUGH_QPS, ENOUGH_QPS),
  settings(3, 250, ENOUGH_QPS, ENOUGH_QPS),
  settings(5, 0, 25, 30),
  settings(1, 100, 200, 200),
];

const HELD_OUT: readonly Settings[] = [
  settings(5, 0, ENOUGH_QPS, ENOUGH_QPS),
  settings(1, 0, ENOUGH_QPS, ENOUGH_QPS),
  settings(5, 500, ENOUGH_QPS, ENOUGH_QPS),
  settings(15, 1000, 500, 500),
  settings(5, 0, 20, 30),
  settings(5, 500, 10, 30),
  settings(2, 100, 50, 100),
  { ...settings(50, 200, 100, 100), endpointsPerSlice: 20 },
];

export function settings(syncs: number, batchMs: number, qps: number, burst: number): Settings {
  return {
    ...DEFAULT_SETTINGS,
    endpointSyncs: syncs,
    serviceEndpointSyncs: syncs,
    endpointsBatchMs: batchMs,
    slicesBatchMs: batchMs,
    qps,
    burst,
    controllers: CONTROLLERS,
  };
}

export function settingsText({ endpointSyncs, slicesBatchMs, qps, burst, endpointsPerSlice }: Settings): string {
  const perSlice = endpointsPerSlice === DEFAULT_SETTINGS.endpointsPerSlice ? '' : `, ${endpointsPerSlice} a slice`;
  return `${endpointSyncs} syncs, ${slicesBatchMs} ms, ${qps}/s, burst ${burst}${perSlice}`;
}

export function calibrationCells(): CellPlan[] {
  return CALIBRATION.map((own) => cell('calibration', WORKLOADS[0]!, own));
}

export function heldOutCells(): CellPlan[] {
  return WORKLOADS.flatMap((workload) => HELD_OUT.map((own) => cell('held-out', workload, own)));
}

/** A cell that runs at the beginning, in between and at the end, to show whether the machine has changed. */
export function referenceCell(): CellPlan {
  return cell('reference', WORKLOADS[0]!, CALIBRATION[0]!);
}

/** Services of many sizes, and all that the controller needs: for the bytes of what it writes. */
export function bytesCell(): CellPlan {
  return cell('reference', WORKLOADS[2]!, CALIBRATION[0]!);
}

function cell(role: Role, workload: StoryProfile, own: Settings): CellPlan {
  return { name: `${role} ${workload.name}: ${settingsText(own)}`, role, workload, settings: own };
}

/**
 * The seed of a cell's story, the same in each repetition. Cells of one workload have stories of their own, so the
 * calibration has not seen those of the held-out cells.
 * @param cell its name
 * @param seed of the bench
 */
export function storySeed(cell: string, seed: number): number {
  return fnv1a32(`${seed} ${cell}`);
}
