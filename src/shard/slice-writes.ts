import type { SliceWrite } from '../core/slices/slice-write.ts';
import { encodeAgain, encodeObject } from '../kube/codec.ts';
import type { EndpointSlice } from '../kube/types.ts';
import type { PlannedWrite } from './protocol.ts';

const NO_BODY = new Uint8Array(0);

/**
 * Encodes the writes of one output in the order in which they are sent: phase by phase, and within a phase small bodies
 * first and deletes last. They get ids in that order, and wait in `pending` for their acks.
 * @param stored the slice as the server holds it
 */
export function encodeSliceWrites(
  writes: readonly SliceWrite[],
  stored: (name: string) => EndpointSlice | undefined,
  pending: Map<number, SliceWrite>,
  nextId: () => number,
): PlannedWrite[] {
  const encoded = writes.map((write) => ({ write, body: bodyOf(write, stored(write.name)) }));
  encoded.sort(
    (a, b) =>
      a.write.phase - b.write.phase ||
      Number(a.write.verb === 'delete') - Number(b.write.verb === 'delete') ||
      a.body.length - b.body.length,
  );
  return encoded.map(({ write, body }) => {
    const id = nextId();
    pending.set(id, write);
    const { verb, name, uid, resourceVersion, phase, family } = write;
    return { id, verb, name, uid, resourceVersion, phase, family, body };
  });
}

function bodyOf({ object }: SliceWrite, before: EndpointSlice | undefined): Uint8Array {
  if (object === null) return NO_BODY;
  return before === undefined ? encodeObject(object) : encodeAgain(object, before);
}
