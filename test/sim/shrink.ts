/** Finds a shorter story that fails too: happenings are left out, then the world is made simpler, until nothing more can go. */
import { SIMPLEST_WORLD, type Happening, type Story, type World } from './story.ts';

/** @param playsMax most stories that are played */
export function shrink(story: Story, fails: (story: Story) => boolean, playsMax = 1000): Story {
  let plays = 0;
  const tries = (candidate: Story): boolean => plays++ < playsMax && fails(candidate);
  let shortest = story;
  for (;;) {
    const before = shortest;
    shortest = leaveOut(shortest, tries);
    shortest = simplify(shortest, tries);
    if (shortest === before || plays >= playsMax) return shortest;
  }
}

/** Delta debugging: larger parts first, down to single happenings. */
function leaveOut(story: Story, fails: (story: Story) => boolean): Story {
  let shortest = story;
  for (let size = Math.ceil(story.happenings.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < shortest.happenings.length;) {
      const candidate = { ...shortest, happenings: shortest.happenings.toSpliced(from, size) };
      if (fails(candidate)) shortest = candidate;
      else from += size;
    }
  }
  return shortest;
}

function simplify(story: Story, fails: (story: Story) => boolean): Story {
  let shortest = story;
  for (const world of simplerWorlds(story.world)) {
    const candidate = { ...shortest, world: world(shortest.world) };
    if (fails(candidate)) shortest = candidate;
  }
  for (const i of story.happenings.keys()) {
    for (const simpler of SIMPLER_HAPPENINGS) {
      const happening = simpler(shortest.happenings[i]!);
      if (happening === null) continue;
      const candidate = { ...shortest, happenings: shortest.happenings.with(i, happening) };
      if (fails(candidate)) shortest = candidate;
    }
  }
  return shortest;
}

/** Each way in which the world can be made simpler. */
function simplerWorlds(world: World): ((world: World) => World)[] {
  const fields = (Object.keys(SIMPLEST_WORLD) as (keyof World)[]).filter(
    (field) => field !== 'options' && world[field] !== SIMPLEST_WORLD[field],
  );
  const flags = Object.keys(world.options) as (keyof World['options'])[];
  return [
    ...fields.map((field) => (of: World) => ({ ...of, [field]: SIMPLEST_WORLD[field] })),
    ...flags.map((flag) => (of: World) => {
      const { [flag]: _, ...options } = of.options;
      return { ...of, options };
    }),
  ];
}

/** Null = it is so already. */
const SIMPLER_HAPPENINGS: readonly ((happening: Happening) => Happening | null)[] = [
  (happening) => (happening.forMs < 2000 ? null : { ...happening, forMs: 1000 }),
];
