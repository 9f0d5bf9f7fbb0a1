/**
 * Why a text is not the JSON or YAML that it should be: the kind of error and its place, and nothing of the text. The
 * parsers' own messages quote pieces of the text, which may be a token or a key.
 */
export function parseErrorText(error: unknown): string {
  if (!(error instanceof Error)) return 'not valid';
  if (isYamlError(error)) {
    // js-yaml appends what it quotes to its own words, as "name", as !<tag> or after a colon.
    const words = error.reason.split(/"|!<|: /, 1)[0]!.trim();
    return words + (error.mark === undefined ? '' : place(error.mark.line + 1, error.mark.column + 1));
  }
  if (!(error instanceof SyntaxError)) return 'not valid';
  if (error.message === 'Unexpected end of JSON input') return 'not JSON: it ends too early';
  // V8's message either ends with the position, or quotes the text that is there.
  const at = / in JSON at position \d+ \(line (\d+) column (\d+)\)$/.exec(error.message);
  return at === null ? 'not JSON' : `not JSON${place(Number(at[1]), Number(at[2]))}`;
}

interface YamlError extends Error {
  readonly reason: string;
  /** Both from 0. */
  readonly mark?: { readonly line: number; readonly column: number };
}

function isYamlError(error: Error): error is YamlError {
  return error.name === 'YAMLException' && typeof (error as Partial<YamlError>).reason === 'string';
}

/** Both from 1. */
function place(line: number, column: number): string {
  return ` (line ${line}, column ${column})`;
}
