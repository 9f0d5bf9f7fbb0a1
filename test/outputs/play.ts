/**
 * Runs in a copy of the sources that has the fourth output. Declares that output in wrong ways, one after the other, and
 * prints what becomes of all outputs: JSON, by the name of the mistake.
 */
import { createNode, itemsOf } from '../support/sim-objects.ts';
import { createPod, createService, createSim, endpointsTable, setPodStatus, type Sim } from '../support/sim.ts';
import { DEFINITIONS } from '../../src/controller/definitions/definitions.ts';
import type { ControllerOptions } from '../../src/controller/options.ts';
import { SERVICE_NAME_LABEL, SLICE_MANAGED_BY_LABEL } from '../../src/kube/names.ts';
import type { EndpointSlice } from '../../src/kube/types.ts';
import { FACTS_CODECS } from '../../src/shard/facts-codec.ts';
import { OUTPUTS } from '../../src/shard/outputs.ts';

export interface Played {
  readonly endpoints: readonly string[];
  /** Of the slices and of their copy: each address, and whether it is ready. */
  readonly slices: readonly string[];
  readonly copy: readonly string[];
  /** The controllers with a stuck service. */
  readonly stuck: readonly string[];
}

type Declaration = Record<string, unknown>;

/** The types here are those of the sources without the fourth output. */
const copyOf = (table: object): Declaration => (table as Record<string, Declaration>)['copy']!;
const output = copyOf(OUTPUTS);
const definition = copyOf(DEFINITIONS);
const facts = copyOf(FACTS_CODECS);

const fail = (): never => {
  throw new Error('a mistake');
};

const MISTAKES: Readonly<Record<string, () => void>> = {
  none: () => undefined,
  'its state cannot be made': () => (output['create'] = fail),
  'its plan throws': () => (output['plan'] = fail),
  'its acks throw': () => (output['acknowledge'] = fail),
  'its pods throw': () => (output['pods'] = { ...(output['pods'] as object), setPod: fail }),
  'it follows no pods': () => (output['pods'] = null),
  'its slices throw': () => (output['slices'] = { ...(output['slices'] as object), observe: fail }),
  'it keeps no slices': () => (output['slices'] = null),
  'it wants the Endpoints object without need': () => (output['needsEndpoints'] = true),
  'its facts have no bytes': () => (facts['toTuple'] = fail),
  'its facts are estimated too small': () => (facts['estimateBytes'] = () => 0),
  'it reads nothing': () => (definition['needs'] = []),
  'it reads the Endpoints object without need': () => (definition['needs'] = ['endpoints', 'copy']),
  'it wants every service': () => (definition['wants'] = () => true),
  'it waits for no cache': () => (definition['caches'] = () => []),
};

function play(): Played {
  const options: Partial<ControllerOptions> & { copy: boolean } = { slices: true, copy: true };
  // With an odd seed facts travel as bytes, as from a thread.
  const sim = createSim({ options, seed: 1 });
  createNode(sim, { name: 'node-1' });
  createService(sim, { name: 'web' });
  createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
  createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
  sim.start();
  sim.run(60_000);
  setPodStatus(sim, { name: 'web-1', ready: false });
  sim.run(60_000);
  return {
    endpoints: endpointsTable(sim).filter((line) => line.includes('web')),
    slices: addressesOf(sim, 'endpointslice-controller.k8s.io'),
    copy: addressesOf(sim, 'copy-controller.k8s.io'),
    stuck: sim.loop!.state.controllers.filter(({ stuck }) => stuck.size > 0).map(({ name }) => name),
  };
}

function addressesOf(sim: Sim, managedBy: string): string[] {
  return (itemsOf(sim, '/apis/discovery.k8s.io/v1/endpointslices') as unknown as EndpointSlice[])
    .filter(({ metadata: { labels = {} } }) => {
      return labels[SLICE_MANAGED_BY_LABEL] === managedBy && labels[SERVICE_NAME_LABEL] === 'web';
    })
    .flatMap(({ endpoints }) => endpoints ?? [])
    .map(({ addresses, conditions }) => `${addresses[0]} ${conditions?.ready === true ? 'ready' : 'not ready'}`)
    .sort();
}

const declared = [output, definition, facts].map((table) => ({ table, right: { ...table } }));
const played: Record<string, Played> = {};
for (const [mistake, make] of Object.entries(MISTAKES)) {
  make();
  played[mistake] = play();
  for (const { table, right } of declared) Object.assign(table, right);
}
console.log(JSON.stringify(played));
