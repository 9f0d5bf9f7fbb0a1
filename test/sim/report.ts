/** What is printed of a story that fails. */
import { play } from './play.ts';
import { shrink } from './shrink.ts';
import type { Story } from './story.ts';

export function report(story: Story, wrong: string): string {
  const shortest = shrink(story, (candidate) => play(candidate).wrong !== null);
  const { told, wrong: wrongThen } = play(shortest);
  return [
    `seed ${story.seed} fails: ${wrong}`,
    `shortest story, ${shortest.happenings.length} of ${story.happenings.length} happenings:`,
    ...told.map((line) => `  ${line}`),
    `  ${wrongThen ?? 'nothing is wrong'}`,
    `again: npm run sim -- --seed=${story.seed}`,
    `only the shortest: npm run sim -- --story='${JSON.stringify(shortest)}'`,
  ].join('\n');
}
