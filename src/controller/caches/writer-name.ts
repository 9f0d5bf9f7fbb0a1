/** Who has written an object, by its managedFields. */
import { lastWriters } from '../../core/last-writer.ts';
import { fieldManagers } from '../../kube/managed-fields.ts';
import { DecodeError } from '../../kube/protobuf.ts';
import type { ObjectBytes } from '../../shard/protocol.ts';

/**
 * Where managedFields do not tell the writer: after a deletion, after a write that changed no field's owner, or where
 * there are none.
 */
export const UNKNOWN_WRITER = 'unknown';
/** Admission has changed our own write. */
export const ADMISSION = 'admission';

/** The field manager of every endpointd. */
export const OWN_MANAGER = 'endpointd';
/** How much the clocks of API servers and of this machine may differ. */
const SKEW_SECONDS = 2;
/** Older entries with the own name are from an earlier write. The write of this moment has taken over no field. */
const FRESH_SECONDS = 60;

/**
 * Who has made a state of an object that is known not to be this process's own. The name `endpointd` then means another
 * endpointd. It is believed only if it belongs to a write that this process did not make.
 * @param content null = the object was deleted, or no content is at hand
 * @param wroteAtSeconds when this process wrote the object last; 0 = never
 */
export function writerOf(content: ObjectBytes | null, wroteAtSeconds: number, wallMs: number): string {
  if (content === null) return UNKNOWN_WRITER;
  const { newest, names } = lastWritersOf(content);
  const name = names.find((manager) => manager !== OWN_MANAGER) ?? names[0];
  if (name === undefined || newest === 0) return UNKNOWN_WRITER;
  const isNews = newest > Math.max(wroteAtSeconds + SKEW_SECONDS, wallMs / 1000 - FRESH_SECONDS);
  return name === OWN_MANAGER && !isNews ? UNKNOWN_WRITER : name;
}

/** The last writers that have a name. */
export function lastWritersOf(content: ObjectBytes): ReturnType<typeof lastWriters> {
  const { newest, names } = lastWriters(managersOf(content));
  return { newest, names: names.filter((name) => name !== '') };
}

function managersOf({ encoding, bytes }: ObjectBytes): ReturnType<typeof fieldManagers> {
  try {
    return fieldManagers(encoding, bytes);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return [];
  }
}
