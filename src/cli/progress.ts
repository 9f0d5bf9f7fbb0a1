/**
 * One line that tells of progress. On a terminal it is rewritten in place. Elsewhere it is printed again each minute, and
 * soon where something else goes on: where the words before its first number are others.
 */
export interface Progress {
  /** Says what goes on now. */
  readonly show: (text: string) => void;
  /** Removes the line from a terminal. */
  readonly clear: () => void;
  /** Replaces the line by its last text, and ends it. */
  readonly done: (text: string) => void;
}

export interface ProgressOutput {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): void;
}

const TERMINAL_MS = 100;
const PLAIN_MS = 60_000;
const PLAIN_NEWS_MS = 2000;
const ERASE_LINE = '\r\u001B[K';

export function createProgress(output: ProgressOutput, nowMs: () => number): Progress {
  const terminal = output.isTTY === true;
  let shownAtMs = -Infinity;
  let shown = '';
  return {
    show(text) {
      const now = nowMs();
      const intervalMs = terminal ? TERMINAL_MS : wordsOf(text) === wordsOf(shown) ? PLAIN_MS : PLAIN_NEWS_MS;
      if (now - shownAtMs < intervalMs) return;
      shownAtMs = now;
      shown = text;
      // A line that wraps could not be erased. A terminal that does not know its width says 0.
      output.write(terminal ? `${ERASE_LINE}${text.slice(0, (output.columns || 80) - 1)}` : `${text}\n`);
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

function wordsOf(text: string): string {
  return text.split(/\d/, 1)[0]!;
}
