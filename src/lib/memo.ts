/** Looks each key up once. Every result is kept, so this is for few keys. */
export function memo<K, R>(lookUp: (key: K) => R): (key: K) => R {
  const results = new Map<K, R>();
  return (key) => {
    let result = results.get(key);
    if (result === undefined) results.set(key, (result = lookUp(key)));
    return result;
  };
}
