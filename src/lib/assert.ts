/**
 * Assertions stay on in production, because a restart of a controller is cheap and wrong endpoints are not.
 * @throws Error with `message` when `condition` is false.
 */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${message}`);
}

/** For the default branch of an exhaustive switch. */
export function unreachable(value: never): never {
  throw new Error(`assertion failed: unexpected ${JSON.stringify(value)}`);
}
