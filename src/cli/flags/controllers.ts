import { DEFINITIONS } from '../../controller/definitions/definitions.ts';
import type { WhichControllers } from '../../controller/options.ts';
import type { OutputKind } from '../../shard/protocol.ts';
import { FOREIGN_ALIASES, FOREIGN_CONTROLLERS } from './kube-controller-manager.ts';

/** The names that `--controllers` may have. */
const KNOWN = Object.values(DEFINITIONS).map(({ flagNames: [name, alias], kind }) => ({ name, alias, kind }));

export type EnabledControllers =
  | { readonly ok: true; readonly options: WhichControllers }
  | { readonly ok: false; readonly message: string };

/**
 * Reads `--controllers` as kube-controller-manager does. The first entry that names a controller decides about it. `*`
 * enables the others. An unknown name is an error; a name of kube-controller-manager's other controllers does nothing.
 * It is an error if no controller of endpointd is enabled, since nothing would run.
 */
export function enabledControllers(entries: readonly string[]): EnabledControllers {
  const decided = new Map<OutputKind, boolean>();
  let star = false;
  for (const entry of entries) {
    if (entry === '*') {
      star = true;
      continue;
    }
    const enable = !entry.startsWith('-');
    const name = enable ? entry : entry.slice(1);
    const known = KNOWN.find((controller) => controller.name === name || controller.alias === name);
    if (known === undefined && (FOREIGN_CONTROLLERS.includes(name) || FOREIGN_ALIASES.includes(name))) continue;
    if (known === undefined) {
      return {
        ok: false,
        message: `"${name}" is not a known controller. Allowed: *, ${KNOWN.map((c) => c.name).join(', ')}, each also with a leading -.`,
      };
    }
    if (!decided.has(known.kind)) decided.set(known.kind, enable);
  }
  const enabled = KNOWN.map(({ kind }) => [kind, decided.get(kind) ?? star] as const);
  if (!enabled.some(([, runs]) => runs)) {
    return { ok: false, message: 'no controller is enabled. Allowed: at least one controller, or *.' };
  }
  return { ok: true, options: Object.fromEntries(enabled) as WhichControllers };
}

/** The names of the controllers that do not run, by what they write; '' = it runs. */
export function notRunOf(runs: WhichControllers): Readonly<Record<OutputKind, string>> {
  const names = KNOWN.map(({ kind, name }) => [kind, runs[kind] ? '' : name] as const);
  return Object.fromEntries(names) as Record<OutputKind, string>;
}
