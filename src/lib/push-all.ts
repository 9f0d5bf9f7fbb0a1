/** Appends one by one. `push(...more)` would fail for a long list, because the arguments of a call are limited. */
export function pushAll<T>(list: T[], more: readonly T[]): void {
  for (const item of more) list.push(item);
}
