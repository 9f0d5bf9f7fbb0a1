/** `endpointd record --info`: what a recording holds. */
import process from 'node:process';
import { writeReport } from '../node/output.ts';
import { countEvent, createCounting, type Contents } from '../recording/contents.ts';
import type { Broken } from '../recording/frames.ts';
import type { RecordingHeader } from '../recording/recording.ts';
import { formatCount, plural } from '../lib/figures.ts';
import { parseInfoFlags } from './record-flags.ts';
import { withRecording } from './recording-file.ts';
import { textTable } from './text-table.ts';
import { starting } from './usage.ts';

interface RecordingInfo {
  readonly recording: RecordingHeader;
  /** Null = it was read to its end. */
  readonly broken: Broken | null;
  readonly contents: Contents;
}

/** Gives the exit status. */
export async function info(args: readonly string[]): Promise<number> {
  const { file, output } = parseInfoFlags(args, (text) => process.stdout.write(text));
  const found = infoOf(file);
  const text = output === 'json' ? `${JSON.stringify(found, null, 2)}\n` : infoText(found);
  await starting('write the report', writeReport(process.stdout, text));
  return 0;
}

/** @throws StartError */
function infoOf(path: string): RecordingInfo {
  return withRecording(path, ({ header, events, broken }) => {
    const counting = createCounting();
    for (const event of events) countEvent(counting, event);
    return { recording: header, broken: broken(), contents: counting.contents };
  });
}

function infoText({ recording, broken, contents }: RecordingInfo): string {
  const { seconds, resources, gaps } = contents;
  const rows = Object.entries(resources).map(([name, of]) => [
    name,
    of.refused ? 'refused' : formatCount(of.objects),
    formatCount(of.changes),
    seconds > 0 ? formatCount(of.changes / seconds) : '-',
    formatCount(of.created),
    formatCount(of.deleted),
    formatCount(of.byOthers),
    formatCount(of.irrelevant),
  ]);
  const head = ['resource', 'at first', 'changes', 'a second', 'new', 'gone', 'by others', 'events without a change'];
  const lines = [
    `A recording of ${formatCount(seconds)} s by endpointd ${recording.program}, with ${recording.names === 'plain' ? "the cluster's own names" : 'pseudonyms'}.`,
    ...brokenText(broken, contents),
    '',
    ...textTable(head, rows),
    '',
    gaps.length === 0 ? 'There are no gaps.' : `There are ${plural(gaps.length, 'gap')}, in which nothing was seen:`,
    ...gaps.map(
      ({ resource, fromSeconds, toSeconds }) =>
        `  ${resource}, from second ${fromSeconds.toFixed(1)} to ${toSeconds.toFixed(1)}`,
    ),
  ];
  return `${lines.join('\n')}\n`;
}

function brokenText(broken: Broken | null, { ended }: Contents): string[] {
  if (broken !== null) {
    const what = broken.kind === 'cut' ? 'ends within a frame' : 'is damaged';
    return [`The file ${what} at byte ${broken.atByte}; this is what precedes that.`];
  }
  return ended ? [] : ['The recorder did not end in good order: its last seconds may be missing.'];
}
