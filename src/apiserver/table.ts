import type { ObjectMeta } from '../kube/types.ts';
import { badRequest } from './api-error.ts';
import type { ApiObject } from './object.ts';
import { bodyOf, encodeMetadata, encodeWhole, type ListMeta, type StoredRecord } from './record.ts';
import type { Resource } from './resource.ts';
import { TABLES } from './tables/all.ts';

/** The part of the object that a client wants with each row. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

export interface TableView {
  readonly apiVersion: string;
  readonly include: IncludeObject;
  /** Wall-clock milliseconds, for the ages in rows. */
  readonly nowMs: () => number;
}

/** @throws ApiError 400 */
export function parseIncludeObject(query: URLSearchParams): IncludeObject {
  const value = query.get('includeObject') ?? '';
  if (value === '') return 'Metadata';
  if (value === 'None' || value === 'Metadata' || value === 'Object') return value;
  const problem = `includeObject: Invalid value: ${JSON.stringify(value)}: must be 'Metadata', 'Object', 'None', or empty`;
  throw badRequest(`Unable to convert to Table as requested: ${problem}`);
}

/** The body of a Table with one row for each record. In a watch only the first table has columns. */
export function encodeTable(
  resource: Resource,
  records: readonly StoredRecord[],
  metadata: ListMeta,
  view: TableView,
  withColumns = true,
): Uint8Array {
  const nowMs = view.nowMs();
  const rows = records.map((record) => encodeRow(resource, record.object, nowMs, rowObject(record, view.include)));
  return encodeRows(resource, rows, metadata, view, withColumns);
}

/** A bookmark of a watch of tables: a table with one empty row, whose object has the version. */
export function encodeTableBookmark(
  resource: Resource,
  metadata: ObjectMeta,
  view: TableView,
  withColumns: boolean,
): Uint8Array {
  const object: ApiObject = { metadata };
  const row = encodeRow(resource, object, view.nowMs(), encodeMetadata(object, 'json'));
  return encodeRows(resource, [row], { resourceVersion: metadata.resourceVersion ?? '' }, view, withColumns);
}

function encodeRows(
  resource: Resource,
  rows: readonly Uint8Array[],
  metadata: ListMeta,
  { apiVersion }: TableView,
  withColumns: boolean,
): Uint8Array {
  const columnDefinitions = withColumns ? TABLES[resource.name].columns : null;
  const head = JSON.stringify({ kind: 'Table', apiVersion, metadata, columnDefinitions });
  const parts: Uint8Array[] = [Buffer.from(`${head.slice(0, -1)},"rows":[`)];
  for (const [at, row] of rows.entries()) {
    if (at > 0) parts.push(COMMA);
    parts.push(row);
  }
  parts.push(END);
  return Buffer.concat(parts);
}

const COMMA = Buffer.from(',');
const END = Buffer.from(']}');
const CLOSE = Buffer.from('}');
const NULL = Buffer.from('null');

function encodeRow(resource: Resource, object: ApiObject, nowMs: number, shown: Uint8Array): Uint8Array {
  const table = TABLES[resource.name];
  const conditions = table.conditions?.(object) ?? [];
  const row = JSON.stringify({
    cells: table.cells(object, nowMs),
    ...(conditions.length === 0 ? {} : { conditions }),
  });
  return Buffer.concat([Buffer.from(`${row.slice(0, -1)},"object":`), shown, CLOSE]);
}

function rowObject(record: StoredRecord, include: IncludeObject): Uint8Array {
  if (include === 'None') return NULL;
  if (include === 'Metadata') return bodyOf(record, 'json', true);
  return record.bodies?.json ?? encodeWhole(record.resource, record.object, 'json');
}
