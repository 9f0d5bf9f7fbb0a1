/**
 * `npm run bench -- search`: how far the search of `tune` is from the best of all settings, on objectives that few settings
 * meet, and how many runs it takes beside random search; and how far what `tune` recommends is from the best setting whose
 * bounds hold. In virtual time.
 */
import { writeFileSync } from 'node:fs';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { formatCount } from '../../src/lib/figures.ts';
import { parseObjective } from '../../src/tune/objective.ts';
import { FLAGS } from '../../src/tune/search.ts';
import type { StoryProfile } from '../../src/twin/profiles.ts';
import type { Program } from '../../src/metrics/program-of.ts';
import { DEFAULT_SETTINGS } from '../../src/twin/settings.ts';
import { commitText } from '../support/commit.ts';
import type { Size } from '../support/micro-bench.ts';
import { table } from '../support/table.ts';
import { addSearched, readSearchData, type SearchedStory, type SearchRow } from './data.ts';
import { judgeChoice, judgeSearch } from './judge.ts';
import { landscapeOf, type Searched } from './landscape.ts';
import { ASKED, narrowObjective } from './objectives.ts';
import { searchPage } from './page.ts';

const HELP = `npm run bench -- search [flags]
Plays every combination of all flags with a model, and lets the search of tune look for the best of them. What is found is kept
in bench/search/data.json, and SEARCH.md beside it is made from that. kube-controller-manager takes some twenty seconds of CPU a
story, endpointd a minute.

  --controller=NAME   endpointd or kube-controller-manager alone (both)
  --story=NAME        mixed or "few tokens" alone (both)
  --choice            instead: how far what tune recommends is from the best setting whose bounds hold
  --report            only write SEARCH.md from what is kept`;

const CALM = { what: '', namespaces: 2, isStorm: false, podsPerSecond: 5 };
/** Services of several sizes, with roll-outs. */
const MIXED: StoryProfile = {
  ...CALM,
  name: 'mixed',
  services: [
    { count: 1, pods: 700 },
    { count: 3, pods: 120 },
    { count: 10, pods: 20 },
  ],
  minutes: 0.2,
  flipsPerSecond: 30,
  rolloutsPerMinute: 8,
};
const FLAPS: StoryProfile = {
  ...CALM,
  name: 'flaps',
  services: [
    { count: 2, pods: 600 },
    { count: 20, pods: 60 },
  ],
  minutes: 0.5,
  flipsPerSecond: 60,
  rolloutsPerMinute: 0,
};
/** Writes wait for the tokens that today's settings have. */
const FEW_TOKENS: StoryProfile = {
  ...CALM,
  name: 'few tokens',
  services: [{ count: 15, pods: 150 }],
  minutes: 0.2,
  flipsPerSecond: 40,
  rolloutsPerMinute: 0,
};
const STORIES: readonly StoryProfile[] = [MIXED, FEW_TOKENS];
const CONTROLLERS: readonly Program[] = ['kube-controller-manager', 'endpointd'];

export async function runSearchBench(size: Size, args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      controller: { type: 'string' },
      story: { type: 'string' },
      choice: { type: 'boolean', default: false },
      report: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return;
  }
  if (values.choice) {
    printChoices(size);
    return;
  }
  if (!values.report) {
    for (const controller of named(CONTROLLERS, String, values.controller)) {
      for (const profile of named(STORIES, ({ name }) => name, values.story)) {
        const found = searchedStory(profile, controller, size);
        if (size === 'full') addSearched(found);
        else console.log(searchPage({ version: 1, stories: [found] }));
      }
    }
  }
  if (size === 'tiny') return;
  writeFileSync(new URL('SEARCH.md', import.meta.url), searchPage(readSearchData()));
  console.log('bench/search/SEARCH.md is written');
}

/** @throws Error if none has the name; absent = all */
function named<T>(all: readonly T[], nameOf: (one: T) => string, name: string | undefined): readonly T[] {
  const found = name === undefined ? all : all.filter((one) => nameOf(one) === name);
  if (found.length === 0) throw new Error(`there is no ${name}: ${all.map(nameOf).join(', ')}`);
  return found;
}

/** Batch period, QPS and endpoints a slice: 385 settings. */
const FEW_FLAGS = FLAGS.slice(1, 4);

function searchedStory(profile: StoryProfile, controller: Program, size: Size): SearchedStory {
  const searched: Searched = { controller, today: DEFAULT_SETTINGS, ...(size === 'tiny' ? { flags: FEW_FLAGS } : {}) };
  const before = process.cpuUsage();
  const landscape = landscapeOf(profile, searched, (known, all) => {
    if (known % Math.ceil(all / 20) === 0)
      console.error(`${controller}, ${profile.name}: ${formatCount(known)} of ${formatCount(all)} settings`);
  });
  const { user, system } = process.cpuUsage(before);
  const rows = ASKED.flatMap((asked): SearchRow[] => {
    const found = narrowObjective(landscape, asked);
    if (found === null) return [];
    const { objective, meet, near } = found;
    return [{ objective: objective.text, meet, near, seeds: judgeSearch(landscape, objective) }];
  });
  return {
    controller,
    story: profile.name,
    settings: landscape.grid.length,
    played: landscape.played,
    cpuSeconds: Math.round((user + system) / 1e6),
    commit: commitText(),
    at: new Date().toISOString().slice(0, 10),
    rows,
  };
}

/** Bounds of many settings hold, and the goal decides. */
const CHOSEN: readonly string[] = ['p99(add)<=1s, min bytes', 'p99(add)<=2s, min writes'];
/** All flags but QPS and burst, of which all values that suffice come to the same: 2,200 settings. */
const WITHOUT_TOKENS: Searched = {
  controller: 'endpointd',
  flags: FLAGS.filter(({ fields }) => !fields.includes('qps') && !fields.includes('burst')),
  today: { ...DEFAULT_SETTINGS, qps: 500, burst: 500 },
};
/** QPS too, but neither syncs nor burst, of which many values come to the same again: 1,925 settings. */
const WITH_TOKENS: Searched = {
  controller: 'endpointd',
  flags: FLAGS.filter(({ fields }) => !fields.includes('burst') && !fields.includes('endpointSyncs')),
  today: DEFAULT_SETTINGS,
};

function printChoices(size: Size): void {
  const stories = [[FEW_TOKENS, WITH_TOKENS] as const];
  if (size === 'full') {
    stories.push([{ ...MIXED, minutes: 0.5, rolloutsPerMinute: 4 }, WITHOUT_TOKENS], [FLAPS, WITHOUT_TOKENS]);
  }
  const rows = stories.flatMap(([profile, searched]) => {
    const landscape = landscapeOf(profile, searched);
    return CHOSEN.map((text) => {
      const { chosen, best } = judgeChoice(landscape, parseObjective(text));
      const figure = (goal: number | null): string => (goal === null ? 'none' : goal.toPrecision(4));
      const regret = chosen === null || best === null ? '' : `${(100 * (chosen / best - 1)).toFixed(1)} %`;
      return [profile.name, text, figure(best), figure(chosen), regret];
    });
  });
  console.log(table(['story', 'objective', 'best whose bounds hold', 'recommended', 'regret'], rows));
}
