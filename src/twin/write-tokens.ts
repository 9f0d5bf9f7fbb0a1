/** The tokens that writes take, of each output. */
import { createTokenBucket, setTokens, type TokenBucket, tokensAt, tryTakeToken } from '../lib/token-bucket.ts';
import { type Output, OUTPUTS, perOutput } from './ledger.ts';
import type { Program } from '../metrics/program-of.ts';
import type { Calibration, Settings } from './settings.ts';
import { outputsOf, type Story } from './story.ts';

export interface WriteBucket extends TokenBucket {
  /** The fewest tokens that a write has left in it so far. */
  fewest: number;
}

/** endpointd has one bucket for both outputs. */
export type WriteTokens = Readonly<Record<Output, WriteBucket>>;

/** How many tokens there are; of both outputs if they share them. */
export type TokenCounts = Readonly<Record<Output, number>>;

/** When objects were written, milliseconds since the start, in order. */
type WriteTimes = Readonly<Record<Output, readonly { readonly atMs: number }[]>>;

interface Writer {
  readonly controller: Program;
  readonly settings: Settings;
  readonly story: Story;
}

interface Calibrated {
  readonly calibration: Calibration;
}

/** All are full. */
export function createWriteTokens({ controller, settings, story }: Writer): WriteTokens {
  const { qps, burst, controllers } = settings;
  if (controller === 'kube-controller-manager') return perOutput(() => createWriteBucket(qps, burst));
  // Mirroring writes no output of the story.
  const running = Math.min(controllers, outputsOf(story).length + 1);
  const shared = createWriteBucket(qps * running, burst * running);
  return perOutput(() => shared);
}

function createWriteBucket(qps: number, burst: number): WriteBucket {
  return { ...createTokenBucket(qps, burst), fewest: Infinity };
}

export function tryTakeWriteToken(bucket: WriteBucket, nowMs: number): boolean {
  if (!tryTakeToken(bucket, nowMs)) return false;
  bucket.fewest = Math.min(bucket.fewest, tokensAt(bucket, nowMs));
  return true;
}

/**
 * The fewest tokens at the start with which these writes can have been made. A bucket never has less than nothing: before each
 * write at least as many were there, or had come, as are taken by then. A write takes its token when it is sent, and is seen when
 * it is stored and told, when a part of another one has come, at most a whole one: that was there too, unless none was needed.
 */
export function fewestTokens(writer: Writer & Calibrated, writes: WriteTimes): TokenCounts {
  const { apiMs, watchLagMs } = writer.calibration;
  const seenLateMs = LATE_FACTOR * (apiMs.median + watchLagMs);
  const tokens = createWriteTokens(writer);
  return perOutput((output) => {
    const { intervalMs } = tokens[output];
    if (intervalMs === 0) return 0;
    const times = outputsOf(writer.story)
      .filter((other) => tokens[other] === tokens[output])
      .flatMap((other) => writes[other].map(({ atMs }) => atMs))
      .toSorted((a, b) => a - b);
    const fewest = times.reduce((most, atMs, i) => Math.max(most, i + 1 - atMs / intervalMs), 0);
    return fewest > 0 ? fewest + Math.min(1, seenLateMs / intervalMs) : 0;
  });
}

/** Half of the writes take longer than the median. */
const LATE_FACTOR = 2;

/** Those that are there at the start of a run. */
export function startWith(tokens: WriteTokens, counts: TokenCounts): void {
  for (const output of OUTPUTS) setTokens(tokens[output], counts[output], 0);
}

/**
 * A write that waits for a token has taken it already, so the bucket lacks a whole one for each of them. What of the next one has
 * come is left.
 */
export function tokensLeft(tokens: WriteTokens, nowMs: number): TokenCounts {
  return perOutput((output) => {
    const left = tokensAt(tokens[output], nowMs);
    return left < 0 ? left - Math.floor(left) : left;
  });
}

/**
 * Whether a play that began with full buckets is the same with so many tokens at the start: a bucket that begins with less never
 * lacks more than it lacked then.
 */
export function isSameWith(tokens: WriteTokens, counts: TokenCounts): boolean {
  return OUTPUTS.every((output) => {
    const { burst, fewest } = tokens[output];
    return counts[output] === burst || fewest >= burst - counts[output];
  });
}
