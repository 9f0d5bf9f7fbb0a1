/**
 * What reflectors, writes and the elector are given instead of the whole state. It is made once, at the start.
 */
import { countPublished } from './caches/published.ts';
import { annotationsOf, fencedBy } from './leader/leadership.ts';
import { endLeading, tellLeading } from './leader/leader-changes.ts';
import { createBrake } from './reflectors/brake.ts';
import { reflectorOf } from './reflectors/history.ts';
import { reflectorHands } from './reflectors/reflector-group.ts';
import { startControllers } from './start.ts';
import type { ControllerState, Hands } from './state.ts';
import { withdraw } from './syncs/sync-writes.ts';
import { isMoot } from './writes/shadow.ts';

/** @param whole is not called before the first event */
export function createHands(
  own: Pick<ControllerState, 'options' | 'outbox' | 'prng' | 'interner' | 'instruments'>,
  whole: () => ControllerState,
): Hands {
  const { options, outbox, prng, interner, instruments } = own;
  return {
    reflectors: reflectorHands(
      { outbox, prng, metrics: instruments, firstListEnds: (now) => startControllers(whole(), now) },
      createBrake(options.confirmMassRemoval),
      {
        reflectors: () => whole().reflectors,
        countPublished: (missed) => countPublished(whole(), missed),
        metrics: instruments,
        log: outbox.log,
      },
    ),
    writes: {
      outbox,
      interner,
      metrics: instruments,
      inFlightMax: options.maxWritesInFlight,
      isMoot: (queued) => isMoot(whole(), queued),
      withdraw: (queued, now) => withdraw(whole(), queued, now),
      reachedOf: (object) => reflectorOf(whole().reflectors, object),
      fence: (now) => fencedBy(whole().leadership, now),
    },
    elector: {
      send: (request) => outbox.send({ for: 'lease' }, request),
      cancel: (id) => outbox.cancel(id),
      log: outbox.log,
      annotations: () => annotationsOf(whole().leadership!),
      begin: (now) => tellLeading(whole(), now),
      end: (now) => endLeading(whole(), now),
    },
  };
}
