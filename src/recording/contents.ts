/** The contents of a recording in numbers: objects, changes, and gaps. */
import { WORDS } from './lines.ts';
import type { RecordedEvent, RecordedResource } from './recording.ts';

export interface Contents {
  /** Seconds since the last first list. Rates are taken over this time. */
  seconds: number;
  /** Whether the recorder ended in good order. */
  ended: boolean;
  readonly resources: Readonly<Record<RecordedResource, ResourceContents>>;
  readonly gaps: Gap[];
}

export interface ResourceContents {
  /** The objects of the first list. */
  objects: number;
  listed: boolean;
  refused: boolean;
  /** Events that changed what these controllers read or write, after the first list. */
  changes: number;
  /** Objects that came. `deleted`: objects that went. */
  created: number;
  deleted: number;
  /** Changes of outputs by others than the recorded controllers. */
  byOthers: number;
  /** Events that changed nothing that these controllers read or write. */
  irrelevant: number;
  /** How often the watch was opened anew. */
  rewatched: number;
}

export interface Gap {
  readonly resource: RecordedResource;
  readonly fromSeconds: number;
  readonly toSeconds: number;
}

export interface Counting {
  readonly contents: Contents;
  /** When everything that may be read was listed, in milliseconds. It grows with each first list. */
  wholeAtMs: number;
}

export function createCounting(): Counting {
  const names = Object.keys(WORDS) as RecordedResource[];
  const resources = Object.fromEntries(names.map((name) => [name, emptyResource()]));
  return {
    contents: {
      seconds: 0,
      ended: false,
      resources: resources as Record<RecordedResource, ResourceContents>,
      gaps: [],
    },
    wholeAtMs: 0,
  };
}

function emptyResource(): ResourceContents {
  return {
    objects: 0,
    listed: false,
    refused: false,
    changes: 0,
    created: 0,
    deleted: 0,
    byOthers: 0,
    irrelevant: 0,
    rewatched: 0,
  };
}

export function countEvent(counting: Counting, event: RecordedEvent): void {
  const { contents } = counting;
  const { resources } = contents;
  switch (event.type) {
    case 'change': {
      const of = resources[event.resource];
      if (event.told === 'start') {
        of.objects++;
        break;
      }
      of.changes++;
      if (event.before === null) of.created++;
      if (event.after === null) of.deleted++;
      if (event.by === 'other') of.byOthers++;
      break;
    }
    case 'listed':
      if (event.told === 'start') {
        resources[event.resource].listed = true;
        counting.wholeAtMs = event.atMs;
      } else {
        const { resource, sinceMs, atMs } = event;
        contents.gaps.push({ resource, fromSeconds: sinceMs / 1000, toSeconds: atMs / 1000 });
      }
      break;
    case 'rewatched':
      resources[event.resource].rewatched++;
      break;
    case 'refused':
      resources[event.resource].refused = true;
      break;
    case 'irrelevant':
      for (const [name, count] of Object.entries(event.counts)) {
        resources[name as RecordedResource].irrelevant += count;
      }
      break;
    case 'sizes':
      break;
    case 'end':
      contents.ended = true;
  }
  contents.seconds = (event.atMs - counting.wholeAtMs) / 1000;
}
