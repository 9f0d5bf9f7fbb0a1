/** A kubelet probes every ten seconds as a rule, every minute at times. */
const KEPT_MS = 60_000;
/** The kubelet of the node has one address, or one of each family. */
const KEPT_MAX = 2;

export interface KeptAddresses {
  /** Keeps an address that was answered on a health path for a minute, if two others are not kept. */
  readonly keep: (address: string) => void;
  readonly has: (address: string) => boolean;
}

/**
 * The addresses that have a place on the port even if many others flood it. Those are the first that have asked for
 * health, as long as they go on: the kubelet does from the start.
 */
export function createKeptAddresses(): KeptAddresses {
  const untilMs = new Map<string, number>();

  function has(address: string): boolean {
    return (untilMs.get(address) ?? 0) > performance.now();
  }

  return {
    has,
    keep(address) {
      for (const other of untilMs.keys()) if (!has(other)) untilMs.delete(other);
      if (untilMs.size < KEPT_MAX || untilMs.has(address)) untilMs.set(address, performance.now() + KEPT_MS);
    },
  };
}
