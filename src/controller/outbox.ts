/**
 * Where the parts of the machine put their effects. A step appends to it, and the loop takes the effects at the end of
 * the step.
 */
import type { Effect, LogEffect } from './effect.ts';
import { opensStream, type HttpRequest, type TransportEvent } from '../ports/transport.ts';

/** What a part is given of the outbox. `Purpose`: what the answer to a request is for. */
export interface Outbox<Purpose> {
  /** Sends a request and returns its id. The answer comes back as an event with that id. */
  send(purpose: Purpose, request: Omit<HttpRequest, 'id'>): number;
  /**
   * Cancels a request: whatever still comes of it is ignored. A request that is answered has nothing left to cancel.
   */
  cancel(id: number): void;
  log: Log;
}

/** @param v klog verbosity: the line is written when `-v` is at least this */
export type Log = (level: LogEffect['level'], v: number, message: string, fields: LogEffect['fields']) => void;

/** Lines that are said while `isMuted` are dropped. */
export function mutedWhile(isMuted: () => boolean, log: Log): Log {
  return (level, v, message, fields) => {
    if (!isMuted()) log(level, v, message, fields);
  };
}

export type SourceOf = (level: LogEffect['level'], v: number) => string;

/** The whole outbox, for the machine and its loop. */
export interface StepOutbox<Purpose> extends Outbox<Purpose> {
  effects: Effect[];
  /** The purpose of each request without an answer, and of each open stream. */
  readonly requests: Map<number, Purpose>;
  /**
   * Returns the purpose of the request that the event belongs to. With its last event the request is forgotten. undefined =
   * the event was under way when its request was cancelled.
   */
  takeEvent(event: TransportEvent): Purpose | undefined;
}

/** @param sourceOf gives the line of the source that calls it; '' = log lines do not name it */
export function createOutbox<Purpose>(sourceOf: SourceOf = () => ''): StepOutbox<Purpose> {
  let nextRequestId = 1;
  /** The ids of those of the requests that ask for a stream. */
  const streams = new Set<number>();
  const outbox: StepOutbox<Purpose> = {
    effects: [],
    requests: new Map(),
    send(purpose, request) {
      const id = nextRequestId++;
      outbox.requests.set(id, purpose);
      if (request.stream) streams.add(id);
      outbox.effects.push({ type: 'http', request: { id, ...request } });
      return id;
    },
    cancel(id) {
      streams.delete(id);
      if (outbox.requests.delete(id)) outbox.effects.push({ type: 'cancel', id });
    },
    takeEvent(event) {
      const { id } = event;
      const purpose = outbox.requests.get(id);
      const isOpened = event.type === 'response' && opensStream(streams.has(id), event.status);
      if (event.type !== 'chunk' && !isOpened) {
        streams.delete(id);
        outbox.requests.delete(id);
      }
      return purpose;
    },
    log(level, v, message, fields) {
      const source = sourceOf(level, v);
      const line: LogEffect = { type: 'log', level, v, message, fields };
      outbox.effects.push(source === '' ? line : { ...line, source });
    },
  };
  return outbox;
}
