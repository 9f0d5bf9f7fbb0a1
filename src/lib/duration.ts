/**
 * Go's text for durations, as the flags of Kubernetes components take it: `1h15m30.5s`. It is an optional sign, then
 * decimal numbers, each with a unit (`ns us µs ms s m h`). A bare `0` needs no unit.
 */

const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  '\u00b5s': 1e-3, // micro sign
  '\u03bcs': 1e-3, // Greek letter mu
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

const TERM = /(\d+\.?\d*|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/y;

/** The longest time of a timer of Node.js, which fires at once for a longer one. */
export const TIMER_MS_MAX = 2 ** 31 - 1;

/** Go keeps durations in 64-bit nanoseconds. Its parser refuses longer ones. */
const DURATION_MS_MAX = 2 ** 63 / 1e6;

/** Milliseconds (fractions kept), or null when `text` is no Go duration. */
export function parseDuration(text: string): number | null {
  const negative = text.startsWith('-');
  const rest = negative || text.startsWith('+') ? text.slice(1) : text;
  if (rest === '0') return 0;
  if (rest === '') return null;
  let sum = 0;
  TERM.lastIndex = 0;
  while (TERM.lastIndex < rest.length) {
    const term = TERM.exec(rest);
    if (term === null) return null;
    sum += Number(term[1]) * UNIT_MS[term[2]!]!;
  }
  if (sum >= DURATION_MS_MAX) return null;
  return negative && sum !== 0 ? -sum : sum;
}

/** For a person: whole seconds, or whole milliseconds below one. */
export function roughDuration(ms: number): string {
  return formatDuration(ms < 1000 ? Math.round(ms) : Math.round(ms / 1000) * 1000);
}

/** The shortest exact text in units of ms and longer, such as `1h30m`, `2.5s`, `250ms`; `0s` for zero. */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0s';
  if (ms < 0) return `-${formatDuration(-ms)}`;
  if (ms < 1000) return `${ms}ms`;
  const hours = Math.floor(ms / UNIT_MS['h']!);
  const minutes = Math.floor((ms % UNIT_MS['h']!) / UNIT_MS['m']!);
  const secondsMs = ms % UNIT_MS['m']!;
  let text = '';
  if (hours > 0) text += `${hours}h`;
  if (minutes > 0) text += `${minutes}m`;
  if (secondsMs > 0) text += `${secondsMs / 1000}s`;
  return text;
}

/** As Go prints it: `12h0m0s`, `1m0s`, `2.5s`, `250ms`. */
export function goDuration(ms: number): string {
  if (Math.abs(ms) < UNIT_MS['m']!) return formatDuration(ms);
  if (ms < 0) return `-${goDuration(-ms)}`;
  const hours = Math.floor(ms / UNIT_MS['h']!);
  const minutes = Math.floor((ms % UNIT_MS['h']!) / UNIT_MS['m']!);
  return `${hours > 0 ? `${hours}h` : ''}${minutes}m${(ms % UNIT_MS['m']!) / 1000}s`;
}
