/**
 * What becomes of an Event object before it is sent: the rules and limits of client-go's correlator
 * (docs/spec/endpoints.md "Events").
 * 1. Many messages with one reason on one object become one Event object with a prefixed message.
 * 2. An Event object that was sent before is counted up instead of made anew.
 * 3. Each object has a small budget for the Event objects of each component. Those beyond it are counted but not sent.
 */
import { createLru, lruGet, lruSet, type Lru } from '../../lib/lru.ts';
import { createTokenBucket, tryTakeToken, type TokenBucket } from '../../lib/token-bucket.ts';

export interface InvolvedObject {
  readonly kind: string;
  readonly apiVersion: string;
  /** '' = none. The Event object is then recorded in namespace `default`. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

export interface EventInput {
  /** The controller that it comes from, such as `endpoint-controller`. */
  readonly component: string;
  readonly involvedObject: InvolvedObject;
  readonly type: 'Warning' | 'Normal';
  readonly reason: string;
  readonly message: string;
}

/** What is remembered of an event that was recorded. */
export interface Observation {
  /** Name of the Event object. */
  readonly name: string;
  readonly firstWallMs: number;
  /** How often it has happened. Those that were not sent count too. */
  count: number;
}

export interface Correlated {
  /** The same key means the same Event object. */
  readonly key: string;
  readonly message: string;
  readonly observation: Observation;
}

interface Similar {
  /** Messages seen lately, at most SIMILAR_MAX. */
  readonly messages: Set<string>;
  lastMs: number;
}

export interface EventCorrelator {
  readonly similar: Lru<string, Similar>;
  readonly observations: Lru<string, Observation>;
  readonly budgets: Lru<string, TokenBucket>;
  /** Tells apart the names of Event objects that are made in the same millisecond. */
  named: number;
}

const CACHE_ENTRIES_MAX = 4096;
/** If so many different messages come within the interval, they are combined. */
const SIMILAR_MAX = 10;
const SIMILAR_INTERVAL_MS = 600_000;
const COMBINED_PREFIX = '(combined from similar events): ';
const OBJECT_BURST = 25;
const OBJECT_QPS = 1 / 300;
/** A name that does not fit is cut: an Event's name must be a DNS subdomain. */
const NAME_LENGTH_MAX = 253;

export function createEventCorrelator(): EventCorrelator {
  return {
    similar: createLru(CACHE_ENTRIES_MAX),
    observations: createLru(CACHE_ENTRIES_MAX),
    budgets: createLru(CACHE_ENTRIES_MAX),
    named: 0,
  };
}

/** null = the Event object is over the budget of its object, and is not sent. */
export function correlate(
  correlator: EventCorrelator,
  event: EventInput,
  nowMs: number,
  wallMs: number,
): Correlated | null {
  const { component, involvedObject, type, reason } = event;
  const { kind, apiVersion, namespace, name, uid } = involvedObject;
  const objectKey = `${component}\n${kind}\n${apiVersion}\n${namespace}\n${name}\n${uid}`;
  const similarKey = `${objectKey}\n${type}\n${reason}`;
  const combined = isOneOfMany(correlator, similarKey, event.message, nowMs);
  const key = combined ? similarKey : `${similarKey}\n${event.message}`;
  const message = combined ? COMBINED_PREFIX + event.message : event.message;

  let observation = lruGet(correlator.observations, key);
  if (observation === undefined) {
    observation = { name: eventName(correlator, name, wallMs), firstWallMs: wallMs, count: 0 };
    lruSet(correlator.observations, key, observation);
  }
  observation.count++;

  let budget = lruGet(correlator.budgets, objectKey);
  if (budget === undefined) {
    budget = createTokenBucket(OBJECT_QPS, OBJECT_BURST);
    lruSet(correlator.budgets, objectKey, budget);
  }
  return tryTakeToken(budget, nowMs) ? { key, message, observation } : null;
}

function isOneOfMany(correlator: EventCorrelator, similarKey: string, message: string, nowMs: number): boolean {
  let similar = lruGet(correlator.similar, similarKey);
  if (similar === undefined || nowMs - similar.lastMs > SIMILAR_INTERVAL_MS) {
    similar = { messages: new Set(), lastMs: nowMs };
    lruSet(correlator.similar, similarKey, similar);
  }
  similar.messages.add(message);
  similar.lastMs = nowMs;
  if (similar.messages.size < SIMILAR_MAX) return false;
  // The set stays one below the limit, so that one more different message keeps the messages combined.
  similar.messages.delete(similar.messages.keys().next().value!);
  return true;
}

/** `<object>.<hex unix nanoseconds>`. */
function eventName(correlator: EventCorrelator, objectName: string, wallMs: number): string {
  const nanos = BigInt(Math.round(wallMs)) * 1_000_000n + BigInt(correlator.named++ % 1_000_000);
  const suffix = `.${nanos.toString(16)}`;
  return objectName.slice(0, NAME_LENGTH_MAX - suffix.length).replace(/[.-]+$/, '') + suffix;
}
