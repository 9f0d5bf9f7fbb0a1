/** A calibration as a file, so that a question has the same answer again on any machine. */
import { type Calibration, DEFAULT_CALIBRATION } from '../twin/settings.ts';

/** `message` names the field. */
export class CalibrationError extends Error {}

export function calibrationText(calibration: Calibration): string {
  return `${JSON.stringify(calibration, null, 2)}\n`;
}

/**
 * Reads the text of `calibrationText`. Every number must be there and above 0. Costs, and what endpoints add, may be 0. Cores are
 * whole.
 * @throws CalibrationError
 */
export function parseCalibration(json: unknown): Calibration {
  if (!isRecord(json)) throw new CalibrationError('it is no JSON object');
  const { version } = DEFAULT_CALIBRATION;
  if (json['version'] !== version) {
    throw new CalibrationError(`version: ${text(json['version'])}, and this program reads ${version}`);
  }
  return taken(DEFAULT_CALIBRATION, json, '') as Calibration;
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
      const mayBeNothing = /^(costs|apiEach)\./.test(field);
      if (field === 'cores' && typeof given === 'number' && !Number.isInteger(given)) {
        throw new CalibrationError(`${field}: ${text(given)} is no whole number`);
      }
      if (typeof given === 'number' && Number.isFinite(given) && (mayBeNothing ? given >= 0 : given > 0))
        return [name, given];
      throw new CalibrationError(`${field}: ${text(given)} is no number ${mayBeNothing ? 'of at least' : 'above'} 0`);
    }),
  );
}

function isRecord(json: unknown): json is Readonly<Record<string, unknown>> {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}

function text(json: unknown): string {
  return JSON.stringify(json) ?? 'nothing';
}
