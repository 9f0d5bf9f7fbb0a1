export function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return sameList(a, b, sameText);
}

/** Whether both have equal items in the same order. */
function sameList<T>(a: readonly T[], b: readonly T[], same: (x: T, y: T) => boolean): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!same(a[i]!, b[i]!)) return false;
  return true;
}

function sameText(a: string, b: string): boolean {
  return a === b;
}
