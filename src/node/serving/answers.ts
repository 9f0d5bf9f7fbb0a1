import { createLru, lruGet, lruSet } from '../../lib/lru.ts';

export interface AnswersConfig<T> {
  /** Most answers that are kept; the least recently used goes first. */
  readonly keptMax: number;
  /** Most questions without an answer. */
  readonly inFlightMax: number;
  /** How long an answer holds. */
  readonly ttlMs: (answer: T) => number;
  readonly nowMs: () => number;
}

/**
 * Answers to questions that cost a request. Equal questions at the same time are one request. An answer holds for a
 * while. A failure is not kept.
 */
export interface Answers<T> {
  /** @throws Error when too many wait already, or as `ask` */
  readonly get: (key: string, ask: () => Promise<T>) => Promise<T>;
}

/** Clients choose the keys. An answer with a longer key is not kept. */
const KEY_CHARS_MAX = 2048;

export function createAnswers<T>({ keptMax, inFlightMax, ttlMs, nowMs }: AnswersConfig<T>): Answers<T> {
  const kept = createLru<string, { readonly answer: T; readonly untilMs: number }>(keptMax);
  const inFlight = new Map<string, Promise<T>>();

  async function fresh(key: string, ask: () => Promise<T>): Promise<T> {
    try {
      const answer = await ask();
      const ttl = ttlMs(answer);
      if (ttl > 0 && key.length <= KEY_CHARS_MAX) lruSet(kept, key, { answer, untilMs: nowMs() + ttl });
      return answer;
    } finally {
      inFlight.delete(key);
    }
  }

  return {
    get(key, ask) {
      const known = lruGet(kept, key);
      if (known !== undefined && known.untilMs > nowMs()) return Promise.resolve(known.answer);
      const asked = inFlight.get(key);
      if (asked !== undefined) return asked;
      if (inFlight.size >= inFlightMax) return Promise.reject(new Error('too many questions wait for an answer'));
      const answer = fresh(key, ask);
      inFlight.set(key, answer);
      return answer;
    },
  };
}
