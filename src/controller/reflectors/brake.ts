/**
 * The brake. A list that would take away most of what is published may be the answer of a broken proxy, or of another
 * cluster behind the same address. What it misses is removed only after second lists of pods and Services, both asked
 * for later, say the same.
 *
 * Only what a list misses is held. An object that it tells otherwise, such as a pod that is not ready, is taken as it
 * comes: holding it would need a second copy of the cache, and an answer that names most pods is seldom wrong.
 *
 * Meanwhile watches go on and new objects are taken. A held removal names what its list had and the list's version:
 * what has changed since has a later version, and stays.
 */
import { givesWay } from './history.ts';
import type { Reflector, Removal } from './reflector.ts';
import type { Log } from '../outbox.ts';
import type { Instruments } from '../reports/instruments.ts';

/** Fewer endpoints than this are never held back. */
const ENDPOINTS_LOST_MAX = 100;

export interface Brake {
  /** `--confirm-mass-removal`. */
  readonly isOn: boolean;
  /** What lists have missed and is not removed yet. */
  readonly removals: Map<Reflector, Removal>;
  /** Second lists that are not complete; null = nothing is to be confirmed. */
  awaited: Set<Reflector> | null;
  /** Lists that have begun and are not complete. */
  readonly listing: Set<Reflector>;
  /** Ready endpoints when the first of them began. What lists bring does not make up for what they take away. */
  readyBefore: number;
}

/** What the brake is given beside its own state. */
export interface BrakeHands {
  readonly reflectors: () => readonly Reflector[];
  readonly countPublished: (missed: Missed) => Published;
  readonly metrics: Pick<Instruments, 'massRemovals'>;
  readonly log: Log;
}

/** What lists have missed; undefined = nothing. */
export interface Missed {
  readonly pods: Removal | undefined;
  readonly services: Removal | undefined;
}

/** A pod counts once for each service that selects it. */
export interface Published {
  readonly ready: number;
  /** The ready endpoints that would go with what lists have missed. */
  readonly lost: number;
}

export function createBrake(isOn: boolean): Brake {
  return { isOn, removals: new Map(), awaited: null, listing: new Set(), readyBefore: 0 };
}

/** The resources without which there are no endpoints. */
export function isBraked({ isOn }: Brake, { resource }: Reflector): boolean {
  return isOn && (resource === 'pods' || resource === 'services');
}

/** A list begins: it decides anew what the one before has missed. */
export function noteListBegins(brake: Brake, hands: BrakeHands, reflector: Reflector): void {
  if (!isBraked(brake, reflector)) return;
  brake.removals.delete(reflector);
  if (brake.listing.size === 0 && brake.awaited === null) brake.readyBefore = countPublished(brake, hands).ready;
  brake.listing.add(reflector);
}

/**
 * What to do at the end of a list of pods or Services, whose removal is among those of the brake: remove all of these,
 * or wait for the other list, or list again those that are awaited.
 */
export function judgeRemovals(brake: Brake, hands: BrakeHands, reflector: Reflector): 'remove' | 'wait' | 'list-again' {
  const { metrics, log } = hands;
  brake.awaited?.delete(reflector);
  brake.listing.delete(reflector);
  if (brake.awaited !== null && brake.awaited.size > 0) return 'wait';
  if (brake.removals.size === 0 && brake.awaited === null) return 'remove';
  const counted = countPublished(brake, hands);
  // Watches may have taken others away since.
  const ready = Math.min(counted.ready, brake.readyBefore);
  const { lost } = counted;
  const isMass = lost > ENDPOINTS_LOST_MAX && lost * 2 > ready;
  const fields = { resource: reflector.resource, readyEndpoints: ready, lost };
  if (brake.awaited !== null) {
    brake.awaited = null;
    if (isMass) {
      metrics.massRemovals.inc();
      log('warning', 0, 'Second lists say the same: most ready endpoints are taken away', fields);
    } else log('info', 0, 'Second lists do not say the same: the endpoints stay', fields);
    return 'remove';
  }
  if (!isMass) return 'remove';
  log('warning', 0, 'A list would take away most ready endpoints: second lists are asked for first', fields);
  brake.awaited = new Set(hands.reflectors().filter((one) => isBraked(brake, one)));
  return 'list-again';
}

function countPublished({ removals }: Brake, hands: BrakeHands): Published {
  let pods: Removal | undefined;
  let services: Removal | undefined;
  for (const [{ resource }, removal] of removals) {
    if (resource === 'pods') pods = removal;
    else services = removal;
  }
  return hands.countPublished({ pods, services });
}

export function isMissed(removal: Removal | undefined, record: { readonly resourceVersion: string }): boolean {
  return removal !== undefined && !removal.marks.has(record) && givesWay(record.resourceVersion, removal.upTo);
}
