/** What slices and their writes say, whoever wrote them: without names, versions, and the order of anything. */
import type { EndpointSlice } from '../../src/kube/types.ts';
import { TRIGGER_TIME_ANNOTATION } from '../../src/kube/names.ts';
import { portMapKey } from './upstream-endpoints.ts';

export interface GroupContent {
  /** How many endpoints each slice has. */
  readonly sizes: readonly number[];
  /** Labels, annotations but the trigger time, owners: of each slice, those that differ. */
  readonly metadata: readonly string[];
  readonly endpoints: readonly string[];
}

/** Numbers of endpoints, the largest first. */
export function sliceSizes(slices: Iterable<EndpointSlice>): number[] {
  return [...slices].map((slice) => slice.endpoints?.length ?? 0).toSorted((a, b) => b - a);
}

/** Such as `2 create, 1 update`. */
export function countWrites(writes: readonly { readonly verb: string }[]): string {
  const verbs = ['create', 'update', 'delete'].map(
    (verb) => [writes.filter((w) => w.verb === verb).length, verb] as const,
  );
  return (
    verbs
      .filter(([count]) => count > 0)
      .map(([count, verb]) => `${count} ${verb}`)
      .join(', ') || 'none'
  );
}

/** By address type and ports. `hints` says of which endpoints the hints count. */
export function contentOf(
  slices: Iterable<EndpointSlice>,
  hints: 'all' | 'of ready ones' | 'none',
): Record<string, GroupContent> {
  const groups = Map.groupBy(slices, ({ addressType, ports }) => `${addressType} ${portMapKey(ports)}`);
  const entries = [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(
    entries.map(([key, group]) => {
      const endpoints = group.flatMap((slice) => slice.endpoints ?? []);
      const content: GroupContent = {
        sizes: sliceSizes(group),
        metadata: distinct(group.map(metadataOf)),
        endpoints: endpoints
          .map(({ hints: given, ...endpoint }) => {
            const counts = hints === 'all' || (hints === 'of ready ones' && endpoint.conditions?.ready === true);
            return canonical(counts ? { ...endpoint, hints: given } : endpoint);
          })
          .toSorted(),
      };
      return [key, content];
    }),
  );
}

function metadataOf({ metadata }: EndpointSlice): string {
  const { [TRIGGER_TIME_ANNOTATION]: _, ...annotations } = metadata.annotations ?? {};
  return canonical({ labels: metadata.labels ?? {}, annotations, owners: metadata.ownerReferences ?? [] });
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)].toSorted();
}

/** JSON with keys in order, and without fields that are absent, null or empty lists. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, field: unknown) => {
    if (typeof field !== 'object' || field === null || Array.isArray(field)) return field;
    const entries = Object.entries(field).filter(([, v]) => {
      return v !== undefined && v !== null && !(Array.isArray(v) && v.length === 0);
    });
    return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}
