import type { ApiObject } from '../object.ts';

/** One column of a Table. The server's descriptions are left out, because kubectl shows none of them. */
export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer';
  readonly format: '' | 'name';
  readonly description: '';
  /** 0 = always shown, 1 = only with `-o wide`. */
  readonly priority: 0 | 1;
}

export interface RowCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** How `kubectl get` shows one resource. The server always sends the wide columns, and kubectl drops them. */
export interface TableRules {
  readonly columns: readonly Column[];
  /** One cell for each column. @param nowMs wall-clock milliseconds, for ages */
  readonly cells: (object: ApiObject, nowMs: number) => readonly (string | number)[];
  readonly conditions?: (object: ApiObject) => readonly RowCondition[];
}

export const NAME = column('Name', 'name');

export function column(name: string, format: Column['format'] = ''): Column {
  return { name, type: 'string', format, description: '', priority: 0 };
}

export function wide(name: string, format: Column['format'] = ''): Column {
  return { ...column(name, format), priority: 1 };
}

/** The first three texts, and how many more there are. */
export function firstThree(texts: readonly string[], none: string): string {
  if (texts.length > 3) return `${texts.slice(0, 3).join(',')} + ${texts.length - 3} more...`;
  const text = texts.join(',');
  // An empty text counts as none.
  return text === '' ? none : text;
}
