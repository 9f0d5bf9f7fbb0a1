/** What `endpointd tune` says of another setting, from the recording of a run, by the functions that the command calls. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { configz } from '../../src/cli/configz.ts';
import { parseRunFlags } from '../../src/cli/flags/flags.ts';
import { playedBy } from '../../src/cli/tune/played-by.ts';
import { parseTuneFlags } from '../../src/cli/tune/tune-flags.ts';
import { tuneInputOf } from '../../src/cli/tune/tune-input.ts';
import { asTold } from '../../src/tune/choice.ts';
import type { Evidence } from '../../src/tune/evidence.ts';
import { settingFlags } from '../../src/tune/flag-lines.ts';
import type { Question } from '../../src/tune/bounds.ts';
import { outcomeOf } from '../../src/tune/outcome.ts';
import { ask, type TuneInput } from '../../src/tune/tune.ts';
import { latenciesOf, quantile } from '../../src/twin/figures.ts';
import type { Program } from '../../src/metrics/program-of.ts';
import type { Settings } from '../../src/twin/settings.ts';
import type { Story } from '../../src/twin/story.ts';
import { CONTROLLERS } from '../peers/scenario.ts';
import type { Figures, Pair, Prediction } from './data.ts';
import { FIGURES, OBJECTIVE } from './plan.ts';

/** A recording as `tune` reads it, and its figures. */
export interface Recorded {
  readonly story: Story;
  readonly measured: Figures;
}

export function recordedAt(path: string, controller: Program): Recorded {
  const { story, evidence } = playedBy({ from: path, seed: 0, controller });
  return { story, measured: measuredOf(evidence!, story.durationMs) };
}

/** @throws Error if no addition was shown */
export function measuredOf({ samples, writes }: Evidence, durationMs: number): Figures {
  return figuresOf(({ name, figure, output }) => {
    if (figure === 'writes') return writes[output].length / (durationMs / 1000);
    const value = quantile(latenciesOf(samples[output], 'add'), figure === 'p50' ? 0.5 : 0.99);
    if (Number.isNaN(value)) throw new Error(`${name}: no addition was shown, so measure for longer`);
    return value;
  });
}

/** The question of `tune --from=path` with these flags of today. */
export async function inputAt(path: string, controller: Program, today: Settings): Promise<TuneInput> {
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-transfer-'));
  const flags = settingFlags(today, controller);
  const args = [`--from=${path}`, `--controller=${controller}`, `--objective=${OBJECTIVE}`, ...flags];
  try {
    // Which controllers of endpointd run is told by its /configz alone.
    if (controller === 'endpointd') {
      const file = join(directory, 'configz.json');
      const running = parseRunFlags([`--controllers=${CONTROLLERS.join(',')}`, ...flags], () => undefined);
      writeFileSync(file, JSON.stringify(configz(running)));
      args.push(`--configz=${file}`);
    }
    return await tuneInputOf(parseTuneFlags(args, () => undefined));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** A setting that is predicted, and the changes that came when it was set. */
export interface Target {
  readonly settings: Settings;
  readonly story: Story;
}

export type Predicted = Pick<Pair, 'worst' | 'refusals' | 'predicted' | 'byItsChanges'>;

/** One prediction for each target. The fit is done once. */
export function predictFrom(input: TuneInput, targets: readonly Target[]): Predicted[] {
  const { question, refusals, tested } = ask(input);
  const worst = tested?.worst ?? null;
  if (refusals.length > 0) return targets.map(() => ({ worst, refusals, predicted: null, byItsChanges: null }));
  const told = asTold(question);
  const { controllers } = told.run.settings;
  return targets.map(({ settings, story }) => {
    const set = Object.assign({}, settings, { controllers });
    const byItsChanges = predictionOf({ ...told, run: Object.assign({}, told.run, { story }) }, set);
    return { worst, refusals, predicted: predictionOf(told, set), byItsChanges };
  });
}

function predictionOf(told: Question, settings: Settings): Prediction {
  const { checks } = outcomeOf(told, settings);
  const of = (field: 'value' | 'bound'): Figures => figuresOf((_, i) => checks[i]![field]);
  return { values: of('value'), bounds: of('bound') };
}

function figuresOf(of: (figure: (typeof FIGURES)[number], i: number) => number): Figures {
  return Object.fromEntries(FIGURES.map((figure, i) => [figure.name, Math.round(100 * of(figure, i)) / 100])) as Record<
    keyof Figures,
    number
  >;
}
