/**
 * How many bytes the API server sends to a watcher for each change of an output, by encoding. Only sums are kept, to
 * which a line is fitted: bytes of an object, and bytes of each endpoint. The sizes of single objects are not told.
 */
import { decodeBare, encodeBare, encodeEnvelope } from '../kube/codec.ts';
import { fieldManagersOf } from '../kube/managed-fields.ts';
import { JSON_TYPE, PROTOBUF_WATCH } from '../kube/media-type.ts';
import { DecodeError } from '../kube/protobuf.ts';
import type { ObjectSource } from '../kube/source.ts';
import { encodeWatchFrame } from '../kube/watch-framing.ts';

export type Encoding = 'protobuf' | 'json';
export const ENCODINGS: readonly Encoding[] = ['protobuf', 'json'];

/** Sums over changes with x endpoints and y bytes: their number, x, y, x * x and x * y. */
export type SizeSums = readonly [count: number, x: number, y: number, xx: number, xy: number];

export type OutputSizes = Readonly<Record<'endpoints' | 'endpointslices', Readonly<Record<Encoding, SizeSums>>>>;

/** The bytes of a change as a function of the number of endpoints. */
export interface SizeLine {
  readonly base: number;
  /** Additional bytes for each endpoint. */
  readonly each: number;
}

export const NO_SUMS: SizeSums = [0, 0, 0, 0, 0];

export const NO_SIZES: Readonly<Record<Encoding, SizeSums>> = { protobuf: NO_SUMS, json: NO_SUMS };

/**
 * The sums that may be told next: those seen, where they have grown by `growth` since those told, and by so many changes
 * that the difference tells the size of none.
 */
export function grownSizes(
  told: Readonly<Record<Encoding, SizeSums>>,
  seen: Readonly<Record<Encoding, SizeSums>>,
  growth: number,
): Readonly<Record<Encoding, SizeSums>> {
  const of = (encoding: Encoding): SizeSums => {
    const [before, now] = [told[encoding][0], seen[encoding][0]];
    return now >= growth * before && now - before >= COUNT_MIN ? seen[encoding] : told[encoding];
  };
  return { protobuf: of('protobuf'), json: of('json') };
}

export function addSize([count, x, y, xx, xy]: SizeSums, endpoints: number, bytes: number): SizeSums {
  return [count + 1, x + endpoints, y + bytes, xx + endpoints * endpoints, xy + endpoints * bytes];
}

/** The sums of fewer changes tell too little. */
const COUNT_MIN = 20;

/**
 * The line of least squares. It never falls and is never below 0. If sizes hardly differ, `usual.each` is its slope.
 */
export function sizeLine([count, x, y, xx, xy]: SizeSums, usual: SizeLine): SizeLine {
  if (count < COUNT_MIN) return usual;
  const spread = xx - (x * x) / count;
  const slope = spread > count * SPREAD_MIN ? (xy - (x * y) / count) / spread : usual.each;
  const mean = y / count;
  const each = Math.min(Math.max(0, slope), x === 0 ? Infinity : y / x);
  return { base: mean - (each * x) / count, each };
}

/** If the variance of the number of endpoints is smaller, a slope is chance. */
const SPREAD_MIN = 0.1;

const OF_FRAME = 1024;
const WATCH_TYPE = 'MODIFIED';

/** The bytes of a watch's frame around an object, without the lengths that it has. */
function frameBytes(encoding: Encoding, apiVersion: string, kind: string): number {
  if (encoding === 'json') return encodeWatchFrame(JSON_TYPE, WATCH_TYPE, new Uint8Array(0)).length;
  const object = encodeEnvelope(apiVersion, kind, new Uint8Array(OF_FRAME));
  return encodeWatchFrame(PROTOBUF_WATCH, WATCH_TYPE, object).length - OF_FRAME;
}

/**
 * The bytes of the frames that tell watchers of a change of an object. `json` is null for most objects, because it is
 * costly.
 */
export interface FrameSizes {
  readonly protobuf: number | null;
  readonly json: number | null;
}

export interface FrameSizer {
  readonly sizeOf: (source: ObjectSource) => FrameSizes;
}

/** The first so many objects of each kind are told in the other encoding too, and after them one of so many. */
const SAMPLES_FIRST = 32;
const SAMPLE_EVERY = 32;

export function createFrameSizer(): FrameSizer {
  const kinds = new Map<string, { readonly protobuf: number; readonly json: number; seen: number }>();
  return {
    sizeOf(source) {
      const { apiVersion, kind } = source;
      let around = kinds.get(kind);
      if (around === undefined) {
        const of = (encoding: Encoding): number => frameBytes(encoding, apiVersion, kind);
        kinds.set(kind, (around = { protobuf: of('protobuf'), json: of('json'), seen: 0 }));
      }
      const { protobuf, json } = around;
      if (source.encoding === 'json') return { protobuf: null, json: json + jsonBytes(source.value) };
      const nth = around.seen++;
      const isSample = nth < SAMPLES_FIRST || nth % SAMPLE_EVERY === 0;
      const jsonBytesOfObject = isSample ? asJsonBytes(source) : null;
      return {
        protobuf: protobuf + source.bytes.length,
        json: jsonBytesOfObject === null ? null : json + jsonBytesOfObject,
      };
    },
  };
}

/**
 * How much longer an entry of managedFields is in JSON: field names, and its time as text. Its contents are JSON in
 * both encodings.
 */
const JSON_MANAGER_BYTES = 73;
const JSON_MANAGERS_BYTES = '"managedFields":[],'.length;

/**
 * The decoder drops managedFields, so their bytes are added. null = a field that the recorder does not read is malformed. A
 * sample is not worth losing the change.
 */
function asJsonBytes(source: Extract<ObjectSource, { encoding: 'protobuf' }>): number | null {
  try {
    return decodedJsonBytes(source);
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

function decodedJsonBytes(source: Extract<ObjectSource, { encoding: 'protobuf' }>): number {
  const { apiVersion, kind, bytes } = source;
  const object = decodeBare(apiVersion, kind, bytes);
  const skipped = bytes.length - encodeBare(object).length;
  const managers = fieldManagersOf(source).length;
  const around = managers === 0 ? 0 : JSON_MANAGERS_BYTES + managers * JSON_MANAGER_BYTES;
  return jsonBytes(object) + skipped + around;
}

function jsonBytes(object: object): number {
  return Buffer.byteLength(JSON.stringify(object));
}
