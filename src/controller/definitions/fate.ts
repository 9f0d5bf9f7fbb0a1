import type { ControllerOptions } from '../options.ts';
import type { Fate } from './definition.ts';

/**
 * The fate of objects whose Service is not planned any more. They stay, as upstream leaves them, unless a flag asks for
 * their removal (D7 and D8).
 */
export function fateOfUnselected({ cleanUpUnselected }: ControllerOptions): Fate {
  return cleanUpUnselected ? 'go' : 'stay';
}
