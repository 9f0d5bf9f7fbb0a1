import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatTime } from '../../kube/time.ts';
import { printable } from '../../lib/printable.ts';
import { createClock } from '../../node/clock.ts';
import { endNow } from '../../node/end-process.ts';
import { type Monitor, MonitorError } from '../../node/monitor-client.ts';
import { writeReport } from '../../node/output.ts';
import { onStopSignals } from '../../node/signals.ts';
import type { Fact, Section } from '../../page/page.ts';
import { debugFacts, debugHeadline, debugSections, readDebugJson } from './debug-page.ts';
import { duration, parsed, WAIT_MS_MAX } from '../flags/flag-kinds.ts';
import { parseFlags, type CommandFlags, type OptionsOf } from '../flags/flag-table.ts';
import { parseMetrics } from '../../metrics/text.ts';
import { MONITOR_FLAGS, monitorOf, monitorUrl } from './monitor.ts';
import { print } from '../print.ts';
import { textTable } from '../text-table.ts';
import { type MetricsLook, metricsFacts, metricsSections, sourceOf } from './top-metrics.ts';
import { starting, StartError } from '../usage.ts';

const FLAGS = {
  source: {
    kind: parsed('<url>', monitorUrl),
    default: 'https://127.0.0.1:10267',
    help: 'address of endpointd, or of a program that serves /metrics of these controllers, such as https://127.0.0.1:10257 of kube-controller-manager; a path that ends with /metrics is used as it is',
  },
  ...MONITOR_FLAGS,
  interval: { kind: duration(100, WAIT_MS_MAX), default: '1s', help: 'how often to look' },
} as const;

export const TOP_FLAGS = {
  command: 'endpointd top',
  description:
    'Shows a running endpointd in the terminal, or the same controllers of kube-controller-manager by their metrics. Ends with q or Ctrl-C. If the output is no terminal, it prints the tables once and ends.',
  groups: [{ title: 'Source', flags: FLAGS }],
} as const satisfies CommandFlags;

type TopOptions = OptionsOf<typeof FLAGS>;

export function parseTopFlags(args: readonly string[], out: (text: string) => void): TopOptions {
  return parseFlags(TOP_FLAGS, args, out) as TopOptions;
}

/** `endpointd top`. Returns the exit status. */
export async function top(args: readonly string[]): Promise<number> {
  const options = parseTopFlags(args, (said) => process.stdout.write(said));
  const monitor = await monitorOf(options.source.replace(/\/metrics\/?$/, ''), options);
  const look = createLook(monitor, /\/metrics\/?$/.test(new URL(options.source).pathname));
  try {
    if (process.stdout.isTTY) return await follow(look, options);
    const tables = `${linesOf(await look(WHOLE), options.source, WHOLE).join('\n')}\n`;
    await starting('write the tables', writeReport(process.stdout, tables));
    return 0;
  } catch (error) {
    if (error instanceof MonitorError) throw new StartError(printable(error.message), { cause: error });
    throw error;
  } finally {
    await monitor.close();
  }
}

/** How much is shown: columns and rows of the terminal, Infinity where the output is none. */
interface Room {
  readonly columns: number;
  readonly rows: number;
}

const WHOLE: Room = { columns: Infinity, rows: Infinity };

/** A terminal that does not know its size says 0. */
function roomOf({ columns, rows }: Room): Room {
  return { columns: columns || 80, rows: rows || 24 };
}

/** So many stuck services leave the tables below them in sight. */
function stuckMax({ rows }: Room): number {
  return rows === Infinity ? Infinity : Math.min(10, Math.floor(rows / 4));
}

interface Look {
  /** The address and kind of the source, and what it does not show. */
  readonly source: string;
  readonly headline: string;
  readonly facts: readonly Fact[];
  readonly sections: readonly Section[];
}

/** Who may not see the page, or a program without one. Any other status may be a server that cannot ask whose a token is. */
const REFUSED: readonly number[] = [403, 404];

/**
 * Reads endpointd's debug page if it may be read, else the metrics. From the second look on, the metrics have rates.
 */
function createLook(monitor: Monitor, metricsOnly: boolean): (room: Room) => Promise<Look> {
  let before: MetricsLook | null = null;
  let refusal = '';
  let isRefused = metricsOnly;
  return async (room) => {
    if (!isRefused) {
      try {
        const view = readDebugJson(await monitor.get('/debug/endpointd?format=json'));
        const headline = `${debugHeadline(view).figure}: ${debugHeadline(view).words}`;
        refusal = '';
        return {
          source: `/debug/endpointd of endpointd ${view.version}`,
          headline,
          facts: debugFacts(view),
          sections: debugSections(view, stuckMax(room)),
        };
      } catch (error) {
        const status = error instanceof MonitorError ? error.status : 0;
        if (status === 0 && !(error instanceof SyntaxError)) throw error;
        isRefused = error instanceof SyntaxError || REFUSED.includes(status);
        if (error instanceof MonitorError && error.status !== 404) refusal = `; ${error.message}`;
      }
    }
    const now = { metrics: parseMetrics(await monitor.get('/metrics')), atMs: performance.now() };
    const sections = metricsSections(now, before, stuckMax(room));
    before = now;
    return { source: `${sourceOf(now)}${refusal}`, headline: '', facts: metricsFacts(now), sections };
  };
}

function linesOf({ source, headline, facts, sections }: Look, url: string, { columns }: Room): string[] {
  const lines = [`${printable(url)}: ${printable(source)}`];
  if (headline !== '') lines.push(printable(headline));
  lines.push(...factLines(facts, columns));
  for (const { title, note, table } of sections) {
    if (table === undefined || table.rows.length === 0) continue;
    const head = table.columns.map((column) => column.toUpperCase());
    lines.push('', `${title}${note === '' ? '' : ` (${note})`}`, ...textTable(head, table.rows));
  }
  return lines;
}

/** One line, or as many as the terminal's width needs. */
function factLines(facts: readonly Fact[], columns: number): string[] {
  const lines: string[] = [];
  for (const { name, value } of facts) {
    const text = `${name}: ${printable(value)}`;
    const joined = `${lines.at(-1)}; ${text}`;
    if (lines.length > 0 && joined.length < columns) lines[lines.length - 1] = joined;
    else lines.push(text);
  }
  return lines;
}

const SHOW = '\u001B[?25h';
const HIDE = '\u001B[?25l';
const ALTERNATE = '\u001B[?1049h';
const NORMAL = '\u001B[?1049l';
const HOME = '\u001B[H';
const CLEAR_REST = '\u001B[J';
const CLEAR_LINE = '\u001B[K';

/** Runs until q or Ctrl-C, or until the terminal is gone. Afterwards the screen is as it was. */
async function follow(look: (room: Room) => Promise<Look>, { source, intervalMs }: TopOptions): Promise<number> {
  const stop = new AbortController();
  const end = (): void => stop.abort();
  const { stdin, stdout } = process;
  const onKey = (key: Buffer): void => {
    if (['q', '\u0003', '\u0004'].includes(key.toString())) end();
  };
  if (stdin.isTTY) stdin.setRawMode(true);
  stdin.on('data', onKey);
  const off = onStopSignals(end, endNow);
  process.once('SIGHUP', end);
  print(ALTERNATE + HIDE);
  try {
    while (!stop.signal.aborted) {
      const lines = await unlessStopped(linesNow(look, source, roomOf(stdout)), stop.signal);
      if (lines === null) break;
      print(screenOf(lines, roomOf(stdout)));
      await sleep(intervalMs, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  } finally {
    print(SHOW + NORMAL);
    if (stdin.isTTY) stdin.setRawMode(false);
    stdin.pause();
    off();
  }
  return 0;
}

/** null = it was stopped. Keys are not to wait for a source that does not answer. */
async function unlessStopped<T>(work: Promise<T>, signal: AbortSignal): Promise<T | null> {
  const stopped = Promise.withResolvers<null>();
  const stop = (): void => stopped.resolve(null);
  signal.addEventListener('abort', stop);
  try {
    return await Promise.race([work, stopped.promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** The screen's lines. A source that does not answer is shown as down, and asked again next time. */
async function linesNow(look: (room: Room) => Promise<Look>, source: string, room: Room): Promise<string[]> {
  try {
    return timed(linesOf(await look(room), source, room));
  } catch (error) {
    if (!(error instanceof MonitorError)) throw error;
    return timed([`${printable(source)}: ${printable(error.message)}`]);
  }
}

/** A screen stays as it is while the source does not answer, so it says of when it is. */
function timed([first = '', ...rest]: readonly string[]): string[] {
  return [`${formatTime(Math.floor(createClock().wallMs() / 1000))} ${first}`, ...rest];
}

/** As many lines as fit. No line wraps, and nothing scrolls. */
function screenOf(lines: readonly string[], { columns, rows }: Room): string {
  const shown = lines.slice(0, rows - 1).map((line) => line.slice(0, columns - 1) + CLEAR_LINE);
  return HOME + shown.join('\r\n') + CLEAR_REST;
}
