/** What the parts are given that do not know the whole state: made once, of it. */
import { countPublished } from './caches/published.ts';
import { createBrake } from './reflectors/brake.ts';
import { reflectorOf } from './reflectors/history.ts';
import { reflectorHands } from './reflectors/reflector-group.ts';
import type { ControllerState, Hands } from './state.ts';
import { isMoot, withdraw } from './syncs/sync.ts';

/** @param whole not asked before the first event */
export function createHands(
  own: Pick<ControllerState, 'options' | 'outbox' | 'prng' | 'interner' | 'instruments'>,
  whole: () => ControllerState,
): Hands {
  const { options, outbox, prng, interner, instruments } = own;
  return {
    reflectors: reflectorHands({ outbox, prng, metrics: instruments }, createBrake(options.confirmMassRemoval), {
      reflectors: () => whole().reflectors,
      countPublished: (missed) => countPublished(whole(), missed),
      metrics: instruments,
      log: outbox.log,
    }),
    writes: {
      outbox,
      interner,
      metrics: instruments,
      inFlightMax: options.maxWritesInFlight,
      isMoot,
      withdraw: (queued, now) => withdraw(whole(), queued, now),
      reachedOf: (output) => reflectorOf(whole().reflectors, output),
    },
  };
}
