/**
 * Batches and replies as bytes: MessagePack arrays in a fixed order, no keys. The only place that knows msgpackr.
 *
 * Every message is packed into an ArrayBuffer of its own, so that it can be transferred to another thread: the
 * library's own arena is shared by all packers of a thread, and transferring it would take unsent messages along.
 * The entry `msgpackr/pack` leaves the native string extractor out: that one cuts strings from bigger ones, and a
 * planner that keeps one pod name would keep the whole batch.
 */
import { Packr } from 'msgpackr/pack';
import type {
  Ack,
  Batch,
  BatchEntry,
  EndpointsFacts,
  NodeZone,
  ObjectBytes,
  Observed,
  PlannedWrite,
  PlanReply,
  ServiceFacts,
  ServiceResult,
} from './protocol.ts';
import type { Member } from '../core/member.ts';
import type { MirrorFacts } from '../core/mirroring/plan.ts';
import type { Problem } from '../core/problem.ts';
import type { CpuShares, ZoneShare } from '../core/slices/cpu-shares.ts';
import type { FamilyFacts, SlicesFacts, ZoneCount } from '../core/slices/facts.ts';
import type { ContainerPort, IpFamily, Labels, ServicePort, ServiceRecord } from '../kube/types.ts';
import { splitKey } from '../kube/key.ts';

/** The bytes are not a message of this codec. */
export class CodecError extends Error {
  override name = 'CodecError';
}

const packr = new Packr({ useRecords: false, moreTypes: false });

const NO_LABELS: Labels = [];
const NO_STRINGS: readonly string[] = [];
const NO_CONTAINER_PORTS: readonly ContainerPort[] = [];
const NO_FACTS: ServiceFacts = { endpoints: undefined, slices: undefined, mirror: undefined };

/** Below this the packer would not start in a given buffer but allocate another one. */
const BUFFER_BYTES_MIN = 4096;
/** Header of a list, a byte string or any text: never more. */
const HEADER_BYTES = 5;
/** Header of a text below 64 KiB (every name, label and address is), flag, small number or tuple. */
const SHORT_HEADER_BYTES = 3;
const NUMBER_BYTES = 9;

/**
 * A batch as bytes that own their whole ArrayBuffer (transferable). Of a pod only what a planner reads is sent: its
 * labels and resourceVersion come out empty, and its namespace is the service's.
 */
export function encodeBatch(batch: Batch): Uint8Array<ArrayBuffer> {
  let bytes = HEADER_BYTES * 2 + NUMBER_BYTES * 2 + estimateSharesBytes(batch.shares);
  for (const { node, zone } of batch.zones ?? []) bytes += SHORT_HEADER_BYTES * 2 + node.length + zone.length;
  for (const entry of batch.entries) bytes += estimateEntryBytes(entry);
  // MessagePack has one nil: false stands for undefined.
  const shares = batch.shares === undefined ? false : batch.shares === null ? null : sharesToTuple(batch.shares);
  const zones = batch.zones?.flatMap(({ node, zone }) => [node, zone]) ?? null;
  return pack([batch.wallMs, batch.seed, shares, zones, batch.entries.map(entryToTuple)], bytes);
}

/** Byte strings of the result are views of `bytes`; character strings are not. @throws CodecError */
export function decodeBatch(bytes: Uint8Array): Batch {
  const [wallMs, seed, shares, zones, entries] = tuple(unpack(bytes), 5, 'batch');
  return {
    wallMs: number(wallMs, 'wallMs'),
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

/**
 * At least as many bytes as the entry takes in a batch, without encoding it; exact to a few bytes a field. Holds for
 * everything the API server validates as ASCII; annotations, which may be any text, count three bytes a character.
 */
export function estimateEntryBytes(entry: BatchEntry): number {
  let bytes = SHORT_HEADER_BYTES * 4 + HEADER_BYTES * 4 + NUMBER_BYTES * 2 + entry.service.length;
  if (entry.spec != null) bytes += estimateServiceBytes(entry.spec);
  for (const member of entry.upserts) bytes += estimateMemberBytes(member);
  for (const name of entry.removals) bytes += SHORT_HEADER_BYTES + name.length;
  for (const ack of entry.acks) {
    bytes += SHORT_HEADER_BYTES * 4 + NUMBER_BYTES + ack.result.length + ack.uid.length + ack.resourceVersion.length;
  }
  for (const observed of entry.observed) {
    bytes += SHORT_HEADER_BYTES * 4 + HEADER_BYTES + observed.name.length + 'protobuf'.length;
    if (observed.content !== null) bytes += observed.content.bytes.length;
  }
  return bytes;
}

function estimateSharesBytes(shares: CpuShares | null | undefined): number {
  let bytes = SHORT_HEADER_BYTES + HEADER_BYTES + NUMBER_BYTES;
  for (const { zone } of shares?.zones ?? []) bytes += SHORT_HEADER_BYTES + zone.length + NUMBER_BYTES;
  return bytes;
}

function estimateMemberBytes({ pod, zone }: Member): number {
  let bytes = SHORT_HEADER_BYTES * 12 + NUMBER_BYTES + (zone?.length ?? 0);
  bytes += pod.name.length + pod.uid.length + pod.nodeName.length + pod.hostname.length + pod.subdomain.length;
  bytes += pod.phase.length + pod.podIP.length;
  if (pod.podIPs !== null) bytes += estimateListBytes(pod.podIPs);
  for (const port of pod.ports) bytes += SHORT_HEADER_BYTES * 3 + port.name.length + port.protocol.length;
  return bytes;
}

function estimateServiceBytes(spec: ServiceRecord): number {
  let bytes = SHORT_HEADER_BYTES * 10 + HEADER_BYTES + NUMBER_BYTES;
  bytes += spec.uid.length + spec.resourceVersion.length + spec.type.length + spec.clusterIP.length;
  bytes += spec.trafficDistribution.length + estimateListBytes(spec.labels) + estimateListBytes(spec.ipFamilies);
  bytes += HEADER_BYTES;
  for (const text of spec.annotations) bytes += estimateTextBytes(text);
  if (spec.selector !== null) bytes += estimateListBytes(spec.selector);
  for (const port of spec.ports) {
    bytes += SHORT_HEADER_BYTES * 5 + port.name.length + port.protocol.length + (port.appProtocol?.length ?? 0);
    if (typeof port.targetPort === 'string') bytes += port.targetPort.length;
  }
  return bytes;
}

/** At least as many bytes as the reply takes, without encoding it. */
export function estimateReplyBytes(reply: PlanReply): number {
  let bytes = SHORT_HEADER_BYTES + HEADER_BYTES + estimateTextBytes(reply.error ?? '');
  for (const result of reply.results) bytes += estimateResultBytes(result);
  return bytes;
}

function estimateResultBytes(result: ServiceResult): number {
  let bytes = SHORT_HEADER_BYTES * 4 + HEADER_BYTES * 2 + NUMBER_BYTES * 3 + result.service.length;
  bytes += estimateTextBytes(result.error ?? '') + estimateFactsBytes(result.facts);
  for (const write of result.writes) {
    bytes += SHORT_HEADER_BYTES * 7 + HEADER_BYTES + NUMBER_BYTES + write.verb.length + write.name.length;
    bytes += write.uid.length + write.resourceVersion.length + write.body.length;
  }
  for (const problem of result.problems) {
    bytes += SHORT_HEADER_BYTES + estimateTextBytes(problem.kind) + estimateTextBytes(problem.object);
    bytes += estimateTextBytes(problem.field) + estimateTextBytes(problem.message);
  }
  return bytes;
}

function estimateFactsBytes({ slices, mirror }: ServiceFacts): number {
  let bytes = SHORT_HEADER_BYTES * 5 + NUMBER_BYTES * (3 + 7) + estimateListBytes(mirror?.nodes ?? NO_STRINGS);
  if (slices === undefined) return bytes;
  bytes += SHORT_HEADER_BYTES * 4 + NUMBER_BYTES + slices.trafficDistribution.length;
  for (const family of slices.families) {
    bytes += SHORT_HEADER_BYTES * 4 + NUMBER_BYTES * 6 + family.family.length + family.hintsFailure.length;
    for (const { zone } of family.hints ?? []) bytes += SHORT_HEADER_BYTES + zone.length + NUMBER_BYTES;
  }
  return bytes;
}

function estimateListBytes(texts: readonly string[]): number {
  let bytes = HEADER_BYTES;
  for (const text of texts) bytes += SHORT_HEADER_BYTES + text.length;
  return bytes;
}

function estimateTextBytes(text: string): number {
  return HEADER_BYTES + text.length * 3;
}

function entryToTuple(entry: BatchEntry): unknown[] {
  return [
    entry.service,
    entry.outputs,
    entry.base,
    entry.version,
    entry.spec === undefined ? false : entry.spec === null ? null : serviceToTuple(entry.spec),
    entry.upserts.map(memberToTuple),
    entry.removals,
    entry.acks.map((ack) => [ack.write, ack.result, ack.uid, ack.resourceVersion]),
    entry.relisted,
    entry.observed.map((observed) => [
      observed.output,
      observed.name,
      observed.content?.encoding ?? null,
      observed.content?.bytes ?? null,
    ]),
  ];
}

function entryFromTuple(value: unknown): BatchEntry {
  const [key, outputs, base, version, spec, upserts, removals, acks, relisted, observed] = tuple(value, 10, 'entry');
  const service = string(key, 'service');
  const { namespace, name } = splitKey(service);
  return {
    service,
    outputs: number(outputs, 'outputs'),
    base: number(base, 'base'),
    version: number(version, 'version'),
    spec: spec === false ? undefined : spec === null ? null : serviceFromTuple(spec, namespace, name),
    upserts: list(upserts, 'upserts').map((member) => memberFromTuple(member, namespace)),
    removals: strings(removals, 'removals'),
    acks: list(acks, 'acks').map(ackFromTuple),
    relisted: number(relisted, 'relisted'),
    observed: list(observed, 'observed').map(observedFromTuple),
  };
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

function memberToTuple({ pod, zone }: Member): unknown[] {
  const flags = (pod.deleting ? POD_DELETING : 0) | (pod.ready ? POD_READY : 0);
  return [
    pod.name,
    pod.uid,
    flags,
    pod.readyTime,
    pod.nodeName,
    pod.phase,
    pod.podIP,
    pod.hostname,
    pod.subdomain,
    pod.podIPs,
    pod.ports.length === 0 ? null : pod.ports.flatMap((port) => [port.name, port.containerPort, port.protocol]),
    zone,
  ];
}

function memberFromTuple(value: unknown, namespace: string): Member {
  const fields = tuple(value, 12, 'pod');
  const flags = number(fields[2], 'pod flags');
  const podIPs = fields[9];
  const ports = fields[10];
  const pod = {
    namespace,
    name: string(fields[0], 'pod name'),
    uid: string(fields[1], 'pod uid'),
    resourceVersion: '',
    labels: NO_LABELS,
    deleting: (flags & POD_DELETING) !== 0,
    nodeName: string(fields[4], 'nodeName'),
    hostname: string(fields[7], 'hostname'),
    subdomain: string(fields[8], 'subdomain'),
    phase: string(fields[5], 'phase'),
    ready: (flags & POD_READY) !== 0,
    readyTime: number(fields[3], 'readyTime'),
    podIP: string(fields[6], 'podIP'),
    podIPs: podIPs === null ? null : strings(podIPs, 'podIPs'),
    ports: ports === null ? NO_CONTAINER_PORTS : containerPortsFromList(list(ports, 'ports')),
  };
  return { pod, zone: stringOrNull(fields[11], 'zone') };
}

function containerPortsFromList(values: readonly unknown[]): ContainerPort[] {
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
    output: number(output, 'observed output'),
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
    result.outputs,
    result.needFull,
    result.writes.map((write) => [
      write.id,
      write.output,
      write.verb,
      write.name,
      write.uid,
      write.resourceVersion,
      write.phase,
      write.body,
    ]),
    factsToTuple(result.facts),
    result.problems.map((problem) => [problem.kind, problem.object, problem.field, problem.message]),
    result.error,
  ];
}

function resultFromTuple(value: unknown): ServiceResult {
  const [service, outputs, needFull, writes, facts, problems, error] = tuple(value, 7, 'result');
  return {
    service: string(service, 'service'),
    outputs: number(outputs, 'outputs'),
    needFull: needFull === true,
    writes: list(writes, 'writes').map(writeFromTuple),
    facts: facts === null ? NO_FACTS : factsFromTuple(facts),
    problems: list(problems, 'problems').map(problemFromTuple),
    error: stringOrNull(error, 'error'),
  };
}

function writeFromTuple(value: unknown): PlannedWrite {
  const fields = tuple(value, 8, 'write');
  return {
    id: number(fields[0], 'write id'),
    output: number(fields[1], 'write output'),
    verb: string(fields[2], 'verb') as PlannedWrite['verb'],
    name: string(fields[3], 'write name'),
    uid: string(fields[4], 'write uid'),
    resourceVersion: string(fields[5], 'write resourceVersion'),
    phase: number(fields[6], 'phase') === 1 ? 1 : 2,
    body: byteString(fields[7], 'body'),
  };
}

function factsToTuple({ endpoints, slices, mirror }: ServiceFacts): unknown[] | null {
  if (endpoints === undefined && slices === undefined && mirror === undefined) return null;
  return [
    endpoints === undefined ? null : [endpoints.ready, endpoints.notReady, endpoints.truncated],
    slices === undefined ? null : slicesFactsToTuple(slices),
    mirror === undefined
      ? null
      : [
          mirror.endpoints,
          mirror.slices,
          mirror.slicesDesired,
          mirror.added,
          mirror.updated,
          mirror.removed,
          mirror.skipped,
          mirror.nodes ?? null,
        ],
  ];
}

function factsFromTuple(value: unknown): ServiceFacts {
  const [endpoints, slices, mirror] = tuple(value, 3, 'facts');
  return {
    endpoints: endpoints === null ? undefined : endpointsFactsFromTuple(endpoints),
    slices: slices === null ? undefined : slicesFactsFromTuple(slices),
    mirror: mirror === null ? undefined : mirrorFactsFromTuple(mirror),
  };
}

function endpointsFactsFromTuple(value: unknown): EndpointsFacts {
  const [ready, notReady, truncated] = tuple(value, 3, 'endpoints facts');
  return {
    ready: number(ready, 'ready'),
    notReady: number(notReady, 'notReady'),
    truncated: number(truncated, 'truncated'),
  };
}

function slicesFactsToTuple(slices: SlicesFacts): unknown[] {
  return [
    slices.families.map((family) => [
      family.family,
      family.endpoints,
      family.slices,
      family.slicesDesired,
      family.added,
      family.removed,
      family.writes,
      family.hints === null ? null : family.hints.flatMap(({ zone, count }) => [zone, count]),
      family.hintsFailure,
    ]),
    slices.topology,
    slices.trafficDistribution,
    slices.waitingForNode,
    slices.fragmented ?? null,
  ];
}

function slicesFactsFromTuple(value: unknown): SlicesFacts {
  const [families, topology, trafficDistribution, waitingForNode, fragmented] = tuple(value, 5, 'slices facts');
  return {
    families: list(families, 'families').map(familyFactsFromTuple),
    topology: topology === true,
    trafficDistribution: string(trafficDistribution, 'trafficDistribution'),
    waitingForNode: number(waitingForNode, 'waitingForNode'),
    ...(fragmented === null ? {} : { fragmented: fragmented === true }),
  };
}

function familyFactsFromTuple(value: unknown): FamilyFacts {
  const fields = tuple(value, 9, 'family facts');
  const hints = fields[7];
  return {
    family: string(fields[0], 'family') as IpFamily,
    endpoints: number(fields[1], 'endpoints'),
    slices: number(fields[2], 'slices'),
    slicesDesired: number(fields[3], 'slicesDesired'),
    added: number(fields[4], 'added'),
    removed: number(fields[5], 'removed'),
    writes: number(fields[6], 'writes'),
    hints: hints === null ? null : zoneCountsFromList(list(hints, 'hints')),
    hintsFailure: string(fields[8], 'hintsFailure'),
  };
}

function zoneCountsFromList(values: readonly unknown[]): ZoneCount[] {
  const counts: ZoneCount[] = [];
  for (let i = 0; i < values.length; i += 2) {
    counts.push({ zone: string(values[i], 'zone'), count: number(values[i + 1], 'count') });
  }
  return counts;
}

function mirrorFactsFromTuple(value: unknown): MirrorFacts {
  const fields = tuple(value, 8, 'mirror facts');
  return {
    endpoints: number(fields[0], 'endpoints'),
    slices: number(fields[1], 'slices'),
    slicesDesired: number(fields[2], 'slicesDesired'),
    added: number(fields[3], 'added'),
    updated: number(fields[4], 'updated'),
    removed: number(fields[5], 'removed'),
    skipped: number(fields[6], 'skipped'),
    ...(fields[7] === null ? {} : { nodes: strings(fields[7], 'mirror nodes') }),
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
    // A Buffer view: the decoder cuts strings from one natively, from a Uint8Array byte by byte.
    return packr.unpack(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  } catch (error) {
    throw new CodecError(`not a message: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function tuple(value: unknown, length: number, what: string): readonly unknown[] {
  if (!Array.isArray(value) || value.length !== length) throw new CodecError(`${what}: not a tuple of ${length}`);
  return value;
}

function list(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new CodecError(`${what}: not a list`);
  return value;
}

function strings(value: unknown, what: string): readonly string[] {
  const values = list(value, what);
  if (values.length === 0) return NO_STRINGS;
  for (const item of values) string(item, what);
  return values as readonly string[];
}

function string(value: unknown, what: string): string {
  if (typeof value !== 'string') throw new CodecError(`${what}: not a string`);
  return value;
}

function stringOrNull(value: unknown, what: string): string | null {
  return value === null ? null : string(value, what);
}

function number(value: unknown, what: string): number {
  if (typeof value !== 'number') throw new CodecError(`${what}: not a number`);
  return value;
}

function byteString(value: unknown, what: string): Uint8Array {
  if (!(value instanceof Uint8Array)) throw new CodecError(`${what}: not a byte string`);
  return value;
}
