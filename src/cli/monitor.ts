import { readFile } from 'node:fs/promises';
import { createMonitor, type Monitor } from '../node/monitor-client.ts';
import { ValueError } from './flag-kinds.ts';
import { starting } from './usage.ts';

/** An http or https URL; '' stays. */
export function monitorUrl(said: string): string {
  if (said === '') return '';
  const url = said.includes('://') ? said : `http://${said}`;
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new ValueError('Allowed: an http or https URL such as http://127.0.0.1:10267.');
}

/** @throws StartError when the file of the token cannot be read */
export async function monitorOf(url: string, tokenFile: string): Promise<Monitor | null> {
  if (url === '') return null;
  return createMonitor({ url, token: (await readGiven('token-file', tokenFile)).trim(), ca: null, verify: true });
}

/** The file that a flag names; '' where it names none. @throws StartError */
export async function readGiven(flag: string, path: string): Promise<string> {
  return path === '' ? '' : await starting(`read --${flag}=${path}`, readFile(path, 'utf8'));
}
