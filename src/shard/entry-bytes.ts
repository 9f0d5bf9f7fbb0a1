/** What an entry takes in a batch. Batches are bounded by it, also where they stay on the main thread and are never bytes. */
import type { Member } from '../core/member.ts';
import { samePorts } from '../kube/record.ts';
import type { ServiceRecord } from '../kube/types.ts';
import type { BatchEntry } from './protocol.ts';
import { estimateListBytes, estimateTextBytes, HEADER_BYTES, NUMBER_BYTES, SHORT_HEADER_BYTES } from './tuples.ts';

/** Fields that the codec says by a mark where the pod before has the same. */
const REPEATED = ['nodeName', 'phase', 'hostname', 'subdomain'] as const;

/**
 * An upper bound of the entry's bytes in a batch, without encoding it, and exact to a few bytes a field. It holds for
 * every text that the API server validates as ASCII. An annotation may be any text, so it counts three bytes a
 * character.
 */
export function estimateEntryBytes(entry: BatchEntry): number {
  let bytes = SHORT_HEADER_BYTES * 4 + HEADER_BYTES * 4 + NUMBER_BYTES + entry.service.length;
  if (entry.spec != null) bytes += estimateServiceBytes(entry.spec);
  let before: Member | undefined;
  for (const member of entry.upserts) {
    bytes += estimateMemberBytes(member, before);
    before = member;
  }
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

function estimateMemberBytes({ pod, zone }: Member, before: Member | undefined): number {
  let bytes = SHORT_HEADER_BYTES * 12 + NUMBER_BYTES + pod.name.length + pod.uid.length + pod.podIP.length;
  for (const field of REPEATED) if (pod[field] !== before?.pod[field]) bytes += pod[field].length;
  if (zone !== before?.zone) bytes += zone?.length ?? 0;
  if (pod.podIPs !== null) bytes += estimateListBytes(pod.podIPs);
  if (before !== undefined && samePorts(pod.ports, before.pod.ports)) return bytes;
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
