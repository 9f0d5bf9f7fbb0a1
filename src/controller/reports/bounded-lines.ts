/**
 * Lines that something outside can cause in any number. Of each kind some are written in a minute, and then one that says
 * how many were left out.
 */
import type { Now } from '../event.ts';
import type { Log } from '../outbox.ts';

const LINES_MAX = 20;
const WINDOW_MS = 60_000;

export interface BoundedLines {
  readonly log: Log;
  readonly message: string;
  /** The message of the line that says how many were left out. */
  readonly messageOfMore: string;
  /** By kind. */
  readonly windows: Map<string, Window>;
}

interface Window {
  readonly endsAtMs: number;
  lines: number;
  leftOut: number;
}

export function createBoundedLines(log: Log, message: string, messageOfMore: string): BoundedLines {
  return { log, message, messageOfMore, windows: new Map() };
}

/** Writes the warning, or leaves it out. */
export function writeBounded(
  bounded: BoundedLines,
  problem: string,
  fields: Readonly<Record<string, string>>,
  now: Now,
): void {
  tellLeftOut(bounded, now);
  const { windows, log, message } = bounded;
  let window = windows.get(problem);
  if (window === undefined) {
    windows.set(problem, (window = { endsAtMs: now.nowMs + WINDOW_MS, lines: 0, leftOut: 0 }));
  }
  if (window.lines === LINES_MAX) {
    window.leftOut++;
    return;
  }
  window.lines++;
  log('warning', 0, message, { problem, ...fields });
}

/** Called again and again: tells of the minutes that are over. */
export function tellLeftOut({ windows, log, messageOfMore }: BoundedLines, { nowMs }: Now): void {
  for (const [problem, { endsAtMs, leftOut }] of windows) {
    if (nowMs < endsAtMs) continue;
    windows.delete(problem);
    if (leftOut > 0) log('warning', 0, messageOfMore, { problem, leftOut });
  }
}
