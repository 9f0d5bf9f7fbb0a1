import { child, text, type ApiObject } from '../object.ts';
import { age } from './age.ts';
import { column, wide, type TableRules } from './table-rules.ts';

/** core/v1 Event. */
export const EVENT_TABLE: TableRules = {
  columns: [
    column('Last Seen'),
    column('Type'),
    column('Reason'),
    column('Object'),
    wide('Subobject'),
    wide('Source'),
    column('Message'),
    wide('First Seen'),
    wide('Count'),
    wide('Name', 'name'),
  ],
  cells: (object, nowMs) => {
    const involved = child(object, 'involvedObject');
    const kind = text(involved, 'kind').toLowerCase();
    const name = text(involved, 'name');
    const { first, last, count } = occurrences(object, nowMs);
    return [
      last,
      text(object, 'type'),
      text(object, 'reason'),
      name === '' ? kind : `${kind}/${name}`,
      text(involved, 'fieldPath'),
      source(object),
      text(object, 'message').trim(),
      first,
      count,
      object.metadata.name ?? '',
    ];
  },
};

/** An Event of the older kind has its own count. A newer one has an eventTime, and a series if it is repeated. */
function occurrences(object: ApiObject, nowMs: number): { first: string; last: string; count: number } {
  const series = object['series'] as { lastObservedTime?: string; count?: number } | undefined;
  const first = age(object['firstTimestamp'] ?? object['eventTime'], nowMs);
  if (series !== undefined) return { first, last: age(series.lastObservedTime, nowMs), count: series.count ?? 0 };
  const last = typeof object['lastTimestamp'] === 'string' ? age(object['lastTimestamp'], nowMs) : first;
  return { first, last, count: (object['count'] as number | undefined) ?? 1 };
}

function source(object: ApiObject): string {
  const from = child(object, 'source');
  const component = text(from, 'component') || text(object, 'reportingComponent');
  const instance = text(from, 'host') || text(object, 'reportingInstance');
  return instance === '' ? component : `${component}, ${instance}`;
}
