/** Names that `--controllers` knows, with upstream's aliases (docs/spec/wire.md "Controller names"). */
const KNOWN = [
  { name: 'endpoints-controller', alias: 'endpoint' },
  { name: 'endpointslice-controller', alias: 'endpointslice' },
  { name: 'endpointslice-mirroring-controller', alias: 'endpointslicemirroring' },
] as const;

export type KnownController = (typeof KNOWN)[number]['name'];

export type EnabledControllers =
  | { readonly ok: true; readonly names: ReadonlySet<KnownController> }
  | { readonly ok: false; readonly message: string };

/**
 * What kube-controller-manager makes of `--controllers`: the first entry that names a controller decides about it, `*`
 * enables the rest, an unknown name is an error. Enabling nothing is an error here, since nothing would run.
 */
export function enabledControllers(entries: readonly string[]): EnabledControllers {
  const decided = new Map<KnownController, boolean>();
  let star = false;
  for (const entry of entries) {
    if (entry === '*') {
      star = true;
      continue;
    }
    const enable = !entry.startsWith('-');
    const name = enable ? entry : entry.slice(1);
    const known = KNOWN.find((controller) => controller.name === name || controller.alias === name);
    if (known === undefined) {
      return {
        ok: false,
        message: `"${name}" is not a known controller. Allowed: *, ${KNOWN.map((c) => c.name).join(', ')}, each also with a leading -.`,
      };
    }
    if (!decided.has(known.name)) decided.set(known.name, enable);
  }
  const names = new Set(KNOWN.filter((c) => decided.get(c.name) ?? star).map((c) => c.name));
  if (names.size === 0) return { ok: false, message: 'it enables nothing. Allowed: at least one controller, or *.' };
  return { ok: true, names };
}
