import process from 'node:process';

const SIGNALS = { SIGINT: 2, SIGTERM: 15 } as const;

/**
 * The first SIGTERM or SIGINT calls `stop`. A second one calls `exit`, which ends the process at once. The status is
 * 128 + the signal's number, as a shell reports it.
 * @returns a function that takes the handlers off again
 */
export function onStopSignals(
  stop: (signal: string, status: number) => void,
  exit: (status: number) => void,
): () => void {
  let stopping = false;
  function handle(signal: keyof typeof SIGNALS): void {
    const status = 128 + SIGNALS[signal];
    if (stopping) exit(status);
    else {
      stopping = true;
      stop(signal, status);
    }
  }
  process.on('SIGINT', handle);
  process.on('SIGTERM', handle);
  return () => {
    process.off('SIGINT', handle);
    process.off('SIGTERM', handle);
  };
}
