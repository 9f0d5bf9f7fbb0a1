import { open } from 'node:fs/promises';
import type { LoopConfig } from '../../controller/loop.ts';
import { type Journal, journalEntries } from '../../controller/reports/journal.ts';
import { createTrace, noteStep, traceJson } from '../../controller/reports/trace.ts';
import { errorMessage } from '../../lib/error-message.ts';
import type { Log } from '../../node/log.ts';
import type { Clock } from '../../ports/clock.ts';
import { starting } from '../usage.ts';

/** The most events of a trace. They make some 60 MB of JSON. */
const EVENTS_MAX = 400_000;

export interface TraceFile {
  readonly onStep: NonNullable<LoopConfig['onStep']>;
  /** Writes the file, once: at the end of the time, or when the process ends earlier. */
  readonly finish: () => Promise<void>;
}

/**
 * Begins a trace that lasts `forMs`. The file is opened at once, so that a path that cannot be written is noticed at
 * the start.
 * @param path '' = there is no trace
 * @param journal gives the journal when the trace ends
 * @throws StartError
 */
export async function openTrace(
  path: string,
  forMs: number,
  clock: Clock,
  journal: () => Journal,
  log: Log,
): Promise<TraceFile | null> {
  if (path === '') return null;
  const file = await starting(`write --trace=${path}`, open(path, 'w'));
  const trace = createTrace(EVENTS_MAX, clock.nowMs());
  let written: Promise<void> | undefined;
  const write = async (): Promise<void> => {
    clearTimeout(timer);
    const fields = { path, events: trace.events.length, dropped: trace.dropped };
    try {
      await file.writeFile(traceJson(trace, journalEntries(journal(), EVENTS_MAX)));
      log.write({ level: 'info', v: 0, message: 'Trace is written', fields });
    } catch (error) {
      const err = errorMessage(error);
      log.write({ level: 'error', v: 0, message: 'Trace cannot be written', fields: { path, err } });
    } finally {
      // The loop keeps `onStep`, and the process goes on for months.
      trace.events.length = 0;
      trace.requests.clear();
      trace.batches.clear();
      await file.close().catch(() => undefined);
    }
  };
  const finish = (): Promise<void> => (written ??= write());
  const timer = setTimeout(() => void finish(), forMs).unref();
  return {
    onStep(...step) {
      if (written === undefined) noteStep(trace, ...step);
    },
    finish,
  };
}
