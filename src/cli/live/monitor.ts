/** Flags of the commands that look at a running controller. */
import { readFile, stat } from 'node:fs/promises';
import { createMonitor, type Monitor } from '../../node/monitor-client.ts';
import { isLoopback } from '../../node/proxy-env.ts';
import { bool, text, ValueError } from '../flags/flag-kinds.ts';
import type { OptionsOf } from '../flags/flag-table.ts';
import { starting, StartError, UsageError } from '../usage.ts';

export const MONITOR_FLAGS = {
  'token-file': {
    kind: text('<path>'),
    default: '',
    help: 'file with a bearer token of a user who may read the page',
  },
  'certificate-authority': {
    kind: text('<path>'),
    default: '',
    help: "certificate authority of an https address; without it, the system's authorities",
  },
  'insecure-skip-tls-verify': { kind: bool, default: 'false', help: 'accept any certificate of an https address' },
} as const;

/**
 * A flag that would be ignored is refused.
 * @param given names of the flags that the command line has
 * @param others that a command has beside these
 * @param why behind the name of the flag
 * @throws UsageError
 */
export function refuseMonitorFlags(given: ReadonlySet<string>, why: string, others: readonly string[] = []): void {
  const ignored = [...Object.keys(MONITOR_FLAGS), ...others].find((name) => given.has(name));
  if (ignored !== undefined) throw new UsageError(`--${ignored} ${why}`);
}

/** An http or https URL; '' stays. What names no scheme is https, but http on loopback. */
export function monitorUrl(said: string): string {
  if (said === '') return '';
  const url = said.includes('://') ? said : withScheme(said);
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new ValueError('Allowed: an http or https URL such as https://127.0.0.1:10267.');
}

function withScheme(address: string): string {
  const plain = `http://${address}`;
  return URL.canParse(plain) && isLoopback(new URL(plain).hostname) ? plain : `https://${address}`;
}

/** @throws StartError when a file cannot be read, or when the token would be sent to another machine in plain http */
export async function monitorOf(url: string, flags: OptionsOf<typeof MONITOR_FLAGS>): Promise<Monitor> {
  const ca = await readGiven('certificate-authority', flags.certificateAuthority);
  const token = (await readGiven('token-file', flags.tokenFile)).trim();
  const { protocol, hostname, origin } = new URL(url);
  if (flags.tokenFile !== '' && protocol === 'http:' && !isLoopback(hostname)) {
    throw new StartError(
      `--token-file=${flags.tokenFile}: ${origin} is plain http, a token is only sent to it on loopback; use https`,
    );
  }
  const readToken = newest(flags.tokenFile, token);
  return createMonitor({ url, readToken, ca: ca === '' ? null : ca, verify: !flags.insecureSkipTlsVerify });
}

/** Reads a token again, because it may be renewed. While the file is written, or is gone, the last one counts. */
function newest(path: string, first: string): () => Promise<string> {
  let token = first;
  return async () => {
    try {
      // A FIFO would wait for a second writer.
      if (path !== '' && (await stat(path)).isFile()) token = (await readFile(path, 'utf8')).trim() || token;
    } catch {
      // The server says whether the last one still counts.
    }
    return token;
  };
}

/** The contents of the file that a flag names; '' = the flag names none. @throws StartError */
async function readGiven(flag: string, path: string): Promise<string> {
  return path === '' ? '' : await starting(`read --${flag}=${path}`, readFile(path, 'utf8'));
}
