import type { Endpoint, EndpointSlice } from '../../kube/types.ts';
import type { SliceWrite } from './slice-write.ts';

/** What a write makes of a slice: null before a create, null after a delete. */
export interface SliceChange {
  readonly before: EndpointSlice | null;
  readonly after: EndpointSlice | null;
}

/** The changes as writes, in their order. */
export function sliceWrites(changes: readonly SliceChange[]): SliceWrite[] {
  const turns = writePhases(changes);
  return changes.map(({ before, after }, i) => ({
    verb: before === null ? 'create' : after === null ? 'delete' : 'update',
    name: (after ?? before)?.metadata.name ?? '',
    uid: before?.metadata.uid ?? '',
    resourceVersion: before?.metadata.resourceVersion ?? '',
    phase: turns[i]!.phase,
    waits: turns[i]!.waits,
    family: (after ?? before)?.addressType ?? '',
    object: after,
  }));
}

/**
 * The phase of each write of one plan, from 1, and whether it waits for others. The writes of one phase go side by side,
 * those that wait only after all writes of their family in the phases before have succeeded. So an endpoint that moves
 * between slices is in the new one before it leaves the old one (docs/spec/endpointslice.md "Writing", upstream #93908).
 * That holds also if the write of the new one has to wait for a third. Phase 1 has creates, and updates that drop no
 * endpoint which another write adds. A delete is never in phase 1. Updates that exchange endpoints share a phase, because
 * no order helps there.
 */
export function writePhases(changes: readonly SliceChange[]): readonly Pick<SliceWrite, 'phase' | 'waits'>[] {
  // Nearly always a plan has one write, so no other write can add what it drops.
  if (changes.length === 1) return [{ phase: changes[0]!.after === null ? 2 : 1, waits: false }];
  const needs = needsOf(changes);
  const phases = changes.map(() => 0);
  let left = changes.map((_, i) => i);
  for (let phase = 1; left.length > 0; phase++) {
    const isReady = (i: number): boolean =>
      (phase > 1 || changes[i]!.after !== null) && needs[i]!.every((other) => phases[other]! > 0);
    const ready = left.filter(isReady);
    const now = ready.length > 0 || phase === 1 ? ready : exchanging(left, needs);
    for (const i of now) phases[i] = phase;
    left = left.filter((i) => phases[i] === 0);
  }
  const waits = waitsOf(changes, needs);
  return phases.map((phase, i) => ({ phase, waits: waits[i]! }));
}

/**
 * A delete waits also for the update of an endpoint that it has: until then the endpoint may be ready in the deleted slice
 * alone.
 */
function waitsOf(changes: readonly SliceChange[], needs: readonly (readonly number[])[]): readonly boolean[] {
  const written = new Set<string>();
  if (changes.some(({ after }) => after === null)) {
    const endpoints = changes.flatMap(({ after }) => after?.endpoints ?? []);
    for (const { addresses } of endpoints) for (const address of addresses) written.add(address);
  }
  const hasWritten = (slice: EndpointSlice | null): boolean =>
    slice?.endpoints?.some(({ addresses }) => addresses.some((address) => written.has(address))) === true;
  return changes.map(({ before, after }, i) => needs[i]!.length > 0 || (after === null && hasWritten(before)));
}

/** For each change, the changes that add an endpoint which it drops. */
function needsOf(changes: readonly SliceChange[]): readonly (readonly number[])[] {
  const dropped = changes.map(({ before, after }) => missing(before, after));
  const adders = new Map<string, number>();
  if (dropped.some((ways) => ways.length > 0)) {
    changes.forEach(({ before, after }, i) => {
      for (const way of missing(after, before)) adders.set(way, i);
    });
  }
  return dropped.map((ways) => {
    const needed = ways.map((way) => adders.get(way));
    return [...new Set(needed)].filter((other) => other !== undefined);
  });
}

/** The changes that wait for each other in a circle, without the changes that only wait for such a circle. */
function exchanging(left: readonly number[], needs: readonly (readonly number[])[]): readonly number[] {
  const needed = left.filter((i) => left.some((other) => needs[other]!.includes(i)));
  return needed.length === left.length ? left : exchanging(needed, needs);
}

/**
 * What is in the one slice and not in the other, of `waysIn`. Nearly all endpoints are the same objects in both, and no
 * text is made of them.
 */
function missing(slice: EndpointSlice | null, other: EndpointSlice | null): string[] {
  const there = other?.endpoints ?? [];
  const kept = new Set(there);
  const left = (slice?.endpoints ?? []).filter((endpoint) => !kept.has(endpoint));
  if (left.length === 0) return [];
  const addresses = new Set(left.flatMap((endpoint) => endpoint.addresses));
  const near = there.filter((endpoint) => endpoint.addresses.some((address) => addresses.has(address)));
  const ways = new Set(near.flatMap(waysIn));
  return left.flatMap(waysIn).filter((way) => !ways.has(way));
}

/**
 * How an endpoint is in a slice: by its address, and by its address and its pod. Several pods may have one address: those
 * of a node's network, and one that has ended. An address may also go from one pod to another.
 */
function waysIn({ addresses, targetRef }: Endpoint): string[] {
  const pod = targetRef?.name;
  return pod === undefined ? [...addresses] : addresses.flatMap((address) => [address, `${address} ${pod}`]);
}
