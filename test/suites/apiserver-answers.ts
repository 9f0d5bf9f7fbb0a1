import type { Client } from './apiserver-client.ts';
import { play, type Step } from './apiserver-script.ts';

/**
 * What each step sees, a text each, to be compared with another server: its status, then its lines in the order of the
 * alphabet, as maps have none in the real server.
 */
export async function answers(client: Client, steps: readonly Step[]): Promise<string[]> {
  const blocks: string[][] = [];
  for (const line of await play(client, steps)) {
    if (line.startsWith(' ')) blocks.at(-1)!.push(VARYING.reduce((text, [from, to]) => text.replace(from, to), line));
    else blocks.push([line]);
  }
  return blocks.map(([status, ...lines]) => [status, ...lines.sort()].join('\n'));
}

/** Versions, uids, and how much of an object is shown, with managedFields and in which order. */
const VARYING: readonly (readonly [RegExp, string])[] = [
  [/current: \d+/, 'current: N'],
  [/in record \([^)]*\)/, 'in record'],
  [
    /patch: Invalid value: "[^]*": (?=json:|quantities|unable to|unrecognized|cannot|no kind|converting|parsing)/,
    'patch: ',
  ],
  [/\([^()]*\.\.\.\)$/, '(...)'],
];
