/** Whether the measure of a start has ended before the controller had read the cluster. Plain data in and out. */
import type { Size } from './scenario.ts';

/**
 * The CPU that two changes may cost a controller at rest: five ticks of the kernel. The smallest size, which measures
 * nothing, may run sources whose types have to be stripped first.
 */
const KNOWN_SECONDS_MAX: Readonly<Record<Size, number>> = { tiny: 0.3, small: 0.05, full: 0.05 };
/** The same as a share of what the start has used. */
const KNOWN_SHARE_MAX = 0.1;

/** @param before CPU seconds of the start. `more`: of two changes behind it. @returns what is wrong, or null */
export function notAtRest(before: number, more: number, size: Size): string | null {
  if (more <= Math.max(KNOWN_SECONDS_MAX[size], KNOWN_SHARE_MAX * before)) return null;
  return `was not at rest: ${more.toFixed(2)} s of CPU came after the measure of ${before.toFixed(2)} s`;
}
