/** The page of results, made from the data. */
import { formatCount } from '../../src/lib/figures.ts';
import type { SearchData, SearchedStory, SearchRow } from './data.ts';
import { SEEDS, SEEDS_MIN, type Verdict, verdictOf } from './judge.ts';
import { hasSay } from './objectives.ts';

export function searchPage({ stories }: SearchData): string {
  return `${[
    '# The search beside all settings',
    '',
    `Made by \`npm run bench -- search\` from \`data.json\` beside this file. Every combination of the values that \`endpointd tune\` tries is played by the queue model, so the best setting of an objective is known. More tokens than no write waits for, and an adaptive period that is no longer than the fixed one, change nothing, so such settings are played once. A search is right if it comes within 5 % of the best. The mark: right for ${SEEDS_MIN} of ${SEEDS} seeds, and the most runs of a seed are at most half of those that a random search needs for ${SEEDS_MIN} of ${SEEDS} seeds. Random searches draw no setting twice.`,
    '',
    'At most 1 % of the settings meet the limits of an objective. Its limit of latency is one of 13 from 100 ms to 2 s, its other limit the loosest that few enough settings meet. Of these objectives the one counts that most settings meet, if at most half of them are within 5 % of the best. Where there is none, the goal hardly matters, and the row counts for the mark alone. Where no limits are met by so few settings there is no row. The search has no part in the choice of its objectives.',
    '',
    ...[...Map.groupBy(stories, ({ controller }) => controller).values()].flatMap(controllerLines),
  ].join('\n')}\n`;
}

function controllerLines(stories: readonly SearchedStory[]): string[] {
  const { controller, settings } = stories[0]!;
  const rows = stories.flatMap((story) => story.rows);
  const telling = rows.filter(hasSay);
  const reached = (some: readonly SearchRow[]): number => some.filter(({ seeds }) => verdictOf(seeds).isReached).length;
  return [
    `## ${controller}: ${formatCount(settings)} settings`,
    '',
    `${reached(rows)} of the ${rows.length} objectives reach the mark, and ${reached(telling)} of the ${telling.length} whose goal matters.`,
    '',
    '| story | objective | settings that meet it | of them within 5 % | its goal | seeds that are right | most runs | random search | mark |',
    '| --- | --- | --- | --- | --- | --- | --- | --- | --- |',
    ...stories.flatMap(({ story, rows: own }) => own.map((row) => rowLine(story, row))),
    '',
    ...stories.map(
      ({ story, commit, at, cpuSeconds, played }) =>
        `- "${story}" was played on ${at} with commit ${commit}, in ${formatCount(cpuSeconds)} s of CPU: ${formatCount(played)} runs of the model. The other settings come to the same as one of these.`,
    ),
    '',
  ];
}

function rowLine(story: string, row: SearchRow): string {
  const verdict = verdictOf(row.seeds);
  const { near, runs, random } = verdict;
  const goal = hasSay(row) ? 'matters' : 'hardly matters';
  const cells = [
    row.meet,
    row.near,
    goal,
    `${near} of ${row.seeds.length}`,
    runs,
    formatCount(random),
    markText(verdict),
  ];
  return `| ${story} | \`${row.objective}\` | ${cells.join(' | ')} |`;
}

function markText({ isRight, isQuick }: Verdict): string {
  if (isRight && isQuick) return 'reached';
  const missed = [...(isRight ? [] : ['seeds']), ...(isQuick ? [] : ['runs'])];
  return `**not reached** by ${missed.join(' and ')}`;
}
