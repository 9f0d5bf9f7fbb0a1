/**
 * The log lines about a list that takes long. They tell whoever waits for the start what is being listed, and that it
 * goes on.
 */
const LINE_EVERY_MS = 10_000;

export interface ListProgress {
  readonly beganAtMs: number;
  /** How many objects have come so far. */
  objects: number;
  /** The server has sent a part of the list, so asking again would be expensive. */
  isAnswered: boolean;
  /** Monotonic ms of the next line. */
  lineAtMs: number;
}

export function createListProgress(nowMs: number): ListProgress {
  return { beganAtMs: nowMs, objects: 0, isAnswered: false, lineAtMs: nowMs + LINE_EVERY_MS };
}

/** The fields of the line that is due; null = no line is due. */
export function takeProgress(progress: ListProgress, nowMs: number): { objects: number; seconds: number } | null {
  if (nowMs < progress.lineAtMs) return null;
  progress.lineAtMs = nowMs + LINE_EVERY_MS;
  return { objects: progress.objects, seconds: Math.round((nowMs - progress.beganAtMs) / 1000) };
}
