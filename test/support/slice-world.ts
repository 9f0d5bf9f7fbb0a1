/** Small clusters for slices: pods by the dozen, nodes in zones, and what a table of slices says. */
import { ZONE_LABEL } from '../../src/kube/names.ts';
import { labelsFromRecord } from '../../src/kube/labels.ts';
import type { EndpointSlice, NodeRecord, PodRecord } from '../../src/kube/types.ts';
import { makePod } from './records.ts';

/** Ready, with 4 CPUs, in `zone`; '' = without the label. */
export function makeNode(name: string, zone = 'a', fields: Partial<NodeRecord> = {}): NodeRecord {
  const labels = labelsFromRecord(zone === '' ? {} : { [ZONE_LABEL]: zone });
  return { name, uid: `uid-${name}`, resourceVersion: '1', labels, ready: true, allocatableCpu: '4', ...fields };
}

/** `pod-000`, `pod-001`, ... with an address each of both families; all on node-1 unless `fields` says otherwise. */
export function makePods(
  count: number,
  fields: (i: number) => NonNullable<Parameters<typeof makePod>[1]> = () => ({}),
): PodRecord[] {
  return Array.from({ length: count }, (_, i) => {
    const last = `${Math.floor(i / 200)}.${1 + (i % 200)}`;
    return makePod(`pod-${String(i).padStart(3, '0')}`, { podIPs: [`10.0.${last}`, `fd00::${i + 1}`], ...fields(i) });
  });
}

export function sizesOf(slices: Iterable<EndpointSlice>): number[] {
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
