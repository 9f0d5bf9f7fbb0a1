/** The text is no JSON. The message is in the words of Go's decoder. */
export class JsonSyntaxError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'JsonSyntaxError';
  }
}

/** Go's decoder takes 10,000. No object of the API is near this, and what goes down an object here recurses. */
const DEPTH_MAX = 500;

/** @throws JsonSyntaxError */
export function parseGoJson(bytes: Uint8Array): unknown {
  if (bytes.length > DEPTH_MAX && isDeep(bytes)) throw new JsonSyntaxError('exceeded max depth');
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as unknown;
  } catch (error) {
    throw new JsonSyntaxError(syntaxProblem(bytes) ?? (error as Error).message);
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** `[` and `{` differ by this bit, and so do `]` and `}`. */
const BRACE = 0x20;
const OPENING = 0x5b | BRACE;
const CLOSING = 0x5d | BRACE;

function isDeep(bytes: Uint8Array): boolean {
  let depth = 0;
  let isText = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!;
    if (isText) {
      if (byte === BACKSLASH) i++;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) isText = true;
    else if ((byte | BRACE) === OPENING) {
      if (++depth > DEPTH_MAX) return true;
    } else if ((byte | BRACE) === CLOSING) depth--;
  }
  return false;
}

/** The kind of a JSON value in Go's messages. */
export function goKind(value: unknown): string {
  return Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
}

/** What the scanner expects next. A byte that it does not expect is an error that names the place. */
type State =
  | { readonly at: 'value' | 'first-key' | 'key' | 'first-item' | 'colon' | 'after' | 'string' | 'escape' }
  | { readonly at: 'hex'; readonly left: number }
  | { readonly at: 'literal'; readonly word: string; readonly next: number }
  | { readonly at: 'number'; readonly part: NumberPart };

type NumberPart = 'sign' | 'zero' | 'digits' | 'point' | 'fraction' | 'exponent' | 'exponent-sign' | 'exponent-digits';

const WORDS: ReadonlyMap<string, string> = new Map([
  ['t', 'true'],
  ['f', 'false'],
  ['n', 'null'],
]);

interface Scanner {
  state: State;
  /** The open objects and arrays around the place. */
  readonly open: ('object' | 'array')[];
  /** Whether the current string is a key. */
  key: boolean;
}

/** Scans a text that `JSON.parse` refuses, only for Go's message. null = the scanner finds no problem. */
function syntaxProblem(bytes: Uint8Array): string | null {
  const scanner: Scanner = { state: { at: 'value' }, open: [], key: false };
  for (const byte of bytes) {
    const problem = step(scanner, String.fromCharCode(byte));
    if (problem !== null) return `invalid character ${quoted(byte)} ${problem}`;
  }
  // The end of the text first counts as a space.
  const problem = step(scanner, ' ');
  if (problem !== null) return `invalid character ' ' ${problem}`;
  return scanner.state.at === 'after' && scanner.open.length === 0 ? null : 'unexpected end of JSON input';
}

/** Takes one character. Returns the problem with it; null = there is none. */
function step(scanner: Scanner, char: string): string | null {
  const { state } = scanner;
  switch (state.at) {
    case 'value':
    case 'first-item':
      return stepValue(scanner, char);
    case 'first-key':
    case 'key':
      if (isSpace(char)) return null;
      if (char === '"') return enterString(scanner, true);
      if (char === '}' && state.at === 'first-key') return close(scanner);
      return 'looking for beginning of object key string';
    case 'colon':
      if (isSpace(char)) return null;
      return char === ':' ? enter(scanner, { at: 'value' }) : 'after object key';
    case 'after':
      return stepAfter(scanner, char);
    case 'string':
      if (char === '"') return enter(scanner, { at: scanner.key ? 'colon' : 'after' });
      if (char === '\\') return enter(scanner, { at: 'escape' });
      return char < ' ' ? 'in string literal' : null;
    case 'escape':
      if ('"\\/bfnrt'.includes(char)) return enter(scanner, { at: 'string' });
      return char === 'u' ? enter(scanner, { at: 'hex', left: 4 }) : 'in string escape code';
    case 'hex':
      if (!/[0-9a-fA-F]/.test(char)) return 'in \\u hexadecimal character escape';
      return enter(scanner, state.left === 1 ? { at: 'string' } : { at: 'hex', left: state.left - 1 });
    case 'literal': {
      const { word, next } = state;
      if (char !== word[next]) return `in literal ${word} (expecting '${word[next]}')`;
      return enter(scanner, next + 1 === word.length ? { at: 'after' } : { at: 'literal', word, next: next + 1 });
    }
    case 'number':
      return stepNumber(scanner, state.part, char);
  }
}

function stepValue(scanner: Scanner, char: string): string | null {
  if (isSpace(char)) return null;
  if (char === ']' && scanner.state.at === 'first-item') return close(scanner);
  if (char === '"') return enterString(scanner, false);
  if (char === '{' || char === '[') {
    scanner.open.push(char === '{' ? 'object' : 'array');
    return enter(scanner, { at: char === '{' ? 'first-key' : 'first-item' });
  }
  const word = WORDS.get(char);
  if (word !== undefined) return enter(scanner, { at: 'literal', word, next: 1 });
  if (char === '-') return enter(scanner, { at: 'number', part: 'sign' });
  if (char === '0') return enter(scanner, { at: 'number', part: 'zero' });
  return isDigit(char) ? enter(scanner, { at: 'number', part: 'digits' }) : 'looking for beginning of value';
}

function stepAfter(scanner: Scanner, char: string): string | null {
  if (isSpace(char)) return null;
  const inside = scanner.open.at(-1);
  if (inside === undefined) return 'after top-level value';
  if (char === ',') return enter(scanner, { at: inside === 'object' ? 'key' : 'value' });
  if (char === (inside === 'object' ? '}' : ']')) return close(scanner);
  return inside === 'object' ? 'after object key:value pair' : 'after array element';
}

function stepNumber(scanner: Scanner, part: NumberPart, char: string): string | null {
  const go = (next: NumberPart): null => enter(scanner, { at: 'number', part: next });
  switch (part) {
    case 'sign':
      if (char === '0') return go('zero');
      return isDigit(char) ? go('digits') : 'in numeric literal';
    case 'point':
      return isDigit(char) ? go('fraction') : 'after decimal point in numeric literal';
    case 'exponent':
      if (char === '+' || char === '-') return go('exponent-sign');
      return isDigit(char) ? go('exponent-digits') : 'in exponent of numeric literal';
    case 'exponent-sign':
      return isDigit(char) ? go('exponent-digits') : 'in exponent of numeric literal';
    case 'zero':
    case 'digits':
    case 'fraction':
    case 'exponent-digits':
      if (isDigit(char) && part !== 'zero') return null;
      if (char === '.' && (part === 'zero' || part === 'digits')) return go('point');
      if ((char === 'e' || char === 'E') && part !== 'exponent-digits') return go('exponent');
      scanner.state = { at: 'after' };
      return stepAfter(scanner, char);
  }
}

function enter(scanner: Scanner, state: State): null {
  scanner.state = state;
  return null;
}

function enterString(scanner: Scanner, key: boolean): null {
  scanner.key = key;
  return enter(scanner, { at: 'string' });
}

function close(scanner: Scanner): null {
  scanner.open.pop();
  return enter(scanner, { at: 'after' });
}

function isSpace(char: string): boolean {
  return char === ' ' || char === '\t' || char === '\n' || char === '\r';
}

function isDigit(char: string): boolean {
  return char >= '0' && char <= '9';
}

const ESCAPES: ReadonlyMap<number, string> = new Map([
  [0x07, '\\a'],
  [0x08, '\\b'],
  [0x09, '\\t'],
  [0x0a, '\\n'],
  [0x0b, '\\v'],
  [0x0c, '\\f'],
  [0x0d, '\\r'],
  [0x27, "\\'"],
  [0x5c, '\\\\'],
]);

/** A byte as Go quotes it: the character of that number. */
function quoted(byte: number): string {
  const hex = byte.toString(16).padStart(2, '0');
  const plain = byte < 0x20 || byte === 0x7f ? `\\x${hex}` : null;
  const high = (byte >= 0x80 && byte <= 0xa0) || byte === 0xad ? `\\u00${hex}` : null;
  return `'${ESCAPES.get(byte) ?? plain ?? high ?? String.fromCharCode(byte)}'`;
}
