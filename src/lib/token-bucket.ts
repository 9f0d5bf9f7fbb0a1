/**
 * A token bucket as a virtual schedule: it keeps the time at which the bucket would be full again, and no count. So
 * `tryTakeToken` succeeds at exactly the time that `nextTokenMs` gives, without rounding.
 */

export interface TokenBucket {
  /** Time between two tokens; 0 = no limit. */
  readonly intervalMs: number;
  readonly burst: number;
  /** When the bucket is full again. */
  fullAtMs: number;
}

/** The bucket starts full. `qps` 0 or less = no limit. */
export function createTokenBucket(qps: number, burst: number): TokenBucket {
  return {
    intervalMs: qps > 0 ? 1000 / qps : 0,
    burst: Math.max(1, burst),
    fullAtMs: -Infinity,
  };
}

export function tryTakeToken(bucket: TokenBucket, nowMs: number): boolean {
  if (nowMs < nextTokenMs(bucket)) return false;
  bucket.fullAtMs = Math.max(bucket.fullAtMs, nowMs) + bucket.intervalMs;
  return true;
}

/** The earliest time at which a token can be taken. It is in the past when there is a token now. */
export function nextTokenMs(bucket: TokenBucket): number {
  return bucket.fullAtMs - (bucket.burst - 1) * bucket.intervalMs;
}

/** The bucket has so many tokens now, at most its burst. */
export function setTokens(bucket: TokenBucket, tokens: number, nowMs: number): void {
  bucket.fullAtMs = nowMs + Math.max(0, bucket.burst - tokens) * bucket.intervalMs;
}

/** Tokens in the bucket, with fractions. */
export function tokensAt(bucket: TokenBucket, nowMs: number): number {
  if (bucket.intervalMs === 0 || bucket.fullAtMs <= nowMs) return bucket.burst;
  return bucket.burst - (bucket.fullAtMs - nowMs) / bucket.intervalMs;
}

/** The used share of the bucket, 0 to 1. */
export function tokenUse(bucket: TokenBucket, nowMs: number): number {
  return Math.min(1, Math.max(0, 1 - tokensAt(bucket, nowMs) / bucket.burst));
}
