/** A server that is busy, or away for a moment, is asked again. */
import { setTimeout as sleep } from 'node:timers/promises';
import { printable } from '../../lib/printable.ts';
import type { Asker, Reply } from '../../node/asker.ts';
import { failureOf } from './retire-lists.ts';

/**
 * As an Asker.
 * @param mayRepeat is asked before each repetition; false = the last reply stands
 */
export type PatientAsker = (question: Parameters<Asker>[0], mayRepeat?: () => Promise<boolean>) => Promise<Reply>;

const TRIES_MAX = 10;
const BUSY_SECONDS = 1;
/** A Retry-After may come from a proxy, or be a mistake. */
const RETRY_AFTER_SECONDS_MAX = 32;

/** @param show takes what goes on, in one line */
export function createPatientAsker(ask: Asker, show: (text: string) => void): PatientAsker {
  return async (question, mayRepeat = () => Promise.resolve(true)) => {
    for (let tries = 1; ; tries++) {
      const reply = await ask(question);
      if (!isBusy(reply) || tries === TRIES_MAX) return reply;
      show(printable(`Asking again: ${failureOf(reply)}`));
      await sleep(busyMs(reply));
      if (!(await mayRepeat())) return reply;
    }
  };
}

/** Whether the same request may have a better answer soon. An answer that is too big stays so. */
export function isBusy(reply: Reply): boolean {
  if (reply.type === 'failure') return reply.kind !== 'too-big';
  return reply.status === 429 || reply.status >= 500;
}

/** How long a busy server is left alone. */
export function busyMs(reply: Reply): number {
  const seconds = reply.type === 'response' && reply.retryAfterSeconds > 0 ? reply.retryAfterSeconds : BUSY_SECONDS;
  return Math.min(seconds, RETRY_AFTER_SECONDS_MAX) * 1000;
}
