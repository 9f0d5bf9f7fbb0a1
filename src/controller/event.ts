import type { ShardsEvent } from '../ports/shards.ts';
import type { TransportEvent } from '../ports/transport.ts';

/** Everything that can wake the controller, in one list. */
export type Event =
  | { readonly type: 'start' }
  /** The time has come that the last step returned. */
  | { readonly type: 'wake' }
  /** SIGTERM: no sync begins any more, those under way end, then a `stopped` effect follows. */
  | { readonly type: 'stop' }
  | TransportEvent
  | ShardsEvent;

/** The time of a step in milliseconds. Monotonic for delays, wall clock for what is written and planned. */
export interface Now {
  readonly nowMs: number;
  readonly wallMs: number;
}
