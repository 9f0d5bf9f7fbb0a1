/** Each field of a pod and of a Service that planning reads is followed; the others cost nothing. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createNode } from '../support/sim-objects.ts';
import { createPod, createService, createSim, writesOf, type Sim } from '../support/sim.ts';

const POD = '/api/v1/namespaces/default/pods/web-1';
const SERVICE = '/api/v1/namespaces/default/services/web';

type Fields = Record<'metadata' | 'spec' | 'status', Record<string, unknown>>;

/** A service with one pod, all written. */
function settled(): Sim {
  const sim = createSim({ options: { slices: true } });
  createService(sim, { name: 'web' });
  createNode(sim, { name: 'node-1', zone: 'zone-a' });
  createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
  sim.start();
  sim.run(5000);
  sim.exchanges.length = 0;
  return sim;
}

/** Whether each of the outputs was written once `change` has been made to the object at `path`. */
function writtenAfter(path: string, change: (object: Fields) => void): string {
  const sim = settled();
  const object = structuredClone(sim.request('GET', path.replace('/status', ''))) as unknown as Fields;
  change(object);
  sim.request('PUT', path, object);
  sim.run(5000);
  const written = writesOf(sim);
  return ['endpoints', 'endpointslices'].filter((name) => written.some((line) => line.includes(`/${name}/`))).join(' ');
}

const BOTH = 'endpoints endpointslices';

describe('a pod', () => {
  const cases: Readonly<Record<string, readonly [string, (pod: Fields) => void]>> = {
    'is not ready any more': [BOTH, ({ status }) => (status['conditions'] = [{ type: 'Ready', status: 'False' }])],
    'has another address': [
      BOTH,
      ({ status }) => Object.assign(status, { podIP: '10.0.0.2', podIPs: [{ ip: '10.0.0.2' }] }),
    ],
    'has failed': [BOTH, ({ status }) => (status['phase'] = 'Failed')],
    'has another message': ['', ({ status }) => (status['message'] = 'all is well')],
    'has another condition': [
      '',
      ({ status }) => (status['conditions'] as object[]).push({ type: 'Initialized', status: 'True' }),
    ],
  };
  for (const [what, [expected, change]] of Object.entries(cases)) {
    it(`a pod that ${what}: ${expected === '' ? 'nothing is' : 'both are'} written`, () => {
      assert.equal(writtenAfter(`${POD}/status`, change), expected);
    });
  }
});

describe('a Service', () => {
  const port = ({ spec }: Fields): Record<string, unknown> => (spec['ports'] as Record<string, unknown>[])[0]!;
  const cases: Readonly<Record<string, readonly [string, (service: Fields) => void]>> = {
    'selects other pods': [BOTH, ({ spec }) => (spec['selector'] = { app: 'other' })],
    'has another label': [BOTH, ({ metadata }) => (metadata['labels'] = { team: 'a' })],
    'has another name for its port': [BOTH, (service) => (port(service)['name'] = 'web')],
    'has another protocol for its port': [BOTH, (service) => (port(service)['protocol'] = 'UDP')],
    'has another application protocol for its port': [
      BOTH,
      (service) => (port(service)['appProtocol'] = 'kubernetes.io/h2c'),
    ],
    'has another target for its port': [BOTH, (service) => (port(service)['targetPort'] = 9090)],
    'has another port of its own': ['', (service) => (port(service)['port'] = 81)],
    'publishes what is not ready': ['', ({ spec }) => (spec['publishNotReadyAddresses'] = true)],
    'wants traffic to stay close': ['endpointslices', ({ spec }) => (spec['trafficDistribution'] = 'PreferClose')],
    'has another annotation': ['', ({ metadata }) => (metadata['annotations'] = { team: 'a' })],
    'has another session affinity': ['', ({ spec }) => (spec['sessionAffinity'] = 'ClientIP')],
  };
  for (const [what, [expected, change]] of Object.entries(cases)) {
    it(`a Service that ${what}: ${expected === '' ? 'nothing is written' : expected}`, () => {
      assert.equal(writtenAfter(SERVICE, change), expected);
    });
  }

  it('a Service that differs in what no plan reads starts no sync', () => {
    const sim = settled();
    const queued = (): number[] => sim.loop!.state.controllers.map(({ queue }) => queue.addsTotal);
    const before = queued();
    const service = structuredClone(sim.request('GET', SERVICE)) as unknown as Fields;
    port(service)['port'] = 81;
    service.spec['sessionAffinity'] = 'ClientIP';
    sim.request('PUT', SERVICE, service);
    sim.run(5000);
    assert.deepEqual(queued(), before);
  });
});
