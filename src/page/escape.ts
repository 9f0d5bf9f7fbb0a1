import { printable } from '../lib/printable.ts';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Foreign text as text of HTML and SVG, in attributes too. */
export function escape(text: string): string {
  return printable(text).replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!);
}
