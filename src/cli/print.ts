import process from 'node:process';

let listens = false;

/** Prints on stdout. If its reader goes away (`| head`), the process ends and says nothing. */
export function print(text: string): void {
  if (!listens) {
    listens = true;
    process.stdout.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(0);
      throw error;
    });
  }
  process.stdout.write(text);
}
