/** Adds what became of the confirmation to a prediction, which stays as it is. */
import { endNow } from '../../node/end-process.ts';
import { onStopSignals } from '../../node/signals.ts';
import type { Answer } from '../../tune/answer.ts';
import { isAbout, isRefuted, otherVersion, recommendedOf } from '../../tune/confirmation.ts';
import type { Objective } from '../../tune/objective.ts';
import type { Story } from '../../twin/story.ts';
import { StartError } from '../usage.ts';
import { confirm, type ConfirmPrograms } from './confirm.ts';
import { reasonOf } from './rounds.ts';

/** What is played, and the programs for it. */
export interface Tries {
  readonly part: Story;
  readonly programs: ConfirmPrograms;
}

/** What is to be printed, and the status that a signal asks for; null = none has come. */
export interface Ending {
  readonly answer: Answer;
  readonly signalled: number | null;
}

/**
 * If nothing could be tried, the notes have the reason. A signal ends the trials; a second one ends the process at once.
 */
export async function confirmed(
  answer: Answer,
  objective: Objective,
  { part, programs }: Tries,
  say: (text: string) => void,
): Promise<Ending> {
  const { controller, today, calibration, seed, kubeMinor, nodes, endpointsWatchers, recommendation } = answer;
  const candidates = recommendation?.candidates ?? [];
  const noted = (...notes: readonly string[]): Answer => ({ ...answer, notes: [...answer.notes, ...notes] });
  const untried = (why: string): Ending => ({ answer: noted(`nothing was tried for real: ${why}`), signalled: null });
  if (recommendation === null) return untried('nothing is recommended');
  if (candidates.length === 0) return untried("there are no settings to try except today's");
  const run = { story: part, controller, settings: today, calibration, seed, kubeMinor };
  const question = { run, objective, watchers: { nodes, endpointsWatchers }, candidates, programs };
  const stopped = Promise.withResolvers<never>();
  stopped.promise.catch(() => undefined);
  let signalled: number | null = null;
  const off = onStopSignals((signal, status) => {
    signalled = status;
    stopped.reject(new StartError(`${signal} was received`));
  }, endNow);
  try {
    const { confirmation, notes } = await confirm(question, stopped.promise, say);
    return { answer: { ...noted(...notes, ...otherVersion(confirmation, kubeMinor)), confirmation }, signalled };
  } catch (error) {
    return { answer: noted(`nothing was confirmed: ${reasonOf(error)}`), signalled };
  } finally {
    off();
  }
}

/** 0 = settings are recommended, and a confirmation that was asked for has tried them and has not refuted them; else 1. */
export function exitStatus({ recommendation, confirmation }: Answer, isConfirmationAsked: boolean): number {
  if (recommendation?.best == null) return 1;
  if (confirmation !== null) {
    const recommended = recommendedOf(recommendation);
    const isTried = recommended === null || isAbout(confirmation, recommended);
    return isTried && !isRefuted(confirmation, recommended) ? 0 : 1;
  }
  return isConfirmationAsked && recommendation.candidates.length > 0 ? 1 : 0;
}
