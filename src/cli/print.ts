import process from 'node:process';

let listens = false;

/** On stdout; whoever reads it may go away (`| head`): then the process ends, and says nothing. */
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
