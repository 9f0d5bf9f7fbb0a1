/** The choices that kube-controller-manager leaves to the order of Go maps. */
import { nextInt, type Prng } from '../../src/lib/prng.ts';

/** Null = everything in the order that it comes in, which may happen too. */
export type Luck = Prng | null;

export function shuffled<T>(items: Iterable<T>, luck: Luck): T[] {
  const list = [...items];
  if (luck === null) return list;
  for (let i = list.length - 1; i > 0; i--) {
    const j = nextInt(luck, i + 1);
    [list[i], list[j]] = [list[j]!, list[i]!];
  }
  return list;
}
