/** Adds what became of the confirmation to a prediction, which stays as it is. */
import type { TestPrograms } from '../../testbed/test-programs.ts';
import type { Answer } from '../../tune/answer.ts';
import { isRefuted, recommendedOf } from '../../tune/confirmation.ts';
import type { Objective } from '../../tune/objective.ts';
import type { Story } from '../../twin/story.ts';
import { confirm } from './confirm.ts';

/** What is played, and the programs for it. */
export interface Tries {
  readonly part: Story;
  readonly programs: TestPrograms;
}

/** If nothing could be tried, the notes have the reason. */
export async function confirmed(
  answer: Answer,
  objective: Objective,
  { part, programs }: Tries,
  say: (text: string) => void,
): Promise<Answer> {
  const { controller, today, calibration, seed, kubeMinor, nodes, endpointsWatchers, recommendation } = answer;
  const candidates = recommendation?.candidates ?? [];
  const noted = (note: string): Answer => ({ ...answer, notes: [...answer.notes, note] });
  if (recommendation === null) return noted('nothing was tried for real: nothing is recommended');
  if (candidates.length === 0) return noted("nothing was tried for real: there are no settings to try except today's");
  const run = { story: part, controller, settings: today, calibration, seed, kubeMinor };
  const question = { run, objective, watchers: { nodes, endpointsWatchers }, candidates, programs };
  try {
    return { ...answer, confirmation: await confirm(question, say) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return noted(`nothing was confirmed: ${why.trim().replaceAll(/\s+/g, ' ')}`);
  }
}

/** 0 = settings are recommended, and a confirmation that was asked for was done and has not refuted them; else 1. */
export function exitStatus({ recommendation, confirmation }: Answer, isConfirmationAsked: boolean): number {
  if (recommendation?.best == null) return 1;
  if (confirmation !== null) return isRefuted(confirmation, recommendedOf(recommendation)) ? 1 : 0;
  return isConfirmationAsked && recommendation.candidates.length > 0 ? 1 : 0;
}
