/** Future moments in virtual time, as a heap. Moments at the same time run in the order in which they were added. */

export interface Agenda {
  nowMs: number;
  readonly times: number[];
  readonly orders: number[];
  readonly runs: (() => void)[];
  order: number;
}

export function createAgenda(): Agenda {
  return { nowMs: 0, times: [], orders: [], runs: [], order: 0 };
}

/** Adds a moment. A past time means now. */
export function at(agenda: Agenda, timeMs: number, run: () => void): void {
  const { times, orders, runs } = agenda;
  let i = times.length;
  const time = Math.max(agenda.nowMs, timeMs);
  const order = agenda.order++;
  times.push(time);
  orders.push(order);
  runs.push(run);
  while (i > 0) {
    const parent = (i - 1) >> 1;
    // A moment that is added later never comes before an equal one, so only the times are compared on the way up.
    if (times[parent]! <= time) break;
    move(agenda, parent, i);
    i = parent;
  }
  put(agenda, i, time, order, run);
}

/** Runs all moments up to `untilMs`, and those that they add. */
export function play(agenda: Agenda, untilMs: number): void {
  while (agenda.times.length > 0 && agenda.times[0]! <= untilMs) {
    agenda.nowMs = agenda.times[0]!;
    takeFirst(agenda)();
  }
  agenda.nowMs = untilMs;
}

function takeFirst(agenda: Agenda): () => void {
  const { times, orders, runs } = agenda;
  const first = runs[0]!;
  const time = times.pop()!;
  const order = orders.pop()!;
  const run = runs.pop()!;
  const count = times.length;
  if (count === 0) return first;
  let i = 0;
  for (;;) {
    let child = 2 * i + 1;
    if (child >= count) break;
    if (child + 1 < count && isBefore(times, orders, child + 1, child)) child++;
    if (time < times[child]! || (time === times[child]! && order < orders[child]!)) break;
    move(agenda, child, i);
    i = child;
  }
  put(agenda, i, time, order, run);
  return first;
}

function isBefore(times: readonly number[], orders: readonly number[], a: number, b: number): boolean {
  const laterMs = times[a]! - times[b]!;
  return laterMs < 0 || (laterMs === 0 && orders[a]! < orders[b]!);
}

function move({ times, orders, runs }: Agenda, from: number, to: number): void {
  times[to] = times[from]!;
  orders[to] = orders[from]!;
  runs[to] = runs[from]!;
}

function put({ times, orders, runs }: Agenda, i: number, time: number, order: number, run: () => void): void {
  times[i] = time;
  orders[i] = order;
  runs[i] = run;
}
