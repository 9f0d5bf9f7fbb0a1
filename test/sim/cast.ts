/** Who plays in the worlds: nodes, Services, pods and Endpoints made by hand, as somebody would make them. */
import type { World } from './story.ts';
import { edit, make, objectAt, pick } from './hand.ts';
import type { Sim } from '../support/sim.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { nextInt, type Prng } from '../../src/lib/prng.ts';

/** Short names: they are in every message. */
export const NAMESPACES: readonly string[] = ['a', 'b'];
export const ZONES: readonly string[] = ['zone-a', 'zone-b', ''];
export const OPT_OUT_LABEL = 'out';
const NODES = 3;
/** What is judged slowly must stay small. */
const PODS_MAX = 24;

export function makeWorld(sim: Sim, world: World, prng: Prng): void {
  for (const name of NAMESPACES) {
    make(sim, 'namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  for (let i = 0; i < NODES; i++) makeNode(sim, `node-${i}`, ZONES[i % ZONES.length]!);
  for (let i = 0; i < world.services; i++) makeService(sim, prng, NAMESPACES[i % 2]!, `s${i >> 1}`);
  for (let i = 0; i < world.handMade; i++) {
    const namespace = NAMESPACES[i % 2]!;
    makeService(sim, prng, namespace, 'outside', { selector: undefined });
    makeEndpoints(sim, prng, namespace, 'outside');
  }
  for (let i = 0; i < world.pods; i++) makePod(sim, prng, NAMESPACES[i % 2]!, `p${i}`);
}

export function makeNode(sim: Sim, name: string, zone: string): string {
  return make(sim, 'nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: zone === '' ? {} : { 'topology.kubernetes.io/zone': zone } },
    status: { allocatable: { cpu: '4' }, conditions: [{ type: 'Ready', status: 'True' }] },
  });
}

export function makeService(sim: Sim, prng: Prng, namespace: string, name: string, more: object = {}): string {
  const families = [{}, {}, { ipFamilyPolicy: 'PreferDualStack' }, { ipFamilies: ['IPv6'] }][nextInt(prng, 4)]!;
  const headless = nextInt(prng, 5) === 0 ? { clusterIP: 'None' } : {};
  const spec = { selector: drawSelector(prng), ports: drawPorts(prng), ...families, ...headless, ...more };
  return make(sim, 'services', {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace, name },
    spec: JSON.parse(JSON.stringify(spec)) as object,
  });
}

export function drawSelector(prng: Prng): Record<string, string> {
  const selectors: readonly Record<string, string>[] = [{ app: 'x' }, { app: 'y' }, { track: 'new' }];
  return selectors[nextInt(prng, 3)]!;
}

export function drawPorts(prng: Prng): object[] {
  const http = { name: 'http', port: 80, targetPort: [8080, 'http'][nextInt(prng, 2)]! };
  const more = [
    [],
    [],
    [{ name: 'metrics', port: 90, targetPort: 'metrics' }],
    [{ name: 'dns', port: 53, protocol: 'UDP', targetPort: 5353, appProtocol: 'kubernetes.io/h2c' }],
  ];
  return [http, ...more[nextInt(prng, 4)]!];
}

/** A pod of another template now and then: its named port is another number. */
export function makePod(sim: Sim, prng: Prng, namespace: string, name: string): string {
  const ports = [
    { name: 'http', containerPort: 8080 + nextInt(prng, 2) },
    ...(nextInt(prng, 2) === 0 ? [] : [{ name: 'metrics', containerPort: 9090 }]),
  ];
  const labels = { app: nextInt(prng, 3) === 0 ? 'y' : 'x', track: nextInt(prng, 2) === 0 ? 'new' : 'old' };
  if (sim.server.stores.get('pods')!.records.size >= PODS_MAX) return '';
  const told = make(sim, 'pods', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name, labels },
    spec: { nodeName: `node-${nextInt(prng, NODES)}`, containers: [{ name: 'main', image: 'main:1', ports }] },
  });
  setPodStatus(sim, objectAt(sim, 'pods', `${namespace}/${name}`), {
    ip: nextInt(prng, 250) + 1,
    ready: nextInt(prng, 8) > 0,
  });
  return told;
}

/** @param ip the last part of its addresses of both families */
export function setPodStatus(
  sim: Sim,
  pod: KubeObject | undefined,
  change: { readonly ip?: number; readonly ready?: boolean; readonly phase?: string },
): string {
  return edit(
    sim,
    'pods',
    pod,
    (copy) => {
      const before = (copy['status'] ?? {}) as { podIP?: string; conditions?: { type: string; status: string }[] };
      const ip = change.ip === undefined ? before.podIP : `10.0.0.${change.ip}`;
      const wasReady = before.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
      const ready = change.ready ?? wasReady;
      const time = new Date(START_MS + sim.nowMs()).toISOString().replace(/\.\d+Z/, 'Z');
      copy['status'] = {
        phase: change.phase ?? 'Running',
        ...(ip === undefined ? {} : { podIP: ip, podIPs: [{ ip }, { ip: `fd00::${ip.slice('10.0.0.'.length)}` }] }),
        conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: time }],
      };
    },
    '/status',
  );
}

const START_MS = Date.UTC(2026, 0, 1);

export function makeEndpoints(sim: Sim, prng: Prng, namespace: string, name: string, labels = {}): string {
  return make(sim, 'endpoints', {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { namespace, name, labels },
    subsets: drawSubsets(prng),
  });
}

export function drawSubsets(prng: Prng): object[] {
  return Array.from({ length: nextInt(prng, 3) }, () => ({
    addresses: drawAddresses(prng),
    ...(nextInt(prng, 3) === 0 ? { notReadyAddresses: drawAddresses(prng) } : {}),
    ports: [
      // Subsets with equal addresses merge: their slice must not have two ports of one name.
      pick(prng, [
        { name: 'http', port: 8080 },
        { name: 'web', port: 8081 },
      ])!,
      ...(nextInt(prng, 3) === 0 ? [{ name: 'https', port: 8443 }] : []),
    ],
  }));
}

function drawAddresses(prng: Prng): { ip: string }[] {
  return Array.from({ length: 1 + nextInt(prng, 3) }, () => {
    const last = 1 + nextInt(prng, 20);
    return { ip: nextInt(prng, 3) === 0 ? `2001:db8::${last}` : `198.51.100.${last}` };
  });
}
