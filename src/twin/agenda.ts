/** Future moments in virtual time, as a heap. Moments at the same time run in the order in which they were added. */

export interface Agenda {
  nowMs: number;
  readonly times: number[];
  readonly orders: number[];
  readonly runs: (() => void)[];
  order: number;
  /** Moments of now, from `soonAt` on. Those of the heap that have the same time were added before. */
  readonly soon: (() => void)[];
  soonAt: number;
}

export function createAgenda(): Agenda {
  return { nowMs: 0, times: [], orders: [], runs: [], order: 0, soon: [], soonAt: 0 };
}

/** Adds a moment. A past time means now. */
export function at(agenda: Agenda, timeMs: number, run: () => void): void {
  if (timeMs <= agenda.nowMs) {
    agenda.soon.push(run);
    return;
  }
  const { times, orders, runs } = agenda;
  let i = times.length;
  const order = agenda.order++;
  times.push(timeMs);
  orders.push(order);
  runs.push(run);
  while (i > 0) {
    const parent = (i - 1) >> 1;
    // A moment that is added later never comes before an equal one, so only the times are compared on the way up.
    if (times[parent]! <= timeMs) break;
    times[i] = times[parent]!;
    orders[i] = orders[parent]!;
    runs[i] = runs[parent]!;
    i = parent;
  }
  times[i] = timeMs;
  orders[i] = order;
  runs[i] = run;
}

/** Runs all moments up to `untilMs`, and those that they add. */
export function play(agenda: Agenda, untilMs: number): void {
  const { times, soon } = agenda;
  for (;;) {
    const nextMs = times.length > 0 ? times[0]! : Infinity;
    if (soon.length > 0 && nextMs > agenda.nowMs) {
      takeSoon(agenda)();
      continue;
    }
    if (nextMs > untilMs) break;
    agenda.nowMs = nextMs;
    takeFirst(agenda)();
  }
  agenda.nowMs = untilMs;
}

function takeSoon(agenda: Agenda): () => void {
  const { soon } = agenda;
  const run = soon[agenda.soonAt++]!;
  if (agenda.soonAt === soon.length) {
    soon.length = 0;
    agenda.soonAt = 0;
  }
  return run;
}

function takeFirst({ times, orders, runs }: Agenda): () => void {
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
    let childTime = times[child]!;
    if (child + 1 < count) {
      const otherTime = times[child + 1]!;
      if (otherTime < childTime || (otherTime === childTime && orders[child + 1]! < orders[child]!)) {
        child++;
        childTime = otherTime;
      }
    }
    if (time < childTime || (time === childTime && order < orders[child]!)) break;
    times[i] = childTime;
    orders[i] = orders[child]!;
    runs[i] = runs[child]!;
    i = child;
  }
  times[i] = time;
  orders[i] = order;
  runs[i] = run;
  return first;
}
