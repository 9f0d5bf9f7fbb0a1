/** How the reads of second looks go. They may fail slowly, so that a limit of tries alone could take hours. */
import type { ListReader } from '../lists/list-reader.ts';

export interface LookReads {
  /** Looks that are under way. */
  underWay: number;
  /** Monotonic ms since which nothing was read; Infinity = nothing is to be read. */
  nothingSinceMs: number;
  /** The most pages that a look has got since one was read to its end. */
  pages: number;
  /** Why a look has failed since one was read to its end; '' = none has. */
  failure: string;
}

export function createLookReads(): LookReads {
  return { underWay: 0, nothingSinceMs: Infinity, pages: 0, failure: '' };
}

/**
 * Begins a look. Returns the reader for it. A look that is tried again has to pass the pages of those that have failed,
 * or a server that fails late in each look would never be given up.
 */
export function beginLook(reads: LookReads, reader: ListReader, nowMs: () => number): ListReader {
  reads.underWay++;
  reads.nothingSinceMs = Math.min(reads.nothingSinceMs, nowMs());
  let pages = 0;
  return {
    read(query, onPage, onDone) {
      const countPage: typeof onPage = (page) => {
        if (++pages > reads.pages) {
          reads.pages = pages;
          reads.nothingSinceMs = nowMs();
        }
        onPage(page);
      };
      reader.read(query, countPage, onDone);
    },
    wake: reader.wake,
  };
}

/** @param failure null = the look was read to its end */
export function endLook(reads: LookReads, failure: string | null, nowMs: number): void {
  reads.underWay--;
  if (failure !== null) {
    reads.failure = failure;
    return;
  }
  reads.pages = 0;
  reads.failure = '';
  reads.nothingSinceMs = reads.underWay > 0 ? nowMs : Infinity;
}

/** No service waits for a look. What has failed before says nothing about the next one. */
export function noteNoLook(reads: LookReads): void {
  reads.pages = 0;
  reads.failure = '';
  reads.nothingSinceMs = Infinity;
}
