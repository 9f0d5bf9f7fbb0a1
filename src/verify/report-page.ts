/** The report as a page: a section for each reason, in which each object can be opened. */
import type { Report } from './report.ts';
import {
  costText,
  differentServices,
  differencesOfReason,
  headline,
  lagText,
  leftOutText,
  listedText,
  movingText,
  notLookedAtText,
  objectText,
  reasonText,
  seenText,
  unseenText,
  writerText,
} from './report-text.ts';
import { formatCount } from '../lib/figures.ts';
import type { Entry, Page, Section } from '../page/page.ts';

/** The most objects of one reason, so that a browser can open the page of any cluster. */
const ENTRIES_MAX = 1000;

const TONES = { same: 'good', different: 'bad', unknown: 'unsure' } as const;

export function reportPage(report: Report): Page {
  const { verdict, server, startedAt, seconds, notLookedAt, lag } = report;
  return {
    title: `endpointd verify ${server}`,
    headline: { figure: formatCount(differentServices(report)), words: headline(report), tone: TONES[verdict] },
    facts: [
      { name: 'server', value: server },
      { name: 'when', value: `${startedAt}, for ${seconds} s` },
      { name: 'seen', value: seenText(report) },
      { name: 'a switch would cost', value: costText(report) },
      ...(notLookedAt === 0 ? [] : [{ name: 'not looked at', value: notLookedAtText(report) }]),
      { name: 'moving', value: movingText(report) },
      ...(lag === null ? [] : [{ name: "the other writer's lag", value: lagText(lag) }]),
    ],
    notices: report.unseen.map(unseenText),
    sections: [...failedSection(report), ...reasonSections(report), ...movingSection(report)],
  };
}

function reasonSections({ reasons, different }: Report): Section[] {
  return reasons.map((reason) => {
    const units = different.filter((unit) => differencesOfReason(unit, reason).length > 0);
    return {
      title: reasonText(reason),
      tone: reason.listed === null ? 'bad' : 'unsure',
      note: [`${listedText(reason)}.`, ...moreText(units.length)].join(' '),
      entries: units.slice(0, ENTRIES_MAX).map((unit): Entry => {
        const differences = differencesOfReason(unit, reason);
        const leftOut = leftOutText(unit);
        return {
          title: `${unit.namespace}/${unit.service}`,
          aside: `${unit.controller}, for ${unit.seconds} s${leftOut === '' ? '' : `, ${leftOut}`}`,
          changes: differences.map((one) => ({
            field: `${objectText(unit, one)} ${one.field}`.trim(),
            before: one.stored,
            after: one.planned,
            note: writerText(one),
          })),
        };
      }),
    };
  });
}

/** [] = all are on the page. */
function moreText(count: number): string[] {
  return count > ENTRIES_MAX ? [`${formatCount(count - ENTRIES_MAX)} more are in -o json.`] : [];
}

function failedSection({ failed }: Report): Section[] {
  if (failed.length === 0) return [];
  const rows = failed.slice(0, ENTRIES_MAX).map(({ unit, reason }) => [unit, reason]);
  const note = moreText(failed.length).join('');
  return [{ title: 'Could not be told', tone: 'unsure', note, table: { columns: ['service', 'why'], rows } }];
}

function movingSection({ moving: { count, units } }: Report): Section[] {
  if (count === 0) return [];
  const note = `${formatCount(count)} differed for a while or did not stand still: they do not count.`;
  return [{ title: 'Moving', tone: 'plain', note, table: { columns: ['service'], rows: units.map((unit) => [unit]) } }];
}
