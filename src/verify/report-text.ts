/** The report for a terminal, and for programs. Names and values of strangers are shown as `printable` shows them. */
import type { DifferentUnit, Lag, NamedDifference, Reason, Report, Unseen } from './report.ts';
import { formatBytes, formatCount, plural } from '../lib/figures.ts';
import { printable, printableJsonParts } from '../lib/printable.ts';

/** The most objects of one reason in the text. The report in JSON has all of them. */
const UNITS_SHOWN = 20;
const VALUE_CHARACTERS = 200;

export function reportText(report: Report): string {
  const lines = [
    headline(report),
    `${seenText(report)} on ${printable(report.server)}, in ${report.seconds} s`,
    ...report.unseen.map(unseenText),
    ...failedLines(report),
    `a switch would cost ${costText(report)}`,
    ...(report.notLookedAt === 0 ? [] : [`not looked at: ${notLookedAtText(report)}`]),
    `moving: ${movingText(report)}`,
    ...(report.lag === null ? [] : [`the other writer's lag: ${lagText(report.lag)}`]),
  ];
  for (const reason of report.reasons) lines.push('', ...reasonLines(reason, report.different));
  return `${lines.filter((line, i) => line !== '' || lines[i - 1] !== '').join('\n')}\n`;
}

/** In parts: of a cluster in which every service differs it may be longer than a string can be. */
export function* reportJson(report: Report): Generator<string> {
  yield* printableJsonParts(report);
  yield '\n';
}

/** How many services differ. Several controllers may have something to write for one service. */
export function differentServices({ different }: Report): number {
  return new Set(different.map(({ namespace, service }) => `${namespace}/${service}`)).size;
}

export function headline(report: Report): string {
  const { verdict } = report;
  const count = differentServices(report);
  const found = count === 0 ? 'nothing would be written' : `${plural(count, 'service')} would be written`;
  if (verdict === 'unknown') return `could not tell everything: ${knownText(report, count, found)}`;
  return verdict === 'same' ? 'same: nothing would be written' : `different: ${found}`;
}

/** Nobody can say that nothing would be written where a planned write was not looked at. */
function knownText({ notLookedAt }: Report, count: number, found: string): string {
  const seen = `of what was seen, ${found}`;
  if (notLookedAt === 0) return seen;
  const rest = `${plural(notLookedAt, 'planned change')} not looked at`;
  return count === 0 ? rest : `${seen}; ${rest}`;
}

export function seenText({ seen: { services, pods, nodes } }: Report): string {
  return `${plural(services, 'Service')}, ${plural(pods, 'pod')}, ${plural(nodes, 'node')}`;
}

export function unseenText({ resource, reason, controllers }: Unseen): string {
  return printable(`could not see ${resource}: ${reason}; no answer for ${controllers.join(', ')}`);
}

function failedLines({ failed }: Report): string[] {
  const lines = failed.slice(0, UNITS_SHOWN).map(({ unit, reason }) => printable(`could not tell ${unit}: ${reason}`));
  return failed.length > UNITS_SHOWN ? [...lines, `... and ${formatCount(failed.length - UNITS_SHOWN)} more`] : lines;
}

export function costText({ cost, notLookedAt }: Report): string {
  const { writes, bytes, seconds, requestsPerSecond } = cost;
  const pace =
    seconds === null
      ? 'and no limit holds them up'
      : `${seconds === 0 ? 'less than 1' : formatCount(seconds)} s at ${formatCount(requestsPerSecond)} requests a second`;
  const rest = notLookedAt === 0 ? '' : ', and that of what was not looked at';
  return `${plural(writes, 'write')}, ${formatBytes(bytes)}, ${pace}${rest}`;
}

export function notLookedAtText({ notLookedAt }: Report): string {
  return `${formatCount(notLookedAt)}, for which writes are planned: nobody knows whether they would be made`;
}

export function movingText({ moving: { count } }: Report): string {
  return `${formatCount(count)}, which differed for a while or did not stand still, and do not count`;
}

export function lagText({ count, p50Ms, p90Ms, p99Ms, maxMs }: Lag): string {
  const seconds = [p50Ms, p90Ms, p99Ms, maxMs].map((ms) => `${(ms / 1000).toFixed(3)} s`);
  return `of ${plural(count, 'change')}: p50 ${seconds[0]}, p90 ${seconds[1]}, p99 ${seconds[2]}, most ${seconds[3]}`;
}

export function reasonText({ reason, units }: Reason): string {
  return `${reason} (${plural(units, 'service')})`;
}

export function listedText({ listed, title }: Pick<Reason, 'listed' | 'title'>): string {
  return listed === null ? 'not a listed difference' : `listed difference ${listed}: ${title}`;
}

/** The object, as kubectl would name it. */
export function objectText({ namespace, service }: DifferentUnit, { kind, name }: NamedDifference): string {
  return `${kind} ${namespace}/${name === '' ? `(new, of ${service})` : name}`;
}

/** '' = the writer is not known. */
export function writerText({ writer }: NamedDifference): string {
  return writer === '' ? '' : `last written by ${writer}`;
}

/** '' = all differences of the unit are told. */
export function leftOutText({ differences, differencesTotal }: DifferentUnit): string {
  const count = differencesTotal - differences.length;
  return count === 0 ? '' : `${plural(count, 'more difference')} of this service left out`;
}

/** The differences of a unit that have the reason. */
export function differencesOfReason(unit: DifferentUnit, { reason, listed }: Reason): NamedDifference[] {
  return unit.differences.filter((one) => one.reason === reason && one.listed === listed);
}

function reasonLines(reason: Reason, different: readonly DifferentUnit[]): string[] {
  const lines = [printable(reasonText(reason)), `  ${listedText(reason)}`];
  let shown = 0;
  for (const unit of different) {
    const differences = differencesOfReason(unit, reason);
    if (differences.length === 0) continue;
    if (++shown > UNITS_SHOWN) continue;
    for (const difference of differences) {
      const { field, stored, planned } = difference;
      const writer = writerText(difference);
      lines.push(
        printable(`  ${objectText(unit, difference)} ${field}`.trimEnd() + (writer === '' ? '' : `, ${writer}`)),
      );
      if (stored !== null) lines.push(`    - ${valueText(stored)}`);
      if (planned !== null) lines.push(`    + ${valueText(planned)}`);
    }
    const leftOut = leftOutText(unit);
    if (leftOut !== '') lines.push(`    ... ${leftOut}`);
  }
  if (shown > UNITS_SHOWN) lines.push(`  ... and ${formatCount(shown - UNITS_SHOWN)} more: all are in -o json`);
  return lines;
}

function valueText(value: string): string {
  const text = value.length > VALUE_CHARACTERS ? `${value.slice(0, VALUE_CHARACTERS)}...` : value;
  return text === '' ? '""' : printable(text);
}
