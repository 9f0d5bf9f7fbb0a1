/**
 * Cores that all processes share, and threads that do one thing after the other on them. Work waits first come, first
 * served, and is not interrupted.
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
  const job = { ms, done, previous: null, next: null };
  if (cores.free === 0) {
    append(cores.waiting, job);
    return;
  }
  cores.free--;
  run(cores, job);
}

function run(cores: Cores, { ms, done }: Job): void {
  const second = Math.floor(cores.agenda.nowMs / 1000);
  while (cores.busyMs.length <= second) cores.busyMs.push(0);
  cores.busyMs[second]! += ms;
  at(cores.agenda, cores.agenda.nowMs + ms, () => {
    const next = takeNext(cores.waiting);
    if (next === null) cores.free++;
    else run(cores, next);
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
  const job = { ms, done, previous: null, next: null };
  if (thread.isBusy) append(thread.waiting, job);
  else begin(thread, job);
}

function begin(thread: Thread, { ms, done }: Job): void {
  thread.isBusy = true;
  compute(thread.cores, ms, () => {
    done();
    const next = takeNext(thread.waiting);
    if (next === null) thread.isBusy = false;
    else begin(thread, next);
  });
}

function takeNext(waiting: LinkedList<Job>): Job | null {
  const { first } = waiting;
  if (first !== null) remove(waiting, first);
  return first;
}
