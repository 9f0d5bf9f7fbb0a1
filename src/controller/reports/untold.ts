/**
 * What comes up while the process waits to write. The leader tells it, so it is kept only in case this process writes
 * next: then it tells what the leader before had no time for.
 */
import type { Now } from '../event.ts';

export interface Untold {
  readonly waitsToWrite: () => boolean;
  /** By what they are, the oldest first. */
  readonly kept: Map<string, Message & { readonly atMs: number }>;
}

export interface Message {
  /** The same text means the same message. */
  readonly what: string;
  /** Asked when it was kept for a while. */
  readonly stillHolds: () => boolean;
  readonly tell: (now: Now) => void;
}

/** Beyond so many the oldest is forgotten. */
const KEPT_MAX = 1000;

export function createUntold(waitsToWrite: () => boolean): Untold {
  return { waitsToWrite, kept: new Map() };
}

/** Tells the message now, or keeps it while the process waits to write. */
export function tellOrKeep({ waitsToWrite, kept }: Untold, message: Message, now: Now): void {
  if (!waitsToWrite()) {
    message.tell(now);
    return;
  }
  kept.delete(message.what);
  kept.set(message.what, { ...message, atMs: now.nowMs });
  if (kept.size <= KEPT_MAX) return;
  const [oldest] = kept.keys();
  kept.delete(oldest!);
}

/** The process begins to write. What came up before `sinceMs` was told by the leader before. */
export function tellKept({ kept }: Untold, sinceMs: number, now: Now): void {
  for (const { atMs, stillHolds, tell } of kept.values()) if (atMs >= sinceMs && stillHolds()) tell(now);
  kept.clear();
}
