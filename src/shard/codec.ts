/**
 * Batches and replies as bytes: MessagePack arrays in a fixed order, without keys. Only this file knows msgpackr. Every
 * message is packed into an ArrayBuffer of its own, so that it can be transferred to another thread. The library's own
 * buffer cannot be transferred: all packers of a thread share it, and unsent messages would go along. The entry
 * `msgpackr/pack` leaves out the native string extractor. That one cuts strings from bigger ones, so a planner that
 * keeps one pod name would keep the whole batch.
 */
import { Packr } from 'msgpackr/pack';
import type { Member } from '../core/member.ts';
import type { Problem } from '../core/problem.ts';
import type { CpuShares, ZoneShare } from '../core/slices/cpu-shares.ts';
import type { ContainerPort, Labels, ServicePort, ServiceRecord } from '../kube/types.ts';
import { splitKey } from '../kube/key.ts';
import { samePorts } from '../kube/record.ts';
import { errorMessage } from '../lib/error-message.ts';
import { estimateEntryBytes } from './entry-bytes.ts';
import { FACTS_CODECS } from './facts-codec.ts';
import {
  type Ack,
  type Batch,
  type BatchEntry,
  type Facts,
  type NodeZone,
  type ObjectBytes,
  type Observed,
  OUTPUT_KINDS,
  type OutputKind,
  type Plan,
  type PlanFailure,
  type PlannedWrite,
  type PlanReply,
  type ServiceResult,
} from './protocol.ts';
import {
  byteString,
  CodecError,
  estimateTextBytes,
  HEADER_BYTES,
  list,
  number,
  NUMBER_BYTES,
  SHORT_HEADER_BYTES,
  string,
  stringOrNull,
  strings,
  tuple,
} from './tuples.ts';

/** Only here do outputs have numbers. The number of one output is its bit, and that of several is their sum. */
const OUTPUT_BITS: Readonly<Record<OutputKind, number>> = { endpoints: 1, slices: 2, mirror: 4 };

const packr = new Packr({ useRecords: false, moreTypes: false });

const NO_LABELS: Labels = [];
const NO_CONTAINER_PORTS: readonly ContainerPort[] = [];

/** Below this size the packer would not start in a given buffer but allocate another one. */
const BUFFER_BYTES_MIN = 4096;
/**
 * A batch as bytes that own their whole ArrayBuffer (transferable). Only what a planner reads of a pod is sent: its
 * labels and resourceVersion come out empty, and its namespace is the service's.
 */
export function encodeBatch(batch: Batch): Uint8Array<ArrayBuffer> {
  let bytes = HEADER_BYTES * 2 + NUMBER_BYTES + estimateSharesBytes(batch.shares);
  for (const { node, zone } of batch.zones ?? []) bytes += SHORT_HEADER_BYTES * 2 + node.length + zone.length;
  for (const entry of batch.entries) bytes += estimateEntryBytes(entry);
  // MessagePack has one nil for null, so false stands for undefined.
  const shares = batch.shares === undefined ? false : batch.shares === null ? null : sharesToTuple(batch.shares);
  const zones = batch.zones?.flatMap(({ node, zone }) => [node, zone]) ?? null;
  return pack([batch.seed, shares, zones, batch.entries.map(entryToTuple)], bytes);
}

/** Byte strings of the result are views of `bytes`; character strings are not. @throws CodecError */
export function decodeBatch(bytes: Uint8Array): Batch {
  const [seed, shares, zones, entries] = tuple(unpack(bytes), 4, 'batch');
  return {
    seed: number(seed, 'seed'),
    shares: shares === false ? undefined : shares === null ? null : sharesFromTuple(shares),
    ...(zones === null ? {} : { zones: zonesFromList(strings(zones, 'zones')) }),
    entries: list(entries, 'entries').map(entryFromTuple),
  };
}

/** A reply as bytes that own their whole ArrayBuffer (transferable). Bodies are copied once, into it. */
export function encodeReply(reply: PlanReply): Uint8Array<ArrayBuffer> {
  return pack([reply.error, reply.results.map(resultToTuple)], estimateReplyBytes(reply));
}

/** The bodies of the result are views of `bytes`. @throws CodecError */
export function decodeReply(bytes: Uint8Array): PlanReply {
  const [error, results] = tuple(unpack(bytes), 2, 'reply');
  return { error: stringOrNull(error, 'error'), results: list(results, 'results').map(resultFromTuple) };
}

function estimateSharesBytes(shares: CpuShares | null | undefined): number {
  let bytes = SHORT_HEADER_BYTES + HEADER_BYTES + NUMBER_BYTES;
  for (const { zone } of shares?.zones ?? []) bytes += SHORT_HEADER_BYTES + zone.length + NUMBER_BYTES;
  return bytes;
}

/** An upper bound of the reply's bytes, without encoding it. */
export function estimateReplyBytes(reply: PlanReply): number {
  let bytes = SHORT_HEADER_BYTES + HEADER_BYTES + estimateTextBytes(reply.error ?? '');
  for (const result of reply.results) bytes += estimateResultBytes(result);
  return bytes;
}

function estimateResultBytes(result: ServiceResult): number {
  let bytes = SHORT_HEADER_BYTES * 2 + HEADER_BYTES * 3 + result.service.length + estimateTextBytes(result.error ?? '');
  for (const plan of result.plans) bytes += estimatePlanBytes(plan.facts, plan.writes);
  for (const { message } of result.failures) bytes += SHORT_HEADER_BYTES * 2 + estimateTextBytes(message);
  for (const problem of result.problems) {
    bytes += SHORT_HEADER_BYTES + estimateTextBytes(problem.kind) + estimateTextBytes(problem.object);
    bytes += estimateTextBytes(problem.field) + estimateTextBytes(problem.message);
  }
  return bytes;
}

function estimatePlanBytes<K extends OutputKind>(facts: Facts<K>, writes: Plan['writes']): number {
  let bytes = SHORT_HEADER_BYTES * 2 + HEADER_BYTES + FACTS_CODECS[facts.kind].estimateBytes(facts);
  for (const write of writes) {
    bytes += SHORT_HEADER_BYTES * 7 + HEADER_BYTES + NUMBER_BYTES + write.verb.length + write.name.length;
    bytes += write.uid.length + write.resourceVersion.length + write.body.length;
  }
  return bytes;
}

function entryToTuple(entry: BatchEntry): unknown[] {
  return [
    entry.service,
    bitsOf(entry.outputs),
    entry.base,
    entry.spec === undefined ? false : entry.spec === null ? null : serviceToTuple(entry.spec),
    entry.upserts.map((member, i, upserts) => memberToTuple(member, upserts[i - 1])),
    entry.removals,
    entry.acks.map((ack) => [ack.write, ack.result, ack.uid, ack.resourceVersion]),
    bitsOf(entry.relisted),
    entry.observed.map((observed) => [
      OUTPUT_BITS[observed.output],
      observed.name,
      observed.content?.encoding ?? null,
      observed.content?.bytes ?? null,
    ]),
  ];
}

function entryFromTuple(value: unknown): BatchEntry {
  const [key, outputs, base, spec, upserts, removals, acks, relisted, observed] = tuple(value, 9, 'entry');
  const service = string(key, 'service');
  const { namespace, name } = splitKey(service);
  return {
    service,
    outputs: outputsFromBits(outputs, 'outputs'),
    base: number(base, 'base'),
    spec: spec === false ? undefined : spec === null ? null : serviceFromTuple(spec, namespace, name),
    upserts: membersFromList(list(upserts, 'upserts'), namespace),
    removals: strings(removals, 'removals'),
    acks: list(acks, 'acks').map(ackFromTuple),
    relisted: outputsFromBits(relisted, 'relisted'),
    observed: list(observed, 'observed').map(observedFromTuple),
  };
}

function bitsOf(outputs: readonly OutputKind[]): number {
  let bits = 0;
  for (const output of outputs) bits |= OUTPUT_BITS[output];
  return bits;
}

/** All sets of outputs, by their bits: entries that ask for the same outputs share one. */
const OUTPUT_SETS: readonly (readonly OutputKind[])[] = Array.from({ length: bitsOf(OUTPUT_KINDS) + 1 }, (_, bits) =>
  OUTPUT_KINDS.filter((kind) => (bits & OUTPUT_BITS[kind]) !== 0),
);

function outputsFromBits(value: unknown, what: string): readonly OutputKind[] {
  const outputs = OUTPUT_SETS[number(value, what)];
  if (outputs === undefined) throw new CodecError(`${what}: not a set of outputs`);
  return outputs;
}

function outputFromBit(value: unknown, what: string): OutputKind {
  const [output, ...more] = outputsFromBits(value, what);
  if (output === undefined || more.length > 0) throw new CodecError(`${what}: not an output`);
  return output;
}

function sharesToTuple({ version, zones }: CpuShares): unknown[] {
  return [version, zones.flatMap(({ zone, share }) => [zone, share])];
}

function sharesFromTuple(value: unknown): CpuShares {
  const [version, pairs] = tuple(value, 2, 'shares');
  const values = list(pairs, 'zones');
  const zones: ZoneShare[] = [];
  for (let i = 0; i < values.length; i += 2) {
    zones.push({ zone: string(values[i], 'zone'), share: number(values[i + 1], 'share') });
  }
  return { version: number(version, 'shares version'), zones };
}

function zonesFromList(values: readonly string[]): NodeZone[] {
  const zones: NodeZone[] = [];
  for (let i = 0; i < values.length; i += 2) zones.push({ node: values[i]!, zone: string(values[i + 1], 'zone') });
  return zones;
}

const POD_DELETING = 1;
const POD_READY = 2;

/**
 * Stands for a value that the pod before has too. The pods of a service are much alike, and a planner then keeps one copy
 * of what they share.
 */
const SAME = 0;

function memberToTuple({ pod, zone }: Member, before: Member | undefined): unknown[] {
  const flags = (pod.deleting ? POD_DELETING : 0) | (pod.ready ? POD_READY : 0);
  const last = before?.pod;
  return [
    pod.name,
    pod.uid,
    flags,
    pod.readyTime,
    pod.nodeName === last?.nodeName ? SAME : pod.nodeName,
    pod.phase === last?.phase ? SAME : pod.phase,
    pod.podIP,
    pod.hostname === last?.hostname ? SAME : pod.hostname,
    pod.subdomain === last?.subdomain ? SAME : pod.subdomain,
    pod.podIPs,
    last !== undefined && samePorts(pod.ports, last.ports) ? SAME : containerPortsToList(pod.ports),
    zone === before?.zone ? SAME : zone,
  ];
}

function membersFromList(values: readonly unknown[], namespace: string): Member[] {
  const members: Member[] = [];
  let before: Member | undefined;
  for (const value of values) members.push((before = memberFromTuple(value, namespace, before)));
  return members;
}

function memberFromTuple(value: unknown, namespace: string, before: Member | undefined): Member {
  const fields = tuple(value, 12, 'pod');
  const flags = number(fields[2], 'pod flags');
  const last = before?.pod;
  const pod = {
    namespace,
    name: string(fields[0], 'pod name'),
    uid: string(fields[1], 'pod uid'),
    resourceVersion: '',
    labels: NO_LABELS,
    deleting: (flags & POD_DELETING) !== 0,
    nodeName: string(fields[4] === SAME ? last?.nodeName : fields[4], 'nodeName'),
    hostname: string(fields[7] === SAME ? last?.hostname : fields[7], 'hostname'),
    subdomain: string(fields[8] === SAME ? last?.subdomain : fields[8], 'subdomain'),
    phase: string(fields[5] === SAME ? last?.phase : fields[5], 'phase'),
    ready: (flags & POD_READY) !== 0,
    readyTime: number(fields[3], 'readyTime'),
    podIP: string(fields[6], 'podIP'),
    podIPs: fields[9] === null ? null : strings(fields[9], 'podIPs'),
    ports: last !== undefined && fields[10] === SAME ? last.ports : containerPortsFromList(list(fields[10], 'ports')),
  };
  return { pod, zone: stringOrNull(fields[11] === SAME ? before?.zone : fields[11], 'zone') };
}

function containerPortsToList(ports: readonly ContainerPort[]): unknown[] {
  return ports.flatMap((port) => [port.name, port.containerPort, port.protocol]);
}

function containerPortsFromList(values: readonly unknown[]): readonly ContainerPort[] {
  if (values.length === 0) return NO_CONTAINER_PORTS;
  const ports: ContainerPort[] = [];
  for (let i = 0; i < values.length; i += 3) {
    ports.push({
      name: string(values[i], 'container port name'),
      containerPort: number(values[i + 1], 'containerPort'),
      protocol: string(values[i + 2], 'container port protocol'),
    });
  }
  return ports;
}

function serviceToTuple(spec: ServiceRecord): unknown[] {
  return [
    spec.uid,
    spec.resourceVersion,
    spec.labels,
    spec.annotations,
    spec.creationTime,
    spec.deleting,
    spec.type,
    spec.clusterIP,
    spec.ipFamilies,
    spec.selector,
    spec.ports.flatMap((port) => [port.name, port.protocol, port.port, port.targetPort, port.appProtocol ?? null]),
    spec.publishNotReadyAddresses,
    spec.trafficDistribution,
  ];
}

function serviceFromTuple(value: unknown, namespace: string, name: string): ServiceRecord {
  const fields = tuple(value, 13, 'spec');
  return {
    namespace,
    name,
    uid: string(fields[0], 'uid'),
    resourceVersion: string(fields[1], 'resourceVersion'),
    labels: strings(fields[2], 'labels'),
    annotations: strings(fields[3], 'annotations'),
    creationTime: number(fields[4], 'creationTime'),
    deleting: fields[5] === true,
    type: string(fields[6], 'type'),
    clusterIP: string(fields[7], 'clusterIP'),
    ipFamilies: strings(fields[8], 'ipFamilies'),
    selector: fields[9] === null ? null : strings(fields[9], 'selector'),
    ports: servicePortsFromList(list(fields[10], 'ports')),
    publishNotReadyAddresses: fields[11] === true,
    trafficDistribution: string(fields[12], 'trafficDistribution'),
  };
}

function servicePortsFromList(values: readonly unknown[]): ServicePort[] {
  const ports: ServicePort[] = [];
  for (let i = 0; i < values.length; i += 5) {
    const targetPort = values[i + 3];
    ports.push({
      name: string(values[i], 'port name'),
      protocol: string(values[i + 1], 'port protocol'),
      port: number(values[i + 2], 'port'),
      targetPort: typeof targetPort === 'number' ? targetPort : string(targetPort, 'targetPort'),
      appProtocol: stringOrNull(values[i + 4], 'appProtocol') ?? undefined,
    });
  }
  return ports;
}

function ackFromTuple(value: unknown): Ack {
  const [write, result, uid, resourceVersion] = tuple(value, 4, 'ack');
  return {
    write: number(write, 'ack write'),
    result: string(result, 'ack result') as Ack['result'],
    uid: string(uid, 'ack uid'),
    resourceVersion: string(resourceVersion, 'ack resourceVersion'),
  };
}

function observedFromTuple(value: unknown): Observed {
  const [output, name, encoding, bytes] = tuple(value, 4, 'observed');
  return {
    output: outputFromBit(output, 'observed output'),
    name: string(name, 'observed name'),
    content:
      encoding === null
        ? null
        : {
            encoding: string(encoding, 'observed encoding') as ObjectBytes['encoding'],
            bytes: byteString(bytes, 'observed bytes'),
          },
  };
}

function resultToTuple(result: ServiceResult): unknown[] {
  return [
    result.service,
    result.needFull,
    result.plans.map((plan) => planToTuple(plan.facts, plan)),
    result.failures.map(({ output, message }) => [OUTPUT_BITS[output], message]),
    result.problems.map((problem) => [problem.kind, problem.object, problem.field, problem.message]),
    result.error,
  ];
}

function resultFromTuple(value: unknown): ServiceResult {
  const [service, needFull, plans, failures, problems, error] = tuple(value, 6, 'result');
  return {
    service: string(service, 'service'),
    needFull: needFull === true,
    plans: list(plans, 'plans').map(planFromTuple),
    failures: list(failures, 'failures').map(failureFromTuple),
    problems: list(problems, 'problems').map(problemFromTuple),
    error: stringOrNull(error, 'error'),
  };
}

function planToTuple<K extends OutputKind>(
  facts: Facts<K>,
  { writes, isWhole }: Pick<Plan, 'writes' | 'isWhole'>,
): unknown[] {
  const { kind } = facts;
  return [OUTPUT_BITS[kind], writes.map(writeToTuple), isWhole, FACTS_CODECS[kind].toTuple(facts)];
}

function planFromTuple(value: unknown): Plan {
  const [bit, writes, isWhole, facts] = tuple(value, 4, 'plan');
  return {
    facts: FACTS_CODECS[outputFromBit(bit, 'plan output')].fromTuple(facts),
    writes: list(writes, 'writes').map(writeFromTuple),
    isWhole: isWhole === true,
  };
}

function failureFromTuple(value: unknown): PlanFailure {
  const [bit, message] = tuple(value, 2, 'failure');
  return { output: outputFromBit(bit, 'failed output'), message: string(message, 'failure message') };
}

function writeToTuple({ id, verb, name, uid, resourceVersion, phase, waits, family, body }: PlannedWrite): unknown[] {
  return [id, verb, name, uid, resourceVersion, phase, waits, family, body];
}

function writeFromTuple(value: unknown): PlannedWrite {
  const [id, verb, name, uid, resourceVersion, phase, waits, family, body] = tuple(value, 9, 'write');
  return {
    id: number(id, 'write id'),
    verb: string(verb, 'verb') as PlannedWrite['verb'],
    name: string(name, 'write name'),
    uid: string(uid, 'write uid'),
    resourceVersion: string(resourceVersion, 'write resourceVersion'),
    phase: number(phase, 'phase'),
    waits: waits === true,
    family: string(family, 'write family'),
    body: byteString(body, 'body'),
  };
}

function problemFromTuple(value: unknown): Problem {
  const [kind, object, field, message] = tuple(value, 4, 'problem');
  return {
    kind: string(kind, 'kind') as Problem['kind'],
    object: string(object, 'object'),
    field: string(field, 'field'),
    message: string(message, 'message'),
  };
}

function pack(value: unknown, bytesMax: number): Uint8Array<ArrayBuffer> {
  packr.useBuffer(Buffer.allocUnsafeSlow(bytesMax + BUFFER_BYTES_MIN));
  return packr.pack(value) as Uint8Array<ArrayBuffer>;
}

function unpack(bytes: Uint8Array): unknown {
  try {
    // A Buffer, because the decoder cuts strings from it natively, but from a Uint8Array byte by byte.
    return packr.unpack(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  } catch (error) {
    throw new CodecError(`not a message: ${errorMessage(error)}`);
  }
}
