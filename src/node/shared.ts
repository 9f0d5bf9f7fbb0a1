/**
 * Makes a result at most once at a time, and at most once in `keepMs`. All calls while it is made, or within `keepMs`
 * after, share it. A failure rejects the calls that share it, and is not kept.
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
