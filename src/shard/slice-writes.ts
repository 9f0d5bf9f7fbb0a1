import type { SliceWrite } from '../core/slices/slice-write.ts';
import { encodeObject } from '../kube/codec.ts';
import type { PlannedWrite } from './protocol.ts';

const NO_BODY = new Uint8Array(0);

/**
 * Encodes the writes of one output, in the order to send them: phase 1 before 2, in each of them small bodies first, and
 * deletes last. They get ids in that order, under which they wait in `pending` for their acks.
 */
export function encodeSliceWrites(
  output: number,
  writes: readonly SliceWrite[],
  pending: Map<number, SliceWrite>,
  nextId: () => number,
): PlannedWrite[] {
  const encoded = writes.map((write) => ({
    write,
    body: write.object === null ? NO_BODY : encodeObject(write.object),
  }));
  encoded.sort(
    (a, b) =>
      a.write.phase - b.write.phase ||
      Number(a.write.verb === 'delete') - Number(b.write.verb === 'delete') ||
      a.body.length - b.body.length,
  );
  return encoded.map(({ write, body }) => {
    const id = nextId();
    pending.set(id, write);
    const { verb, name, uid, resourceVersion, phase } = write;
    return { id, output, verb, name, uid, resourceVersion, phase, body };
  });
}
