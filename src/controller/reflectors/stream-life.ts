/**
 * How long the stream of a watch may stay silent. Only a whole frame counts as a sign of life. Otherwise single bytes,
 * or a frame that never ends, would keep a cache from changing for ever. A frame has the time of silence to come whole.
 * So a frame of the greatest length (16 MiB) needs 110 KB/s, and an object of the greatest size in etcd (1.5 MiB) needs
 * 10 KB/s.
 */

/** The server sends a bookmark about every 60 s. On a resource at rest the first one comes after some 120 s. */
export const SILENCE_MS = 150_000;
/**
 * Initial events come without pauses. The bookmark at their end may wait some seconds, until the server's cache is as
 * new as the request. Their whole duration has no bound but that of the stream: 165,000 pods take more than a minute.
 */
const INITIAL_SILENCE_MS = 30_000;
const SECONDS_MIN = 300;
/** The server ends a stream after its `timeoutSeconds`. The controller ends a stream that is so much older. */
const OVERTIME_MS = 30_000;

export interface StreamLife {
  /** `timeoutSeconds` of its request. */
  readonly seconds: number;
  openedAtMs: number;
  lastFrameAtMs: number;
  /** Whole frames that have come. */
  frames: number;
  /** When bytes came of the frame that has not come whole yet; Infinity = there is none. */
  pendingSinceMs: number;
}

/** @param random from [0, 1), so that streams that begin together end at different times */
export function createStreamLife(random: number): StreamLife {
  return {
    seconds: Math.floor(SECONDS_MIN * (1 + random)),
    openedAtMs: 0,
    lastFrameAtMs: 0,
    frames: 0,
    pendingSinceMs: Infinity,
  };
}

export function noteOpened(life: StreamLife, nowMs: number): void {
  life.openedAtMs = nowMs;
  life.lastFrameAtMs = nowMs;
}

export function noteFrame(life: StreamLife, nowMs: number): void {
  life.lastFrameAtMs = nowMs;
  life.frames++;
  life.pendingSinceMs = Infinity;
}

/** @param bytes of a frame that has not come whole */
export function notePending(life: StreamLife, bytes: number, nowMs: number): void {
  if (bytes > 0) life.pendingSinceMs = Math.min(life.pendingSinceMs, nowMs);
}

/** Whether the stream is older than its `timeoutSeconds`. */
export function isPastItsTime(life: StreamLife, nowMs: number): boolean {
  return nowMs - life.openedAtMs >= life.seconds * 1000;
}

/**
 * Monotonic ms at which the stream is ended if no frame comes before.
 * @param isInitial the end of a WatchList's initial events has not come yet
 */
export function lifeEndsAtMs(life: StreamLife, isInitial: boolean): number {
  const silentAtMs = life.lastFrameAtMs + (isInitial ? INITIAL_SILENCE_MS : SILENCE_MS);
  return Math.min(silentAtMs, life.openedAtMs + life.seconds * 1000 + OVERTIME_MS);
}

/** Why the stream is ended, for the log. */
export function describeEnd(life: StreamLife, nowMs: number): string {
  if (nowMs >= life.openedAtMs + life.seconds * 1000 + OVERTIME_MS)
    return `the server has not ended it after its ${life.seconds} s`;
  return `no whole frame for ${Math.round((nowMs - life.lastFrameAtMs) / 1000)} s`;
}

/** The age of the last frame, for `/readyz?verbose`. */
export function describeAge(life: StreamLife, nowMs: number): string {
  const age = (sinceMs: number): string => `${Math.round((nowMs - sinceMs) / 1000)} s ago`;
  return life.frames === 0 ? `opened ${age(life.openedAtMs)}, no frame yet` : `last frame ${age(life.lastFrameAtMs)}`;
}
