/**
 * Other writers of a simulated world: what operators, other controllers and the garbage collector do to Services,
 * Endpoints and EndpointSlices, at once and without faults.
 */
import { deleteObject, pick, type Sim } from './sim.ts';
import { nextInt, type Prng } from '../../src/lib/prng.ts';
import { MANAGED_BY_LABEL, MANAGED_BY_VALUE, SLICE_MANAGED_BY_LABEL } from '../../src/kube/names.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { endNamespace } from '../../src/workload/end-namespace.ts';
import { foreignChange } from '../../src/workload/foreign-hand.ts';

export interface Others {
  act(): void;
  /** Ends a namespace as the namespace controller does, in rounds, with all that is in it. */
  end(namespace: string): void;
  /** Puts back what would leave Endpoints that nobody owns, and collects garbage a last time. */
  rest(): void;
  /** Endpoints without a Service and without our label, `<namespace>/<name>`: they stay as they are. */
  readonly theirs: readonly string[];
}

export const SLICES_PATH = '/apis/discovery.k8s.io/v1/endpointslices';
const SKIP_MIRROR_LABEL = 'endpointslice.kubernetes.io/skip-mirror';
const LEADER_ANNOTATION = 'control-plane.alpha.kubernetes.io/leader';

export function itemsOf(sim: Sim, path: string): KubeObject[] {
  return (sim.request('GET', path) as unknown as { items: KubeObject[] }).items;
}

export function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** @param collectMs how often the garbage collector looks; Infinity = there is none, and slices outlive their owners */
export function createOthers(sim: Sim, prng: Prng, namespaces: readonly string[], collectMs: number): Others {
  const theirs: string[] = [];
  const turned: string[] = [];
  const selectors = new Map<string, unknown>();
  let orphans = 0;
  let resting = false;

  function some(resource: string, prefix = ''): string | null {
    const items = itemsOf(sim, `/api/v1/${resource}`).filter(
      ({ metadata: { name = '' } }) => name !== 'kubernetes' && name.startsWith(prefix),
    );
    if (items.length === 0) return null;
    const { namespace, name } = pick(prng, items).metadata;
    return `/api/v1/namespaces/${namespace}/${resource}/${name}`;
  }

  function edit(path: string | null, change: (object: KubeObject) => void): void {
    if (path === null) return;
    const { status, body } = sim.tryRequest('GET', path);
    if (status !== 200) return;
    change(body);
    sim.tryRequest('PUT', path, body);
  }

  function recreateService(path: string | null): void {
    if (path === null) return;
    const { metadata, spec } = sim.request('GET', path) as KubeObject & { spec: Record<string, unknown> };
    sim.request('DELETE', path);
    const { clusterIP: _, clusterIPs: __, ...kept } = spec;
    const { name, labels, annotations } = metadata;
    // Refused where the namespace is about to end.
    sim.tryRequest('POST', path.slice(0, path.lastIndexOf('/')), {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, labels, annotations },
      spec: spec['clusterIP'] === 'None' ? { ...kept, clusterIP: 'None' } : kept,
    });
  }

  /** To a type that is not planned, or back. */
  function turn(path: string, type: string): void {
    edit(path, (service) => {
      const spec = service['spec'] as Record<string, unknown>;
      spec['type'] = type;
      if (type === 'ExternalName') spec['externalName'] = 'example.com';
      else delete spec['externalName'];
      for (const field of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy']) delete spec[field];
    });
  }

  /** From the controllers of Endpoints and slices to mirroring, or back. */
  function turnSelector(path: string | null): void {
    edit(path, (service) => {
      const spec = service['spec'] as Record<string, unknown>;
      const kept = selectors.get(path!);
      if (spec['selector'] === undefined) {
        spec['selector'] = kept ?? { app: 'nobody' };
      } else {
        selectors.set(path!, spec['selector']);
        delete spec['selector'];
      }
    });
  }

  function makeOrphan(): void {
    const ours = nextInt(prng, 2) === 0;
    const namespace = pick(prng, namespaces);
    const name = `${ours ? 'ours' : 'theirs'}-${orphans++}`;
    const { status } = sim.tryRequest('POST', `/api/v1/namespaces/${namespace}/endpoints`, {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name, labels: ours ? { [MANAGED_BY_LABEL]: MANAGED_BY_VALUE } : {} },
      subsets: [{ addresses: [{ ip: '10.9.9.9' }], ports: [{ port: 80 }] }],
    });
    if (!ours && status === 201) theirs.push(`${namespace}/${name}`);
  }

  function touchSlice(): void {
    const slices = itemsOf(sim, SLICES_PATH).filter(
      ({ metadata }) => metadata.labels?.[SLICE_MANAGED_BY_LABEL] !== undefined,
    );
    const change = foreignChange(prng, slices);
    if (change === null) return;
    const { method, path, body, contentType } = change.request;
    sim.tryRequest(method, path, body, contentType);
  }

  /** Slices whose owner is gone; the uid sees to it that no other one is met. */
  function collect(): void {
    const uids = new Set(
      ['services', 'endpoints'].flatMap((of) => itemsOf(sim, `/api/v1/${of}`).map(({ metadata }) => metadata.uid)),
    );
    for (const { metadata } of itemsOf(sim, SLICES_PATH)) {
      const owners = metadata.ownerReferences ?? [];
      if (owners.length === 0 || owners.some(({ uid }) => uids.has(uid))) continue;
      const path = `/apis/discovery.k8s.io/v1/namespaces/${metadata.namespace}/endpointslices/${metadata.name}`;
      sim.request('DELETE', path, {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        preconditions: { uid: metadata.uid },
      });
    }
  }

  function end(namespace: string): void {
    const path = `/api/v1/namespaces/${namespace}`;
    sim.request('DELETE', path);
    const collections = ['services', 'endpoints'].map((resource) => `${path}/${resource}`);
    collections.push(`/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`);
    const talk = endNamespace(namespace, collections);
    const round = (): void => {
      for (const { metadata } of itemsOf(sim, `${path}/pods`)) deleteObject(sim, `${path}/pods/${metadata.name}`);
      for (let next = talk.next(null); next.done !== true;) {
        if (next.value === null) return sim.at(sim.nowMs() + 500, round);
        const { method, path: at, body } = next.value;
        const answer = sim.tryRequest(method, at, body ?? undefined);
        next = talk.next(answer.status < 300 ? answer.body : null);
      }
      for (const key of theirs.filter((of) => of.startsWith(`${namespace}/`))) theirs.splice(theirs.indexOf(key), 1);
    };
    sim.at(sim.nowMs() + 500, round);
  }

  function collectLater(): void {
    sim.at(sim.nowMs() + collectMs, () => {
      collect();
      if (!resting) collectLater();
    });
  }
  if (collectMs < Infinity) collectLater();

  const deeds: readonly (() => void)[] = [
    () => edit(some('endpoints'), (object) => (object['subsets'] = [{ addresses: [{ ip: '9.9.9.9' }] }])),
    () => edit(some('endpoints'), ({ metadata }) => (metadata.labels = { ...metadata.labels, 'they/were': 'here' })),
    () =>
      edit(some('endpoints'), ({ metadata }) => {
        const { [SKIP_MIRROR_LABEL]: skip, ...labels } = metadata.labels ?? {};
        metadata.labels = skip === undefined ? { ...labels, [SKIP_MIRROR_LABEL]: 'true' } : labels;
      }),
    // Of others it would keep what has become an orphan from being deleted.
    () =>
      edit(some('endpoints', 'outside-'), ({ metadata }) => {
        const { [LEADER_ANNOTATION]: leader, ...annotations } = metadata.annotations ?? {};
        metadata.annotations = leader === undefined ? { ...annotations, [LEADER_ANNOTATION]: '{}' } : annotations;
      }),
    () => {
      const path = some('endpoints');
      if (path !== null && !path.includes('/theirs-')) deleteObject(sim, path);
    },
    makeOrphan,
    touchSlice,
    touchSlice,
    touchSlice,
    () => recreateService(some('services')),
    () => turnSelector(some('services')),
    () => {
      const path = some('services');
      if (path === null) return;
      turned.push(path);
      turn(path, 'ExternalName');
    },
    () => {
      const path = turned.pop();
      if (path !== undefined) turn(path, 'ClusterIP');
    },
  ];
  return {
    theirs,
    act: () => pick(prng, deeds)(),
    end,
    rest() {
      for (const path of turned) turn(path, 'ClusterIP');
      resting = true;
    },
  };
}
