/** What a plan of mirrored slices says beside its writes (spec/endpointslice.md 11, 13). */
export interface MirrorFacts {
  /** Endpoints that there should be, over all subsets and families. */
  readonly endpoints: number;
  /** Slices after the writes of this plan, and the fewest that would do. */
  readonly slices: number;
  readonly slicesDesired: number;
  /** By this plan, against what is stored. */
  readonly added: number;
  readonly updated: number;
  readonly removed: number;
  /** Addresses left out: above the limit, or no IP address. */
  readonly skipped: number;
}
