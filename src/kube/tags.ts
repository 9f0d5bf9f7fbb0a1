import { messageNamed } from './schema.ts';

/**
 * The tag of a field, number and wire type, for readers and writers by hand: they take it once, when they are loaded.
 * @param field its name in JSON
 * @throws Error when the schema does not have it
 */
export function tagOf(message: string, field: string): number {
  const found = messageNamed(message).fields.find(({ name }) => name === field);
  if (found === undefined) throw new Error(`schema: no field ${field} in ${message}`);
  return found.tag;
}
