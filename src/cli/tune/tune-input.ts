/** The question of `endpointd tune`: its flags, with what their files tell. */
import { readFile } from 'node:fs/promises';
import { parseErrorText } from '../../lib/parse-error.ts';
import { printable } from '../../lib/printable.ts';
import { version } from '../../node/version.ts';
import { CalibrationError, type KeptCalibration, parseCalibration } from '../../tune/calibration.ts';
import { GUESSED } from '../../tune/numbers.ts';
import type { TuneInput } from '../../tune/tune.ts';
import { DEFAULT_CALIBRATION } from '../../twin/settings.ts';
import { starting, StartError } from '../usage.ts';
import { knownOf } from './known.ts';
import { playedBy } from './played-by.ts';
import type { TuneOptions } from './tune-flags.ts';

/** @throws StartError with one line that names the file */
export async function tuneInputOf(options: TuneOptions): Promise<TuneInput> {
  const played = playedBy(options);
  const known = await knownOf(options, played.recorded, played.nodes);
  const { calibration, unsure } = await calibrationOf(options, known.measured.cores?.value);
  return {
    run: {
      story: played.story,
      controller: options.controller,
      settings: known.today,
      calibration,
      seed: options.seed,
      kubeMinor: known.kubeMinor,
      ...(played.evidence === null ? {} : { tokensAtStart: 'as left' }),
    },
    unsure,
    evidence: played.evidence,
    doubts: played.doubts,
    notes: played.notes,
    measured: known.measured,
    given: known.given,
    calibrationFrom: options.calibration === '' ? 'usual: measured on two cores' : options.calibration,
    coresFrom: options.given.has('cores') ? 'given' : options.calibration || 'not given: assumed',
    nodes: known.nodes,
    endpointsWatchers: known.endpointsWatchers,
    objective: options.objective,
    program: version(),
    recordedBy: played.recordedBy,
  };
}

/** @param measuredCores undefined = no metrics tell them, or the command line does */
async function calibrationOf(
  { calibration: path, cores, given }: TuneOptions,
  measuredCores: number | undefined,
): Promise<KeptCalibration> {
  if (path === '') return { calibration: { ...DEFAULT_CALIBRATION, cores: measuredCores ?? cores }, unsure: GUESSED };
  const text = await starting(`read the calibration ${path}`, readFile(path, 'utf8'));
  try {
    const { calibration, unsure } = parseCalibration(JSON.parse(text));
    return { calibration: given.has('cores') ? { ...calibration, cores } : calibration, unsure };
  } catch (error) {
    const why = error instanceof CalibrationError ? error.message : parseErrorText(error);
    throw new StartError(`the calibration ${path}: ${printable(why)}`);
  }
}
