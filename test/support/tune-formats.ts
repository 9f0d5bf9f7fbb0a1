/**
 * The answer of `endpointd tune` in its three formats, by the functions that the command calls: `node
 * test/support/tune-formats.ts FILE FLAGS` prints them as JSON texts. It keeps the answer in the file, and takes it from there
 * if it is there: a search takes seconds.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { deserialize, serialize } from 'node:v8';
import { answerOf } from '../../src/cli/tune/answer-thread.ts';
import { parseTuneFlags } from '../../src/cli/tune/tune-flags.ts';
import { tuneInputOf } from '../../src/cli/tune/tune-input.ts';
import { textTable } from '../../src/cli/text-table.ts';
import { printableJson } from '../../src/lib/printable.ts';
import { renderPage } from '../../src/page/page.ts';
import type { Answer } from '../../src/tune/answer.ts';
import { answerPage } from '../../src/tune/report-page.ts';
import { answerText } from '../../src/tune/report-text.ts';

export type TuneFormats = Readonly<Record<'text' | 'json' | 'html', string>>;

async function searched(flags: readonly string[]): Promise<Answer> {
  const input = await tuneInputOf(parseTuneFlags(flags, () => undefined));
  return answerOf(input, () => undefined);
}

if (import.meta.main) {
  const [path, ...flags] = process.argv.slice(2) as [string, ...string[]];
  const answer = existsSync(path) ? (deserialize(readFileSync(path)) as Answer) : await searched(flags);
  writeFileSync(path, serialize(answer));
  const formats: TuneFormats = {
    text: answerText(answer, textTable),
    json: `${printableJson(answer)}\n`,
    html: renderPage(answerPage(answer)),
  };
  process.stdout.write(JSON.stringify(formats));
}
