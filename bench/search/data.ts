/** What was found of each landscape, as a JSON file. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Program } from '../../src/metrics/program-of.ts';
import type { SeedResult } from './judge.ts';
import type { Narrow } from './objectives.ts';

export interface SearchRow extends Pick<Narrow, 'meet' | 'near'> {
  readonly objective: string;
  readonly seeds: readonly SeedResult[];
}

/** One story with all settings of a controller. */
export interface SearchedStory {
  readonly controller: Program;
  readonly story: string;
  readonly settings: number;
  /** How many of them were played: the others are known to come to the same. */
  readonly played: number;
  /** CPU for playing them. */
  readonly cpuSeconds: number;
  readonly commit: string;
  readonly at: string;
  readonly rows: readonly SearchRow[];
}

export interface SearchData {
  readonly version: 1;
  readonly stories: readonly SearchedStory[];
}

const DATA_PATH = new URL('data.json', import.meta.url).pathname;

export function readSearchData(): SearchData {
  if (!existsSync(DATA_PATH)) return { version: 1, stories: [] };
  return JSON.parse(readFileSync(DATA_PATH, 'utf8')) as SearchData;
}

/** In the place of what was found before of this story and controller. */
export function addSearched(found: SearchedStory): void {
  const isSame = ({ controller, story }: SearchedStory): boolean =>
    controller === found.controller && story === found.story;
  const stories = [...readSearchData().stories.filter((one) => !isSame(one)), found].toSorted((a, b) =>
    orderOf(a) < orderOf(b) ? -1 : 1,
  );
  const lines = stories.map(({ rows, ...of }) => {
    const head = JSON.stringify(of).slice(1, -1);
    return `    {${head}, "rows": [\n${rows.map((row) => `      ${JSON.stringify(row)}`).join(',\n')}\n    ]}`;
  });
  writeFileSync(DATA_PATH, `{\n  "version": 1,\n  "stories": [\n${lines.join(',\n')}\n  ]\n}\n`);
}

/** kube-controller-manager comes first. */
function orderOf({ controller, story }: SearchedStory): string {
  return `${controller === 'endpointd' ? 1 : 0} ${story}`;
}
