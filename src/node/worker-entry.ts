/** The entry of a thread: a file in `workers`, the source beside sources and the compiled file beside compiled ones. */
export function workerEntry(name: string): URL {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`../../workers/${name}.${extension}`, import.meta.url);
}
