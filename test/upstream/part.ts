import { readFile } from 'node:fs/promises';

/** What each part is given. */
export interface Run {
  readonly directory: string;
  readonly goMod: string;
  readonly logs: string;
  /** For programs that are built once. */
  readonly cache: string;
  /** How the tests start endpointd, and where they note it. */
  readonly env: Readonly<Record<string, string>>;
}

/** How often the tests have started endpointd so far. */
export async function startsOf({ env }: Run): Promise<number> {
  const text = await readFile(env['ENDPOINTD_STARTS']!, 'utf8').catch(() => '');
  return text.split('\n').length - 1;
}
