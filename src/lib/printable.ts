const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;
const ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * Control characters, and what turns the direction of a text or has no width, become visible escapes such as `\u001b`:
 * a name of a stranger then neither steers a terminal nor looks like another one. Half of a surrogate pair does too.
 */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, (character) => {
    return ESCAPES[character] ?? `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`;
  });
}

/**
 * JSON in which such characters are escaped too: the same data to whoever reads it.
 * @param indent spaces a level; 0 = all in one line
 */
export function printableJson(value: unknown, indent = 2): string {
  return JSON.stringify(value, null, indent).replaceAll(UNPRINTABLE, (character) => {
    if (character === '\n') return character;
    return character.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  });
}
