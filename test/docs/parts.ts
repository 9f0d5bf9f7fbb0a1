/** Documents that people write, with parts that are made from data. */

export interface Part {
  /** The line in front of it. */
  readonly marker: string;
  /** Ends with a line feed. */
  readonly text: string;
}

const END = '<!-- end -->';

/**
 * The document with its parts as they have to be.
 * @param name of the document, for the error
 * @throws Error when the document has no place for one of them
 */
export function withParts(name: string, document: string, parts: readonly Part[]): string {
  let result = document;
  for (const { marker, text } of parts) {
    const from = result.indexOf(marker);
    const to = result.indexOf(END, from);
    if (from < 0 || to < 0) throw new Error(`${name} has no ${marker} with ${END} behind it`);
    result = `${result.slice(0, from)}${marker}\n\n${text}\n${result.slice(to)}`;
  }
  return result;
}
