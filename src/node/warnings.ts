/**
 * How many distinct texts are remembered. Beyond that the oldest is forgotten, so hostile headers cost bounded memory.
 */
const TEXTS_MAX = 256;
const TEXT_CHARS_MAX = 256;
const REPEAT_MS = 3_600_000;

/**
 * Since 1.33 every answer about Endpoints carries this warning. It is not logged, because keeping Endpoints is what
 * this program is for.
 */
const KNOWN = /^v1 Endpoints is deprecated\b/;

/** One warn-agent and quoted text of a Warning header, RFC 7234 5.5; only code 299 is used by the API server. */
const WARNING = /299 \S+ "((?:[^"\\]|\\.)*)"/g;

/** Takes Warning headers and gives back the texts that are due for a log line: each distinct one once an hour. */
export type WarningFilter = (header: string | readonly string[], nowMs: number) => string[];

export function createWarningFilter(): WarningFilter {
  const loggedAtMs = new Map<string, number>();
  /** The last header with nothing but the known warning. Nearly all headers equal it word for word. */
  let quiet: string | readonly string[] = '';
  return (header, nowMs) => {
    if (header === quiet) return [];
    const due: string[] = [];
    let isQuiet = true;
    for (const value of typeof header === 'string' ? [header] : header) {
      for (const match of value.matchAll(WARNING)) {
        const text = match[1]!.replaceAll(/\\(.)/g, '$1').slice(0, TEXT_CHARS_MAX);
        if (KNOWN.test(text)) continue;
        isQuiet = false;
        const lastMs = loggedAtMs.get(text);
        if (lastMs !== undefined && nowMs - lastMs < REPEAT_MS) continue;
        loggedAtMs.delete(text);
        if (loggedAtMs.size >= TEXTS_MAX) loggedAtMs.delete(loggedAtMs.keys().next().value!);
        loggedAtMs.set(text, nowMs);
        due.push(text);
      }
    }
    if (isQuiet) quiet = header;
    return due;
  };
}
