/**
 * Bugs that were planted once to see whether the simulation finds them: `node test/sim/planted.ts 0` plays stories with the
 * first of them in place, and prints a seed that fails.
 */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

export interface Planted {
  readonly name: string;
  /** Below `src`. */
  readonly file: string;
  /** Occurs once in the file. */
  readonly from: string;
  readonly to: string;
  /** Has found it, and is tried before the seeds from 1 on. */
  readonly seed: number;
}

export const PLANTED: readonly Planted[] = [
  {
    name: 'what takes endpoints away is sent though a write before it failed',
    file: 'controller/syncs/sync-writes.ts',
    from: '!endedFamilies.includes(family) && !(waits && blockedFamilies.includes(family));',
    to: 'true;',
    seed: 92,
  },
  {
    name: 'a write whose answer was lost is taken for not done',
    file: 'controller/writes/write-outcome.ts',
    from: 'mustRead: event.mayHaveArrived,',
    to: 'mustRead: false,',
    seed: 57,
  },
  {
    name: 'what drops an endpoint goes beside what takes it in',
    file: 'core/slices/write-phases.ts',
    from: 'needs[i]!.every((other) => phases[other]! > 0)',
    to: 'true',
    seed: 83,
  },
  {
    name: 'what another endpointd with other flags writes is repaired every second, for ever',
    file: 'controller/queues/fights.ts',
    from: 'rounds.count++;',
    to: '',
    seed: 32,
  },
];

const SEEDS_MAX = 300;

if (import.meta.main) {
  const { file, from, to, seed } = PLANTED[Number(process.argv[2])]!;
  const at = new URL(`../../src/${file}`, import.meta.url).href;
  const source = readFileSync(new URL(at), 'utf8');
  if (source.split(from).length !== 2) throw new Error(`${file} is to have this once: ${from}`);
  registerHooks({
    load: (url, context, next) =>
      url === at
        ? { format: 'module-typescript', source: source.replace(from, to), shortCircuit: true }
        : next(url, context),
  });
  const { play } = await import('./play.ts');
  const { makeStory } = await import('./story.ts');
  const firstSeeds = Array.from({ length: SEEDS_MAX }, (_, i) => i + 1);
  let found = `not found by ${SEEDS_MAX} seeds`;
  for (const each of [seed, ...firstSeeds]) {
    const { wrong } = play(makeStory(each));
    if (wrong === null) continue;
    found = `seed ${each}: ${wrong}`;
    break;
  }
  console.log(found);
}
