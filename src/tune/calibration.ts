/** A calibration as a file, so that a question has the same answer again on any machine. */
import { type Calibration, DEFAULT_CALIBRATION } from '../twin/settings.ts';
import type { Unsure } from './bounds.ts';
import { GUESSED } from './numbers.ts';

/** `message` names the field. */
export class CalibrationError extends Error {}

export interface KeptCalibration {
  readonly calibration: Calibration;
  /** How far its numbers may be off. Those of a file that does not say so are guesses. */
  readonly unsure: Unsure;
}

export function calibrationText({ calibration, unsure }: KeptCalibration): string {
  return `${JSON.stringify({ ...calibration, unsure }, null, 2)}\n`;
}

/**
 * Reads the text of `calibrationText`. Every number must be there and above 0. Costs, and what endpoints add, may be 0. Cores are
 * whole. How unsure numbers are may be left out as a whole.
 * @throws CalibrationError
 */
export function parseCalibration(json: unknown): KeptCalibration {
  if (!isRecord(json)) throw new CalibrationError('it is no JSON object');
  const { version } = DEFAULT_CALIBRATION;
  if (json['version'] !== version) {
    throw new CalibrationError(`version: ${text(json['version'])}, and this program reads ${version}`);
  }
  const { unsure = GUESSED, ...numbers } = json;
  const calibration = taken(DEFAULT_CALIBRATION, numbers, '') as Calibration;
  const { unsure: spreads } = taken({ unsure: GUESSED }, { unsure }, '') as Pick<KeptCalibration, 'unsure'>;
  return { calibration, unsure: spreads };
}

function taken(sample: object, json: Readonly<Record<string, unknown>>, path: string): object {
  const unknown = Object.keys(json).find((name) => !Object.hasOwn(sample, name));
  if (unknown !== undefined) throw new CalibrationError(`${path}${unknown}: there is no such field`);
  return Object.fromEntries(
    Object.entries(sample).map(([name, value]: [string, unknown]) => {
      const field = path + name;
      const given = json[name];
      if (typeof value !== 'number') {
        if (isRecord(given)) return [name, taken(value as object, given, `${field}.`)];
        throw new CalibrationError(`${field}: ${text(given)} is no JSON object`);
      }
      if (field === 'cores' && typeof given === 'number' && !Number.isInteger(given)) {
        throw new CalibrationError(`${field}: ${text(given)} is no whole number`);
      }
      const least = leastOf(field);
      const isEnough = (number: number): boolean => (least === null ? number > 0 : number >= least);
      if (typeof given === 'number' && Number.isFinite(given) && isEnough(given)) return [name, given];
      const what = least === null ? 'above 0' : `of at least ${least}`;
      throw new CalibrationError(`${field}: ${text(given)} is no number ${what}`);
    }),
  );
}

/** null = the number is above 0. */
function leastOf(field: string): number | null {
  if (field.startsWith('unsure.')) return 1;
  return /^(costs|apiEach)\./.test(field) ? 0 : null;
}

function isRecord(json: unknown): json is Readonly<Record<string, unknown>> {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}

function text(json: unknown): string {
  return JSON.stringify(json) ?? 'nothing';
}
