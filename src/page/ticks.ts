/** The ticks of an axis, and their texts. */
const TICKS = 5;
/** Bounds that differ by no larger share of them are the same number. */
const ROUNDING = 1e-9;

/** Round numbers, at least two. The first is at most `low`, the last at least `high`. */
export function linearTicks(low: number, high: number): number[] {
  const [from, to] = Number.isFinite(low) && Number.isFinite(high) ? [low, high] : [0, 1];
  const isRange = to - from > ROUNDING * Math.max(Math.abs(from), Math.abs(to));
  const span = isRange ? to - from : Math.abs(from) || 1;
  const power = tenTo(placeOf(span / TICKS));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => span / each <= TICKS)!;
  const first = Math.floor(from / step);
  const last = Math.max(first + 1, Math.ceil((isRange ? to : from + span) / step));
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/** Powers of ten, at least two. The first is at most `low`, the last at least `high`. Both bounds are above 0. */
export function logTicks(low: number, high: number): number[] {
  const [first, top] = [placeOf(low), placeOf(high)];
  const last = Math.max(first + 1, tenTo(top) < high ? top + 1 : top);
  return Array.from({ length: last - first + 1 }, (_, i) => tenTo(first + i));
}

/** The texts of an axis' ticks, no two alike. */
export function tickTexts(ticks: readonly number[]): string[] {
  const [first, second] = ticks;
  return ticks.map((tick) => tickText(tick, second! - first!));
}

/**
 * A number such as `1,500`, `0.25` or `2M`.
 * @param step so much may be told from it: a larger step is told by three digits
 */
export function tickText(value: number, step = Infinity): string {
  const size = Math.abs(value);
  const isMillions = size >= 1e6;
  const digits = Math.max(isMillions || size < 1000 ? 3 : placeOf(size) + 1, placeOf(size) - placeOf(step) + 1);
  const shown = value / (isMillions ? 1e6 : 1);
  return `${shown.toLocaleString('en-US', { maximumSignificantDigits: digits })}${isMillions ? 'M' : ''}`;
}

/** The power of ten of the first digit. The digits tell it on every machine alike, and a logarithm does not. */
function placeOf(size: number): number {
  if (size === 0) return -Infinity;
  return size === Infinity ? size : Number(size.toExponential().split('e')[1]);
}

function tenTo(power: number): number {
  return Number(`1e${power}`);
}
