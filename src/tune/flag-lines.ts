/** Settings as the flags of a command line. */
import { formatDuration } from '../lib/duration.ts';
import type { Output } from '../twin/ledger.ts';
import type { Program } from '../metrics/program-of.ts';
import type { Settings } from '../twin/settings.ts';

export type SettingName = Exclude<keyof Settings, 'controllers'>;

interface SettingFlag {
  /** Without dashes. */
  readonly name: string;
  readonly unit: 'ms' | 'count';
  /** The one program that has it; absent = both. */
  readonly only?: Program;
  /** What the one controller writes that it is for; absent = it is for all of them. */
  readonly output?: Output;
}

export const SETTING_FLAGS: Readonly<Record<SettingName, SettingFlag>> = {
  endpointSyncs: { name: 'concurrent-endpoint-syncs', unit: 'count', output: 'endpoints' },
  serviceEndpointSyncs: { name: 'concurrent-service-endpoint-syncs', unit: 'count', output: 'slices' },
  endpointsBatchMs: { name: 'endpoint-updates-batch-period', unit: 'ms', output: 'endpoints' },
  slicesBatchMs: { name: 'endpointslice-updates-batch-period', unit: 'ms', output: 'slices' },
  qps: { name: 'kube-api-qps', unit: 'count' },
  burst: { name: 'kube-api-burst', unit: 'count' },
  endpointsPerSlice: { name: 'max-endpoints-per-slice', unit: 'count', output: 'slices' },
  adaptiveBatchMs: { name: 'adaptive-batch-period-max', unit: 'ms', only: 'endpointd' },
  inFlight: { name: 'max-writes-in-flight', unit: 'count', only: 'endpointd' },
};

const SETTING_NAMES = Object.keys(SETTING_FLAGS) as readonly SettingName[];

/** The settings that the controller has. */
export function settingNames(controller: Program): readonly SettingName[] {
  return SETTING_NAMES.filter((name) => (SETTING_FLAGS[name].only ?? controller) === controller);
}

/** Those with another value than today. */
export function changedNames(settings: Settings, today: Settings): SettingName[] {
  return SETTING_NAMES.filter((name) => settings[name] !== today[name]);
}

/** The value of a setting as its flag takes it. */
export function settingText(name: SettingName, value: number): string {
  return SETTING_FLAGS[name].unit === 'ms' ? formatDuration(value) : String(value);
}

function flagLine(settings: Settings, name: SettingName): string {
  return `--${SETTING_FLAGS[name].name}=${settingText(name, settings[name])}`;
}

/** The flags that differ from today's. */
export function flagLines(settings: Settings, today: Settings): string[] {
  return changedNames(settings, today).map((name) => flagLine(settings, name));
}

/** All settings as flags of this controller. */
export function settingFlags(settings: Settings, controller: Program): string[] {
  return settingNames(controller).map((name) => flagLine(settings, name));
}
