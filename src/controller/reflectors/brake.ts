/**
 * The brake. A list that would take away most of what is published may be the answer of a broken proxy, or of another
 * cluster behind the same address. What such a list misses is removed only after second lists of pods, Services and
 * nodes (where they may be read), all asked for later, miss it too. Only what a list misses is held back. An object that
 * the list shows in another state, such as a pod that is not ready, is taken at once: holding it back would need a second
 * copy of the cache, and a list that names most pods is seldom wrong. Meanwhile watches go on and new objects are taken. A
 * held removal keeps the objects and the version of its list. An object that changed since then has a later version, and
 * stays.
 */
import { givesWay } from './history.ts';
import type { Reflector, Removal } from './reflector.ts';
import type { Log } from '../outbox.ts';
import type { Instruments } from '../reports/instruments.ts';
import { assert } from '../../lib/assert.ts';

/** With fewer lost endpoints than this nothing is held back. */
const ENDPOINTS_LOST_MAX = 100;

export interface Brake {
  /** `--confirm-mass-removal`. */
  readonly isOn: boolean;
  /** Removals that lists have brought and that are not done yet. */
  readonly removals: Map<Reflector, Removal>;
  /** Second lists that are awaited; null = nothing has to be confirmed. */
  awaited: Set<Reflector> | null;
  /** Lists that have begun and are not complete. */
  readonly listing: Set<Reflector>;
  /**
   * How many endpoints were ready when the first of these lists began. Endpoints that a list adds do not make up for
   * those that it takes away.
   */
  readyBefore: number;
}

/** What the brake needs of the machine around it. */
export interface BrakeHands {
  readonly reflectors: () => readonly Reflector[];
  readonly countPublished: (missed: Missed) => Published;
  readonly metrics: Pick<Instruments, 'massRemovals'>;
  readonly log: Log;
}

/** The objects that lists have missed; undefined = none. */
export interface Missed {
  readonly pods: Removal | undefined;
  readonly services: Removal | undefined;
  readonly nodes: Removal | undefined;
}

/** A pod counts once for each service that selects it. */
export interface Published {
  readonly ready: number;
  /** How many ready endpoints would go with the missed objects. */
  readonly lost: number;
}

export function createBrake(isOn: boolean): Brake {
  return { isOn, removals: new Map(), awaited: null, listing: new Set(), readyBefore: 0 };
}

/** Whether endpoints depend on the resource, so that its removals go through the brake. */
export function isBraked({ isOn }: Brake, { resource }: Reflector): boolean {
  return isOn && (resource === 'pods' || resource === 'services' || resource === 'nodes');
}

/** A list begins. It will say anew what is missing, so a removal of the list before is dropped. */
export function noteListBegins(brake: Brake, hands: BrakeHands, reflector: Reflector): void {
  if (!isBraked(brake, reflector)) return;
  brake.removals.delete(reflector);
  if (brake.listing.size === 0 && brake.awaited === null) brake.readyBefore = countPublished(brake, hands).ready;
  brake.listing.add(reflector);
}

/** Do all held removals, wait for the other lists, or list the awaited resources once more. */
export type Judgement = 'remove' | 'wait' | 'list-again';

/** Decides what to do at the end of a list of pods, Services or nodes. */
export function judgeRemovals(brake: Brake, hands: BrakeHands, reflector: Reflector): Judgement {
  assert(brake.listing.has(reflector), `${reflector.resource}: a list ends that has not begun`);
  brake.awaited?.delete(reflector);
  brake.listing.delete(reflector);
  return judge(brake, hands, reflector);
}

/**
 * Decides what to do when a list is refused. Endpoints are written also where nodes may not be read, so nobody waits for
 * nodes then. Pods and Services are waited for.
 */
export function judgeWithout(brake: Brake, hands: BrakeHands, reflector: Reflector): Judgement {
  if (reflector.resource !== 'nodes') return 'wait';
  brake.listing.delete(reflector);
  return brake.awaited?.delete(reflector) === true ? judge(brake, hands, reflector) : 'wait';
}

function judge(brake: Brake, hands: BrakeHands, reflector: Reflector): Judgement {
  const { metrics, log } = hands;
  if (brake.awaited !== null && brake.awaited.size > 0) return 'wait';
  if (brake.removals.size === 0 && brake.awaited === null) return 'remove';
  const counted = countPublished(brake, hands);
  // Watches may have taken away endpoints since.
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
  const isAwaited = (one: Reflector): boolean => isBraked(brake, one) && !(one.resource === 'nodes' && one.refused);
  brake.awaited = new Set(hands.reflectors().filter(isAwaited));
  return 'list-again';
}

function countPublished({ removals }: Brake, hands: BrakeHands): Published {
  const of = (name: string): Removal | undefined => [...removals].find(([{ resource }]) => resource === name)?.[1];
  return hands.countPublished({ pods: of('pods'), services: of('services'), nodes: of('nodes') });
}

export function isMissed(removal: Removal | undefined, record: { readonly resourceVersion: string }): boolean {
  return removal !== undefined && !removal.marks.has(record) && givesWay(record.resourceVersion, removal.upTo);
}
