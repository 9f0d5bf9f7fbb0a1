import { messageNamed } from './schema.ts';

/**
 * The tag of a field: its number and wire type. Hand-written readers and writers ask for it once, when they are loaded.
 * @param field its name in JSON
 * @throws Error when the schema does not have it
 */
export function tagOf(message: string, field: string): number {
  const found = messageNamed(message).fields.find(({ name }) => name === field);
  if (found === undefined) throw new Error(`schema: no field ${field} in ${message}`);
  return found.tag;
}
