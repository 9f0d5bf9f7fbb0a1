/**
 * client-go's work queue (docs/spec/endpoints.md "The work queue"). It is first in, first out, and never has a key
 * twice at once. Each key has one delay: the earliest counts, and a direct add leaves it standing. Keys are numbers of
 * services.
 */
import { append, createLinkedList, type LinkedList, type LinkedNode, remove } from '../lib/linked-list.ts';
import { createTokenBucket, nextTokenMs, tryTakeToken, type TokenBucket } from '../lib/token-bucket.ts';
import { type Agenda, at } from './agenda.ts';

interface Waiting extends LinkedNode<Waiting> {
  readonly key: number;
}

export interface KubeQueue {
  readonly agenda: Agenda;
  readonly line: LinkedList<Waiting>;
  readonly dirty: Set<number>;
  readonly processing: Set<number>;
  /** The times at which delayed keys are due. */
  readonly delayed: Map<number, number>;
  readonly failures: Map<number, number>;
  readonly retries: TokenBucket;
  readonly firstRetryMs: number;
  /** Called when a key can be taken. */
  readonly wake: () => void;
}

const RETRIES_A_SECOND = 10;
const RETRY_BURST = 100;
const RETRY_MS_MAX = 1_000_000;
const RETRIES_MAX = 15;

/** @param firstRetryMs the wait after a key's first failure; each further failure waits twice as long */
export function createKubeQueue(agenda: Agenda, firstRetryMs: number, wake: () => void): KubeQueue {
  return {
    agenda,
    line: createLinkedList(),
    dirty: new Set(),
    processing: new Set(),
    delayed: new Map(),
    failures: new Map(),
    retries: createTokenBucket(RETRIES_A_SECOND, RETRY_BURST),
    firstRetryMs,
    wake,
  };
}

export function addKey(queue: KubeQueue, key: number): void {
  if (queue.dirty.has(key)) return;
  queue.dirty.add(key);
  if (!queue.processing.has(key)) enqueue(queue, key);
}

export function addKeyAfter(queue: KubeQueue, key: number, delayMs: number): void {
  if (delayMs <= 0) {
    addKey(queue, key);
    return;
  }
  const dueMs = queue.agenda.nowMs + delayMs;
  if ((queue.delayed.get(key) ?? Infinity) <= dueMs) return;
  queue.delayed.set(key, dueMs);
  at(queue.agenda, dueMs, () => {
    // An earlier delay has replaced this one.
    if (queue.delayed.get(key) !== dueMs) return;
    queue.delayed.delete(key);
    addKey(queue, key);
  });
}

/** -1 = no key waits. */
export function takeKey(queue: KubeQueue): number {
  const { first } = queue.line;
  if (first === null) return -1;
  remove(queue.line, first);
  queue.dirty.delete(first.key);
  queue.processing.add(first.key);
  return first.key;
}

export function keyDone(queue: KubeQueue, key: number): void {
  queue.processing.delete(key);
  if (queue.dirty.has(key)) enqueue(queue, key);
}

export function forgetFailures(queue: KubeQueue, key: number): void {
  queue.failures.delete(key);
}

/** false = the key has failed too often and is dropped. */
export function retryKey(queue: KubeQueue, key: number): boolean {
  const failures = queue.failures.get(key) ?? 0;
  if (failures >= RETRIES_MAX) {
    queue.failures.delete(key);
    return false;
  }
  queue.failures.set(key, failures + 1);
  const { nowMs } = queue.agenda;
  const tokenMs = Math.max(nowMs, nextTokenMs(queue.retries));
  tryTakeToken(queue.retries, tokenMs);
  addKeyAfter(queue, key, Math.max(Math.min(RETRY_MS_MAX, queue.firstRetryMs * 2 ** failures), tokenMs - nowMs));
  return true;
}

function enqueue(queue: KubeQueue, key: number): void {
  append(queue.line, { key, previous: null, next: null });
  queue.wake();
}
