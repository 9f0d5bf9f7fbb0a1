/** The messages between the processes of the writer's bench. */

/** The number of digits of a request's number, with which its body and the answer's body begin. */
export const NUMBER_LENGTH = 16;

/** Ports on 127.0.0.1. */
export interface ServerReady {
  readonly plain: number;
  readonly tls: number;
  readonly plainHttp2: number;
  readonly tlsHttp2: number;
  /** The PEM certificate by which TLS is verified. */
  readonly ca: string;
}

export interface ClientOrder {
  /** The name of a way in `client-process.ts`. */
  readonly way: string;
  readonly origin: string;
  readonly ca: string | null;
}

/** One round of `count` PUTs. */
export interface Round {
  readonly count: number;
  /** How many PUTs are under way at once. */
  readonly flight: number;
  /** Sends so many together, then pauses so long; null = the next PUT follows each answer at once. */
  readonly every: { readonly together: number; readonly ms: number } | null;
}

export interface RoundResult {
  /** User and system CPU of the whole process. */
  readonly cpuUs: number;
  readonly seconds: number;
}
