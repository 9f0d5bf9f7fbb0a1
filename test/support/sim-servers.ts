/**
 * Several API servers before one etcd, as the simulated network sees them: writes and lists without a version are
 * consistent on each, but the cache that a watch is served from lags behind, each server's by another time that changes.
 */
import { createPrng, nextFloat, nextInt } from '../../src/lib/prng.ts';

export interface Servers {
  /** The server that a new connection reaches. */
  pick(): number;
  /** Milliseconds after which a change reaches the server's watches. */
  lagMs(server: number, nowMs: number): number;
  /** To be told after each change. */
  note(nowMs: number, revision: number): void;
  /** The version that the server's cache has reached. */
  reached(server: number, nowMs: number): number;
}

export interface ServersConfig {
  readonly count: number;
  readonly lagMsMax: number;
}

/** A server's lag stays as it is for up to so long. */
const SPELL_MS_MAX = 20_000;

export function createServers({ count, lagMsMax }: ServersConfig, seed: number): Servers {
  const prng = createPrng(seed);
  const spells = Array.from({ length: count }, () => ({ lagMs: 0, untilMs: 0 }));
  let revisions: { atMs: number; revision: number }[] = [{ atMs: -Infinity, revision: 0 }];

  const lagMs = (server: number, nowMs: number): number => {
    const spell = spells[server]!;
    while (spell.untilMs <= nowMs) {
      spell.untilMs += 1 + nextFloat(prng) * SPELL_MS_MAX;
      // Mostly a server keeps up.
      spell.lagMs = nextInt(prng, 2) === 0 ? 0 : nextFloat(prng) * lagMsMax;
    }
    return spell.lagMs;
  };

  return {
    pick: () => nextInt(prng, count),
    lagMs,
    note(nowMs, revision) {
      if (revisions.at(-1)!.revision === revision) return;
      revisions.push({ atMs: nowMs, revision });
      // All that can still be asked for, and the one before.
      const from = revisions.findIndex(({ atMs }) => atMs > nowMs - lagMsMax) - 1;
      if (from > 1000) revisions = revisions.slice(from);
    },
    reached(server, nowMs) {
      const seenMs = nowMs - lagMs(server, nowMs);
      return revisions.findLast(({ atMs }) => atMs <= seenMs)!.revision;
    },
  };
}
