/** The changes of a story that happens for real, until an object shows them. It measures as the queue model does. */
import { type ChangeKind, type Ledger, type Output, UNDONE_MS_MAX } from '../twin/ledger.ts';

/** A change of readiness. */
export interface AwaitedChange {
  readonly output: Output;
  readonly service: string;
  readonly address: string;
  readonly ready: boolean;
  /** When it was sent, in milliseconds since the story began. */
  readonly atMs: number;
}

export interface AwaitedChanges {
  /** Awaits a change. One that undoes a change which is not shown yet needs no write, unless one is under way. */
  readonly add: (change: AwaitedChange) => void;
  /** Whether an object may still show one. */
  readonly isOpen: () => boolean;
  /** Notes what nothing has shown. */
  readonly close: () => void;
}

/** A change, and the next one of its address, which undid it before it was shown. */
interface Undone {
  readonly change: AwaitedChange;
  readonly by: AwaitedChange;
}

/** What was under way with a change that was undone has come by then, so nothing waits for it any longer. */
const UNDER_WAY_MS = 1000;

/**
 * @param watch calls `seen` once an object shows the change
 * @param now milliseconds since the story began
 */
export function createAwaitedChanges(
  ledger: Ledger,
  watch: (change: AwaitedChange, seen: () => void) => void,
  now: () => number,
): AwaitedChanges {
  const open = new Map<string, AwaitedChange>();
  const undone = new Map<string, Undone>();
  const show = (change: AwaitedChange): void => {
    const { output, atMs } = change;
    ledger.samples[output].push({ atMs, kind: kindOf(change), latencyMs: now() - atMs });
  };
  const hide = (key: string): void => {
    const last = undone.get(key);
    if (last === undefined) return;
    undone.delete(key);
    const { output, atMs } = last.change;
    // The change, and what undid it.
    ledger.overtaken[output] += 2;
    ledger.unshown[output].push({ atMs, kind: kindOf(last.change), latencyMs: last.by.atMs - atMs });
  };
  const expect = (key: string, change: AwaitedChange): void => {
    open.set(key, change);
    watch(change, () => {
      const last = undone.get(key);
      if (open.get(key) === change) {
        open.delete(key);
        show(change);
      } else if (last?.change === change && now() - last.by.atMs <= UNDONE_MS_MAX) {
        // A write was under way with it, so what undid it is to be shown too.
        undone.delete(key);
        show(change);
        expect(key, last.by);
      }
    });
  };
  return {
    add(change) {
      const key = `${change.output} ${change.address}`;
      hide(key);
      const before = open.get(key);
      if (before === undefined) {
        expect(key, change);
        return;
      }
      open.delete(key);
      undone.set(key, { change: before, by: change });
    },
    isOpen: () => open.size > 0 || [...undone.values()].some(({ by }) => now() - by.atMs < UNDER_WAY_MS),
    close() {
      for (const change of open.values()) {
        ledger.open[change.output]++;
        show(change);
      }
      open.clear();
      for (const key of undone.keys()) hide(key);
    },
  };
}

function kindOf({ ready }: AwaitedChange): ChangeKind {
  return ready ? 'add' : 'remove';
}
