/**
 * Takes the flags that only kube-controller-manager has out of a command line, so that its command line starts
 * endpointd.
 */
import { nearest } from '../../lib/nearest.ts';
import type { FlagGroup } from './flag-table.ts';
import { FOREIGN_FLAGS, FOREIGN_SWITCHES } from './kube-controller-manager.ts';
import { UsageError } from '../usage.ts';

export interface DropIn {
  /** The arguments that are left: flags of endpointd, and their values. */
  readonly args: readonly string[];
  /** Flags without a meaning here, each once, with their dashes. */
  readonly ignored: readonly string[];
}

/** @throws UsageError that names all flags that neither program has, each with the nearest name that exists */
export function takeForeignFlags(args: readonly string[], groups: readonly FlagGroup[]): DropIn {
  const own = ['help', ...groups.flatMap(({ flags }) => Object.keys(flags))];
  const left: string[] = [];
  const ignored = new Set<string>();
  const unknown = new Set<string>();
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    const name = nameOf(arg);
    if (name === null || own.includes(name)) {
      left.push(arg);
    } else if (FOREIGN_SWITCHES.includes(name)) {
      ignored.add(`--${name}`);
    } else if (FOREIGN_FLAGS.includes(name)) {
      ignored.add(`--${name}`);
      if (!arg.includes('=')) i++;
    } else {
      unknown.add(name);
    }
  }
  if (unknown.size > 0) throw new UsageError(unknownText([...unknown], own));
  return { args: left, ignored: [...ignored] };
}

/**
 * The name of a long flag, without dashes in front and with dashes for underscores; null = the argument is no long
 * flag.
 */
function nameOf(arg: string): string | null {
  const match = /^--([^=]+)/.exec(arg);
  return match === null ? null : match[1]!.replaceAll('_', '-');
}

function unknownText(unknown: readonly string[], own: readonly string[]): string {
  const all = [...own, ...FOREIGN_SWITCHES, ...FOREIGN_FLAGS];
  const named = unknown.map((name) => {
    const other = nearest(name, all);
    return other === null ? `--${name}` : `--${name} (nearest: --${other})`;
  });
  return `unknown flags, here and in kube-controller-manager: ${named.join(', ')}. Allowed: the flags that --help lists.`;
}
