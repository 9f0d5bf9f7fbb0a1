import type { ControllerOptions } from '../options.ts';
import type { Fate } from './definition.ts';

/**
 * What becomes of what a Service leaves behind that is not to be planned any more: it stays as upstream leaves it,
 * unless a flag asks for its removal (D7 and D8).
 */
export function fateOfUnselected({ cleanUpUnselected }: ControllerOptions): Fate {
  return cleanUpUnselected ? 'go' : 'stay';
}
