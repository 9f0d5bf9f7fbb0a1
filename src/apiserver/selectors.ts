import { badRequest } from './api-error.ts';
import { textAt } from './object.ts';
import type { ApiObject } from './object.ts';
import type { Resource } from './resource.ts';

/** What a list or watch selects, or null for everything. */
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
    if ((textAt(object, path) === value) !== equal) return false;
  }
  return true;
}

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
      return value !== undefined && Number(value) > Number(requirement.values[0]);
    case 'lt':
      return value !== undefined && Number(value) < Number(requirement.values[0]);
  }
}

const TOKEN = /\s*(==|!=|[=!(),<>]|[^\s=!(),<>]+)/y;

/** `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1`. */
function parseLabelSelector(text: string): readonly LabelRequirement[] {
  const tokens = tokensOf(text);
  const requirements: LabelRequirement[] = [];
  let at = 0;
  while (at < tokens.length) {
    if (tokens[at] === '!') {
      requirements.push({ key: word(tokens[at + 1]), operator: 'missing', values: [] });
      at += 2;
    } else {
      at = parseRequirement(tokens, at, requirements);
    }
    if (at === tokens.length) break;
    if (tokens[at] !== ',') throw parseError(tokens[at]!);
    at++;
  }
  return requirements;
}

function parseRequirement(tokens: readonly string[], start: number, requirements: LabelRequirement[]): number {
  const key = word(tokens[start]);
  const operator = tokens[start + 1];
  if (operator === undefined || operator === ',') {
    requirements.push({ key, operator: 'exists', values: [] });
    return start + 1;
  }
  if (operator === 'in' || operator === 'notin') {
    if (tokens[start + 2] !== '(') throw badRequest(`unable to parse requirement: found '${tokens[start + 2] ?? ''}'`);
    const end = tokens.indexOf(')', start);
    if (end < 0) throw badRequest('unable to parse requirement: expected )');
    const values = tokens.slice(start + 3, end).filter((token) => token !== ',');
    requirements.push({ key, operator, values });
    return end + 1;
  }
  const next = tokens[start + 2];
  const value = next === undefined || next === ',' ? '' : next;
  const end = next === undefined || next === ',' ? start + 2 : start + 3;
  if (operator === '=' || operator === '==') requirements.push({ key, operator: 'in', values: [value] });
  else if (operator === '!=') requirements.push({ key, operator: 'notin', values: [value] });
  else if (operator === '>') requirements.push({ key, operator: 'gt', values: [value] });
  else if (operator === '<') requirements.push({ key, operator: 'lt', values: [value] });
  else throw parseError(operator);
  return end;
}

function tokensOf(text: string): readonly string[] {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(text); match !== null; match = TOKEN.exec(text)) tokens.push(match[1]!);
  return tokens;
}

function word(token: string | undefined): string {
  if (token === undefined || /^[=!(),<>]/.test(token)) {
    throw badRequest(`unable to parse requirement: found '${token ?? ''}', expected: identifier`);
  }
  return token;
}

function parseError(found: string): Error {
  return badRequest(`unable to parse requirement: found '${found}', expected: in, notin, =, ==, !=, gt, lt`);
}

function parseFieldSelector(resource: Resource, text: string): readonly FieldRequirement[] {
  if (text === '') return [];
  const known = ['metadata.name', ...(resource.namespaced ? ['metadata.namespace'] : []), ...resource.selectableFields];
  return text.split(',').map((term) => {
    const match = /^([^=!]*)(==|!=|=)(.*)$/.exec(term);
    if (match === null) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
    const [, path = '', operator = '', value = ''] = match;
    if (!known.includes(path)) {
      if (resource.selectableFields.length > 0) throw badRequest(`field label not supported: ${path}`);
      const list = known.map((name) => JSON.stringify(name)).join(', ');
      throw badRequest(`"${path}" is not a known field selector: only ${list}`);
    }
    return { path, equal: operator !== '!=', value };
  });
}
