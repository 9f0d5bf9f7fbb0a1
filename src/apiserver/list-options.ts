import { badRequest, invalidKind } from './api-error.ts';
import { forbidden, notSupported, type FieldError } from './field-error.ts';

/** The query parameters of list and watch, as the client has sent them. */
export interface ListOptions {
  readonly watch: boolean;
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
  readonly limit: number;
  readonly continueToken: string;
  readonly labelSelector: string;
  readonly fieldSelector: string;
  readonly allowWatchBookmarks: boolean;
  /** null = it is not given. */
  readonly sendInitialEvents: boolean | null;
  /** 0 = the server chooses. */
  readonly timeoutSeconds: number;
}

/**
 * Reads and checks the query of a list or watch, by the rules of meta/v1 ListOptions.
 * @throws ApiError 400 or 422
 */
export function parseListOptions(query: URLSearchParams, watchListServed: boolean): ListOptions {
  const sendInitialEvents = query.get('sendInitialEvents');
  const options: ListOptions = {
    watch: asksForWatch(query),
    resourceVersion: query.get('resourceVersion') ?? '',
    resourceVersionMatch: query.get('resourceVersionMatch') ?? '',
    limit: Math.max(0, integer(query.get('limit'))),
    continueToken: query.get('continue') ?? '',
    labelSelector: query.get('labelSelector') ?? '',
    fieldSelector: query.get('fieldSelector') ?? '',
    allowWatchBookmarks: flag(query.get('allowWatchBookmarks')),
    sendInitialEvents: sendInitialEvents === null ? null : flag(sendInitialEvents),
    timeoutSeconds: Math.max(0, integer(query.get('timeoutSeconds'))),
  };
  const errors = options.watch ? watchErrors(options, watchListServed) : listErrors(options);
  if (errors.length > 0) throw invalidKind('ListOptions', 'meta.k8s.io', '', errors);
  return options;
}

/** Whether a GET of a collection is a watch. */
export function asksForWatch(query: URLSearchParams): boolean {
  return flag(query.get('watch'));
}

const MATCH = 'resourceVersionMatch';
const SEND = 'sendInitialEvents';
const MATCHES: readonly string[] = ['Exact', 'NotOlderThan'];

function listErrors({ resourceVersionMatch: match, ...options }: ListOptions): FieldError[] {
  const errors: FieldError[] = [];
  if (match !== '') matchErrors(errors, match, options);
  if (options.sendInitialEvents !== null) errors.push(forbidden(SEND, 'sendInitialEvents is forbidden for list'));
  return errors;
}

function matchErrors(errors: FieldError[], match: string, options: Omit<ListOptions, typeof MATCH>): void {
  if (options.resourceVersion === '') {
    errors.push(forbidden(MATCH, 'resourceVersionMatch is forbidden unless resourceVersion is provided'));
  }
  if (options.continueToken !== '') {
    errors.push(forbidden(MATCH, 'resourceVersionMatch is forbidden when continue is provided'));
  }
  if (!MATCHES.includes(match)) errors.push(notSupported(MATCH, match, [...MATCHES, ''], false));
  if (match === 'Exact' && options.resourceVersion === '0') {
    errors.push(forbidden(MATCH, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
  }
}

function watchErrors({ resourceVersionMatch: match, ...options }: ListOptions, watchListServed: boolean): FieldError[] {
  if (options.sendInitialEvents !== null && !watchListServed) {
    const why = 'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled';
    return [forbidden(SEND, why)];
  }
  const errors: FieldError[] = [];
  if (options.sendInitialEvents !== null && match !== 'NotOlderThan') {
    errors.push(forbidden(MATCH, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'));
  }
  if (match === '') return errors;
  if (options.sendInitialEvents === null) {
    errors.push(forbidden(MATCH, 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'));
  }
  if (match !== 'NotOlderThan') errors.push(notSupported(MATCH, match, ['NotOlderThan']));
  if (options.continueToken !== '') {
    errors.push(forbidden(MATCH, 'resourceVersionMatch is forbidden when continue is provided'));
  }
  return errors;
}

/** Reads a bool as the server's query decoder does: a given parameter means true, except for these texts. */
function flag(value: string | null): boolean {
  return value !== null && value !== '0' && value.toLowerCase() !== 'false';
}

function integer(value: string | null): number {
  if (value === null) return 0;
  if (!/^[+-]?[0-9]+$/.test(value))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`);
  return Number(value);
}
