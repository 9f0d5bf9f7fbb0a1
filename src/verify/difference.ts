/** The difference between a stored object and the planned one, field by field. */
import type { Endpoints, EndpointSlice } from '../kube/types.ts';
import { namedValues, partText, type Values } from './named-values.ts';

export type Kind = 'Endpoints' | 'EndpointSlice' | 'mirrored EndpointSlice';

/** One field of one object. */
export interface Difference {
  readonly kind: Kind;
  /** The name of the object; '' = it is to be created, and its name is not drawn yet. */
  readonly name: string;
  /** Such as `endpoints[10.0.0.1].conditions.ready`; '' = the whole object. */
  readonly field: string;
  /** null = there is no such value. */
  readonly stored: string | null;
  /** null = there is to be no such value. */
  readonly planned: string | null;
}

type Output = Endpoints | EndpointSlice;
type Sides = Pick<Difference, 'field' | 'stored' | 'planned'>;

/**
 * @param stored null = the object is to be created
 * @param planned null = the object is to be deleted
 * @returns at least one difference: objects with the same values differ in their order
 */
export function differencesOf(kind: Kind, name: string, stored: Output | null, planned: Output | null): Difference[] {
  if (stored === null || planned === null) {
    const sides = { field: '', stored: stored && wholeText(stored), planned: planned && wholeText(planned) };
    return [{ kind, name: stored === null && kind !== 'Endpoints' ? '' : name, ...sides }];
  }
  const before = namedValues(stored);
  const after = namedValues(planned);
  const found = differentValues('', before.fields, after.fields);
  for (const part of new Set([...before.parts.keys(), ...after.parts.keys()])) {
    const a = before.parts.get(part);
    const b = after.parts.get(part);
    if (a !== undefined && b !== undefined) found.push(...differentValues(`${part}.`, a, b));
    else
      found.push({
        field: part,
        stored: a === undefined ? null : partText(a),
        planned: b === undefined ? null : partText(b),
      });
  }
  if (found.length === 0) found.push({ field: 'order', stored: 'other', planned: 'canonical' });
  return found.map(({ field, stored: a, planned: b }) => ({ kind, name, field, stored: a, planned: b }));
}

const PORTS_OF_ADDRESS = /^subsets\.addresses\[.*\](#\d+)?\.ports$/;

/** Ports are a subset's. Where they differ alike for several addresses, the first one is named and the rest counted. */
export function withPortsOnce(differences: readonly Difference[]): Difference[] {
  const alike = Map.groupBy(differences, (one) =>
    PORTS_OF_ADDRESS.test(one.field) ? JSON.stringify([one.stored, one.planned]) : one,
  );
  const told: Difference[] = [];
  for (const [first, ...more] of alike.values()) {
    const { field } = first!;
    told.push(more.length === 0 ? first! : { ...first!, field: field.replace(']', ` and ${more.length} more]`) });
  }
  return told;
}

function differentValues(prefix: string, before: Values, after: Values): Sides[] {
  const found: Sides[] = [];
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const stored = before.get(name) ?? null;
    const planned = after.get(name) ?? null;
    if (stored !== planned) found.push({ field: prefix + name, stored, planned });
  }
  return found;
}

/** How many endpoints or addresses the object has, and the first few of them. */
function wholeText(object: Output): string {
  const { parts } = namedValues(object);
  const names = [...parts.keys()].filter((part) => !part.startsWith('ports['));
  const shown = names.slice(0, 5).map((name) => name.slice(name.indexOf('[') + 1).replace(']', ''));
  const type = object.kind === 'EndpointSlice' ? `${object.addressType}, ` : '';
  const count = `${names.length} ${names.length === 1 ? 'endpoint' : 'endpoints'}`;
  return `${type}${count}${names.length === 0 ? '' : `: ${shown.join(' ')}${names.length > 5 ? ' ...' : ''}`}`;
}

/**
 * The same text for the same difference at different times. It has no name of an object that is to be created: each
 * plan draws another one. It has no content of a whole object either: the object is missing, or there without need,
 * whatever its pods do meanwhile.
 */
export function identityOf({ kind, name, field, stored, planned }: Difference): string {
  const sides = field === '' ? [stored !== null, planned !== null] : [stored, planned];
  return JSON.stringify([kind, name, field, ...sides]);
}

/** The field without the part that names one of many: `endpoints[*].zone`. Keys of labels and annotations stay. */
export function patternOf(field: string): string {
  return field.replace(
    /^(endpoints|subsets\.addresses|ports|metadata\.ownerReferences)\[.*?\](#\d+)?(?=\.|$)/,
    '$1[*]',
  );
}

/** Why an object is different, in the words by which differences are grouped. */
export function reasonOf({ kind, field, stored, planned }: Difference): string {
  const what = field === '' ? kind : `${kind}: ${patternOf(field)}`;
  if (stored === null) return `${what} is missing`;
  return planned === null ? `${what} is not to be there` : `${what} differs`;
}
