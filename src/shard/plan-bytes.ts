/** A planner behind bytes, as it works on a thread of its own. */
import { decodeBatch, encodeReply } from './codec.ts';
import { plan, type Planner } from './planner.ts';
import type { Batch } from './protocol.ts';
import { CodecError } from './tuples.ts';

/**
 * Works on an encoded `Batch` and returns an encoded `PlanReply` in a buffer of its own. Bytes that are no batch change
 * nothing and are answered with an error.
 */
export function planBytes(planner: Planner, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  let batch: Batch;
  try {
    batch = decodeBatch(bytes);
  } catch (error) {
    if (!(error instanceof CodecError)) throw error;
    return encodeReply({ error: error.message, results: [] });
  }
  return encodeReply(plan(planner, batch));
}
