/** Services that kill the thread which plans them, for tests of what follows. */
import type { Planning } from '../../src/node/inline-shards.ts';

export type Poison = 'throw' | 'exit' | 'hang' | 'allocate' | 'throw-later';

export function poisonService(poison: Poison): string {
  return `poison/${poison}`;
}

/** The planning, but for batches with a service of the name of a death: that happens first. */
export function poisonous(planning: Planning, deaths: Partial<Record<Poison, () => void>>): Planning {
  return (work) => {
    const services = work.entries.map((entry) => entry.service);
    for (const [poison, die] of Object.entries(deaths)) {
      if (services.includes(poisonService(poison as Poison))) die();
    }
    return planning(work);
  };
}
