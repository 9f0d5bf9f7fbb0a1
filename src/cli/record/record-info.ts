/** `endpointd record --info`: what a recording holds, and what it shows of the controller that ran meanwhile. */
import process from 'node:process';
import { formatCount, formatRate, plural } from '../../lib/figures.ts';
import { printable, printableJson } from '../../lib/printable.ts';
import { writeReport } from '../../node/output.ts';
import { type Contents, watchedSeconds } from '../../recording/contents.ts';
import { figuresOf, type ControllerFigures, type RecordingFigures, type Spread } from '../../recording/figures.ts';
import type { Broken } from '../../recording/frames.ts';
import type { RecordedResource, RecordingHeader } from '../../recording/recording.ts';
import { parseInfoFlags } from './record-flags.ts';
import { withRecording } from './recording-file.ts';
import { textTable } from '../text-table.ts';
import { starting } from '../usage.ts';

interface RecordingInfo extends RecordingFigures {
  readonly recording: RecordingHeader;
  /** null = the recording was read to its end. */
  readonly broken: Broken | null;
}

const ROLL_OUTS_SHOWN = 10;

/** Returns the exit status. */
export async function info(args: readonly string[]): Promise<number> {
  const { file, output } = parseInfoFlags(args, (text) => process.stdout.write(text));
  const found = withRecording(file, ({ header, events, broken }): RecordingInfo => {
    const figures = figuresOf(events);
    return { recording: header, broken: broken(), ...figures };
  });
  const text = output === 'json' ? `${printableJson(found)}\n` : infoText(found);
  await starting('write the report', writeReport(process.stdout, text));
  return 0;
}

function infoText(found: RecordingInfo): string {
  const { recording, broken, contents, services } = found;
  const names = recording.names === 'plain' ? "the cluster's own names" : 'pseudonyms';
  const { moreThan100, moreThan1000 } = services;
  const lines = [
    `A recording of ${formatCount(contents.seconds)} s by endpointd ${printable(recording.program)}, with ${names}.`,
    ...brokenText(broken, contents),
    '',
    ...contentsText(contents),
    '',
    `Ready addresses of a Service: ${spreadText(services, '')}; ${formatCount(moreThan100)} have more than 100, ${formatCount(moreThan1000)} more than 1,000.`,
    '',
    ...rollOutsText(found),
    '',
    ...writersText(contents),
    ...controllerText(found),
  ];
  return `${lines.join('\n')}\n`;
}

function brokenText(broken: Broken | null, contents: Contents): string[] {
  const unlisted = contents.begun
    ? []
    : ['It ended before everything was listed, so it has no rates and no latencies.'];
  return [...endText(broken, contents), ...unlisted];
}

function endText(broken: Broken | null, { ended }: Contents): string[] {
  if (broken !== null) {
    const what = broken.kind === 'cut' ? 'ends within a frame' : 'is damaged';
    return [`The file ${what} at byte ${broken.atByte}. The report is about the part before.`];
  }
  return ended ? [] : ['The recorder was cut off: its last seconds may be missing.'];
}

function contentsText(contents: Contents): string[] {
  const { resources, gaps } = contents;
  const rows = Object.entries(resources).map(([name, of]) => [
    name,
    of.refused ? 'refused' : of.listed ? formatCount(of.objects) : 'not listed',
    formatCount(of.changes),
    rateText(of.watched, watchedSeconds(contents, name as RecordedResource)),
    formatCount(of.created),
    formatCount(of.deleted),
    name.startsWith('endpoint') ? formatCount(of.byOthers) : '',
    formatCount(of.irrelevant),
  ]);
  return [
    ...textTable(['RESOURCE', 'AT FIRST', 'CHANGES', 'A SECOND', 'NEW', 'GONE', 'BY OTHERS', 'NO CHANGE'], rows),
    '',
    gaps.length === 0 ? 'There are no gaps.' : `${plural(gaps.length, 'gap')}, in which nothing was seen:`,
    ...gaps.map(({ resource, fromSeconds, toSeconds }) => {
      const to = toSeconds === null ? 'the end: the watch did not come back' : toSeconds.toFixed(1);
      return `  ${resource}, from second ${fromSeconds.toFixed(1)} to ${to}`;
    }),
    ...Object.entries(resources)
      .filter(([, { rewatched }]) => rewatched > 0)
      .map(([name, { rewatched }]) => `The watch of ${name} was lost ${plural(rewatched, 'time')} without a gap.`),
    ...Object.entries(resources)
      .filter(([, { lateSeconds }]) => lateSeconds > 0)
      .map(([name, of]) => `The server refused ${name} for the first ${of.lateSeconds.toFixed(1)} s.`),
  ];
}

function rateText(count: number, seconds: number): string {
  return seconds > 0 ? formatRate(count / seconds) : '';
}

function rollOutsText({ rollOuts }: RecordingInfo): string[] {
  if (rollOuts.length === 0) return ['There was no roll-out.'];
  const largest = rollOuts.toSorted((a, b) => b.pods - a.pods).slice(0, ROLL_OUTS_SHOWN);
  const rows = largest.map(({ namespace, service, pods, fromSeconds, toSeconds, podChanges }) => [
    `${namespace}/${service}`,
    formatCount(pods),
    fromSeconds.toFixed(1),
    toSeconds === null ? 'not ended' : (toSeconds - fromSeconds).toFixed(1),
    formatCount(podChanges),
  ]);
  const shown = rollOuts.length > largest.length ? `, the largest ${largest.length}` : '';
  return [
    `There were ${plural(rollOuts.length, 'roll-out')}${shown}:`,
    ...textTable(['SERVICE', 'PODS', 'AT SECOND', 'SECONDS', 'POD CHANGES'], rows),
  ];
}

function writersText({ writers }: Contents): string[] {
  return Object.entries(writers).flatMap(([resource, of]) =>
    of.length === 0 ? [] : [`Of the recorded controllers ${of.join(' and ')} wrote ${resource}.`],
  );
}

function controllerText({ controller }: RecordingInfo): string[] {
  const rows = Object.entries(controller).flatMap(([kind, figures]) =>
    figures === null
      ? [[kind, 'refused']]
      : [row(kind, 'additions', figures.addedMs, figures), row('', 'removals', figures.removedMs, null)],
  );
  const head = ['OUTPUT', 'OF A POD', 'SHOWN', 'P50', 'P90', 'P99', 'MAX', 'WRITES', 'A SECOND', 'CHANGES A WRITE'];
  const notes = Object.entries(controller).flatMap(([kind, figures]) =>
    figures === null ? [] : [notesOf(kind, figures)],
  );
  return [
    "Time from the event of a pod's or Service's change to the event of the object that shows it, by the recorder's clock:",
    ...textTable(
      head,
      rows.map((cells) => head.map((_, column) => cells[column] ?? '')),
    ),
    ...notes.filter((note) => note !== ''),
  ];
}

function row(
  kind: string,
  what: string,
  { count, p50, p90, p99, max }: Spread,
  of: ControllerFigures | null,
): string[] {
  const ms = (value: number | null): string => (value === null ? '' : `${value.toFixed(value < 10 ? 1 : 0)} ms`);
  const counted = [kind, what, formatCount(count), ms(p50), ms(p90), ms(p99), ms(max)];
  if (of === null) return counted;
  const rate = of.writesPerSecond === null ? '' : formatRate(of.writesPerSecond);
  return [...counted, formatCount(of.writes), rate, of.changesPerWrite === null ? '' : of.changesPerWrite.toFixed(2)];
}

function notesOf(kind: string, { undone, notOwed, hidden, notShown }: ControllerFigures): string {
  const parts = [
    ...(undone > 0 ? [`${plural(undone, 'change')} undone before it was shown`] : []),
    ...(notOwed > 0 ? [`${plural(notOwed, 'change')} that need not be shown`] : []),
    ...(hidden > 0 ? [`${plural(hidden, 'change')} around a lost watch`] : []),
    ...(notShown > 0 ? [`${plural(notShown, 'change')} not shown at the end`] : []),
  ];
  return parts.length === 0 ? '' : `${kind}: ${parts.join(', ')}.`;
}

function spreadText({ count, p50, p90, p99, max }: Spread, unit: string): string {
  if (count === 0) return 'no Service selects pods';
  return `half at most ${p50}${unit}, 90 % at most ${p90}${unit}, 99 % at most ${p99}${unit}, the largest ${max}${unit}`;
}
