import { existsSync } from 'node:fs';
import { access, constants, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import process from 'node:process';
import { printable, printableJson } from '../../lib/printable.ts';
import { writeReport } from '../../node/output.ts';
import { renderPage } from '../../page/page.ts';
import type { Answer } from '../../tune/answer.ts';
import { calibrationText } from '../../tune/calibration.ts';
import { answerPage } from '../../tune/report-page.ts';
import { answerText } from '../../tune/report-text.ts';
import type { Story } from '../../twin/story.ts';
import { busiestPart } from '../../tune/confirmation.ts';
import { createProgress } from '../progress.ts';
import { textTable } from '../text-table.ts';
import { answerOf, sizeText } from './answer-thread.ts';
import { programsFor } from './confirm.ts';
import { confirmed, exitStatus, type Tries } from './confirmed.ts';
import { parseTuneFlags, type TuneOptions } from './tune-flags.ts';
import { tuneInputOf } from './tune-input.ts';
import { starting, StartError } from '../usage.ts';

/** `endpointd tune`. Returns the exit status. */
export async function tune(args: readonly string[]): Promise<number> {
  const options = parseTuneFlags(args, (text) => process.stdout.write(text));
  if (options.calibrate !== '') await checkNew(options.calibrate);
  const input = await tuneInputOf(options);
  const tries = options.confirm ? await triesOf(options, input.run.story) : null;
  const progress = createProgress(process.stderr, () => performance.now());
  if (input.run.story.changes.length >= MANY_EVENTS) progress.done(printable(sizeText(input.run)));
  const predicted = await answerOf(input, (done) => progress.show(done)).finally(() => progress.clear());
  const { answer, signalled } =
    tries === null
      ? { answer: predicted, signalled: null }
      : await confirmed(predicted, options.objective, tries, (text) => progress.show(text));
  progress.clear();
  await starting('write the report', writeReport(process.stdout, outputOf(answer, options.output)));
  if (options.calibrate !== '') await keepCalibration(options.calibrate, answer);
  return signalled ?? exitStatus(answer, options.confirm);
}

/** An answer to so many takes half a minute. */
const MANY_EVENTS = 20_000;

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

/** What is not to be believed is kept for no other question. */
async function keepCalibration(path: string, answer: Answer): Promise<void> {
  if (answer.refusals.length > 0) {
    const why = 'its numbers are not to be believed, as the answer says';
    process.stderr.write(`endpointd tune: no calibration was written to ${printable(path)}: ${why}\n`);
    return;
  }
  const write = writeFile(path, calibrationText(answer), { flag: 'wx' });
  await starting(`write the calibration to ${path}`, write);
}

async function triesOf({ controller, confirmForMs }: TuneOptions, story: Story): Promise<Tries> {
  const part = busiestPart(story, confirmForMs, controller);
  return { part, programs: await programsFor(controller, part) };
}

function outputOf(answer: Answer, format: TuneOptions['output']): string {
  if (format === 'json') return `${printableJson(answer)}\n`;
  return format === 'html' ? renderPage(answerPage(answer)) : answerText(answer, textTable);
}
