/** Who has written an object, by its managedFields. */
import { fieldManagers } from '../../kube/managed-fields.ts';
import { DecodeError } from '../../kube/protobuf.ts';
import type { ObjectBytes } from '../../shard/protocol.ts';

/**
 * The name where managedFields do not tell: after a deletion, after a write that took no field, or where there are
 * none.
 */
export const UNKNOWN_WRITER = 'unknown';
/** Admission has changed our own write. */
export const ADMISSION = 'admission';

/** Of every endpointd. */
export const OWN_MANAGER = 'endpointd';
/** How much the clocks of API servers and of this machine may differ. */
const SKEW_SECONDS = 2;
/** An own name that is older is of the past: what was written just now has taken no field from it. */
const FRESH_SECONDS = 60;

/**
 * Who has made a state of an object that is known to be no write of this process. The own name is that of another
 * endpointd, and is believed only where it stands for a write that this process did not make.
 * @param content null = it was deleted, or nothing of it is at hand
 * @param wroteAtSeconds when this process wrote it last; 0 = never
 */
export function writerOf(content: ObjectBytes | null, wroteAtSeconds: number, wallMs: number): string {
  if (content === null) return UNKNOWN_WRITER;
  const { newest, names } = lastWriters(content);
  const name = names.find((manager) => manager !== OWN_MANAGER) ?? names[0];
  if (name === undefined || newest === 0) return UNKNOWN_WRITER;
  const isNews = newest > Math.max(wroteAtSeconds + SKEW_SECONDS, wallMs / 1000 - FRESH_SECONDS);
  return name === OWN_MANAGER && !isNews ? UNKNOWN_WRITER : name;
}

/** Who has written last, several where it was in the same second. `newest`: seconds since the epoch. */
export function lastWriters(content: ObjectBytes): { readonly newest: number; readonly names: readonly string[] } {
  const managers = managersOf(content);
  const newest = Math.max(0, ...managers.map(({ time }) => time));
  const last = managers.filter(({ manager, time }) => time === newest && manager !== '');
  return { newest, names: last.map(({ manager }) => manager) };
}

function managersOf({ encoding, bytes }: ObjectBytes): ReturnType<typeof fieldManagers> {
  try {
    return fieldManagers(encoding, bytes);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return [];
  }
}
