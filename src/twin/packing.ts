/**
 * The slices that a change touches, by counting (docs/spec/endpointslice.md "One port group", "The placeholder"). The
 * slices are those of one service and address family with one set of ports.
 */

export interface Packing {
  /** Endpoints of each slice. */
  readonly counts: number[];
  /** The first place that each slice was made for; -1 = it was made for none. */
  readonly founders: number[];
  /** The slice of each published place. */
  readonly sliceOf: Map<number, number>;
  /** Indexes of `counts` that stand for no slice. */
  readonly free: number[];
  /** The slice of a service without endpoints; -1 = there is none. */
  placeholder: number;
}

export interface PackedWrite {
  readonly verb: 'create' | 'update' | 'delete';
  /** How many endpoints the slice has afterwards. */
  readonly endpoints: number;
  /** The places whose change it shows. */
  readonly places: readonly number[];
}

export interface PlaceChanges {
  /** Places that are published from now on. */
  readonly added: readonly number[];
  /** Places that stay published, with other content. */
  readonly changed: readonly number[];
  readonly removed: readonly number[];
}

export function createPacking(): Packing {
  return { counts: [], founders: [], sliceOf: new Map(), free: [], placeholder: NONE };
}

export interface PackingRules {
  /** `--max-endpoints-per-slice`. */
  readonly perSlice: number;
  /** Orders slices where nothing else does, by their founders. */
  readonly rankOf: (founder: number) => number;
  /** Which of the new slices take the names of deleted ones: endpointd's first ones, upstream's last ones. */
  readonly recycles: 'first' | 'last';
}

/**
 * The writes for the changes, in upstream's order: new slices, updated ones, deletes. Afterwards the slices are as the
 * writes leave them.
 */
export function repack(packing: Packing, changes: PlaceChanges, rules: PackingRules): PackedWrite[] {
  const { perSlice, rankOf, recycles } = rules;
  const { counts, founders, sliceOf } = packing;
  if (changes.changed.length === 1 && changes.added.length + changes.removed.length === 0)
    return [{ verb: 'update', endpoints: counts[sliceOf.get(changes.changed[0]!)!]!, places: changes.changed }];
  const ranked = (slice: number): number => rankOf(founders[slice]!);
  const shown = new Map<number, number[]>();
  for (const changed of changes.changed) show(shown, sliceOf.get(changed)!, changed);
  for (const removed of changes.removed) {
    const slice = sliceOf.get(removed)!;
    counts[slice]!--;
    sliceOf.delete(removed);
    show(shown, slice, removed);
  }
  const inOrder = [...shown.keys()].toSorted((a, b) => ranked(a) - ranked(b));
  const emptied = inOrder.filter((slice) => counts[slice] === 0);
  const touched = new Set(inOrder.filter((slice) => counts[slice]! > 0));
  const left = fillTouched(packing, changes.added, touched, perSlice);
  const made = placeRest(packing, changes.added.slice(changes.added.length - left), touched, perSlice, ranked);
  for (const added of changes.added) show(shown, sliceOf.get(added)!, added);
  return settle(packing, { made, touched, emptied, recycles }, shown);
}

function show(shown: Map<number, number[]>, slice: number, place: number): void {
  const places = shown.get(slice);
  if (places === undefined) shown.set(slice, [place]);
  else places.push(place);
}

/** Slices that are written anyway take what fits, the fullest first. Returns how many places are left. */
function fillTouched(
  { counts, sliceOf }: Packing,
  added: readonly number[],
  touched: ReadonlySet<number>,
  perSlice: number,
): number {
  if (added.length === 0) return 0;
  let next = 0;
  for (const slice of [...touched].toSorted((a, b) => counts[b]! - counts[a]!)) {
    while (next < added.length && counts[slice]! < perSlice) {
      sliceOf.set(added[next++]!, slice);
      counts[slice]!++;
    }
  }
  return added.length - next;
}

/**
 * Puts what would not fill a new slice into a slice where it fits as a whole, and all others into new slices. Returns the new
 * ones. endpointd places the first of the rest so; upstream takes any.
 */
function placeRest(
  packing: Packing,
  rest: readonly number[],
  touched: Set<number>,
  perSlice: number,
  ranked: (slice: number) => number,
): number[] {
  const { counts, founders, sliceOf, free } = packing;
  const place = (places: readonly number[], slice: number): void => {
    for (const one of places) sliceOf.set(one, slice);
    counts[slice]! += places.length;
  };
  const remainder = rest.length % perSlice;
  const roomy = remainder === 0 ? NONE : fullestWithRoom(counts, touched, remainder, perSlice, ranked);
  if (roomy !== NONE) {
    touched.add(roomy);
    place(rest.slice(0, remainder), roomy);
  }
  const made: number[] = [];
  for (let next = roomy === NONE ? 0 : remainder; next < rest.length; next += perSlice) {
    const slice = free.pop() ?? counts.push(0) - 1;
    made.push(slice);
    founders[slice] = rest[next]!;
    place(rest.slice(next, next + perSlice), slice);
  }
  return made;
}

/** The slice that the rest fills best, of those that are not written; -1 = it fits into none. */
function fullestWithRoom(
  counts: readonly number[],
  touched: ReadonlySet<number>,
  left: number,
  perSlice: number,
  ranked: (slice: number) => number,
): number {
  let fullest = NONE;
  for (const [slice, count] of counts.entries()) {
    if (count === 0 || count + left > perSlice || touched.has(slice)) continue;
    const most = counts[fullest] ?? 0;
    if (count > most || (count === most && ranked(slice) < ranked(fullest))) fullest = slice;
  }
  return fullest;
}

interface Repacked {
  readonly made: readonly number[];
  readonly touched: ReadonlySet<number>;
  readonly emptied: readonly number[];
  readonly recycles: PackingRules['recycles'];
}

/** New slices take the names of deleted ones, so they become updates. A service without endpoints keeps one slice. */
function settle(
  packing: Packing,
  { made, touched, emptied, recycles }: Repacked,
  shown: ReadonlyMap<number, readonly number[]>,
): PackedWrite[] {
  const { counts, founders, sliceOf, free } = packing;
  const write = (verb: PackedWrite['verb'], slice: number, ...others: readonly number[]): PackedWrite => ({
    verb,
    endpoints: counts[slice]!,
    places: [slice, ...others].flatMap((one) => shown.get(one) ?? []),
  });
  const going = [...emptied];
  if (packing.placeholder !== NONE && sliceOf.size > 0) {
    going.push(packing.placeholder);
    packing.placeholder = NONE;
  }
  const isLast = recycles === 'last';
  const nextName = (): number | undefined => (isLast ? going.shift() : going.pop());
  const created: PackedWrite[] = [];
  const recycled: PackedWrite[] = [];
  for (const slice of isLast ? made.toReversed() : made) {
    const name = nextName();
    if (name === undefined) {
      created.push(write('create', slice));
      continue;
    }
    free.push(name);
    founders[slice] = founders[name]!;
    recycled.push(write('update', slice, name));
  }
  if (sliceOf.size === 0 && packing.placeholder === NONE) {
    const kept = nextName();
    packing.placeholder = kept ?? free.pop() ?? counts.push(0) - 1;
    if (kept === undefined) founders[packing.placeholder] = NONE;
    recycled.push(write(kept === undefined ? 'create' : 'update', packing.placeholder));
  }
  free.push(...going);
  const updates = [...touched].map((slice) => write('update', slice));
  const deletes = going.map((slice) => write('delete', slice));
  if (isLast) return [...created.reverse(), ...updates, ...recycled, ...deletes];
  return [...recycled, ...created, ...updates, ...deletes];
}

const NONE = -1;
