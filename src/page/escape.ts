import { printable } from '../lib/printable.ts';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A text of others as text of HTML and SVG, also for attributes. */
export function escape(text: string): string {
  return printable(text).replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!);
}
