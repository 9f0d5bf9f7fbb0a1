/** Talking to a planner in its own bytes, one service at a time. */
import assert from 'node:assert/strict';
import { decodeObject, encodeBare } from '../../src/kube/codec.ts';
import type { EndpointSlice, KubeObject } from '../../src/kube/types.ts';
import { decodeReply, encodeBatch } from '../../src/shard/codec.ts';
import { planBytes } from '../../src/shard/plan-bytes.ts';
import type { Planner } from '../../src/shard/planner.ts';
import type {
  Ack,
  Batch,
  BatchEntry,
  Observed,
  OutputFacts,
  OutputKind,
  PlannedWrite,
  ServiceResult,
} from '../../src/shard/protocol.ts';
import { batchEntry, batchOf } from './batches.ts';

/** The result of one entry, what its plans say side by side. */
export interface Planned extends Pick<ServiceResult, 'needFull' | 'problems' | 'failures'> {
  readonly outputs: readonly OutputKind[];
  readonly writes: readonly (PlannedWrite & { readonly output: OutputKind })[];
  readonly facts: Partial<OutputFacts>;
  /** Why the entry was not taken, or why the first output that failed was not planned. */
  readonly error: string | null;
}

export function send(planner: Planner, news: Partial<BatchEntry>, batch: Partial<Batch> = {}): Planned {
  const reply = decodeReply(planBytes(planner, encodeBatch({ ...batchOf(batchEntry(news)), ...batch })));
  assert.equal(reply.error, null);
  return plannedOf(reply.results[0]!);
}

export function plannedOf({ plans, error, ...result }: ServiceResult): Planned {
  return {
    ...result,
    outputs: plans.map(({ facts }) => facts.kind),
    writes: plans.flatMap(({ facts, writes }) => writes.map((write) => ({ ...write, output: facts.kind }))),
    facts: Object.fromEntries(plans.map(({ facts: { kind, ...facts } }) => [kind, facts])),
    error: error ?? result.failures[0]?.message ?? null,
  };
}

/** As read from the server; without an object: `name` does not exist. */
export function observedAs(output: OutputKind, object: KubeObject | EndpointSlice | null, name?: string): Observed {
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
export function outlineOf(result: Planned): string[] {
  if (result.error !== null) return [`error: ${result.error}`];
  return result.writes.map(({ verb, name, phase }) => `${verb} ${name}, phase ${phase}`);
}
