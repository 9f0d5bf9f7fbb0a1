import process from 'node:process';

const SIGNALS = { SIGINT: 2, SIGTERM: 15 } as const;

/**
 * The first SIGTERM or SIGINT calls `stop`; a second one ends the process at once with 128 + its number, as a shell
 * reports it. Gives back a function that takes the handlers off again.
 */
export function onStopSignals(stop: (signal: string) => void, exit: (status: number) => void): () => void {
  let stopping = false;
  function handle(signal: keyof typeof SIGNALS): void {
    if (stopping) exit(128 + SIGNALS[signal]);
    else {
      stopping = true;
      stop(signal);
    }
  }
  process.on('SIGINT', handle);
  process.on('SIGTERM', handle);
  return () => {
    process.off('SIGINT', handle);
    process.off('SIGTERM', handle);
  };
}
