import { JSON_TYPE, PROTOBUF, type Encoding } from '../kube/media-type.ts';
import { notAcceptable } from './api-error.ts';

/** The form in which a client wants its reply. */
export interface Negotiated {
  readonly encoding: Encoding;
  /** Whether the client accepts JSON too. */
  readonly jsonToo: boolean;
  /** Whether the JSON is turned into YAML in the end. */
  readonly yaml: boolean;
  /** The form in which objects are sent. */
  readonly as: 'object' | 'metadata' | 'metadataList' | 'table';
  /** The version of the Table that is asked for. */
  readonly tableVersion: 'meta.k8s.io/v1' | 'meta.k8s.io/v1beta1';
}

export const PLAIN_JSON: Negotiated = {
  encoding: 'json',
  jsonToo: true,
  yaml: false,
  as: 'object',
  tableVersion: 'meta.k8s.io/v1',
};
const NOT_ACCEPTABLE =
  '406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, ' +
  'application/vnd.kubernetes.protobuf';

const NOT_CONVERTIBLE =
  'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf';

/**
 * The first clause of an Accept header that can be served. One of any type counts after the others. Other clauses and
 * unknown parameters are ignored.
 */
export function negotiate(accept: string): Negotiated {
  if (accept === '' || accept === JSON_TYPE || accept === ANY_TYPE) return PLAIN_JSON;
  const known = cache.get(accept);
  if (known !== undefined) return known;
  const found = parseAccept(accept);
  if (cache.size >= CACHE_MAX) cache.clear();
  cache.set(accept, found);
  return found;
}

/** Clients use a few different headers, and repeat them in every request. */
const cache = new Map<string, Negotiated>();
const CACHE_MAX = 64;

/** @throws ApiError 406 */
function parseAccept(accept: string): Negotiated {
  let served = false;
  const clauses = accept.split(',').toSorted((left, right) => Number(isOfAnyType(left)) - Number(isOfAnyType(right)));
  for (const clause of clauses) {
    const [type = '', ...parameters] = clause.split(';').map((part) => part.trim());
    const yaml = type === YAML;
    const encoding = type === PROTOBUF ? 'protobuf' : yaml || JSON_TYPES.includes(type) ? 'json' : null;
    if (encoding === null) continue;
    served = true;
    const given = new Map(parameters.map((parameter) => parameter.split('=', 2) as [string, string]));
    const jsonToo = clauses.some((other) => JSON_TYPES.includes(other.trim()));
    const base: Negotiated = { ...PLAIN_JSON, encoding, jsonToo, yaml };
    switch (given.get('as') ?? '') {
      case '':
        return base;
      case 'PartialObjectMetadata':
        return { ...base, as: 'metadata' };
      case 'PartialObjectMetadataList':
        return { ...base, as: 'metadataList' };
      case 'Table': {
        const tableVersion = `${given.get('g') ?? ''}/${given.get('v') ?? ''}`;
        if (encoding === 'protobuf' || !isTableVersion(tableVersion)) break;
        return { ...base, as: 'table', tableVersion };
      }
    }
  }
  throw served ? notAcceptable(NOT_CONVERTIBLE) : notAcceptable(NOT_ACCEPTABLE, {});
}

function isOfAnyType(clause: string): boolean {
  return clause.trim().startsWith(ANY_TYPE);
}

function isTableVersion(text: string): text is Negotiated['tableVersion'] {
  return text === 'meta.k8s.io/v1' || text === 'meta.k8s.io/v1beta1';
}

export const YAML = 'application/yaml';
const ANY_TYPE = '*/*';
const JSON_TYPES: readonly string[] = [JSON_TYPE, ANY_TYPE];
