/** What users, deployments, kubelets and the node controller do to Pods, Services, nodes and namespaces. */
import {
  drawPorts,
  drawSelector,
  drawSubsets,
  makeEndpoints,
  makeNode,
  makePod,
  makeService,
  NAMESPACES,
  OPT_OUT_LABEL,
  setPodStatus,
  ZONES,
} from './cast.ts';
import { collectionOf, edit, nameOf, objectAt, objectsOf, pick, remove } from './hand.ts';
import type { Sim } from '../support/sim.ts';
import type { Deed, Deeds, Run } from './run.ts';
import { TOPOLOGY_MODE_ANNOTATION } from '../../src/kube/names.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { createPrng, nextInt, type Prng } from '../../src/lib/prng.ts';
import { TRAFFIC_DISTRIBUTIONS } from '../../src/workload/cluster.ts';
import { endNamespace } from '../../src/workload/end-namespace.ts';

type Spec = Record<string, unknown>;
type Act = (run: Run, prng: Prng) => string;

function change(act: Act): Deed {
  return { trouble: 'change', act };
}

function onPod(act: (run: Run, prng: Prng, pod: KubeObject) => string): Deed {
  return change((run, prng) => {
    const pod = pick(prng, objectsOf(run.sim, 'pods'));
    return pod === undefined ? '' : act(run, prng, pod);
  });
}

function onService(act: (run: Run, prng: Prng, service: KubeObject) => string): Deed {
  return change((run, prng) => {
    const service = pick(prng, objectsOf(run.sim, 'services'));
    return service === undefined ? '' : act(run, prng, service);
  });
}

function onSpec(changeSpec: (spec: Spec, prng: Prng) => void): Deed {
  return onService(({ sim }, prng, service) =>
    edit(sim, 'services', service, (copy) => changeSpec(copy['spec'] as Spec, prng)),
  );
}

function onNode(act: (run: Run, prng: Prng, node: KubeObject) => string): Deed {
  return change((run, prng) => {
    const node = pick(prng, objectsOf(run.sim, 'nodes'));
    return node === undefined ? '' : act(run, prng, node);
  });
}

function isReady(pod: KubeObject): boolean {
  const { conditions } = (pod['status'] ?? {}) as { conditions?: { type: string; status: string }[] };
  return conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}

function recreatePod({ sim }: Run, prng: Prng, pod: KubeObject): string {
  const { namespace, name } = pod.metadata;
  remove(sim, 'pods', pod);
  return makePod(sim, prng, namespace!, name!);
}

const ROLL_OUT_MAX = 5;

/** Terminating, not ready, gone; new ones come up meanwhile. */
function rollOut(run: Run, prng: Prng, forMs: number): string {
  const { sim } = run;
  const namespace = pick(prng, NAMESPACES)!;
  const old = objectsOf(sim, 'pods')
    .filter(({ metadata }) => metadata.namespace === namespace)
    .slice(0, ROLL_OUT_MAX);
  const stepMs = forMs / (old.length + 3);
  for (const [i, pod] of old.entries()) {
    const at = (steps: number, act: () => void): void => sim.at(sim.nowMs() + (i + steps) * stepMs, act);
    const draws = createPrng(nextInt(prng, 1_000_000));
    at(0, () => void makePod(sim, draws, namespace, `p${nextInt(draws, 1000)}`));
    at(1, () => void remove(sim, 'pods', pod, 30));
    at(2, () => void setPodStatus(sim, find(run, pod), { ready: false }));
    at(3, () => void remove(sim, 'pods', find(run, pod)));
  }
  return old.map(nameOf).join(' ');
}

/** The same object as the server has it now, unless it is gone or another one has its name. */
function find({ sim }: Run, object: KubeObject): KubeObject | undefined {
  const found = objectAt(sim, 'pods', nameOf(object));
  return found?.metadata.uid === object.metadata.uid ? found : undefined;
}

/** Half of the pods of a namespace go at once: what is left stands in slices that are half empty. */
function scaleDown({ sim }: Run, prng: Prng): string {
  const namespace = pick(prng, NAMESPACES);
  const pods = objectsOf(sim, 'pods').filter(({ metadata }) => metadata.namespace === namespace);
  const gone = pods.filter((_, i) => i % 2 === 0);
  for (const pod of gone) remove(sim, 'pods', pod);
  return gone.map(nameOf).join(' ');
}

function flapPods(run: Run, prng: Prng, forMs: number): string {
  const { sim } = run;
  const pods = objectsOf(sim, 'pods');
  for (let i = 0; i < 20; i++) {
    const pod = pick(prng, pods);
    const ready = nextInt(prng, 2) === 0;
    const at = sim.nowMs() + nextInt(prng, forMs);
    if (pod !== undefined) sim.at(at, () => void setPodStatus(sim, find(run, pod), { ready }));
  }
  return `${pods.length} pods, 20 times`;
}

function recreateService({ sim }: Run, prng: Prng, service: KubeObject): string {
  const { namespace, name } = service.metadata;
  remove(sim, 'services', service);
  const spec = service['spec'] as Spec;
  const selector = nextInt(prng, 4) === 0 ? drawSelector(prng) : spec['selector'];
  return makeService(sim, prng, namespace!, name!, { selector });
}

/** To a type that is not planned, or back. */
function turnType(spec: Spec): void {
  const isExternal = spec['type'] === 'ExternalName';
  spec['type'] = isExternal ? 'ClusterIP' : 'ExternalName';
  if (isExternal) delete spec['externalName'];
  else spec['externalName'] = 'example.com';
  for (const field of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy']) delete spec[field];
}

function toggle(object: Record<string, unknown>, field: string, value: unknown): void {
  if (object[field] === undefined) object[field] = value;
  else delete object[field];
}

function endOne({ sim }: Run, prng: Prng): string {
  const name = pick(prng, NAMESPACES)!;
  const { status } = sim.tryRequest('DELETE', `/api/v1/namespaces/${name}`);
  if (status >= 300) return '';
  finalize(sim, name, nextInt(prng, 2) === 0);
  return `namespace ${name}`;
}

/** The namespace controller starts over with what a restore of etcd has brought back. */
export function finalizeRestored(sim: Sim): void {
  for (const { metadata } of objectsOf(sim, 'namespaces')) {
    if (metadata.deletionTimestamp !== undefined) finalize(sim, metadata.name!, false);
  }
}

/**
 * As the namespace controller ends a namespace, in rounds, with all that is in it.
 * @param again somebody makes it again then
 */
function finalize(sim: Sim, name: string, again: boolean): void {
  const collections = (['services', 'endpoints', 'endpointslices'] as const).map((of) => collectionOf(of, name));
  const talk = endNamespace(name, collections);
  const round = (): void => {
    for (const pod of objectsOf(sim, 'pods')) if (pod.metadata.namespace === name) remove(sim, 'pods', pod);
    for (let next = talk.next(null); next.done !== true;) {
      if (next.value === null) {
        sim.at(sim.nowMs() + 500, round);
        return;
      }
      const { method, path: at, body } = next.value;
      const answer = sim.tryRequest(method, at, body ?? undefined);
      next = talk.next(answer.status < 300 ? answer.body : null);
    }
    if (again)
      sim.tryRequest('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  };
  sim.at(sim.nowMs() + 500, round);
}

export const CHANGES = {
  'pod-ready': onPod(({ sim }, _, pod) => setPodStatus(sim, pod, { ready: !isReady(pod) })),
  'pod-create': change(({ sim }, prng) => makePod(sim, prng, pick(prng, NAMESPACES)!, `p${nextInt(prng, 20)}`)),
  'pod-terminate': onPod(({ sim }, _, pod) => remove(sim, 'pods', pod, 30)),
  'pod-delete': onPod(({ sim }, _, pod) => remove(sim, 'pods', pod)),
  'pod-recreate': onPod(recreatePod),
  'pod-relabel': onPod(({ sim }, prng, pod) =>
    edit(sim, 'pods', pod, ({ metadata }) => {
      const app = pick(prng, ['x', 'y', 'none'])!;
      metadata.labels = { app, track: pick(prng, ['new', 'old'])! };
    }),
  ),
  'pod-ip': onPod(({ sim }, prng, pod) => setPodStatus(sim, pod, { ip: 1 + nextInt(prng, 250) })),
  'pod-phase': onPod(({ sim }, prng, pod) =>
    setPodStatus(sim, pod, { phase: pick(prng, ['Failed', 'Succeeded', 'Running'])! }),
  ),
  'scale-down': change(scaleDown),
  'pods-flap': { trouble: 'change', lastsMs: [10, 500], act: flapPods },
  'roll-out': { trouble: 'change', lastsMs: [100, 10_000], act: rollOut },
  'service-create': change(({ sim }, prng) => makeService(sim, prng, pick(prng, NAMESPACES)!, `s${nextInt(prng, 4)}`)),
  'service-delete': onService(({ sim }, _, service) => remove(sim, 'services', service)),
  'service-recreate': onService(recreateService),
  'service-selector': onSpec((spec, prng) => {
    spec['selector'] = drawSelector(prng);
  }),
  'service-unselect': onSpec((spec, prng) => toggle(spec, 'selector', drawSelector(prng))),
  'service-ports': onSpec((spec, prng) => {
    spec['ports'] = drawPorts(prng);
  }),
  'service-target-port': onSpec((spec) => {
    const [http, ...others] = spec['ports'] as readonly Spec[];
    spec['ports'] = [{ ...http, targetPort: http!['targetPort'] === 'http' ? 8080 : 'http' }, ...others];
  }),
  'service-publish': onSpec((spec) => {
    spec['publishNotReadyAddresses'] = spec['publishNotReadyAddresses'] !== true;
  }),
  'service-traffic': onSpec((spec, prng) => toggle(spec, 'trafficDistribution', pick(prng, TRAFFIC_DISTRIBUTIONS))),
  'service-type': onSpec(turnType),
  'service-hints': onService(({ sim }, _, service) =>
    edit(sim, 'services', service, ({ metadata }) => {
      const annotations = { ...metadata.annotations };
      toggle(annotations, TOPOLOGY_MODE_ANNOTATION, 'Auto');
      metadata.annotations = annotations;
    }),
  ),
  'service-label': onService(({ sim }, prng, service) =>
    edit(sim, 'services', service, ({ metadata }) => {
      const labels = { ...metadata.labels };
      toggle(labels, pick(prng, ['owner', OPT_OUT_LABEL])!, 'somebody');
      metadata.labels = labels;
    }),
  ),
  'node-zone': onNode(({ sim }, prng, node) =>
    edit(sim, 'nodes', node, ({ metadata }) => {
      const zone = pick(prng, ZONES)!;
      metadata.labels = zone === '' ? {} : { 'topology.kubernetes.io/zone': zone };
    }),
  ),
  'node-status': onNode(({ sim }, prng, node) =>
    edit(
      sim,
      'nodes',
      node,
      (copy) => {
        const status = pick(prng, ['True', 'False'])!;
        const cpu = pick(prng, ['4', '16', '500m'])!;
        copy['status'] = { allocatable: { cpu }, conditions: [{ type: 'Ready', status }] };
      },
      '/status',
    ),
  ),
  'node-delete': { ...onNode(({ sim }, _, node) => remove(sim, 'nodes', node)), trouble: 'nodeGone' },
  'node-create': change(({ sim }, prng) => makeNode(sim, `node-${nextInt(prng, 4)}`, pick(prng, ZONES)!)),
  'endpoints-create': change(({ sim }, prng) => {
    const service = pick(prng, objectsOf(sim, 'services'));
    if (service === undefined) return '';
    return makeEndpoints(sim, prng, service.metadata.namespace!, service.metadata.name!);
  }),
  'outside-edit': change(({ sim }, prng) =>
    edit(
      sim,
      'endpoints',
      pick(
        prng,
        objectsOf(sim, 'endpoints').filter(({ metadata: { name } }) => name === 'outside'),
      ),
      (copy) => {
        copy['subsets'] = drawSubsets(prng);
        copy.metadata.labels = nextInt(prng, 4) === 0 ? { owner: `team-${nextInt(prng, 3)}` } : {};
      },
    ),
  ),
  'namespace-end': change(endOne),
} as const satisfies Deeds;
