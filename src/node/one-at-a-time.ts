/** Whoever calls while a run is under way gets what that run gives: what is done at the same time is done once. */
export function oneAtATime<T>(run: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined;
  return () => (underWay ??= run().finally(() => (underWay = undefined)));
}
