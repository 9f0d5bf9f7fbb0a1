import type { Endpoint } from '../../kube/types.ts';
import type { SliceEntry } from './family-slices.ts';
import { NO_SLICE_PORTS, type SlicePorts } from './slice-ports.ts';
import type { DraftEndpoints } from './slice-state.ts';

/** What one write will make of a slice. */
export interface SliceDraft extends DraftEndpoints {
  /**
   * `changed`: endpoints and labels are new, all else stays. `hints`: only the endpoints are new. `new`: everything is
   * new, except what somebody else has put into the metadata of a recycled slice.
   */
  readonly kind: 'changed' | 'hints' | 'new';
  /** The slice on the server that is overwritten; null = a slice is created. */
  readonly entry: SliceEntry | null;
  /** Only a draft of kind `new` has ports. */
  readonly ports: SlicePorts;
}

export function changedDraft(entry: SliceEntry, endpoints: Endpoint[], kind: 'changed' | 'hints'): SliceDraft {
  return { kind, entry, endpoints, ports: NO_SLICE_PORTS };
}

/** @param entry the slice to be recycled; null = none */
export function newDraft(ports: SlicePorts, endpoints: Endpoint[], entry: SliceEntry | null): SliceDraft {
  return { kind: 'new', entry, endpoints, ports };
}
