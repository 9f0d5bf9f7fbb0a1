import { badRequest } from './api-error.ts';
import { invalid, joinFieldErrors, type FieldError } from './field-error.ts';
import { textAt, type ApiObject } from './object.ts';
import { PODS, type Resource } from './resource.ts';
import { labelValue, qualifiedName } from './rules/name-rules.ts';

/** What a list or watch selects; null = everything. */
export interface Selection {
  readonly labels: readonly LabelRequirement[];
  readonly fields: readonly FieldRequirement[];
}

interface LabelRequirement {
  readonly key: string;
  readonly operator: 'in' | 'notin' | 'exists' | 'missing' | 'gt' | 'lt';
  readonly values: readonly string[];
}

interface FieldRequirement {
  readonly path: string;
  readonly equal: boolean;
  readonly value: string;
}

/** @throws ApiError 400 */
export function parseSelection(resource: Resource, labelSelector: string, fieldSelector: string): Selection | null {
  const labels = parseLabelSelector(labelSelector);
  const fields = parseFieldSelector(resource, fieldSelector);
  return labels.length === 0 && fields.length === 0 ? null : { labels, fields };
}

export function selects(selection: Selection | null, object: ApiObject): boolean {
  if (selection === null) return true;
  const labels = object.metadata.labels;
  for (const requirement of selection.labels) if (!labelMatches(requirement, labels)) return false;
  for (const { path, equal, value } of selection.fields) {
    const given = textAt(object, path);
    if (((given === '' && FLAGS.includes(path) ? 'false' : given) === value) !== equal) return false;
  }
  return true;
}

/** Bool fields whose absence means false. */
const FLAGS: readonly string[] = ['spec.hostNetwork', 'spec.unschedulable'];

function labelMatches(requirement: LabelRequirement, labels: Record<string, string> | undefined): boolean {
  const value = labels !== undefined && Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined;
  switch (requirement.operator) {
    case 'in':
      return value !== undefined && requirement.values.includes(value);
    case 'notin':
      return value === undefined || !requirement.values.includes(value);
    case 'exists':
      return value !== undefined;
    case 'missing':
      return value === undefined;
    case 'gt':
    case 'lt': {
      const given = parseInt64(value ?? '');
      const bound = parseInt64(requirement.values[0]!);
      if (given === null || bound === null) return false;
      return requirement.operator === 'gt' ? given > bound : given < bound;
    }
  }
}

/** A whole number of 64 bits, as strconv.ParseInt reads it; null = the text is none. */
function parseInt64(text: string): bigint | null {
  if (!/^[+-]?0*[0-9]{1,19}$/.test(text)) return null;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? value : null;
}

const TOKEN = /\s*(==|!=|[=!(),<>]|[^\s=!(),<>]+)/y;

/** Parses label selectors such as `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1`. */
function parseLabelSelector(text: string): readonly LabelRequirement[] {
  const tokens: Tokens = { texts: tokensOf(text), at: 0 };
  const requirements: LabelRequirement[] = [];
  if (tokens.texts.length === 0) return requirements;
  for (;;) {
    const start = peek(tokens);
    if (start !== '!' && !isWord(start)) {
      throw badRequest(`found '${start}', expected: !, identifier, or 'end of string'`);
    }
    const requirement = parseRequirement(tokens);
    const errors = requirementErrors(requirement);
    if (errors.length > 0) throw unreadable(joinFieldErrors(errors));
    requirements.push(requirement);
    const separator = peek(tokens);
    if (separator === '') return requirements;
    if (separator !== ',') throw badRequest(`found '${separator}', expected: ',' or 'end of string'`);
    tokens.at++;
    const next = peek(tokens);
    if (next !== '!' && !isWord(next)) throw badRequest(`found '${next}', expected: identifier after ','`);
  }
}

function requirementErrors({ key, operator, values }: LabelRequirement): readonly FieldError[] {
  const errors = qualifiedName(key).map((problem) => invalid('<nil>', key, problem));
  if (operator !== 'in' && operator !== 'notin') return errors;
  for (const [at, value] of [...new Set(values)].sort().entries()) {
    for (const problem of labelValue(value)) errors.push(invalid(`values[${at}][${key}]`, value, problem));
  }
  return errors;
}

interface Tokens {
  readonly texts: readonly string[];
  at: number;
}

/** The next token; '' = the end. */
function peek({ texts, at }: Tokens): string {
  return texts[at] ?? '';
}

function take(tokens: Tokens): string {
  const text = peek(tokens);
  tokens.at++;
  return text;
}

function isWord(token: string): boolean {
  return token !== '' && !/^[=!(),<>]/.test(token);
}

function parseRequirement(tokens: Tokens): LabelRequirement {
  if (peek(tokens) === '!') {
    tokens.at++;
    const key = take(tokens);
    if (!isWord(key)) throw unreadable(`found '${key}', expected: identifier`);
    return { key, operator: 'missing', values: [] };
  }
  const key = take(tokens);
  if (peek(tokens) === '' || peek(tokens) === ',') return { key, operator: 'exists', values: [] };
  const operator = take(tokens);
  switch (operator) {
    case 'in':
    case 'notin':
      return { key, operator, values: parseValues(tokens) };
    case '=':
    case '==':
      return { key, operator: 'in', values: [parseValue(tokens)] };
    case '!=':
      return { key, operator: 'notin', values: [parseValue(tokens)] };
    case '>':
    case '<':
      return { key, operator: operator === '>' ? 'gt' : 'lt', values: [parseInteger(tokens)] };
    default:
      throw unreadable(`found '${operator}', expected: in, notin, =, ==, !=, gt, lt`);
  }
}

/** Parses one value. An absent value is an empty one. */
function parseValue(tokens: Tokens): string {
  if (peek(tokens) === '' || peek(tokens) === ',') return '';
  const value = take(tokens);
  if (!isWord(value)) throw unreadable(`found '${value}', expected: identifier`);
  return value;
}

function parseInteger(tokens: Tokens): string {
  const value = parseValue(tokens);
  if (parseInt64(value) !== null) return value;
  const shown = JSON.stringify(value);
  throw unreadable(`values[0]: Invalid value: ${shown}: for 'Gt', 'Lt' operators, the value must be an integer`);
}

/** Parses `(a,b)`. Two commas, or empty parentheses, hold an empty value. */
function parseValues(tokens: Tokens): readonly string[] {
  const open = take(tokens);
  if (open !== '(') throw unreadable(`found '${open}' expected: '('`);
  const first = peek(tokens);
  if (first !== ',' && first !== ')' && !isWord(first)) {
    throw unreadable(`found '${first}', expected: ',', ')' or identifier`);
  }
  const values: string[] = [];
  for (;;) {
    const value = peek(tokens);
    if (value === ',' || value === ')') values.push('');
    else if (isWord(value)) values.push(take(tokens));
    else throw unreadable(`found '${value}', expected: ',', or identifier`);
    const separator = take(tokens);
    if (separator === ')') return values;
    if (separator !== ',') throw unreadable(`found '${separator}', expected: ',' or ')'`);
  }
}

function tokensOf(text: string): readonly string[] {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(text); match !== null; match = TOKEN.exec(text)) tokens.push(match[1]!);
  return tokens;
}

function unreadable(why: string): Error {
  return badRequest(`unable to parse requirement: ${why}`);
}

/** What old clients call `spec.nodeName` of a pod. */
const OLD_NODE_NAME = 'spec.host';

function parseFieldSelector(resource: Resource, text: string): readonly FieldRequirement[] {
  if (text === '') return [];
  const known = ['metadata.name', ...(resource.namespaced ? ['metadata.namespace'] : []), ...resource.selectableFields];
  // A comma behind a backslash belongs to the value.
  const terms = (text.match(/(?:\\[^]|[^,\\]|\\$)+/g) ?? []).map((term) => {
    const match = /^([^]*?)(!=|==|=)([^]*)$/.exec(term);
    if (match === null) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
    const [, given = '', operator = '', escaped = ''] = match;
    const path = resource === PODS && given === OLD_NODE_NAME ? 'spec.nodeName' : given;
    return { path, operator, value: unescape(escaped) };
  });
  return terms.map(({ path, operator, value }) => {
    if (!known.includes(path)) {
      if (resource.selectableFields.length > 0) throw badRequest(`field label not supported: ${path}`);
      const list = known.map((name) => JSON.stringify(name)).join(', ');
      throw badRequest(`"${path}" is not a known field selector: only ${list}`);
    }
    return { path, equal: operator !== '!=', value };
  });
}

/** Removes the backslash before each backslash, comma and equals sign of a value. */
function unescape(value: string): string {
  const wrong = /\\[^]?|=/.exec(value.replaceAll(/\\[\\,=]/g, '\0'))?.[0];
  if (wrong === '=') throw badRequest('invalid field selector: unescaped character in value: 61');
  if (wrong !== undefined) throw badRequest(`invalid field selector: invalid escape sequence: ${wrong}`);
  return value.replaceAll(/\\([\\,=])/g, '$1');
}
