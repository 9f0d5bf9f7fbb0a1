/** Talking to a planner in its own bytes, one service at a time. */
import assert from 'node:assert/strict';
import { decodeObject, encodeBare } from '../../src/kube/codec.ts';
import type { EndpointSlice, KubeObject } from '../../src/kube/types.ts';
import { decodeReply, encodeBatch } from '../../src/shard/codec.ts';
import { plan, type Planner } from '../../src/shard/planner.ts';
import type { Ack, Batch, BatchEntry, Observed, PlannedWrite, ServiceResult } from '../../src/shard/protocol.ts';
import { batchEntry, batchOf } from './batches.ts';

/** The result of one entry, errors of the service included. */
export function send(planner: Planner, news: Partial<BatchEntry>, batch: Partial<Batch> = {}): ServiceResult {
  const reply = decodeReply(plan(planner, encodeBatch({ ...batchOf(batchEntry(news)), ...batch })));
  assert.equal(reply.error, null);
  return reply.results[0]!;
}

/** As read from the server; without an object: `name` does not exist. */
export function observedAs(output: number, object: KubeObject | EndpointSlice | null, name?: string): Observed {
  const content = object === null ? null : ({ encoding: 'protobuf', bytes: encodeBare(object) } as const);
  return { output, name: name ?? object?.metadata.name ?? '', content };
}

/** `resourceVersion` of applied writes only; the object's uid is `<name>-uid`. */
export function ackOf(write: PlannedWrite, result: Ack['result'], resourceVersion = ''): Ack {
  return { write: write.id, result, uid: result === 'applied' ? `${write.name}-uid` : '', resourceVersion };
}

export function sliceOf(write: PlannedWrite | undefined): EndpointSlice {
  assert.ok(write !== undefined, 'no such write');
  return decodeObject(write.body) as unknown as EndpointSlice;
}

/** What the server holds after a write was acked by `ackOf`. */
export function storedAs(write: PlannedWrite, resourceVersion: string): EndpointSlice {
  const slice = sliceOf(write);
  return { ...slice, metadata: { ...slice.metadata, namespace: 'shop', uid: `${write.name}-uid`, resourceVersion } };
}

/** `<verb> <name>, phase <n>` of each write, or `error: ...`. */
export function outlineOf(result: ServiceResult): string[] {
  if (result.error !== null) return [`error: ${result.error}`];
  return result.writes.map(({ verb, name, phase }) => `${verb} ${name}, phase ${phase}`);
}
