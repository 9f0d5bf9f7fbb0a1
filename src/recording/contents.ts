/** The contents of a recording in numbers: objects, changes, and gaps. */
import { hasBegun } from './begun.ts';
import { WORDS } from './lines.ts';
import type { RecordedEvent, RecordedResource } from './recording.ts';
import { createOutputWriters, followWriters, type OutputWriters } from './writers.ts';

export interface Contents {
  /** Seconds since everything that may be read was listed. Rates are taken over this time. */
  seconds: number;
  /** Whether everything that may be read was listed. Before that there are no rates. */
  begun: boolean;
  /** Whether the recorder ended in good order. */
  ended: boolean;
  readonly resources: Readonly<Record<RecordedResource, ResourceContents>>;
  readonly gaps: Gap[];
  readonly writers: OutputWriters;
}

export interface ResourceContents {
  /** The objects that were there when everything was listed. One that is late has those of its first list. */
  objects: number;
  listed: boolean;
  /** It could not be read at all. */
  refused: boolean;
  /** For so much of `seconds` the server refused it, before it could be read. Its rates leave them out. */
  lateSeconds: number;
  /** Events that changed what these controllers read or write, since everything was listed. */
  changes: number;
  /** Those of `changes` that the watch told when they happened. A list tells after a gap what changed within it. */
  watched: number;
  /** Objects that came. `deleted`: objects that went. */
  created: number;
  deleted: number;
  /** Changes of outputs by others than the recorded controllers. */
  byOthers: number;
  /** Events that changed nothing that these controllers read or write. */
  irrelevant: number;
  /** How often the watch was lost and went on where it was, so that events were late. */
  rewatched: number;
}

/** Seconds are those since everything that may be read was listed. */
export interface Gap {
  readonly resource: RecordedResource;
  readonly fromSeconds: number;
  /** null = the watch had not come back at the end of the recording. */
  toSeconds: number | null;
}

export interface Counting {
  readonly contents: Contents;
  /** When everything that may be read was listed, in milliseconds. It grows with each list of the start. */
  wholeAtMs: number;
}

export function createCounting(): Counting {
  const names = Object.keys(WORDS) as RecordedResource[];
  const resources = Object.fromEntries(names.map((name) => [name, emptyResource()]));
  return {
    contents: {
      seconds: 0,
      begun: false,
      ended: false,
      resources: resources as Record<RecordedResource, ResourceContents>,
      gaps: [],
      writers: createOutputWriters(),
    },
    wholeAtMs: 0,
  };
}

function emptyResource(): ResourceContents {
  return {
    objects: 0,
    listed: false,
    refused: false,
    lateSeconds: 0,
    changes: 0,
    watched: 0,
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
  followWriters(contents.writers, event);
  switch (event.type) {
    case 'change': {
      const of = resources[event.resource];
      if (event.told === 'start') {
        of.objects++;
        break;
      }
      of.changes++;
      if (event.told === 'watch') of.watched++;
      if (event.before === null) of.created++;
      if (event.after === null) of.deleted++;
      if (event.by === 'other') of.byOthers++;
      break;
    }
    case 'listed':
      countList(counting, event);
      contents.begun = isBegun(resources);
      break;
    case 'lost':
      contents.gaps.push({ resource: event.resource, fromSeconds: since(counting, event.sinceMs), toSeconds: null });
      break;
    case 'rewatched':
      resources[event.resource].rewatched++;
      countNoGap(contents, event.resource);
      break;
    case 'refused':
      resources[event.resource].refused = !resources[event.resource].listed;
      contents.begun = isBegun(resources);
      break;
    case 'irrelevant':
      for (const [name, count] of Object.entries(event.counts)) {
        resources[name as RecordedResource].irrelevant += count;
      }
      break;
    case 'wrote':
    case 'sizes':
      break;
    case 'end':
      contents.ended = true;
  }
  contents.seconds = since(counting, event.atMs);
}

function isBegun(resources: Contents['resources']): boolean {
  const names = Object.keys(resources) as RecordedResource[];
  const namesOf = (state: 'listed' | 'refused'): Set<RecordedResource> =>
    new Set(names.filter((name) => resources[name][state]));
  return hasBegun({ listed: namesOf('listed'), refused: namesOf('refused') });
}

function since({ wholeAtMs }: Counting, atMs: number): number {
  return Math.max(0, atMs - wholeAtMs) / 1000;
}

/** The seconds in which a resource was watched. Rates are taken over them. */
export function watchedSeconds({ begun, gaps, resources, seconds }: Contents, resource: RecordedResource): number {
  if (!begun) return 0;
  const own = gaps.filter((gap) => gap.resource === resource);
  const lost = own.reduce((sum, { fromSeconds, toSeconds }) => sum + (toSeconds ?? seconds) - fromSeconds, 0);
  return Math.max(0, seconds - resources[resource].lateSeconds - lost);
}

function countList(
  counting: Counting,
  { resource, told, sinceMs, atMs }: Extract<RecordedEvent, { type: 'listed' }>,
): void {
  const { contents } = counting;
  const { gaps, resources } = contents;
  const atSeconds = since(counting, atMs);
  if (told === 'list') {
    const gap = openGap(contents, resource);
    if (gap === undefined) gaps.push({ resource, fromSeconds: since(counting, sinceMs), toSeconds: atSeconds });
    else gap.toSeconds = atSeconds;
    return;
  }
  Object.assign(resources[resource], { listed: true, refused: false });
  if (told === 'late') {
    resources[resource].lateSeconds = atSeconds;
    return;
  }
  counting.wholeAtMs = atMs;
  for (const of of Object.values(resources)) begin(of);
  const open = gaps.filter(({ toSeconds }) => toSeconds === null);
  gaps.splice(0, gaps.length, ...open.map((gap) => ({ resource: gap.resource, fromSeconds: 0, toSeconds: null })));
}

/** What was counted between the first lists is of no time that counts. */
function begin(of: ResourceContents): void {
  const { listed, refused } = of;
  const objects = of.objects + of.created - of.deleted;
  Object.assign(of, emptyResource(), { objects, listed, refused });
}

/** The watch has gone on where it was. */
function countNoGap(contents: Contents, resource: RecordedResource): void {
  const gap = openGap(contents, resource);
  if (gap !== undefined) contents.gaps.splice(contents.gaps.indexOf(gap), 1);
}

/** The gap of a watch that has not come back. */
function openGap({ gaps }: Contents, resource: RecordedResource): Gap | undefined {
  return gaps.findLast((gap) => gap.resource === resource && gap.toSeconds === null);
}
