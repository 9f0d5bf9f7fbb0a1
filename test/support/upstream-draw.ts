/** The choices that kube-controller-manager leaves to the order of Go maps, from a seed. */
import { nextInt, type Prng } from '../../src/lib/prng.ts';

export function shuffled<T>(items: Iterable<T>, random: Prng): T[] {
  const list = [...items];
  for (let i = list.length - 1; i > 0; i--) {
    const j = nextInt(random, i + 1);
    [list[i], list[j]] = [list[j]!, list[i]!];
  }
  return list;
}
