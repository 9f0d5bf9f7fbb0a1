/** One Service of the queue model and of upstream: its pods are places by number, and what both have of them. */
import { podRecord, serviceRecord } from './batches.ts';
import type { SliceRequest, SliceServer } from './slice-server.ts';
import { story } from './stories.ts';
import type { EndpointSlice, NodeRecord, PodRecord, ServiceRecord } from '../../src/kube/types.ts';
import { type Book, type BookOptions, createBook, type ModelWrite } from '../../src/twin/book.ts';
import { createLedger, type Output } from '../../src/twin/ledger.ts';
import type { Packing } from '../../src/twin/packing.ts';
import { NOTHING } from '../../src/twin/story.ts';

export const KEY = 'ns/web';
export const NODE: NodeRecord = {
  name: 'node',
  uid: 'u',
  resourceVersion: '1',
  labels: [],
  ready: true,
  allocatableCpu: '4',
};

const FAMILIES = ['IPv4', 'IPv6'] as const;

export function serviceOf(families: number): ServiceRecord {
  const ipFamilies = FAMILIES.slice(0, families);
  return serviceRecord({ namespace: 'ns', name: 'web', selector: ['app', 'web'], ipFamilies });
}

/** Of each family an address; those of IPv4 have the order of the places, as text too. */
export function podOf(place: number, isReady: boolean): PodRecord {
  const podIP = `10.0.${100 + Math.floor(place / 100)}.${100 + (place % 100)}`;
  const podIPs = [podIP, `fd00::${place + 1}`];
  return podRecord(place, { namespace: 'ns', nodeName: 'node', labels: ['app', 'web'], ready: isReady, podIP, podIPs });
}

export function podsOf(isReady: ReadonlyMap<number, boolean>): PodRecord[] {
  return [...isReady].map(([place, is]) => podOf(place, is));
}

/** The places in a slice of the server. */
export function placesIn({ endpoints }: EndpointSlice): number[] {
  return (endpoints ?? []).map(({ targetRef }) => Number(targetRef!.name!.split('-')[1]));
}

export function slicesOf({ slices }: SliceServer, family: number): EndpointSlice[] {
  return [...slices.values()].filter(({ addressType }) => addressType === FAMILIES[family]);
}

/** How many endpoints each slice of the server has, in order. */
export function sizesAt(server: SliceServer, family: number): number[] {
  return inOrder(slicesOf(server, family).map((slice) => placesIn(slice).length));
}

/** How many endpoints each slice has, and how many places the packing has in each. */
export function sizesOf({ counts, free, sliceOf }: Packing): readonly (readonly number[])[] {
  const slices = [...counts.keys()].filter((slice) => !free.includes(slice));
  const places = [...sliceOf.values()];
  const held = (slice: number): number => places.filter((of) => of === slice).length;
  return [slices.map((slice) => counts[slice]!), slices.map(held)].map(inOrder);
}

function inOrder(sizes: readonly number[]): number[] {
  return sizes.toSorted((a, b) => a - b);
}

/** Upstream's writes of a family, by verb and size, before the server has them. */
export function theirWrites(writes: readonly SliceRequest[], { slices }: SliceServer, family: number): string[] {
  return writes
    .filter(({ name, object }) => (object ?? slices.get(name)!).addressType === FAMILIES[family])
    .map(({ verb, object }) => `${verb} ${object === null ? 0 : placesIn(object).length}`)
    .toSorted();
}

/** Those of the model. */
export function ourWrites(writes: readonly Pick<ModelWrite, 'verb' | 'endpoints'>[]): string[] {
  return writes.map(({ verb, endpoints }) => `${verb} ${endpoints}`).toSorted();
}

/** kube-controller-manager's, of one Service that is created with its first plan. */
export function createOneBook(output: Output, families: number, perSlice: number, places: number): Book {
  const one = story({ services: 1, pods: places, changes: [] });
  const played = {
    ...one,
    services: [{ namespace: 0, families, isNew: true }],
    places: one.places.map(({ service }) => ({ service, start: NOTHING })),
  };
  const options: BookOptions = {
    perSlice,
    perSliceAtStart: perSlice,
    rewritesFull: true,
    // So the slices of both families stay alike.
    rankOf: (founder) => founder,
    recycles: 'last',
    firstFamilyOf: () => 0,
  };
  return createBook(played, output, createLedger(played.objects), options);
}
