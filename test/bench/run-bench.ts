import { spawn } from 'node:child_process';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { MAIN } from '../support/installed.ts';

const RUN = fileURLToPath(new URL('../../bench/run.ts', import.meta.url));

/** `npm run bench -- …` at its smallest size, on the installed program; what it says and what it complains of are one text. */
export async function bench(...args: string[]): Promise<{ status: unknown; out: string }> {
  const child = spawn(process.execPath, [RUN, ...args], {
    env: { ...process.env, BENCH_SIZE: 'tiny', BENCH_PROGRAM: fileURLToPath(MAIN) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { status: await exited, out: out + errors };
}
