/** The way from today's settings to others, flag by flag. */
import type { Settings } from '../twin/settings.ts';
import { changedNames, SETTING_FLAGS, type SettingName } from './flag-lines.ts';
import { type Objective, scoreOf, type Values } from './objective.ts';
import { isBetter } from './search.ts';
import type { Trials } from './trials.ts';

/** A flag that changes. */
export interface Change {
  readonly setting: SettingName;
  /** Without dashes. */
  readonly flag: string;
  readonly from: number;
  readonly to: number;
  readonly unit: 'ms' | 'count';
  /** The figures of the objective once it and those before it have changed. */
  readonly values: Values;
}

/** Each time the flag that brings most. */
export function changesTo(settings: Settings, today: Settings, objective: Objective, trials: Trials): Change[] {
  const changes: Change[] = [];
  let reached = today;
  for (let left = changedNames(settings, today); left.length > 0; left = changedNames(settings, reached)) {
    const [setting, { settings: next, values }] = left
      .map((name) => [name, trials.of({ ...reached, [name]: settings[name] })] as const)
      .reduce((a, b) => (isBetter(scoreOf(objective, b[1].values), scoreOf(objective, a[1].values)) ? b : a));
    const { name: flag, unit } = SETTING_FLAGS[setting];
    changes.push({ setting, flag, from: reached[setting], to: next[setting], unit, values });
    reached = next;
  }
  return changes;
}
