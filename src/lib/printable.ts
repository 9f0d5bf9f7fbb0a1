const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;
const ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * Turns characters that are not shown as themselves into escapes such as `\u001b`. These are control characters,
 * characters without width, characters that turn the direction of a text, and half surrogate pairs. So a name that a
 * stranger has chosen neither steers a terminal nor looks like another name.
 */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, (character) => {
    return ESCAPES[character] ?? `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`;
  });
}

/**
 * JSON in which these characters are escaped too. A parser reads the same data from it.
 * @param indent spaces a level; 0 = all in one line
 */
export function printableJson(value: unknown, indent = 2): string {
  return escapedJson(JSON.stringify(value, null, indent));
}

/**
 * The same text in parts, for values whose text may be longer than a string can be. No part has more than one element of
 * a list that is a field of the value.
 */
export function* printableJsonParts(value: object): Generator<string> {
  const fields = Object.entries(value) as [string, unknown][];
  if (fields.length === 0) {
    yield '{}';
    return;
  }
  let before = '{\n  ';
  for (const [name, field] of fields) {
    yield `${before}${printableJson(name)}: `;
    if (Array.isArray(field) && field.length > 0) yield* listParts(field);
    else yield shiftedJson(field, 2);
    before = ',\n  ';
  }
  yield '\n}';
}

function* listParts(list: readonly unknown[]): Generator<string> {
  let before = '[\n    ';
  for (const element of list) {
    yield `${before}${shiftedJson(element, 4)}`;
    before = ',\n    ';
  }
  yield '\n  ]';
}

/** All lines but the first one are shifted. A line feed in JSON is never part of a value. */
function shiftedJson(value: unknown, spaces: number): string {
  return printableJson(value).replaceAll('\n', `\n${' '.repeat(spaces)}`);
}

/** As `printableJson`, of texts in JSON that stand in one line. */
export function escapedJson(json: string): string {
  return json.replaceAll(UNPRINTABLE, (character) => {
    if (character === '\n') return character;
    return character.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  });
}
