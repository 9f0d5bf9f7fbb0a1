import process from 'node:process';
import { endNow } from './end-process.ts';

const SIGNALS = { SIGINT: 2, SIGTERM: 15 } as const;
type Signal = keyof typeof SIGNALS;

/** What a signal does now; null = what the system does. */
let heeded: ((signal: Signal) => void) | null = null;

function heed(handle: typeof heeded): void {
  for (const signal of Object.keys(SIGNALS)) {
    if (handle !== null) process.on(signal, handle);
    if (heeded !== null) process.off(signal, heeded);
  }
  heeded = handle;
}

/**
 * The first SIGTERM or SIGINT calls `stop`. A second one calls `exit`, which ends the process at once. The status is
 * 128 + the signal's number, as a shell reports it.
 * @returns a function that gives the signals back to who had them before
 */
export function onStopSignals(
  stop: (signal: string, status: number) => void,
  exit: (status: number) => void,
): () => void {
  const before = heeded;
  let stopping = false;
  heed((signal) => {
    const status = 128 + SIGNALS[signal];
    if (stopping) exit(status);
    else {
      stopping = true;
      stop(signal, status);
    }
  });
  return () => heed(before);
}

/**
 * SIGTERM and SIGINT end the process, with all commands that it has started, whenever nothing else listens for them.
 * The system does not do that for process 1 of a container.
 */
export function endOnStopSignals(): void {
  onStopSignals((_signal, status) => endNow(status), endNow);
}
