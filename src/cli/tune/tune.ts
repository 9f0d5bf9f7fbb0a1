import { existsSync } from 'node:fs';
import { access, constants, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import process from 'node:process';
import { parseErrorText } from '../../lib/parse-error.ts';
import { printable, printableJson } from '../../lib/printable.ts';
import { writeReport } from '../../node/output.ts';
import { version } from '../../node/version.ts';
import { renderPage } from '../../page/page.ts';
import type { Answer } from '../../tune/answer.ts';
import { CalibrationError, calibrationText, parseCalibration } from '../../tune/calibration.ts';
import { answerPage } from '../../tune/report-page.ts';
import { answerText } from '../../tune/report-text.ts';
import { plural } from '../../lib/figures.ts';
import { type Calibration, DEFAULT_CALIBRATION } from '../../twin/settings.ts';
import type { Story } from '../../twin/story.ts';
import { busiestPart } from '../../tune/confirmation.ts';
import { createProgress } from '../progress.ts';
import { textTable } from '../text-table.ts';
import { answerOf } from './answer-thread.ts';
import { programsFor } from './confirm.ts';
import { confirmed, exitStatus, type Tries } from './confirmed.ts';
import { knownOf } from './known.ts';
import { playedBy } from './played-by.ts';
import { parseTuneFlags, type TuneOptions } from './tune-flags.ts';
import { starting, StartError } from '../usage.ts';

/** `endpointd tune`. Returns the exit status. */
export async function tune(args: readonly string[]): Promise<number> {
  const options = parseTuneFlags(args, (text) => process.stdout.write(text));
  if (options.calibrate !== '') await checkNew(options.calibrate);
  const played = playedBy(options);
  const known = await knownOf(options, played.recorded);
  const tries = options.confirm ? await triesOf(options, played.story) : null;
  const calibration = await calibrationOf(options, known.measured.cores?.value);
  const progress = createProgress(process.stderr, () => performance.now());
  const predicted = await answerOf(
    {
      run: {
        story: played.story,
        controller: options.controller,
        settings: known.today,
        calibration,
        seed: options.seed,
        kubeMinor: known.kubeMinor,
      },
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
    },
    (looks) => progress.show(`${plural(looks, 'look')} at settings`),
  );
  const { answer, signalled } =
    tries === null
      ? { answer: predicted, signalled: null }
      : await confirmed(predicted, options.objective, tries, (text) => progress.show(text));
  progress.clear();
  await starting('write the report', writeReport(process.stdout, outputOf(answer, options.output)));
  if (options.calibrate !== '') {
    const write = writeFile(options.calibrate, calibrationText(answer.calibration), { flag: 'wx' });
    await starting(`write the calibration to ${options.calibrate}`, write);
  }
  return signalled ?? exitStatus(answer, options.confirm);
}

/**
 * An answer takes minutes, so a file that cannot be made is told before.
 * @throws StartError
 */
async function checkNew(calibrate: string): Promise<void> {
  const what = `write the calibration to ${calibrate}`;
  if (existsSync(calibrate)) throw new StartError(`cannot ${what}: the file exists, and is not overwritten`);
  // The slash at its end tells a directory from a file.
  await starting(what, access(`${dirname(calibrate)}/`, constants.W_OK));
}

async function triesOf({ controller, confirmForMs }: TuneOptions, story: Story): Promise<Tries> {
  const part = busiestPart(story, confirmForMs, controller);
  return { part, programs: await programsFor(controller, part) };
}

/** @param measuredCores undefined = no metrics tell them, or the command line does */
async function calibrationOf(
  { calibration: path, cores, given }: TuneOptions,
  measuredCores: number | undefined,
): Promise<Calibration> {
  if (path === '') return { ...DEFAULT_CALIBRATION, cores: measuredCores ?? cores };
  const text = await starting(`read the calibration ${path}`, readFile(path, 'utf8'));
  try {
    const calibration = parseCalibration(JSON.parse(text));
    return given.has('cores') ? { ...calibration, cores } : calibration;
  } catch (error) {
    const why = error instanceof CalibrationError ? error.message : parseErrorText(error);
    throw new StartError(`the calibration ${path}: ${printable(why)}`);
  }
}

function outputOf(answer: Answer, format: TuneOptions['output']): string {
  if (format === 'json') return `${printableJson(answer)}\n`;
  return format === 'html' ? renderPage(answerPage(answer)) : answerText(answer, textTable);
}
