/**
 * The slices that a change touches, by counting (docs/spec/endpointslice.md "One port group", "The placeholder"). The
 * slices are those of one service and address family with one set of ports. All families of a service are packed alike.
 */

export interface Packing {
  /** Endpoints of each slice. */
  readonly counts: number[];
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
  return { counts: [], sliceOf: new Map(), free: [], placeholder: NONE };
}

/**
 * The writes for the changes, in upstream's order: new slices, updated ones, deletes. Afterwards the slices are as the
 * writes leave them.
 * @param perSlice `--max-endpoints-per-slice`
 */
export function repack(packing: Packing, changes: PlaceChanges, perSlice: number): PackedWrite[] {
  const { counts, sliceOf } = packing;
  const shown = new Map<number, number[]>();
  for (const changed of changes.changed) show(shown, sliceOf.get(changed)!, changed);
  for (const removed of changes.removed) {
    const slice = sliceOf.get(removed)!;
    counts[slice]!--;
    sliceOf.delete(removed);
    show(shown, slice, removed);
  }
  const emptied = [...shown.keys()].filter((slice) => counts[slice] === 0);
  const touched = new Set([...shown.keys()].filter((slice) => counts[slice]! > 0));
  const left = fillTouched(packing, changes.added, touched, perSlice);
  const made = placeRest(packing, changes.added.slice(changes.added.length - left), touched, perSlice);
  for (const added of changes.added) show(shown, sliceOf.get(added)!, added);
  return settle(packing, made, touched, emptied, shown);
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

/** Puts the rest into a slice where it fits as a whole, or into new slices. Returns the new ones. */
function placeRest(packing: Packing, rest: readonly number[], touched: Set<number>, perSlice: number): number[] {
  const { counts, sliceOf, free } = packing;
  const made: number[] = [];
  for (let next = 0; next < rest.length;) {
    const left = rest.length - next;
    let slice = left < perSlice ? fullestWithRoom(counts, touched, left, perSlice) : NONE;
    if (slice === NONE) {
      slice = free.pop() ?? counts.push(0) - 1;
      made.push(slice);
    } else {
      touched.add(slice);
    }
    const end = next + Math.min(perSlice - counts[slice]!, left);
    counts[slice]! += end - next;
    while (next < end) sliceOf.set(rest[next++]!, slice);
  }
  return made;
}

/** The slice that the rest fills best, of those that are not written; -1 = it fits into none. */
function fullestWithRoom(
  counts: readonly number[],
  touched: ReadonlySet<number>,
  left: number,
  perSlice: number,
): number {
  let fullest = NONE;
  for (const [slice, count] of counts.entries()) {
    if (count === 0 || count + left > perSlice || touched.has(slice)) continue;
    if (fullest === NONE || count > counts[fullest]!) fullest = slice;
  }
  return fullest;
}

/** New slices take the names of deleted ones, so they become updates. A service without endpoints keeps one slice. */
function settle(
  packing: Packing,
  made: readonly number[],
  touched: ReadonlySet<number>,
  emptied: readonly number[],
  shown: ReadonlyMap<number, readonly number[]>,
): PackedWrite[] {
  const { counts, sliceOf, free } = packing;
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
  const created = made.map((slice) => {
    const recycled = going.pop();
    if (recycled === undefined) return write('create', slice);
    free.push(recycled);
    return write('update', slice, recycled);
  });
  if (sliceOf.size === 0 && packing.placeholder === NONE) {
    const kept = going.pop();
    packing.placeholder = kept ?? free.pop() ?? counts.push(0) - 1;
    created.push(kept === undefined ? write('create', packing.placeholder) : write('update', kept));
  }
  free.push(...going);
  const updates = [...touched].map((slice) => write('update', slice));
  return [...created, ...updates, ...going.map((slice) => write('delete', slice))];
}

const NONE = -1;
