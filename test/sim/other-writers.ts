/** Others who write Endpoints and EndpointSlices: by mistake, by script, or as another controller of the same objects. */
import { drawSubsets, NAMESPACES } from './cast.ts';
import { edit, make, objectsOf, pick, remove } from './hand.ts';
import { runKubeControllerManager } from './rival.ts';
import type { Deed, Deeds, Run } from './run.ts';
import {
  LEADER_ANNOTATION,
  MANAGED_BY_LABEL,
  MANAGED_BY_VALUE,
  MIRROR_MANAGED_BY_VALUE,
  SERVICE_NAME_LABEL,
  SKIP_MIRROR_LABEL,
  SLICE_MANAGED_BY_LABEL,
  SLICE_MANAGED_BY_VALUE,
} from '../../src/kube/names.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { nextInt, type Prng } from '../../src/lib/prng.ts';
import { foreignChange, type ForeignDeed } from '../support/foreign-hand.ts';

function foreign(act: (run: Run, prng: Prng) => string): Deed {
  return { trouble: 'foreign', act };
}

function onEndpoints(act: (run: Run, prng: Prng, object: KubeObject) => string): Deed {
  return foreign((run, prng) => {
    const object = pick(prng, objectsOf(run.sim, 'endpoints'));
    return object === undefined ? '' : act(run, prng, object);
  });
}

function toggle(map: Readonly<Record<string, string>> | undefined, key: string, value: string): Record<string, string> {
  const { [key]: before, ...others } = map ?? {};
  return before === undefined ? { ...others, [key]: value } : others;
}

function touchSlice({ sim }: Run, prng: Prng, deeds?: readonly ForeignDeed[]): string {
  const slices = objectsOf(sim, 'endpointslices').filter(
    ({ metadata }) => metadata.labels?.[SLICE_MANAGED_BY_LABEL] !== undefined,
  );
  const change = foreignChange(prng, slices, deeds);
  if (change === null) return '';
  const { method, path, body, contentType } = change.request;
  const { status } = sim.tryRequest(method, path, body, contentType);
  return `${change.deed} of ${change.object}${status < 300 ? '' : ` (${status})`}`;
}

/** Again and again, as a script or another controller would that wants it otherwise. */
function again(run: Run, prng: Prng, forMs: number, act: () => string): string {
  const { sim } = run;
  const everyMs = pick(prng, [100, 1000, 3000])!;
  const untilMs = sim.nowMs() + forMs;
  const round = (): void => {
    act();
    if (sim.nowMs() + everyMs < untilMs) sim.at(sim.nowMs() + everyMs, round);
  };
  round();
  return `every ${everyMs} ms`;
}

/** Slices whose owner is gone; the uid sees to it that no other one is met. */
export function collectGarbage({ sim }: Run): void {
  const owners = [...objectsOf(sim, 'services'), ...objectsOf(sim, 'endpoints')];
  const uids = new Set(owners.map(({ metadata }) => metadata.uid));
  for (const slice of objectsOf(sim, 'endpointslices')) {
    const references = slice.metadata.ownerReferences ?? [];
    if (references.length > 0 && references.every(({ uid }) => !uids.has(uid))) remove(sim, 'endpointslices', slice);
  }
}

export const OTHERS = {
  'slice-touch': foreign((run, prng) => touchSlice(run, prng)),
  /** Somebody says that a slice belongs to another service, or controller. */
  'slice-adopt': foreign(({ sim }, prng) => {
    const slice = pick(prng, objectsOf(sim, 'endpointslices'));
    const service = pick(prng, objectsOf(sim, 'services'));
    if (service === undefined) return '';
    return edit(sim, 'endpointslices', slice, ({ metadata }) => {
      const manager = pick(prng, [SLICE_MANAGED_BY_VALUE, MIRROR_MANAGED_BY_VALUE])!;
      metadata.labels = { [SERVICE_NAME_LABEL]: service.metadata.name!, [SLICE_MANAGED_BY_LABEL]: manager };
    });
  }),
  'slice-fight': {
    trouble: 'foreign',
    lastsMs: [2000, 30_000],
    act(run, prng, forMs) {
      const deed = pick(prng, ['delete', 'empty', 'label', 'drop-endpoint'] as const)!;
      return `${deed} ${again(run, prng, forMs, () => touchSlice(run, prng, [deed]))}`;
    },
  },
  'endpoints-fight': {
    trouble: 'foreign',
    lastsMs: [2000, 30_000],
    act: (run, prng, forMs) =>
      again(run, prng, forMs, () => remove(run.sim, 'endpoints', pick(prng, objectsOf(run.sim, 'endpoints')))),
  },
  'endpoints-edit': onEndpoints(({ sim }, prng, object) =>
    edit(sim, 'endpoints', object, (copy) => {
      copy['subsets'] = drawSubsets(prng);
    }),
  ),
  'endpoints-label': onEndpoints(({ sim }, prng, object) =>
    edit(sim, 'endpoints', object, ({ metadata }) => {
      const [key, value] = pick(prng, [
        ['they/were', 'here'],
        [SKIP_MIRROR_LABEL, 'true'],
        [MANAGED_BY_LABEL, MANAGED_BY_VALUE],
      ] as const)!;
      metadata.labels = toggle(metadata.labels, key, value);
    }),
  ),
  'endpoints-elect': onEndpoints(({ sim }, _, object) =>
    // Of others it would keep what has become an orphan from being deleted.
    object.metadata.name !== 'outside'
      ? ''
      : edit(sim, 'endpoints', object, ({ metadata }) => {
          metadata.annotations = toggle(metadata.annotations, LEADER_ANNOTATION, '{}');
        }),
  ),
  'endpoints-delete': onEndpoints(({ sim }, _, object) => remove(sim, 'endpoints', object)),
  'endpoints-orphan': {
    trouble: 'orphan',
    act: ({ sim }, prng) =>
      make(sim, 'endpoints', {
        apiVersion: 'v1',
        kind: 'Endpoints',
        metadata: {
          namespace: pick(prng, NAMESPACES)!,
          name: `orphan-${nextInt(prng, 10)}`,
          labels: nextInt(prng, 2) === 0 ? { [MANAGED_BY_LABEL]: MANAGED_BY_VALUE } : {},
        },
        subsets: [{ addresses: [{ ip: '10.9.9.9' }], ports: [{ port: 80 }] }],
      }),
  },
  'kube-controller-manager': {
    trouble: 'foreign',
    lastsMs: [2000, 30_000],
    act(run, prng, forMs) {
      const untilMs = run.sim.nowMs() + forMs;
      return runKubeControllerManager(run, prng, () => run.sim.nowMs() < untilMs);
    },
  },
} as const satisfies Deeds;
