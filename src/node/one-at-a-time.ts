/** Runs `run` once at a time. A call while it runs gets the result of that run. */
export function oneAtATime<T>(run: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined;
  return () => (underWay ??= run().finally(() => (underWay = undefined)));
}
