import type { EndpointSlice } from '../../kube/types.ts';

/** A planned write of one slice, of the EndpointSlice or of the mirroring controller. */
export interface SliceWrite {
  readonly verb: 'create' | 'update' | 'delete';
  readonly name: string;
  /** Preconditions of updates and deletes, also inside the object of an update; empty for creates. */
  readonly uid: string;
  readonly resourceVersion: string;
  /**
   * Writes of phase 1 go first, side by side. Those of a later phase go when the phases before are over, and those that
   * wait only if all of the same family have succeeded (docs/protocols.md "Order of writes").
   */
  readonly phase: number;
  /** The write takes an endpoint away that another write of the plan adds, or deletes one that another updates. */
  readonly waits: boolean;
  /** The address type of the slice. */
  readonly family: string;
  /** The whole new object; null for deletes. Must not be changed by anyone. */
  readonly object: EndpointSlice | null;
}

/**
 * Whether the outcome of a write changes what is held of its slice. A slice that was deleted may have been made anew by
 * another writer under the same name.
 * @param known what is held of the slice now; null = nothing
 */
export function changesStored({ verb, uid }: SliceWrite, known: EndpointSlice | null, { result }: WriteAck): boolean {
  if (result !== 'applied') return false;
  return verb !== 'delete' || known === null || known.metadata.uid === uid;
}

/** The object as the server holds it after its write was applied. */
export function appliedSlice(object: EndpointSlice, { uid, resourceVersion }: WriteAck): EndpointSlice {
  return { ...object, metadata: { ...object.metadata, uid, resourceVersion } };
}

/** What became of a write. `uid` and `resourceVersion` are the object's after an applied write, else empty. */
export interface WriteAck {
  readonly result: 'applied' | 'refused' | 'not-sent' | 'unknown';
  readonly uid: string;
  readonly resourceVersion: string;
}
