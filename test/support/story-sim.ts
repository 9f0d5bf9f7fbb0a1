/**
 * A story told to the real controller, its planners and the embedded API server, in virtual time and without any cost of
 * CPU: what the queue model is held to.
 */
import { createPod, createService, createSim, deleteObject, setPodStatus, type Sim } from './sim.ts';
import type { ControllerOptions } from '../../src/controller/options.ts';
import type { Output, Sample } from '../../src/twin/ledger.ts';
import type { Published, Story } from '../../src/twin/story.ts';

export interface Played {
  readonly writes: Readonly<Record<Output, number>>;
  readonly samples: Readonly<Record<Output, readonly Sample[]>>;
}

interface Told {
  readonly sim: Sim;
  readonly story: Story;
  /** By address. */
  readonly open: Readonly<Record<Output, Map<string, OpenChange>>>;
  readonly isReady: boolean[];
  readonly exists: boolean[];
  readonly samples: Readonly<Record<Output, Sample[]>>;
  readonly writes: Record<Output, number>;
}

interface OpenChange {
  readonly namespace: string;
  readonly atMs: number;
  readonly isReady: boolean;
}

const START_MS = 60_000;
const AFTERWARDS_MS = 120_000;
const NO_LIMIT = -1;

/** @param writeMs from sending a write until it is done; `options` but for QPS hold from the start */
export function playStory(story: Story, options: Partial<ControllerOptions>, writeMs: number): Played {
  const { kubeApiQps = NO_LIMIT, kubeApiBurst = 1, ...others } = options;
  const sim = createSim({
    options: { endpoints: true, slices: true, mirroring: true, ...others, kubeApiQps, kubeApiBurst },
  });
  const told: Told = {
    sim,
    story,
    open: { endpoints: new Map(), slices: new Map() },
    isReady: story.places.map(({ start }) => start.isReady),
    exists: story.places.map(({ start }) => start.slices !== 0),
    samples: { endpoints: [], slices: [] },
    writes: { endpoints: 0, slices: 0 },
  };
  sim.request('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' } });
  for (let i = 0; i < story.namespaces.length; i++) {
    sim.request('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: `ns-${i}` } });
  }
  for (const [i, { namespace }] of story.services.entries()) {
    createService(sim, { name: `s-${i}`, namespace: `ns-${namespace}`, spec: { selector: { app: `s-${i}` } } });
  }
  for (const [i, { start }] of story.places.entries()) if (start.slices !== 0) createPod(sim, podOf(story, i, start));
  sim.start();
  sim.run(START_MS);
  sim.lag = ({ method }) => (method === 'GET' ? { toMs: 0, backMs: 0 } : { toMs: writeMs, backMs: 0 });
  sim.observer = {
    before() {},
    after: (request, status) => note(told, request.method, request.path, status),
    stepped() {},
  };
  const beganMs = sim.nowMs();
  for (const { atMs, places } of story.changes) {
    sim.at(beganMs + atMs, () => {
      for (const { place, wanted } of places) change(told, place, wanted);
    });
  }
  sim.run(story.durationMs + AFTERWARDS_MS);
  const since = ({ atMs, ...sample }: Sample): Sample => ({ ...sample, atMs: atMs - beganMs });
  return {
    writes: told.writes,
    samples: { endpoints: told.samples.endpoints.map(since), slices: told.samples.slices.map(since) },
  };
}

function podOf(story: Story, place: number, { isReady }: Published): Parameters<typeof createPod>[1] {
  const { service } = story.places[place]!;
  const { namespace } = story.services[service]!;
  return {
    name: `p-${place}`,
    namespace: `ns-${namespace}`,
    labels: { app: `s-${service}` },
    ip: addressOf(place),
    ready: isReady,
  };
}

function addressOf(place: number): string {
  return `10.${(place >> 16) & 255}.${(place >> 8) & 255}.${place & 255}`;
}

function change(told: Told, place: number, wanted: Published): void {
  const { sim, story } = told;
  const pod = podOf(story, place, wanted);
  const path = `/api/v1/namespaces/${pod.namespace}/pods/${pod.name}`;
  if (wanted.slices === 0 && told.exists[place]) deleteObject(sim, path);
  else if (wanted.slices === 0) createPod(sim, { ...pod, ip: '' });
  else if (wanted.endpoints === 0)
    sim.request('DELETE', path, { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 30 });
  else setPodStatus(sim, pod);
  told.exists[place] = true;
  if (told.isReady[place] === wanted.isReady) return;
  told.isReady[place] = wanted.isReady;
  const { namespace = '' } = pod;
  for (const open of [told.open.endpoints, told.open.slices])
    open.set(addressOf(place), { namespace, atMs: sim.nowMs(), isReady: wanted.isReady });
}

/** After a write: which open changes the object shows, and counts it. */
function note(told: Told, method: string, path: string, status: number): void {
  const output = /\/endpointslices/.test(path) ? 'slices' : /\/endpoints/.test(path) ? 'endpoints' : null;
  if (output === null || status >= 300 || method === 'GET') return;
  told.writes[output]++;
  const { sim } = told;
  const ready = readyAddresses(told, output, path);
  for (const [address, { namespace, atMs, isReady }] of told.open[output]) {
    if (!path.includes(`/namespaces/${namespace}/`) || ready.has(address) !== isReady) continue;
    told.open[output].delete(address);
    told.samples[output].push({ atMs, kind: isReady ? 'add' : 'remove', latencyMs: sim.nowMs() - atMs });
  }
}

/** Of the namespace of the path, as stored. */
function readyAddresses({ sim }: Told, output: Output, path: string): Set<string> {
  const [collection] = /^.*\/(?:endpoints|endpointslices)(?=\/|\?|$)/.exec(path)!;
  const { items } = sim.request('GET', collection) as unknown as { items: (Subsets & Slice)[] };
  const found = items.flatMap(({ subsets, endpoints }) =>
    output === 'endpoints'
      ? (subsets ?? []).flatMap(({ addresses }) => (addresses ?? []).map(({ ip }) => ip))
      : (endpoints ?? []).flatMap(({ addresses, conditions }) => (conditions?.ready === true ? addresses : [])),
  );
  return new Set(found);
}

interface Subsets {
  readonly subsets?: readonly { readonly addresses?: readonly { readonly ip: string }[] }[];
}

interface Slice {
  readonly endpoints?: readonly {
    readonly addresses: readonly string[];
    readonly conditions?: { readonly ready?: boolean };
  }[];
}
