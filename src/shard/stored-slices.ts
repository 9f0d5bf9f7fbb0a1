/**
 * What a planner knows of the slices of one output beside their content: which of them it can believe in. The caller
 * keeps the content, because the EndpointSlice controller and the mirroring controller need different parts of it.
 */
import type { Problem } from '../core/problem.ts';
import type { SliceWrite } from '../core/slices/slice-write.ts';
import { splitKey } from '../kube/key.ts';
import type { EndpointSlice } from '../kube/types.ts';
import type { Ack, Observed } from './protocol.ts';
import { readObject } from './read-object.ts';
import { SUFFIX_CHARACTERS } from './suffix.ts';

export interface SliceMarks {
  /** null as long as every write had an answer, which is nearly always. */
  doubts: Doubts | null;
}

interface Doubts {
  /** Slices with a write whose ack was `unknown`, and its verb. Nothing can be planned until they are observed. */
  readonly uncertain: Map<string, SliceWrite['verb']>;
  /**
   * Names of creates without an answer that the server did not know when it was asked. Such a create may still be under
   * way. The next creates use these names, so that the later of the two fails and no slice is doubled.
   */
  readonly lost: Set<string>;
}

export function createSliceMarks(): SliceMarks {
  return { doubts: null };
}

/** Whether there are slices that must be observed before the next plan. */
export function areUncertain({ doubts }: SliceMarks): boolean {
  return doubts !== null && doubts.uncertain.size > 0;
}

/** All slices were listed. Those that are not observed next do not exist. */
export function clearSliceMarks(marks: SliceMarks): void {
  for (const name of marks.doubts?.uncertain.keys() ?? []) noteKnown(marks, name, false);
}

/** The end of the name of a new slice. A lost create's is used first. */
export function nextSuffix({ doubts }: SliceMarks, suffix: () => string): string {
  for (const name of doubts?.lost ?? []) {
    doubts!.lost.delete(name);
    return name.slice(-SUFFIX_CHARACTERS);
  }
  return suffix();
}

/** Notes whether the server has such a slice. */
function noteKnown(marks: SliceMarks, name: string, exists: boolean): void {
  const { doubts } = marks;
  if (doubts === null) return;
  const { uncertain, lost } = doubts;
  if (exists) lost.delete(name);
  else if (uncertain.get(name) === 'create') lost.add(name);
  uncertain.delete(name);
  if (uncertain.size === 0 && lost.size === 0) marks.doubts = null;
}

/** Takes the ack of a write. Whether the content changes too is decided by `changesStored`. */
export function markAck(marks: SliceMarks, { name, verb }: SliceWrite, { result }: Ack): void {
  if (result !== 'unknown') return;
  marks.doubts ??= { uncertain: new Map(), lost: new Set() };
  marks.doubts.uncertain.set(name, verb);
}

/**
 * What is held of a slice after it was observed; null = it is gone, or its content cannot be read and it is left alone.
 * Fields that this version does not know, and that the next write would lose, are added to the problems.
 */
export function readObserved(
  marks: SliceMarks,
  key: string,
  { name, content }: Observed,
  problems: Problem[],
): EndpointSlice | null {
  noteKnown(marks, name, content !== null);
  if (content === null) return null;
  const what = `endpointslice ${splitKey(key).namespace}/${name}`;
  const { object, problem } = readObject('discovery.k8s.io/v1', 'EndpointSlice', what, name, content);
  if (problem !== null) problems.push(problem);
  return object as EndpointSlice | null;
}
