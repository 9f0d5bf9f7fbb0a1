/**
 * Where the parts of the machine put what they ask of the world. A step appends to it, and the loop takes it at the
 * step's end.
 */
import type { Effect, LogEffect } from './effect.ts';
import type { HttpRequest } from '../ports/transport.ts';

/** What a part is given of it. `Purpose`: what the answer to a request is for. */
export interface Outbox<Purpose> {
  /** Asks for a request. Its answer comes back as an event with the id that is returned. */
  send(purpose: Purpose, request: Omit<HttpRequest, 'id'>): number;
  /** Cancels a request: nothing that still comes of it is taken. An answered request has nothing left to cancel. */
  cancel(id: number): void;
  log: Log;
}

/** @param v klog verbosity: the line is written when `-v` is at least this */
export type Log = (level: LogEffect['level'], v: number, message: string, fields: LogEffect['fields']) => void;

/** What is said while it `isMuted` is said to nobody. */
export function mutedWhile(isMuted: () => boolean, log: Log): Log {
  return (level, v, message, fields) => {
    if (!isMuted()) log(level, v, message, fields);
  };
}

export type SourceOf = (level: LogEffect['level'], v: number) => string;

/** The whole of it, for the machine and its loop. */
export interface StepOutbox<Purpose> extends Outbox<Purpose> {
  effects: Effect[];
  /** What each request without an answer is for. */
  readonly requests: Map<number, Purpose>;
}

/** @param sourceOf where a line comes from; '' = it is not written */
export function createOutbox<Purpose>(sourceOf: SourceOf = () => ''): StepOutbox<Purpose> {
  let nextRequestId = 1;
  const outbox: StepOutbox<Purpose> = {
    effects: [],
    requests: new Map(),
    send(purpose, request) {
      const id = nextRequestId++;
      outbox.requests.set(id, purpose);
      outbox.effects.push({ type: 'http', request: { id, ...request } });
      return id;
    },
    cancel(id) {
      if (outbox.requests.delete(id)) outbox.effects.push({ type: 'cancel', id });
    },
    log(level, v, message, fields) {
      const source = sourceOf(level, v);
      const line: LogEffect = { type: 'log', level, v, message, fields };
      outbox.effects.push(source === '' ? line : { ...line, source });
    },
  };
  return outbox;
}
