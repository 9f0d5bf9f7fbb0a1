/**
 * The most addresses of one Endpoints object while it is laid out, and the most endpoints of the slices that mirror it.
 * An address counts once for each group of ports that it is in. So a few thousand addresses, each with some of
 * thousands of ports, would else be millions, of one object that the API server takes.
 */
export const LAID_OUT_MAX = 250_000;

/** It is thrown before anything is kept of what was too large. */
export class TooManyAddresses extends Error {
  constructor(what = 'addresses', why = 'ports with other addresses need subsets of their own') {
    super(`subsets: more than ${LAID_OUT_MAX} ${what}, because ${why}`);
  }
}
