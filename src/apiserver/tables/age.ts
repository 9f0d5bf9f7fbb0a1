import { parseMicroTime } from '../../kube/time.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** The age of an API timestamp, as the server's tables show it. */
export function age(timestamp: unknown, nowMs: number): string {
  const time = typeof timestamp === 'string' ? parseMicroTime(timestamp) : null;
  if (time === null) return '<unknown>';
  return shortDuration((nowMs - time.seconds * 1000 - time.nanos / 1_000_000) / 1000);
}

/**
 * A duration with at most two units. The smaller unit is left out once it hardly counts: 119s, 5m7s, 7h59m, 7d23h,
 * 7y364d.
 */
export function shortDuration(exactSeconds: number): string {
  const seconds = Math.trunc(exactSeconds);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 2 * MINUTE) return `${seconds}s`;
  if (seconds < 10 * MINUTE) return twoUnits(seconds, MINUTE, 'm', 1, 's');
  if (seconds < 3 * HOUR) return `${Math.floor(seconds / MINUTE)}m`;
  if (seconds < 8 * HOUR) return twoUnits(seconds, HOUR, 'h', MINUTE, 'm');
  if (seconds < 2 * DAY) return `${Math.floor(seconds / HOUR)}h`;
  if (seconds < 8 * DAY) return twoUnits(seconds, DAY, 'd', HOUR, 'h');
  if (seconds < 2 * YEAR) return `${Math.floor(seconds / DAY)}d`;
  if (seconds < 8 * YEAR) return twoUnits(seconds, YEAR, 'y', DAY, 'd');
  return `${Math.floor(seconds / YEAR)}y`;
}

function twoUnits(seconds: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((seconds % large) / small);
  return `${Math.floor(seconds / large)}${largeName}${rest === 0 ? '' : `${rest}${smallName}`}`;
}
