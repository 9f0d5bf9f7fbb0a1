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
  /** Most connections of the pool of writes. */
  readonly maxWritesInFlight: number;
  readonly log: (line: LogLine) => void;
  /** Called with the access in effect, at the start and whenever it was read again. */
  readonly observeAccess?: (access: Access) => void;
  /** After so many milliseconds a connection that is not made is given up. Default: that of the pools. */
  readonly connectMs?: number;
  /**
   * A second refusal within so many milliseconds does not make the credentials be read again. Default 1000. As long as
   * refusals go on, the time doubles with each read, to four seconds.
   */
  readonly refusedMs?: number;
}

/** The access in effect, and its connections. The access is read again from time to time, and after a 401. */
export interface LiveAccess {
  readonly current: () => InEffect;
  /**
   * To be called when the server has refused the credentials of a generation (`unauthorized`), or has shown a
   * certificate that they do not trust (`refresh`). Resolves when the access has been read again. If it has changed,
   * there is another generation.
   */
  readonly refused: (generation: number, why: 'unauthorized' | 'refresh') => Promise<void>;
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

/**
 * While credentials stay refused, they are not read, and no plugin is run, with every request: the issuer that a plugin asks
 * may be what is broken. A minute without a refusal ends that.
 */
const REFUSED_MS = 1000;
/** Below half of the usual renew deadline, so that a leader whose token is replaced meanwhile stays one. */
const REFUSED_MS_MAX = 4000;
const FORGOTTEN_MS = 60_000;
/** How often the log tells of a read that fails for the same reason. */
const TOLD_EVERY_MS = 60_000;

/** Reads the access again at its interval. A read that fails is logged, and the last access stays in effect. */
export function createLiveAccess(config: LiveAccessConfig): LiveAccess {
  const { access, maxWritesInFlight, connectMs, log, refusedMs = REFUSED_MS } = config;
  let inEffect: InEffect = {
    access,
    generation: 1,
    pools: createPools(access, maxWritesInFlight, connectMs),
    host: new URL(access.origin).host,
  };
  /** Pools that are closing. What is under way ends on its old connection, a watch at its own timeout. */
  const retired = new Set<Pools>();
  let reading: Promise<void> | null = null;
  const isDue = { unauthorized: createRefusals(refusedMs), refresh: createRefusals(refusedMs) };
  const tellFailure = createFailures(log);
  let closed = false;

  function take(next: Access): void {
    const before = inEffect;
    if (closed || JSON.stringify(next) === JSON.stringify(before.access)) return;
    const generation = before.generation + 1;
    if (connectionKey(next) === connectionKey(before.access)) {
      inEffect = { ...before, access: next, generation };
      return;
    }
    const pools = createPools(next, maxWritesInFlight, connectMs);
    inEffect = { access: next, generation, pools, host: new URL(next.origin).host };
    retire(retired, before.pools);
    log({ level: 'info', v: 0, message: 'Credentials changed, new connections use them', fields: {} });
  }

  function reread(why: 'refresh' | 'unauthorized'): Promise<void> {
    if (closed) return Promise.resolve();
    reading ??= readOnce(why).finally(() => (reading = null));
    return reading;
  }

  async function readOnce(why: 'refresh' | 'unauthorized'): Promise<void> {
    try {
      take(await config.readAccess(why));
    } catch (error) {
      tellFailure(failureMessage(error));
    }
    config.observeAccess?.(inEffect.access);
  }

  config.observeAccess?.(access);
  const timer = setInterval(() => void reread('refresh'), config.refreshMs);
  timer.unref();

  return {
    current: () => inEffect,
    refused: async (generation, why) => {
      // A read that has begun before may have seen the old files.
      await reading;
      if (generation !== inEffect.generation) return;
      if (isDue[why](performance.now())) await reread(why);
      else await reading;
    },
    close: async () => {
      closed = true;
      clearInterval(timer);
      const all = [inEffect.pools, ...retired].flatMap((set) => Object.values(set));
      await Promise.all(all.map((pool) => pool.destroy()));
    },
  };
}

/** Says of each refusal whether the credentials are to be read again. */
function createRefusals(refusedMs: number): (nowMs: number) => boolean {
  let lastMs = Number.NEGATIVE_INFINITY;
  let nextMs = Number.NEGATIVE_INFINITY;
  let pauseMs = 0;
  return (nowMs) => {
    if (nowMs - lastMs >= FORGOTTEN_MS) pauseMs = 0;
    lastMs = nowMs;
    if (nowMs < nextMs) return false;
    pauseMs = pauseMs === 0 ? refusedMs : Math.min(2 * pauseMs, REFUSED_MS_MAX);
    nextMs = nowMs + pauseMs;
    return true;
  };
}

/** Logs a failed read, and the same reason again after a minute only. */
function createFailures(log: LiveAccessConfig['log']): (err: string) => void {
  let told = { err: '', atMs: Number.NEGATIVE_INFINITY };
  return (err) => {
    const atMs = performance.now();
    if (err === told.err && atMs - told.atMs < TOLD_EVERY_MS) return;
    told = { err, atMs };
    const message = 'Cannot read the credentials again, going on with the last ones';
    log({ level: 'error', v: 0, message, fields: { err } });
  };
}

function retire(retired: Set<Pools>, pools: Pools): void {
  retired.add(pools);
  const forget = (): boolean => retired.delete(pools);
  void Promise.all(Object.values(pools).map((pool) => pool.close())).then(forget, forget);
}
