/**
 * The brake: a list that would take away most of what is published may be the answer of a broken proxy, or of another
 * cluster behind the same address. What it misses is removed only after second lists of pods and Services, both asked for
 * since, say the same.
 *
 * Held is only what a list misses. An object that it tells otherwise, such as a pod that is not ready, is taken as it comes:
 * to hold it would need a second copy of the cache, and an answer that names most pods is seldom a wrong one.
 *
 * Meanwhile watches go on and what is new is taken. A removal that is held names what its list had and the list's version:
 * what has changed since has a later one, and stays.
 */
import { givesWay } from './history.ts';
import type { Reflector } from './reflector.ts';
import { allServices } from '../caches/services.ts';
import { isPlanned } from '../caches/service-state.ts';
import { log, type ControllerState, type Brake, type Removal } from '../state.ts';
import { podsOf } from '../../core/selector-index.ts';

/** Fewer are never held back. */
const ENDPOINTS_LOST_MAX = 100;

export function createBrake(): Brake {
  return { removals: new Map(), awaited: null, listing: new Set(), readyBefore: 0 };
}

/** The resources without which there are no endpoints. */
export function isBraked({ options }: ControllerState, { resource }: Reflector): boolean {
  return options.confirmMassRemoval && (resource === 'pods' || resource === 'services');
}

/** A list begins: what the one before has missed is its business. */
export function noteListBegins(state: ControllerState, reflector: Reflector): void {
  const { brake } = state;
  if (!isBraked(state, reflector)) return;
  brake.removals.delete(reflector);
  if (brake.listing.size === 0 && brake.awaited === null) brake.readyBefore = countEndpoints(state).ready;
  brake.listing.add(reflector);
}

/**
 * What to do at the end of a list of pods or Services, whose removal is among those of the brake: remove all of these;
 * wait for the other list; or list both again.
 */
export function judgeRemovals(state: ControllerState, reflector: Reflector): 'remove' | 'wait' | 'list-again' {
  const { brake } = state;
  brake.awaited?.delete(reflector);
  brake.listing.delete(reflector);
  if (brake.awaited !== null && brake.awaited.size > 0) return 'wait';
  if (brake.removals.size === 0 && brake.awaited === null) return 'remove';
  const counted = countEndpoints(state);
  // Watches may have taken away others since.
  const ready = Math.min(counted.ready, brake.readyBefore);
  const { lost } = counted;
  const isMass = lost > ENDPOINTS_LOST_MAX && lost * 2 > ready;
  const fields = { resource: reflector.resource, readyEndpoints: ready, lost };
  if (brake.awaited !== null) {
    brake.awaited = null;
    if (isMass) {
      state.instruments.massRemovals.inc();
      log(state, 'warning', 0, 'second lists say the same: most ready endpoints are taken away', fields);
    } else log(state, 'info', 0, 'second lists do not say the same: the endpoints stay', fields);
    return 'remove';
  }
  if (!isMass) return 'remove';
  log(state, 'warning', 0, 'a list would take away most ready endpoints: second lists are asked for first', fields);
  brake.awaited = new Set(state.reflectors.filter((one) => isBraked(state, one)));
  return 'list-again';
}

/** A pod counts once for each service that selects it. */
function countEndpoints(state: ControllerState): { readonly ready: number; readonly lost: number } {
  let pods: Removal | undefined;
  let services: Removal | undefined;
  for (const [{ resource }, removal] of state.brake.removals) {
    if (resource === 'pods') pods = removal;
    else services = removal;
  }
  let ready = 0;
  let lost = 0;
  for (const service of allServices(state)) {
    const { record } = service;
    if (record === null || !isPlanned(record, state.options)) continue;
    const isGone = isMissed(services, record);
    for (const pod of podsOf(state.index, service)) {
      if (!pod.ready && !record.publishNotReadyAddresses) continue;
      ready++;
      if (isGone || isMissed(pods, pod)) lost++;
    }
  }
  return { ready, lost };
}

function isMissed(removal: Removal | undefined, record: { readonly resourceVersion: string }): boolean {
  return removal !== undefined && !removal.marks.has(record) && givesWay(record.resourceVersion, removal.upTo);
}
