import { performance } from 'node:perf_hooks';
import { connectionKey, type Access, type ReadAccess } from './access.ts';
import { failureMessage } from './failure.ts';
import type { LogLine } from './log.ts';
import { createPools, type Pools } from './pools.ts';

export interface LiveAccessConfig {
  /** As read at start. */
  readonly access: Access;
  readonly readAccess: ReadAccess;
  /** How often the access is read again. */
  readonly refreshMs: number;
  /** Most connections of the write lane. */
  readonly maxWritesInFlight: number;
  readonly log: (line: LogLine) => void;
}

/** The access in effect and its connections. It is read again now and then, and after a 401. */
export interface LiveAccess {
  readonly current: () => InEffect;
  /** The server has said 401 to a request of that generation. */
  readonly refused: (generation: number) => void;
  /** Ends all connections. */
  readonly close: () => Promise<void>;
}

export interface InEffect {
  readonly access: Access;
  /** Grows with each change of the access. */
  readonly generation: number;
  readonly pools: Pools;
  /** Host and port of the API server. */
  readonly host: string;
}

/** A second 401 within this time does not read the credentials again. */
const UNAUTHORIZED_REREAD_MS = 1000;

export function createLiveAccess(config: LiveAccessConfig): LiveAccess {
  const { access, maxWritesInFlight, log } = config;
  let inEffect: InEffect = {
    access,
    generation: 1,
    pools: createPools(access, maxWritesInFlight),
    host: new URL(access.origin).host,
  };
  /** Closing: what is under way ends on its old connection, watches at their own timeout. */
  const retired = new Set<Pools>();
  let reading = false;
  let refusedAtMs = Number.NEGATIVE_INFINITY;
  let closed = false;

  function take(next: Access): void {
    const before = inEffect;
    if (closed || JSON.stringify(next) === JSON.stringify(before.access)) return;
    const generation = before.generation + 1;
    if (connectionKey(next) === connectionKey(before.access)) {
      inEffect = { ...before, access: next, generation };
      return;
    }
    const pools = createPools(next, maxWritesInFlight);
    inEffect = { access: next, generation, pools, host: new URL(next.origin).host };
    retired.add(before.pools);
    const forget = (): boolean => retired.delete(before.pools);
    void Promise.all(Object.values(before.pools).map((pool) => pool.close())).then(forget, forget);
    log({ level: 'info', v: 0, message: 'Credentials changed, new connections use them', fields: {} });
  }

  async function reread(why: 'refresh' | 'unauthorized'): Promise<void> {
    if (reading || closed) return;
    reading = true;
    try {
      take(await config.readAccess(why));
    } catch (error) {
      const message = 'Cannot read the credentials again, going on with the last ones';
      log({ level: 'error', v: 0, message, fields: { err: failureMessage(error) } });
    } finally {
      reading = false;
    }
  }

  const timer = setInterval(() => void reread('refresh'), config.refreshMs);
  timer.unref();

  return {
    current: () => inEffect,
    refused: (generation) => {
      const nowMs = performance.now();
      if (generation !== inEffect.generation || nowMs - refusedAtMs < UNAUTHORIZED_REREAD_MS) return;
      refusedAtMs = nowMs;
      void reread('unauthorized');
    },
    close: async () => {
      closed = true;
      clearInterval(timer);
      const all = [inEffect.pools, ...retired].flatMap((set) => Object.values(set));
      await Promise.all(all.map((pool) => pool.destroy()));
    },
  };
}
