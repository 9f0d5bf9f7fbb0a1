/** Settings as the flags of a command line. */
import { formatDuration } from '../lib/duration.ts';
import type { Controller, Settings } from '../twin/settings.ts';

export type SettingName = Exclude<keyof Settings, 'controllers'>;

const FLAG_TEXTS: Readonly<Record<SettingName, (value: number) => string>> = {
  endpointSyncs: (value) => `--concurrent-endpoint-syncs=${value}`,
  serviceEndpointSyncs: (value) => `--concurrent-service-endpoint-syncs=${value}`,
  endpointsBatchMs: (ms) => `--endpoint-updates-batch-period=${formatDuration(ms)}`,
  slicesBatchMs: (ms) => `--endpointslice-updates-batch-period=${formatDuration(ms)}`,
  qps: (value) => `--kube-api-qps=${value}`,
  burst: (value) => `--kube-api-burst=${value}`,
  endpointsPerSlice: (value) => `--max-endpoints-per-slice=${value}`,
  adaptiveBatchMs: (ms) => `--adaptive-batch-period-max=${formatDuration(ms)}`,
};

/** The flags that differ from today's. */
export function flagLines(settings: Settings, today: Settings): string[] {
  return SETTING_NAMES.filter((name) => settings[name] !== today[name]).map((name) => FLAG_TEXTS[name](settings[name]));
}

/** One setting as a flag, and its name without dashes. */
export function flagOf(settings: Settings, name: SettingName): { readonly flag: string; readonly value: string } {
  const [flag, value] = FLAG_TEXTS[name](settings[name]).slice('--'.length).split('=');
  return { flag: flag!, value: value! };
}

export const SETTING_NAMES = Object.keys(FLAG_TEXTS) as readonly SettingName[];

/** All settings as flags of this controller. */
export function settingFlags(settings: Settings, controller: Controller): string[] {
  const names = SETTING_NAMES.filter((name) => name !== 'adaptiveBatchMs' || controller === 'endpointd');
  return names.map((name) => FLAG_TEXTS[name](settings[name]));
}
