/**
 * Other writers of the objects that are kept here, counted by field manager. Each writer is told in one line an hour
 * while it goes on, however many services it concerns.
 */
import type { Now } from '../event.ts';
import type { Instruments } from './instruments.ts';
import { ADMISSION, UNKNOWN_WRITER } from '../caches/writer-name.ts';
import { keyOf, type Unit } from '../caches/service-state.ts';
import type { Log } from '../outbox.ts';
import { roughDuration } from '../../lib/duration.ts';

export interface OtherWriters {
  /** The names that the metric has. A series stays for the life of the process. */
  readonly counted: Set<string>;
  /** Those of whom the log may tell, by name. One that was quiet for an hour gives its place to another. */
  readonly told: Map<string, OtherWriter>;
}

/** What the writer has done since the last line about it. */
interface OtherWriter {
  changes: number;
  /** Monotonic ms of the first of these changes. */
  sinceMs: number;
  /** Monotonic ms of the last change. */
  lastAtMs: number;
  /** Monotonic ms; -Infinity = never. */
  toldAtMs: number;
}

const OTHER = 'other';
/** Names of field managers come from outside, so their number is bounded. Further ones are `other`. */
const WRITERS_MAX = 10;
/** One or two changes within an hour are a correction by hand, or the last writes of a process before. */
const TOLD_FROM = 3;
const TOLD_EVERY_MS = 3_600_000;
/** So many repairs of one service in a row are a fight. */
const FIGHT_REPAIRS = 3;

export function createOtherWriters(): OtherWriters {
  return { counted: new Set(), told: new Map() };
}

/** Counts `changes` that another writer has made to the unit's objects. */
export function noteOtherWriter(
  writers: OtherWriters,
  { log, instruments }: { readonly log: Log; readonly instruments: Instruments },
  unit: Unit,
  name: string,
  changes: number,
  now: Now,
): void {
  const { counted, told } = writers;
  if (counted.size < WRITERS_MAX) counted.add(name);
  instruments.foreignEdits(counted.has(name) ? name : OTHER).inc(changes);
  if (name === UNKNOWN_WRITER && !isFight(unit)) return;
  const manager = placeOf(told, name, now);
  let writer = told.get(manager);
  if (writer === undefined) {
    writer = { changes: 0, sinceMs: -Infinity, lastAtMs: -Infinity, toldAtMs: -Infinity };
    told.set(manager, writer);
  }
  writer.lastAtMs = now.nowMs;
  const isScarce = writer.changes < TOLD_FROM && now.nowMs - writer.sinceMs > TOLD_EVERY_MS;
  if (isScarce) writer.changes = 0;
  if (writer.changes === 0) writer.sinceMs = now.nowMs;
  writer.changes += changes;
  if (writer.changes < TOLD_FROM || now.nowMs - writer.toldAtMs < TOLD_EVERY_MS) return;
  const message = name === ADMISSION ? 'Admission changes what is written' : 'Another writer changes the same objects';
  log('warning', 0, message, {
    manager,
    changes: writer.changes,
    within: roughDuration(now.nowMs - writer.sinceMs),
    // The service of the last change.
    controller: unit.controller.name,
    service: keyOf(unit.service),
  });
  writer.changes = 0;
  writer.toldAtMs = now.nowMs;
}

/** The name by which the writer is told: its own, if it has a place or there is one. */
function placeOf(told: Map<string, OtherWriter>, name: string, now: Now): string {
  if (told.has(name)) return name;
  if (told.size >= WRITERS_MAX) {
    for (const [known, { lastAtMs }] of told) if (now.nowMs - lastAtMs > TOLD_EVERY_MS) told.delete(known);
  }
  return told.size < WRITERS_MAX ? name : OTHER;
}

/**
 * Most changes without a known writer are deletes by the end of a namespace or by the garbage collector. Only a change
 * that comes again after each repair is another writer's.
 */
function isFight({ fight }: Unit): boolean {
  return fight !== null && Object.values(fight.rounds).some(({ count }) => count >= FIGHT_REPAIRS);
}
