/** Replaces each text of a cluster on its way into a recording. It is the port between records and pseudonyms. */
import type { Labels } from '../kube/types.ts';

/** Texts that should stay equal are given to the same function. '' stays ''. */
export interface Names {
  readonly namespace: (text: string) => string;
  /** Names of pods, and host names. */
  readonly pod: (namespace: string, text: string) => string;
  /** Names of Services and Endpoints, and subdomains of pods. */
  readonly service: (namespace: string, text: string) => string;
  readonly slice: (namespace: string, text: string) => string;
  readonly node: (text: string) => string;
  readonly zone: (text: string) => string;
  readonly port: (text: string) => string;
  readonly appProtocol: (text: string) => string;
  readonly uid: (text: string) => string;
  readonly address: (text: string) => string;
  /** Labels and selectors. */
  readonly labels: (namespace: string, labels: Labels) => Labels;
  /** A text of which the API allows only `allowed`. Another text is replaced. */
  readonly oneOf: (allowed: readonly string[], text: string) => string;
  /** A quantity, such as `3920m`. */
  readonly quantity: (text: string) => string;
}

export const PLAIN_NAMES: Names = {
  namespace: same,
  pod: sameWithin,
  service: sameWithin,
  slice: sameWithin,
  node: same,
  zone: same,
  port: same,
  appProtocol: same,
  uid: same,
  address: same,
  labels: (_namespace, labels) => labels,
  oneOf: (_allowed, text) => text,
  quantity: same,
};

function same(text: string): string {
  return text;
}

function sameWithin(_namespace: string, text: string): string {
  return text;
}
