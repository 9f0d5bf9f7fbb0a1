/** The ticks of an axis, and their texts. */
import { formatCount } from '../lib/figures.ts';

const TICKS = 5;

/** Round numbers, at least two. The first is at most `low`, the last at least `high`. */
export function linearTicks(low: number, high: number): number[] {
  const [from, to] = Number.isFinite(low) && Number.isFinite(high) ? [low, high] : [0, 1];
  const span = to > from ? to - from : Math.abs(to) || 1;
  const power = 10 ** Math.floor(Math.log10(span / TICKS));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => span / each <= TICKS)!;
  const first = Math.floor(from / step);
  const last = Math.max(first + 1, Math.ceil((to > from ? to : from + span) / step));
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/** Powers of ten, at least two. The first is at most `low`, the last at least `high`. Both bounds are above 0. */
export function logTicks(low: number, high: number): number[] {
  const first = Math.floor(Math.log10(low));
  const last = Math.max(first + 1, Math.ceil(Math.log10(high)));
  return Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i));
}

/** A number such as `1,500`, `0.25` or `2M`. */
export function tickText(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  if (size >= 1000) return formatCount(Math.round(value));
  return String(Number(value.toPrecision(3)));
}
