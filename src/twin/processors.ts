/**
 * Cores that all threads of the controller share, and threads that do one thing after the other on them. Work waits first
 * come, first served, and is not interrupted.
 */
import { append, createLinkedList, remove, type LinkedList, type LinkedNode } from '../lib/linked-list.ts';
import { at, type Agenda } from './agenda.ts';

interface Job extends LinkedNode<Job> {
  readonly ms: number;
  readonly done: () => void;
}

export interface Cores {
  readonly agenda: Agenda;
  free: number;
  readonly waiting: LinkedList<Job>;
  /** The busy time of all cores together in each second. Work counts where it begins. */
  readonly busyMs: number[];
}

export function createCores(agenda: Agenda, count: number): Cores {
  return { agenda, free: count, waiting: createLinkedList(), busyMs: [] };
}

/** Calls `done` when a core has worked for `ms`. */
export function compute(cores: Cores, ms: number, done: () => void): void {
  if (cores.free === 0) {
    append(cores.waiting, { ms, done, previous: null, next: null });
    return;
  }
  cores.free--;
  run(cores, ms, done);
}

function run(cores: Cores, ms: number, done: () => void): void {
  const { agenda, busyMs, waiting } = cores;
  const second = Math.floor(agenda.nowMs / 1000);
  while (busyMs.length <= second) busyMs.push(0);
  busyMs[second]! += ms;
  at(agenda, agenda.nowMs + ms, () => {
    const next = waiting.first;
    if (next === null) cores.free++;
    else {
      remove(waiting, next);
      run(cores, next.ms, next.done);
    }
    done();
  });
}

/** Does one thing after the other, on any core. */
export interface Thread {
  readonly cores: Cores;
  isBusy: boolean;
  readonly waiting: LinkedList<Job>;
}

export function createThread(cores: Cores): Thread {
  return { cores, isBusy: false, waiting: createLinkedList() };
}

export function runOn(thread: Thread, ms: number, done: () => void): void {
  if (thread.isBusy) append(thread.waiting, { ms, done, previous: null, next: null });
  else begin(thread, ms, done);
}

function begin(thread: Thread, ms: number, done: () => void): void {
  thread.isBusy = true;
  compute(thread.cores, ms, () => {
    done();
    const next = thread.waiting.first;
    if (next === null) thread.isBusy = false;
    else {
      remove(thread.waiting, next);
      begin(thread, next.ms, next.done);
    }
  });
}
