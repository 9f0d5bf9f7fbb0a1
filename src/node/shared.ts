/**
 * All who ask while one result is made, or within `keepMs` after it was, share it: it is made at most once at a time and
 * once in `keepMs`. Who asks when making it fails is told so; a failure is not kept.
 */
export function shared<T>(keepMs: number, make: () => Promise<T>): () => Promise<T> {
  let current: Promise<T> | null = null;
  const forget = (): void => {
    current = null;
  };
  return () => {
    if (current === null) {
      current = make();
      current.then(() => void setTimeout(forget, keepMs).unref(), forget);
    }
    return current;
  };
}
