/** The running process as a page that refreshes itself. */
import { type DebugView, JOURNAL_MAX } from '../../controller/reports/debug-view.ts';
import type { JournalEntry } from '../../controller/reports/journal.ts';
import { STAGE_NAMES, STAGES } from '../../controller/reports/stages.ts';
import { formatTime } from '../../kube/time.ts';
import { formatCount } from '../../lib/figures.ts';
import { printableJson } from '../../lib/printable.ts';
import { LIVE_SCRIPT } from './live-script.ts';
import { renderPage, type Fact, type Page, type Section } from '../../page/page.ts';

/** @param service `namespace/name`: the view has the changes of this one alone; '' = those of all */
export function debugPage(view: DebugView, version: string, service = ''): string {
  return renderPage({
    title: 'endpointd',
    live: LIVE_SCRIPT,
    headline: debugHeadline(view),
    facts: [
      { name: 'version', value: version },
      { name: 'now', value: formatTime(Math.floor(view.wallMs / 1000)) },
      ...debugFacts(view),
    ],
    notices: service === '' ? [] : [`The last changes are those of ${service} alone, and all else is of all Services.`],
    sections: debugSections(view),
  });
}

export function debugFacts({ leader, writes }: DebugView): Fact[] {
  return [
    { name: 'leader', value: leader },
    { name: 'writes under way', value: `${writes.inFlight} of ${writes.inFlightMax}` },
    { name: 'writes that wait', value: `${writes.fresh} fresh, ${writes.chore} chores` },
    { name: 'tokens (--kube-api-qps)', value: `${writes.tokens.toFixed(1)} of ${writes.burst}` },
    pauseFact(writes.pauseMs),
  ];
}

export function pauseFact(pauseMs: number): Fact {
  return { name: 'pause of all writes', value: pauseMs === 0 ? 'none' : time(pauseMs) };
}

/** From this age on a change is late, as for the alert EndpointdChangesUnwritten. */
const LATE_MS = 60_000;

/** The worst comes first. If all is well, the headline is the number of units that wait with a change. */
export function debugHeadline(view: DebugView): Page['headline'] {
  const { queues, watches, stuckTotal, phase, services, role, writes, failing } = view;
  const words = `${services} Services, ${phase}`;
  const bad = (figure: string): Page['headline'] => ({ figure, words, tone: 'bad' });
  const unsure = (figure: string): Page['headline'] => ({ figure, words, tone: 'unsure' });
  const down = watches.filter(({ downMs }) => downMs >= 0).length;
  if (down > 0) return bad(`${down} ${down === 1 ? 'watch' : 'watches'} down`);
  if (stuckTotal > 0) return bad(`${stuckTotal} stuck`);
  if (role === 'nobody') return bad('nobody leads');
  // A cold standby starts when it leads.
  if (phase === 'starting' && role === 'stands by' && watches.length === 0) {
    return { figure: 'stands by', words: 'without caches', tone: 'good' };
  }
  if (phase !== 'running') return unsure(phase);
  const oldestMs = role === 'leads' ? Math.max(...queues.map(({ oldestChangeMs }) => oldestChangeMs)) : -1;
  if (oldestMs > LATE_MS) return bad(`${time(oldestMs)} since the oldest change`);
  if (writes.pauseMs > 0) return unsure('writes paused');
  if (failing > 0) return unsure(`${failing} failing`);
  if (role === 'waits') return unsure('waits to take over');
  if (role === 'catches up') return unsure('brings its caches up to date before it writes');
  const waiting = queues.reduce((sum, { fresh, chore, delayedChanges }) => sum + fresh + chore + delayedChanges, 0);
  return { figure: `${waiting} waiting`, words, tone: 'good' };
}

/** The view as JSON for programs, with the version. */
export function debugJson(view: DebugView, version: string): string {
  return `${printableJson({ version, ...view }, 0)}\n`;
}

const LISTS = ['queues', 'shards', 'watches', 'stuck', 'stages', 'busiest', 'changes'] as const;

/** Reads what `debugJson` has written. @throws SyntaxError for any other page, such as that of another program */
export function readDebugJson(text: string): DebugView & { readonly version: string } {
  const read = JSON.parse(text) as (DebugView & { readonly version: string }) | null;
  const isOurs = LISTS.every((name) => Array.isArray(read?.[name])) && typeof read?.writes?.tokens === 'number';
  if (read === null || !isOurs) throw new SyntaxError('this is no page of endpointd');
  return read;
}

/** @param stuckMax so many stuck services are shown at most */
export function debugSections(
  { queues, shards, watches, stuck: known, stuckTotal, stages, busiest, changes }: DebugView,
  stuckMax = Infinity,
): Section[] {
  const stuck = known.slice(0, stuckMax);
  return [
    section(
      'Stuck services',
      ['service', 'controller', 'class', 'failures', 'last error'],
      stuck.map((row) => [row.service, row.controller, row.class, String(row.failures), row.error]),
      { tone: stuckTotal > 0 ? 'bad' : 'good', note: moreNote(stuckTotal - stuck.length) },
    ),
    section(
      'Queues',
      ['controller', 'fresh', 'chores', 'delayed', 'syncing', 'slots', 'longest sync', 'oldest change'],
      queues.map((row) => [
        row.running ? row.controller : `${row.controller} (waits for its caches)`,
        ...[row.fresh, row.chore, row.delayed, row.syncing, row.slots].map(String),
        time(row.longestSyncMs),
        time(row.oldestChangeMs),
      ]),
    ),
    section(
      'Shards',
      ['shard', 'services', 'lined up', 'suspects', 'batches under way', 'oldest batch'],
      shards.map((row) => [
        ...[row.shard, row.services, row.queued, row.suspects, row.batches].map(String),
        time(row.oldestBatchMs),
      ]),
    ),
    section(
      'Watches',
      ['resource', 'state', 'last event', 'open for', 'down for'],
      watches.map((row) => [row.resource, row.phase, time(row.lastEventMs), time(row.openMs), time(row.downMs)]),
    ),
    section(
      'Where the time of changes went',
      ['controller', 'stage', 'changes', 'median', 'p99', 'longest'],
      stages.map((row) => [
        row.controller,
        row.stage,
        String(row.count),
        time(row.medianMs),
        time(row.p99Ms),
        time(row.maxMs),
      ]),
      { note: `of the newest changes of the journal (--journal-size), at most ${formatCount(JOURNAL_MAX)}` },
    ),
    section(
      'Busiest services',
      ['service', 'changes', 'writes', 'failures'],
      busiest.map((row) => [row.service, String(row.changes), String(row.writes), String(row.failures)]),
      { note: 'among the same changes' },
    ),
    section('Last changes', CHANGE_HEAD, changes.map(changeCells)),
  ];
}

export function moreNote(more: number): string {
  return more > 0 ? `${more} more` : '';
}

function section(
  title: string,
  columns: readonly string[],
  rows: readonly (readonly string[])[],
  { tone = 'plain', note = '' }: Partial<Pick<Section, 'tone' | 'note'>> = {},
): Section {
  return { title, tone, note: rows.length === 0 ? 'none' : note, table: { columns, rows } };
}

/** The columns of `changeCells`. */
export const CHANGE_HEAD = ['ended', 'service', 'controller', 'result', 'writes', ...STAGE_NAMES] as const;

export function changeCells(entry: JournalEntry): string[] {
  return [
    formatTime(Math.floor(entry.endedWallMs / 1000)),
    `${entry.namespace}/${entry.name}`,
    entry.controller,
    entry.result,
    String(entry.writes),
    ...STAGE_NAMES.map((stage) => time(entry[STAGES[stage]])),
  ];
}

/** A time such as `1.2 ms` or `3 s`; '' = there is none. */
export function time(ms: number): string {
  if (ms < 0) return '';
  if (ms > 0 && ms < 0.05) return '<0.1 ms';
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  return ms < 120_000 ? `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s` : `${Math.round(ms / 60_000)} min`;
}
