import process from 'node:process';

let listens = false;

/** Prints on stdout. If its reader goes away (`| head`), it ends and says nothing; on a full disk it says why. */
export function print(text: string): void {
  if (!listens) {
    listens = true;
    process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
      if (code === 'EPIPE') process.exit(0);
      process.stderr.write(`endpointd: cannot write to stdout: ${message}\n`);
      process.exit(1);
    });
  }
  process.stdout.write(text);
}
