/**
 * What is known about the slices of one output beside their content: when to believe what was read. The content is kept
 * by the caller, for what the EndpointSlice controller needs of it is not what the mirroring controller does.
 */
import type { Problem } from '../core/problem.ts';
import type { SliceWrite } from '../core/slices/slice-write.ts';
import { splitKey } from '../kube/key.ts';
import { compareResourceVersions } from '../kube/resource-version.ts';
import type { EndpointSlice } from '../kube/types.ts';
import type { Ack, Observed } from './protocol.ts';
import { readObject } from './read-object.ts';
import { SUFFIX_CHARACTERS } from './suffix.ts';

export interface SliceMarks {
  /** Slices whose content is what we wrote, not what was read: the server may have made something else of it. */
  readonly written: Set<string>;
  /** Slices with a write whose outcome is not known, and its verb: nothing can be planned until they are observed. */
  readonly uncertain: Map<string, SliceWrite['verb']>;
  /**
   * Names of creates without an answer that had not happened when the server was asked. They may still be under way, so
   * the next creates use them: then the late one, whichever it is, meets the name taken, and there is no duplicate.
   */
  readonly lost: Set<string>;
}

export function createSliceMarks(): SliceMarks {
  return { written: new Set(), uncertain: new Map(), lost: new Set() };
}

/** All slices were listed: those that are not observed next do not exist. */
export function clearSliceMarks(marks: SliceMarks): void {
  for (const name of marks.uncertain.keys()) noteAbsent(marks, name);
  marks.written.clear();
}

/** The end of a new slice's name: that of a lost create while there are any. */
export function nextSuffix(marks: SliceMarks, suffix: () => string): string {
  for (const name of marks.lost) {
    marks.lost.delete(name);
    return name.slice(-SUFFIX_CHARACTERS);
  }
  return suffix();
}

function noteAbsent(marks: SliceMarks, name: string): void {
  if (marks.uncertain.get(name) === 'create') marks.lost.add(name);
  marks.uncertain.delete(name);
}

/**
 * Takes an ack of `write`; `known` is what is held of the slice now. Returns whether the write is to be taken over: it was
 * applied, and nothing newer was observed meanwhile (a foreign write on top of ours).
 */
export function markAck(marks: SliceMarks, write: SliceWrite, known: EndpointSlice | null, ack: Ack): boolean {
  const { name } = write;
  if (ack.result === 'unknown') marks.uncertain.set(name, write.verb);
  if (ack.result !== 'applied') return false;
  if (write.verb === 'delete') {
    // A slice by the same name that somebody else made since is not the one that is gone.
    if (known !== null && known.metadata.uid !== write.uid) return false;
    marks.written.delete(name);
    return true;
  }
  if (known !== null && compareResourceVersions(ack.resourceVersion, known.metadata.resourceVersion ?? '') < 0) {
    return false;
  }
  marks.written.add(name);
  return true;
}

/**
 * What is to be held of a slice after something was observed: a newer object, null (it is gone, or its content cannot be
 * read: it is left alone as if it were not there), or undefined (nothing new). Fields that this version does not know,
 * which the next write would lose, are added to the problems.
 */
export function newsOfSlice(
  marks: SliceMarks,
  key: string,
  known: EndpointSlice | null,
  { name, content }: Observed,
  problems: Problem[],
): EndpointSlice | null | undefined {
  let object: EndpointSlice | null = null;
  let problem: Problem | null = null;
  if (content !== null) {
    const what = `endpointslice ${splitKey(key).namespace}/${name}`;
    const read = readObject('discovery.k8s.io/v1', 'EndpointSlice', what, name, content);
    object = read.object as EndpointSlice | null;
    problem = read.problem;
  }
  if (object !== null && known !== null) {
    const age = compareResourceVersions(object.metadata.resourceVersion ?? '', known.metadata.resourceVersion ?? '');
    if (age < 0) return undefined;
    if (age === 0 && !marks.written.has(name)) {
      marks.uncertain.delete(name);
      return undefined;
    }
  }
  marks.written.delete(name);
  if (content === null) noteAbsent(marks, name);
  marks.uncertain.delete(name);
  if (content !== null) marks.lost.delete(name);
  if (problem !== null) problems.push(problem);
  return object;
}
