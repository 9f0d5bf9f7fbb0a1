import { KINDS, type Field, type Message } from '../kube/schema.ts';
import { MERGE_LISTS } from './merge-lists.ts';
import { RESOURCES, type Resource } from './resource.ts';

type Json = Record<string, unknown>;

/**
 * The OpenAPI 3.0 document of one group and version, made from the tables of the codec. kubectl needs it to believe
 * that the server validates fields, for `explain`, and for the merge keys of its patches. Descriptions, and the fields
 * that the tables skip, are left out.
 */
export function openApiDocument(groupVersion: string): object {
  const served = RESOURCES.filter(({ apiVersion }) => apiVersion === groupVersion);
  const schemas: Json = {};
  const paths: Json = {};
  for (const resource of served) {
    const { apiVersion, kind } = resource;
    const gvk = gvkOf(resource);
    const schema = addSchema(schemas, KINDS.get(`${apiVersion}/${kind}`)!, apiVersion);
    const top = schemas[schema] as { properties: Json };
    schemas[schema] = {
      ...top,
      properties: { apiVersion: { type: 'string' }, kind: { type: 'string' }, ...top.properties },
      'x-kubernetes-group-version-kind': [gvk],
    };
    Object.assign(paths, pathsOf(resource, gvk, `#/components/schemas/${schema}`));
  }
  return { openapi: '3.0.0', info: { title: 'Kubernetes', version: 'v1.36.3' }, paths, components: { schemas } };
}

function gvkOf({ group, version, kind }: Resource): Json {
  return { group, version, kind };
}

function pathsOf(resource: Resource, gvk: Json, schema: string): Json {
  const { name, group, apiVersion, namespaced } = resource;
  const base = `/${group === '' ? 'api' : 'apis'}/${apiVersion}${namespaced ? '/namespaces/{namespace}' : ''}/${name}`;
  const operation = (action: string, parameters: readonly string[]): Json => ({
    parameters: parameters.map((parameter) => ({ name: parameter, in: 'query', schema: { type: 'string' } })),
    responses: { 200: { description: 'OK', content: { 'application/json': { schema: { $ref: schema } } } } },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': gvk,
  });
  const write = ['dryRun', 'fieldManager', 'fieldValidation'];
  return {
    [base]: { get: operation('list', ['labelSelector', 'fieldSelector', 'limit']), post: operation('post', write) },
    [`${base}/{name}`]: {
      get: operation('get', []),
      put: operation('put', write),
      patch: operation('patch', write),
      delete: operation('delete', ['dryRun', 'gracePeriodSeconds']),
    },
  };
}

const ANY_OBJECT = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/** Adds a message and the messages of its fields. @returns the message's name among the schemas */
function addSchema(schemas: Json, message: Message, apiVersion: string): string {
  const name = schemaName(message.name, apiVersion);
  if (schemas[name] !== undefined) return name;
  const properties: Json = {};
  const schema: Json = { type: 'object', properties };
  const required = message.fields.filter((field) => field.required).map((field) => field.name);
  if (required.length > 0) schema['required'] = required;
  schemas[name] = schema;
  for (const field of message.fields) {
    const merge = MERGE_LISTS[message.name]?.[field.name];
    const skippedList = field.type === 'skip' && merge !== undefined;
    const given = skippedList ? { type: 'array', items: ANY_OBJECT } : fieldSchema(schemas, field, apiVersion);
    properties[field.name] = { ...given, ...merge };
  }
  return name;
}

function schemaName(message: string, apiVersion: string): string {
  const group = apiVersion === 'v1' ? 'core' : apiVersion.slice(0, apiVersion.indexOf('.'));
  return `io.k8s.api.${group}.v1.${message}`;
}

function fieldSchema(schemas: Json, field: Field, apiVersion: string): Json {
  const one = valueSchema(schemas, field, apiVersion);
  if (field.shape === 'list') return { type: 'array', items: one };
  return field.shape === 'map' ? { type: 'object', additionalProperties: one } : one;
}

function valueSchema(schemas: Json, { type, message }: Field, apiVersion: string): Json {
  switch (type) {
    case 'message':
      return { allOf: [{ $ref: `#/components/schemas/${addSchema(schemas, message!, apiVersion)}` }] };
    case 'bool':
      return { type: 'boolean' };
    case 'int32':
    case 'int64':
      return { type: 'integer', format: type };
    case 'IntOrString':
      return { format: 'int-or-string', oneOf: [{ type: 'integer' }, { type: 'string' }] };
    case 'Quantity':
      return { oneOf: [{ type: 'string' }, { type: 'number' }] };
    case 'Time':
    case 'MicroTime':
      return { type: 'string', format: 'date-time' };
    case 'skip':
      return ANY_OBJECT;
    case 'string':
      return { type: 'string' };
  }
}
