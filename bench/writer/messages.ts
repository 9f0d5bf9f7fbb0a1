/** What the processes of the writer's bench tell each other. */

/** A request's number stands at the start of its body and of its answer's, in so many digits. */
export const NUMBER_LENGTH = 16;

/** Ports on 127.0.0.1. */
export interface ServerReady {
  readonly plain: number;
  readonly tls: number;
  readonly plainHttp2: number;
  readonly tlsHttp2: number;
  /** PEM that TLS is verified with. */
  readonly ca: string;
}

export interface ClientOrder {
  /** One of those that `client-process.ts` knows. */
  readonly way: string;
  readonly origin: string;
  readonly ca: string | null;
}

/** One round: `count` PUTs. */
export interface Round {
  readonly count: number;
  /** Under way at once. */
  readonly flight: number;
  /** So many together, then a pause of so long; null = the next one as soon as an answer is there. */
  readonly every: { readonly together: number; readonly ms: number } | null;
}

export interface RoundResult {
  /** User and system CPU of the whole process. */
  readonly cpuUs: number;
  readonly seconds: number;
}
