/**
 * The lines of a recording: JSON, one object a line. A first line says what the file is. All others have `t`, the tenths of
 * a millisecond since the line before.
 */

import type { OutputSizes } from './sizes.ts';

/** Of the file's layout and of its lines together. Version 1 had no sizes. */
export const RECORDING_VERSION = 2;

export interface HeaderLine {
  readonly recording: 'endpointd';
  readonly version: number;
  readonly program: string;
  readonly names: 'pseudonyms' | 'plain';
}

/** What a line about an object of each resource is called by. */
export const WORDS = {
  pods: 'pod',
  services: 'service',
  nodes: 'node',
  endpoints: 'endpoints',
  endpointslices: 'slice',
} as const;

/** The fields of an object that have changed, by name; all that are not empty when it is new. */
export type Fields = Record<string, unknown>;

/**
 * One change of an object, whose number stands under the word of its resource: `{"pod":17,"t":32,"v":4,"set":{...}}`.
 * `new` begins the life of an object, `set` changes it, `gone` ends it. `v`: versions of the API server since the line
 * before of the same resource. `by`: as `By`; absent = the recorded controllers, or for inputs others.
 */
export interface ObjectLine {
  readonly t: number;
  readonly v?: number;
  readonly by?: 'other' | 'unknown';
  readonly new?: Fields;
  readonly set?: Fields;
  readonly gone?: true;
}

/** `listing` begins a list, whose lines follow until `listed`; `since`: how many tenths of a ms ago the gap began. */
export type ListLine =
  | { readonly t: number; readonly listing: string; readonly since: number }
  | { readonly t: number; readonly listed: string };

export type OtherLine =
  | { readonly t: number; readonly rewatched: string }
  | { readonly t: number; readonly refused: string }
  /** Of all changes of outputs so far. */
  | { readonly t: number; readonly sizes: OutputSizes }
  | { readonly t: number; readonly irrelevant: Readonly<Record<string, number>> }
  | { readonly t: number; readonly end: true };

export type Line = HeaderLine | ObjectLine | ListLine | OtherLine;

/**
 * The endpoints of an output, in order. A number: a ready endpoint of the pod with that number, with the pod's first
 * address, node and host name, and its node's zone. A pair of numbers: that many of the endpoints before, from that place
 * on. An object: an endpoint field by field, of which `of` names the pod that the others differ from.
 */
export type EndpointItem = number | readonly [from: number, count: number] | Fields;
