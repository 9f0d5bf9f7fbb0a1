/**
 * One line that follows what happens. It is rewritten in place on a terminal, and elsewhere printed again now and then.
 */
export interface Progress {
  /** What is going on now. */
  readonly show: (text: string) => void;
  /** Takes the line away from a terminal. */
  readonly clear: () => void;
  /** Ends the line with what became of it. */
  readonly done: (text: string) => void;
}

export interface ProgressOutput {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): void;
}

const TERMINAL_MS = 100;
const PLAIN_MS = 2000;
const ERASE_LINE = '\r\u001B[K';

export function createProgress(output: ProgressOutput, nowMs: () => number): Progress {
  const terminal = output.isTTY === true;
  const intervalMs = terminal ? TERMINAL_MS : PLAIN_MS;
  let shownAtMs = -Infinity;
  return {
    show(text) {
      const now = nowMs();
      if (now - shownAtMs < intervalMs) return;
      shownAtMs = now;
      // A line that wraps could not be erased.
      output.write(terminal ? `${ERASE_LINE}${text.slice(0, (output.columns ?? 80) - 1)}` : `${text}\n`);
    },
    clear() {
      if (terminal && shownAtMs > -Infinity) output.write(ERASE_LINE);
      shownAtMs = -Infinity;
    },
    done(text) {
      shownAtMs = -Infinity;
      output.write(`${terminal ? ERASE_LINE : ''}${text}\n`);
    },
  };
}
