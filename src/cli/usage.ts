import process from 'node:process';

/** A flag, an argument or a command is not allowed. `message` is one line that says what is. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** `--help` was asked for, and its text is printed. */
export class HelpShown extends Error {
  override readonly name = 'HelpShown';
}

/** A command cannot start although its flags are right. `message` is one line. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** Awaits `work`. @throws StartError that says what could not be done, and why */
export async function starting<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    // Not by src/lib/error-message.ts: with it in what main.ts loads, a shard's thread would load all of that.
    const reason = error instanceof Error ? error.message : String(error);
    const mend = MENDS[String((error as NodeJS.ErrnoException).code)] ?? '';
    throw new StartError(`cannot ${what}: ${reason.replaceAll(/\s+/g, ' ')}${mend}`, { cause: error });
  }
}

const LISTENERS = process.platform === 'darwin' ? 'lsof -nP -iTCP -sTCP:LISTEN' : 'ss -ltnp';

/** How to mend the reason for which a system call has failed. */
const MENDS: Readonly<Record<string, string>> = {
  EADDRINUSE: `; another process listens there: end it (${LISTENERS} names it), or take another port`,
  EADDRNOTAVAIL: '; this machine has no such address',
};
