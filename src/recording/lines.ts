/**
 * The lines of a recording: one JSON object a line. The first line describes the file. All others have `t`, the tenths
 * of a millisecond since the line before.
 */

import type { Program } from '../metrics/program-of.ts';
import type { OutputResource } from './recording.ts';
import type { OutputSizes } from './sizes.ts';

/**
 * The version of the file's layout and of its lines. Version 1 had no sizes, version 2 no lost watches, version 3 no
 * writers.
 */
export const RECORDING_VERSION = 4;

export interface HeaderLine {
  readonly recording: 'endpointd';
  readonly version: number;
  readonly program: string;
  readonly names: 'pseudonyms' | 'plain';
}

/** The word for an object of each resource in a line. */
export const WORDS = {
  pods: 'pod',
  services: 'service',
  nodes: 'node',
  endpoints: 'endpoints',
  endpointslices: 'slice',
} as const;

/** The changed fields of an object by name, or the non-empty fields of a new one. */
export type Fields = Record<string, unknown>;

/**
 * One change of an object. The object's number stands under the word of its resource:
 * `{"pod":17,"t":32,"v":4,"set":{...}}`. `new` begins the life of an object, `set` changes it, `gone` ends it. `v`: how
 * many versions of the API server came since the last line of the resource. `by`: as `By`; absent = the recorded
 * controllers, or others for inputs.
 */
export interface ObjectLine {
  readonly t: number;
  readonly v?: number;
  readonly by?: 'other' | 'unknown';
  readonly new?: Fields;
  readonly set?: Fields;
  readonly gone?: true;
}

/** `listing` begins a list, whose lines follow until `listed`. `since`: tenths of a millisecond since the gap began. */
export type ListLine =
  | { readonly t: number; readonly listing: string; readonly since: number }
  | { readonly t: number; readonly listed: string };

export type OtherLine =
  /** `since`: as in `listing`. */
  | { readonly t: number; readonly lost: string; readonly since: number }
  | { readonly t: number; readonly rewatched: string }
  | { readonly t: number; readonly refused: string }
  /** The sums over all changes of outputs so far. */
  | { readonly t: number; readonly sizes: OutputSizes }
  | { readonly t: number; readonly irrelevant: Readonly<Record<string, number>> }
  | { readonly t: number; readonly wrote: Program; readonly what: OutputResource }
  | { readonly t: number; readonly end: true };

export type Line = HeaderLine | ObjectLine | ListLine | OtherLine;

/**
 * An endpoint of an output, in order. A number is a ready endpoint of the pod with that number: with the pod's first
 * address, node and host name, and its node's zone. A pair is a number of endpoints of the state before, from a place
 * on. An object is an endpoint field by field; `of` names the pod from which the other fields differ.
 */
export type EndpointItem = number | readonly [from: number, count: number] | Fields;
