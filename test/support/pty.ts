/** A command at a terminal: `script` of util-linux gives it one. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface AtTerminal {
  readonly status: number;
  /** All that came to the screen, escape sequences too. */
  readonly screen: string;
  /** From the keys to the end. */
  readonly endedMs: number;
}

interface TerminalOptions {
  readonly ready?: Promise<void>;
  readonly size?: { readonly columns: number; readonly rows: number };
}

const SHOWN_MS_MAX = 30_000;

/**
 * Types `keys` once the screen shows `wanted` and `ready` is settled.
 * @param size 0 = the terminal does not know it
 * @throws Error with the screen when it does not in half a minute
 */
export async function atTerminal(
  command: readonly string[],
  wanted: RegExp,
  keys: string,
  { ready = Promise.resolve(), size = { columns: 120, rows: 40 } }: TerminalOptions = {},
): Promise<AtTerminal> {
  const quoted = command.map((part) => `'${part.replaceAll("'", String.raw`'\''`)}'`).join(' ');
  const child = spawn('script', ['-qec', `stty cols ${size.columns} rows ${size.rows}; ${quoted}`, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let screen = '';
  let typed = false;
  let typedAtMs = Infinity;
  const type = async (): Promise<void> => {
    await ready;
    typedAtMs = performance.now();
    child.stdin.write(keys);
  };
  child.stdout.on('data', (chunk: Buffer) => {
    screen += chunk.toString();
    if (typed || !wanted.test(screen)) return;
    typed = true;
    void type();
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), SHOWN_MS_MAX);
  const [status] = (await once(child, 'exit')) as [number];
  clearTimeout(timer);
  if (!typed) throw new Error(`the screen never shows ${wanted}:\n${screen}`);
  return { status, screen, endedMs: performance.now() - typedAtMs };
}
