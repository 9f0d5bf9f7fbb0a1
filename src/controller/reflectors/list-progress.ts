/** What a list that takes long tells in the log, so that who waits for the start sees for what, and that it goes on. */
const LINE_EVERY_MS = 10_000;

export interface ListProgress {
  readonly beganAtMs: number;
  /** How many objects have come so far. */
  objects: number;
  /** The server has sent a part of it, so asking for it again is dear. */
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
