import type { Socket } from 'node:net';

/** A kubelet probes every ten seconds as a rule, every minute at times. */
const KEPT_MS = 60_000;
/** The kubelet of the node has one address, or one of each family. */
const KEPT_MAX = 2;

/** The client of each connection that comes from the address to which it goes: a program of this machine, or of this pod. */
const OWN = 'own';

/** The address of a client, or one name for all programs of this machine. */
export function clientOf({ remoteAddress = '', localAddress }: Socket): string {
  return remoteAddress === localAddress ? OWN : remoteAddress;
}

/** By client, as `clientOf` names it. */
export interface KeptAddresses {
  /** Keeps an address that was answered on a health path for a minute, if two others are not kept. */
  readonly keep: (address: string) => void;
  readonly has: (address: string) => boolean;
}

/**
 * The clients that have a place on the port even if many others flood it. The programs of this machine always have one, and
 * so has the kubelet of a pod on the host network. It asks a pod with an address of its own from another address. So the
 * first two addresses that have asked for health have a place too, as long as they go on.
 */
export function createKeptAddresses(): KeptAddresses {
  const untilMs = new Map<string, number>();

  function has(address: string): boolean {
    return address === OWN || (untilMs.get(address) ?? 0) > performance.now();
  }

  return {
    has,
    keep(address) {
      if (address === OWN) return;
      for (const other of untilMs.keys()) if (!has(other)) untilMs.delete(other);
      if (untilMs.size < KEPT_MAX || untilMs.has(address)) untilMs.set(address, performance.now() + KEPT_MS);
    },
  };
}
