/** A word of which more than this share of letters is changed counts as another word. */
const CHANGES_MAX = 0.4;

/** The word of `words` with the fewest changed, missing or added letters; null = no word is near. */
export function nearest(word: string, words: readonly string[]): string | null {
  let best: string | null = null;
  let fewest = Math.floor(word.length * CHANGES_MAX) + 1;
  for (const other of words) {
    const changes = distance(word, other);
    if (changes >= fewest) continue;
    fewest = changes;
    best = other;
  }
  return best;
}

/** The Levenshtein distance. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
