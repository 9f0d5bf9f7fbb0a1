/**
 * Assertions stay on in production: a controller restarts cheaply, wrong endpoints do not.
 * @throws Error with `message` when `condition` is false.
 */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${message}`);
}

/** For the default branch of an exhaustive switch. */
export function unreachable(value: never): never {
  throw new Error(`assertion failed: unexpected ${JSON.stringify(value)}`);
}
