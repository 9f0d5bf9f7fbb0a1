import { JSON_TYPE, PROTOBUF } from '../kube/media-type.ts';
import type { Encoding } from '../kube/media-type.ts';
import { notAcceptable } from './api-error.ts';

/** How a reply is to look. */
export interface Negotiated {
  readonly encoding: Encoding;
  /** What objects become on the way out. */
  readonly as: 'object' | 'metadata' | 'metadataList';
}

const DEFAULT: Negotiated = { encoding: 'json', as: 'object' };
const NOT_ACCEPTABLE =
  '406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, ' +
  'application/vnd.kubernetes.protobuf';

/** The first clause of an Accept header that can be served; others and unknown parameters are passed over. */
export function negotiate(accept: string): Negotiated {
  if (accept === '' || accept === JSON_TYPE || accept === '*/*') return DEFAULT;
  const known = cache.get(accept);
  if (known !== undefined) return known;
  const found = parseAccept(accept);
  if (found === null) throw notAcceptable(NOT_ACCEPTABLE, {});
  if (cache.size >= CACHE_MAX) cache.clear();
  cache.set(accept, found);
  return found;
}

/** Clients send a handful of different headers, and send them with every request. */
const cache = new Map<string, Negotiated>();
const CACHE_MAX = 64;

function parseAccept(accept: string): Negotiated | null {
  for (const clause of accept.split(',')) {
    const [type = '', ...parameters] = clause.split(';').map((part) => part.trim());
    const encoding = type === PROTOBUF ? 'protobuf' : JSON_TYPES.includes(type) ? 'json' : null;
    if (encoding === null) continue;
    const as = parameters.find((parameter) => parameter.startsWith('as='))?.slice(3) ?? '';
    if (as === '') return { encoding, as: 'object' };
    if (as === 'PartialObjectMetadata') return { encoding, as: 'metadata' };
    if (as === 'PartialObjectMetadataList') return { encoding, as: 'metadataList' };
  }
  return null;
}

const JSON_TYPES: readonly string[] = [JSON_TYPE, '*/*', 'application/*'];
