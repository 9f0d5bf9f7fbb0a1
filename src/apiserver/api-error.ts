import { causeOf, joinFieldErrors, type FieldError } from './field-error.ts';
import type { Resource } from './resource.ts';
import type { Status } from '../kube/types.ts';

/** Ends the handling of a request with a Status. */
export class ApiError extends Error {
  readonly status: Status;

  constructor(status: Status) {
    super(status.message ?? status.reason ?? String(status.code));
    this.name = 'ApiError';
    this.status = status;
  }
}

/** A failure Status. An empty `reason` is left out, as the server leaves it out of errors for which it has no word. */
export function failure(code: number, reason: string, message: string, details?: Status['details']): Status {
  const status: Status = { apiVersion: 'v1', kind: 'Status', metadata: {}, status: 'Failure', message, code };
  if (reason !== '') status.reason = reason;
  if (details !== undefined) status.details = details;
  return status;
}

export function badRequest(message: string): ApiError {
  return new ApiError(failure(400, 'BadRequest', message));
}

export function notFound(resource: Resource, name: string): ApiError {
  return new ApiError(
    failure(404, 'NotFound', `${qualified(resource)} "${name}" not found`, detailsOf(resource, name)),
  );
}

export function noSuchPath(): ApiError {
  return new ApiError(failure(404, 'NotFound', 'the server could not find the requested resource', {}));
}

export function methodNotAllowed(): ApiError {
  const message = 'the server does not allow this method on the requested resource';
  return new ApiError(failure(405, 'MethodNotAllowed', message, {}));
}

/** @param ending whether the object still exists and is being deleted */
export function alreadyExists(resource: Resource, name: string, ending: boolean): ApiError {
  const message = `${ending ? 'object is being deleted: ' : ''}${qualified(resource)} "${name}" already exists`;
  return new ApiError(failure(409, 'AlreadyExists', message, detailsOf(resource, name)));
}

/** The resource may be a subresource such as `pods/binding`. */
export function conflict(resource: Named, name: string, why: string): ApiError {
  const message = `Operation cannot be fulfilled on ${qualified(resource)} "${name}": ${why}`;
  return new ApiError(failure(409, 'Conflict', message, detailsOf(resource, name)));
}

export const MODIFIED = 'the object has been modified; please apply your changes to the latest version and try again';

/** A precondition of a DELETE has failed. Here the server names the kind, and in all other conflicts the resource. */
export function deleteConflict(resource: Resource, name: string, why: string): ApiError {
  const details: Status['details'] = { name, kind: resource.kind };
  if (resource.group !== '') details.group = resource.group;
  const kind = qualifiedName(resource.kind, resource.group);
  return new ApiError(failure(409, 'Conflict', `Operation cannot be fulfilled on ${kind} "${name}": ${why}`, details));
}

export function invalidObject(resource: Resource, name: string, errors: readonly FieldError[]): ApiError {
  return invalidKind(resource.kind, resource.group, name, errors);
}

/** @param kind the text before the name: the kind mostly, in two places the resource */
export function invalidKind(kind: string, group: string, name: string, errors: readonly FieldError[]): ApiError {
  const details: Status['details'] = {};
  if (name !== '') details.name = name;
  if (group !== '') details.group = group;
  if (kind !== '') details.kind = kind;
  details.causes = errors.map(causeOf);
  const message = `${qualifiedName(kind, group)} "${name}" is invalid: ${joinFieldErrors(errors)}`;
  return new ApiError(failure(422, 'Invalid', message, details));
}

export function forbiddenRequest(resource: Resource, name: string, why: string): ApiError {
  return new ApiError(
    failure(403, 'Forbidden', `${qualified(resource)} "${name}" is forbidden: ${why}`, detailsOf(resource, name)),
  );
}

/**
 * The error of a create in a namespace that is being deleted. Clients recognise the error by its cause
 * (docs/spec/wire.md "Answers to writes").
 */
export function namespaceTerminating(resource: Resource, name: string, namespace: string): ApiError {
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const error = forbiddenRequest(resource, name, why);
  error.status.details!.causes = [
    {
      reason: 'NamespaceTerminating',
      message: `namespace ${namespace} is being terminated`,
      field: 'metadata.namespace',
    },
  ];
  return error;
}

export function notAcceptable(message: string, details?: Status['details']): ApiError {
  return new ApiError(failure(406, 'NotAcceptable', message, details));
}

export function unsupportedMediaType(): ApiError {
  return new ApiError(failure(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {}));
}

/**
 * Refuses server-side apply. This difference is deliberate: apply needs managedFields, which this server does not keep.
 */
export function noServerSideApply(): ApiError {
  const message = 'server-side apply is not served by this API server: apply without --server-side';
  return new ApiError(failure(415, 'UnsupportedMediaType', message));
}

export function tooLarge(why: string): ApiError {
  return new ApiError(failure(413, 'RequestEntityTooLarge', `Request entity too large: ${why}`));
}

/** Refuses the body of a POST or PUT in an unknown format. */
export function unsupportedBody(): ApiError {
  const message =
    'the body of the request was in an unknown format - accepted media types include: application/json, ' +
    'application/yaml, application/vnd.kubernetes.protobuf';
  return new ApiError(failure(415, 'UnsupportedMediaType', message));
}

/** 500 where the server has something to say of the cause. */
export function errorOccurred(why: string): ApiError {
  const causes = [{ message: why }];
  return new ApiError(failure(500, 'InternalError', `Internal error occurred: ${why}`, { causes }));
}

export function internalError(message: string): ApiError {
  return new ApiError(failure(500, '', message));
}

/** 410 for a version whose history has been dropped. */
export function expired(message: string, continueToken = ''): ApiError {
  const status = failure(410, 'Expired', message);
  if (continueToken !== '') status.metadata.continue = continueToken;
  return new ApiError(status);
}

/** 504 for a version that this server has not reached yet. */
export function tooLargeResourceVersion(wanted: number, current: number): ApiError {
  return new ApiError(
    failure(504, 'Timeout', `Timeout: Too large resource version: ${wanted}, current: ${current}`, {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    }),
  );
}

interface Named {
  readonly name: string;
  readonly group: string;
}

function qualified(resource: Named): string {
  return qualifiedName(resource.name, resource.group);
}

function qualifiedName(name: string, group: string): string {
  return group === '' ? name : `${name}.${group}`;
}

function detailsOf(resource: Named, name: string): NonNullable<Status['details']> {
  const details: NonNullable<Status['details']> = {};
  if (name !== '') details.name = name;
  if (resource.group !== '') details.group = resource.group;
  details.kind = resource.name;
  return details;
}
