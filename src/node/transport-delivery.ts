import type { TransportEvent } from '../ports/transport.ts';
import { isOpenStream, type Call } from './transport-call.ts';

/** Most events that are delivered at once, so that a step stays short. */
const EVENTS_TOGETHER_MAX = 64;
/** Pieces of a stream are joined up to about this size, which holds some hundred pods. */
const CHUNK_BYTES_MAX = 256 * 1024;
/** Larger pieces are not joined: joining the pieces of one big object would only make garbage. */
const SMALL_PIECE_BYTES = 8 * 1024;

/** What waits for its macrotask: an event, or pieces of a stream that become one event. */
type Outgoing =
  | { readonly call: Call; readonly event: TransportEvent }
  | { readonly call: Call; readonly pieces: Uint8Array[]; bytes: number };

/** Events on their way to the loop. Events of a call that was cancelled meanwhile are dropped. */
export interface TransportDelivery {
  readonly emit: (call: Call, event: TransportEvent) => void;
  /** A server flushes a stream in many small pieces. Pieces that come in one turn of the event loop are one chunk. */
  readonly emitPiece: (call: Call, piece: Uint8Array) => void;
  /** From now on nothing is delivered. */
  readonly close: () => void;
}

/**
 * Events wait for a macrotask of their own, so that `deliver` is never called from inside send or cancel.
 * @param onLast is called with a call before its last event is delivered
 */
export function createTransportDelivery(
  deliver: (events: readonly TransportEvent[]) => void,
  onLast: (call: Call) => void,
): TransportDelivery {
  let outgoing: Outgoing[] = [];
  let closed = false;

  function flush(): void {
    const all = outgoing;
    outgoing = [];
    for (let from = 0; from < all.length; from += EVENTS_TOGETHER_MAX) {
      const events: TransportEvent[] = [];
      for (const entry of all.slice(from, from + EVENTS_TOGETHER_MAX)) {
        if (entry.call.cancelled || closed) continue;
        const event = eventOf(entry);
        if (isLast(entry.call, event)) onLast(entry.call);
        events.push(event);
      }
      if (events.length > 0) deliver(events);
    }
  }

  function push(entry: Outgoing): void {
    if (outgoing.length === 0) setImmediate(flush);
    outgoing.push(entry);
  }

  return {
    emit: (call, event) => push({ call, event }),
    emitPiece: (call, piece) => {
      const last = outgoing.at(-1);
      const isSmall = piece.byteLength < SMALL_PIECE_BYTES;
      if (isSmall && last !== undefined && 'pieces' in last && last.call === call && last.bytes < CHUNK_BYTES_MAX) {
        last.pieces.push(piece);
        last.bytes += piece.byteLength;
      } else push({ call, pieces: [piece], bytes: piece.byteLength });
    },
    close: () => {
      closed = true;
    },
  };
}

function eventOf(entry: Outgoing): TransportEvent {
  if (!('pieces' in entry)) return entry.event;
  const { call, pieces } = entry;
  return { type: 'chunk', id: call.request.id, bytes: pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces) };
}

function isLast(call: Call, { type }: TransportEvent): boolean {
  return call.settled && type !== 'chunk' && !(type === 'response' && isOpenStream(call));
}
