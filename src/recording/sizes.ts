/**
 * How many bytes the API server sends to a watcher for each change of an output, by encoding. Sums are kept from which a
 * line is fitted: so many bytes for an object, and so many more for each endpoint. Sizes of single objects are not told.
 */
import { decodeBare, encodeBare, encodeEnvelope } from '../kube/codec.ts';
import { fieldManagersOf } from '../kube/managed-fields.ts';
import { JSON_TYPE, PROTOBUF_WATCH } from '../kube/media-type.ts';
import type { ObjectSource } from '../kube/source.ts';
import { encodeWatchFrame } from '../kube/watch-framing.ts';

export type Encoding = 'protobuf' | 'json';
export const ENCODINGS: readonly Encoding[] = ['protobuf', 'json'];

/** Of x endpoints and y bytes of each change: their number, and the sums of x, y, x * x and x * y. */
export type SizeSums = readonly [count: number, x: number, y: number, xx: number, xy: number];

export type OutputSizes = Readonly<Record<'endpoints' | 'endpointslices', Readonly<Record<Encoding, SizeSums>>>>;

/** Bytes of a change of an object. */
export interface SizeLine {
  readonly base: number;
  /** More for each endpoint. */
  readonly each: number;
}

export const NO_SUMS: SizeSums = [0, 0, 0, 0, 0];

export function addSize([count, x, y, xx, xy]: SizeSums, endpoints: number, bytes: number): SizeSums {
  return [count + 1, x + endpoints, y + bytes, xx + endpoints * endpoints, xy + endpoints * bytes];
}

/** Fewer say too little. */
const COUNT_MIN = 20;

/** The line of least squares, never falling nor below 0. Where sizes hardly differ, `usual.each` holds. */
export function sizeLine([count, x, y, xx, xy]: SizeSums, usual: SizeLine): SizeLine {
  if (count < COUNT_MIN) return usual;
  const spread = xx - (x * x) / count;
  const slope = spread > count * SPREAD_MIN ? (xy - (x * y) / count) / spread : usual.each;
  const mean = y / count;
  const each = Math.min(Math.max(0, slope), x === 0 ? Infinity : y / x);
  return { base: mean - (each * x) / count, each };
}

/** Variance of the number of endpoints below which a slope is chance. */
const SPREAD_MIN = 0.1;

const OF_FRAME = 1024;
const WATCH_TYPE = 'MODIFIED';

/** Of a frame of a watch around an object, but for the lengths that it spells. */
function frameBytes(encoding: Encoding, apiVersion: string, kind: string): number {
  if (encoding === 'json') return encodeWatchFrame(JSON_TYPE, WATCH_TYPE, new Uint8Array(0)).length;
  const object = encodeEnvelope(apiVersion, kind, new Uint8Array(OF_FRAME));
  return encodeWatchFrame(PROTOBUF_WATCH, WATCH_TYPE, object).length - OF_FRAME;
}

/** Bytes of the frames that tell watchers of a change of an object. `json` is null for most objects: it costs to know. */
export interface FrameSizes {
  readonly protobuf: number | null;
  readonly json: number | null;
}

export interface FrameSizer {
  readonly sizeOf: (source: ObjectSource) => FrameSizes;
}

/** Of each kind the first ones are told in the other encoding too, then one of so many. */
const SAMPLES_FIRST = 32;
const SAMPLE_EVERY = 16;

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
      return {
        protobuf: protobuf + source.bytes.length,
        json: isSample ? json + asJsonBytes(source) : null,
      };
    },
  };
}

/** What an entry of managedFields takes more as JSON: names of its fields, and its time as text. What it lists is JSON in both. */
const JSON_MANAGER_BYTES = 73;
const JSON_MANAGERS_BYTES = '"managedFields":[],'.length;

/** managedFields are no part of what is decoded. */
function asJsonBytes(source: Extract<ObjectSource, { encoding: 'protobuf' }>): number {
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
