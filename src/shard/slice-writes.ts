import type { SliceWrite } from '../core/slices/slice-write.ts';
import { encodeAgain, encodeObject } from '../kube/codec.ts';
import type { EndpointSlice } from '../kube/types.ts';
import type { Plan } from './protocol.ts';

const NO_BODY = new Uint8Array(0);

/**
 * The most bytes of bodies in one plan. All of them wait in memory until each has its turn, so a Service with thousands of
 * slices, each with hundreds of kilobytes of labels, would else take all memory of the process.
 */
const PLAN_BYTES_MAX = 8 * 2 ** 20;

/**
 * Encodes the writes of one output in the order in which they are sent: phase by phase, and within a phase small bodies
 * first and deletes last. They get ids in that order, and wait in `pending` for their acks. Those beyond
 * `PLAN_BYTES_MAX` are left out, at least one is not. What goes last is left out, so that nothing is taken away before it
 * is added elsewhere.
 * @param stored the slice as the server holds it
 */
export function encodeSliceWrites(
  writes: readonly SliceWrite[],
  stored: (name: string) => EndpointSlice | undefined,
  pending: Map<number, SliceWrite>,
  nextId: () => number,
): Pick<Plan, 'writes' | 'isWhole'> {
  const encoded: Encoded[] = [];
  let bytes = 0;
  for (const write of writes.toSorted(compareTurns)) {
    if (bytes >= PLAN_BYTES_MAX) break;
    const body = bodyOf(write, stored(write.name));
    bytes += body.length;
    encoded.push({ write, body });
  }
  const isWhole = encoded.length === writes.length;
  encoded.sort((a, b) => compareTurns(a.write, b.write) || a.body.length - b.body.length);
  const planned = encoded.map(({ write, body }) => {
    const id = nextId();
    pending.set(id, write);
    const { verb, name, uid, resourceVersion, phase, waits, family } = write;
    return { id, verb, name, uid, resourceVersion, phase, waits, family, body };
  });
  return { writes: planned, isWhole };
}

interface Encoded {
  readonly write: SliceWrite;
  readonly body: Uint8Array;
}

function compareTurns(a: SliceWrite, b: SliceWrite): number {
  return a.phase - b.phase || Number(a.verb === 'delete') - Number(b.verb === 'delete');
}

function bodyOf({ object }: SliceWrite, before: EndpointSlice | undefined): Uint8Array {
  if (object === null) return NO_BODY;
  return before === undefined ? encodeObject(object) : encodeAgain(object, before);
}
