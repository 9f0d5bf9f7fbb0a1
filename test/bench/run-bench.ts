import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { BenchMarks } from '../../bench/marks/data.ts';
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

/** A bench that plays no scenario, and what it writes with `--json`; null = nothing. */
export async function benchWithData(name: string): Promise<{ status: unknown; out: string; data: BenchMarks | null }> {
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-bench-'));
  try {
    const json = join(directory, 'bench.json');
    const { status, out } = await bench(name, `--json=${json}`);
    return { status, out, data: status === 0 ? (JSON.parse(readFileSync(json, 'utf8')) as BenchMarks) : null };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** The titles of the tables. @throws Error if a row has not one cell for each column */
export function tableTitles({ tables = [] }: BenchMarks): string[] {
  return tables.map(({ title, columns, rows }) => {
    if (rows.length === 0 || rows.some((row) => row.length !== columns.length))
      throw new Error(`${title}: uneven rows`);
    return title;
  });
}
