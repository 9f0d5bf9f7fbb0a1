/** Entropy for the loop. One draw at the start seeds the state's own generator, so a run can be repeated from it. */
export interface Random {
  /** A uniform integer in [0, 2^32). */
  uint32(): number;
}
