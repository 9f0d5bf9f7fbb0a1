/** The trials of `--confirm`: rounds of runs, each with today's settings and with those that are not decided yet. */
import { errorMessage } from '../../lib/error-message.ts';
import { createPrng, shuffled } from '../../lib/prng.ts';
import type { Replayed } from '../../testbed/replay.ts';
import {
  type Confirmation,
  isDecided,
  LATE_MS_MAX,
  type Pair,
  triedOf,
  type TriedForReal,
} from '../../tune/confirmation.ts';
import { flagLines } from '../../tune/flag-lines.ts';
import type { Objective, Scope } from '../../tune/objective.ts';
import { PAIRS_MIN } from '../../tune/sequential.ts';
import type { Run } from '../../twin/run.ts';
import type { Settings } from '../../twin/settings.ts';
import { StartError } from '../usage.ts';

export interface TrialQuestion {
  /** The run of today's settings on the part of the story that is played. */
  readonly run: Run;
  readonly objective: Objective;
  readonly watchers: Omit<Scope, 'durationMs'>;
  /** Settings to try, the best first. */
  readonly candidates: readonly Settings[];
}

export interface Rounds extends Pick<Confirmation, 'rounds' | 'lateMs' | 'tried'> {
  /** Why there are fewer pairs than were asked for, or settings that were not tried. */
  readonly notes: readonly string[];
}

/** How a run is done, and how its progress is told. */
export interface Player {
  readonly play: (settings: Settings) => Promise<Replayed>;
  /** Whether no more can be played: the API server has ended, or a signal has come. */
  readonly isOver: () => boolean;
  readonly say: (text: string) => void;
}

interface Trials {
  readonly question: TrialQuestion;
  readonly player: Player;
  /** Of each candidate. */
  readonly pairs: readonly Pair[][];
  readonly tried: TriedForReal[];
  /** The candidates that need more pairs. */
  open: readonly number[];
  /** The rounds that count. */
  rounds: number;
  lateMs: number;
  readonly notes: string[];
}

/**
 * Plays rounds until every candidate is decided. What ends them early takes away no pair that was played: it is noted, if
 * there are enough pairs to tell something.
 * @throws Error if there are not
 */
export async function playRounds(question: TrialQuestion, player: Player): Promise<Rounds> {
  const { candidates } = question;
  const pairs = candidates.map((): Pair[] => []);
  const open = candidates.map((_, i) => i);
  const trials: Trials = { question, player, pairs, tried: [], open, rounds: 0, lateMs: 0, notes: [] };
  try {
    await playAll(trials);
  } catch (error) {
    if (trials.rounds < PAIRS_MIN)
      throw new StartError([...trials.notes, reasonOf(error)].join('; '), { cause: error });
    trials.notes.push(`the trials ended in round ${trials.rounds + 1}: ${reasonOf(error)}`);
  }
  const { tried, rounds, lateMs, notes } = trials;
  // What no run has anything of is decided by fewer.
  const told = tried.filter((one, i) => pairs[i]!.length >= PAIRS_MIN || isDecided(one));
  if (told.length === 0) throw new StartError(notes.join('; '));
  return { rounds, lateMs, tried: told, notes };
}

/** @throws Error if today's settings cannot be played, or changes are late again and again */
async function playAll(trials: Trials): Promise<void> {
  const { run, objective, watchers, candidates } = trials.question;
  const prng = createPrng(run.seed);
  for (let lateRounds = 0; trials.open.length > 0;) {
    const played = await playRound(trials, shuffled([TODAY, ...trials.open], prng));
    if (trials.open.length === 0) return;
    const late = Math.max(...[...played.values()].map((result) => result.lateMs));
    // A round with late changes has played another story. It does not count.
    if (late > LATE_MS_MAX) {
      if (++lateRounds > LATE_ROUNDS_MAX) throw tooSlow(late);
      continue;
    }
    lateRounds = 0;
    trials.rounds++;
    trials.lateMs = Math.max(trials.lateMs, late);
    const today = played.get(TODAY)!.ledger;
    for (const i of trials.open) {
      const pairs = trials.pairs[i]!;
      pairs.push({ today, tried: played.get(i)!.ledger });
      trials.tried[i] = triedOf(run, objective, watchers, candidates[i]!, pairs);
    }
    trials.open = trials.open.filter((i) => !isDecided(trials.tried[i]!));
  }
}

/** A candidate that cannot be played is tried no further. */
async function playRound(trials: Trials, order: readonly number[]): Promise<Map<number, Replayed>> {
  const { question, player, notes } = trials;
  const today = question.run.settings;
  const played = new Map<number, Replayed>();
  for (const [n, i] of order.entries()) {
    player.say(`round ${trials.rounds + 1}, run ${n + 1} of ${order.length}`);
    const settings = i === TODAY ? today : question.candidates[i]!;
    try {
      played.set(i, await player.play(settings));
    } catch (error) {
      if (i === TODAY || player.isOver()) throw error;
      trials.open = trials.open.filter((other) => other !== i);
      notes.push(
        `${flagLines(settings, today).join(' ')}: tried no further in round ${trials.rounds + 1}: ${reasonOf(error)}`,
      );
    }
  }
  return played;
}

const TODAY = -1;
/** In a row. */
const LATE_ROUNDS_MAX = 3;

function tooSlow(lateMs: number): StartError {
  return new StartError(
    `cannot confirm: in ${LATE_ROUNDS_MAX + 1} rounds changes were made up to ${Math.round(lateMs)} ms late, so this machine is too slow or too busy for them`,
  );
}

/** Why, in one line. */
export function reasonOf(error: unknown): string {
  const why = errorMessage(error);
  return why.trim().replaceAll(/\s+/g, ' ');
}
