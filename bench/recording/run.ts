/**
 * The cost of a recording. A seeded cluster of 10,000 pods is told as a list. Then come flips of pods, with the writes
 * that show them. All objects are protobuf, and go through the readers, the pseudonyms and the frames of `endpointd
 * record`.
 */
import { ZSTD } from '../../src/cli/record/recording-file.ts';
import { encodeBare } from '../../src/kube/codec.ts';
import { projectNode, projectPod, projectService } from '../../src/kube/project.ts';
import type { ObjectSource } from '../../src/kube/source.ts';
import { createInterner } from '../../src/lib/interner.ts';
import { createPrng, nextInt, nextUint32, type Prng } from '../../src/lib/prng.ts';
import { createRandom } from '../../src/node/random.ts';
import { createEncoder, type Encoder } from '../../src/recording/encode.ts';
import { createFrameWriter } from '../../src/recording/frames.ts';
import { PLAIN_NAMES } from '../../src/recording/names.ts';
import { readOutput, type EndpointTexts } from '../../src/recording/output.ts';
import { createPseudonyms, shuffled } from '../../src/recording/pseudonyms.ts';
import type { RecordedOutput, RecordedResource } from '../../src/recording/recording.ts';
import type { Size } from '../support/micro-bench.ts';
import { liveCost } from './live.ts';

const PODS_A_SERVICE = 20;
const EVENTS_A_SECOND = 500;
const SERVICES_A_NAMESPACE = 25;
const NODES = 100;

interface Made {
  readonly namespace: string;
  readonly service: string;
  readonly pods: MadePod[];
}

interface MadePod {
  readonly name: string;
  readonly ip: string;
  readonly node: string;
  ready: boolean;
}

export async function runRecordingBench(size: Size): Promise<void> {
  const services = size === 'tiny' ? 20 : 500;
  const seconds = size === 'tiny' ? 1 : 60;
  const made = makeCluster(services);
  let bytes = 0;
  const frames = createFrameWriter(ZSTD, (frame) => (bytes += frame.length));
  const random = createRandom();
  const { names } = createPseudonyms(() => random.uint32());
  const encoder = createEncoder(names, 1_700_000_000, frames.add);
  encoder.header({ program: 'bench', names: 'pseudonyms' });
  const tell = teller(encoder);
  const list = Array.from({ length: NODES }, (_, i) => toldNode(nodeNamed(i)));
  for (const i of shuffled(made.length, () => random.uint32())) list.push(...toldService(made[i]!));
  for (const object of list) tell(object);
  frames.flush();
  const ofList = bytes;
  const prng = createPrng(1);
  let events = 0;
  let cpuSeconds = 0;
  for (let second = 0; second < seconds; second++) {
    const changes: Told[] = [];
    while (changes.length < EVENTS_A_SECOND) changes.push(...flip(made, prng, second * 1000 + changes.length * 2));
    // Making the objects is no cost of a recorder.
    const began = process.cpuUsage();
    for (const change of changes) tell(change);
    if (second % 2 === 1) frames.flush();
    const { user, system } = process.cpuUsage(began);
    cpuSeconds += (user + system) / 1e6;
    events += changes.length;
  }
  frames.flush();
  const share = cpuSeconds / (events / EVENTS_A_SECOND);
  console.log(`first list: ${(ofList / list.length).toFixed(1)} bytes for each of ${list.length} objects (mark: 100)`);
  console.log(`changes: ${((bytes - ofList) / events).toFixed(1)} bytes for each of ${events} events (mark: 60)`);
  console.log(
    `CPU: ${(share * 100).toFixed(2)} % of a core at ${EVENTS_A_SECOND} events a second, reading included (mark: 5 %)`,
  );
  const dealt = size === 'tiny' ? 1000 : 1_000_000;
  console.log(`pseudonyms: ${collisions(dealt)} collisions among ${dealt} pods and as many addresses`);
  const live = await liveCost(size, EVENTS_A_SECOND);
  const [first, second] = live.cpuShares.map((share) => (share * 100).toFixed(2));
  console.log(
    `endpointd record as a process, HTTP included: ${first} % of a core in the first minute, ${second} % in the second, at ${live.eventsPerSecond.toFixed(0)} events a second (mark: 5 %), ${live.bytesPerEvent.toFixed(1)} bytes a change, ${live.bytesPerListed.toFixed(1)} bytes an object of the first list`,
  );
}

/** A pod's change, with the slice and the Endpoints that show it. */
function flip(made: readonly Made[], prng: Prng, atMs: number): Told[] {
  const one = made[nextInt(prng, made.length)]!;
  const pod = one.pods[nextInt(prng, one.pods.length)]!;
  pod.ready = !pod.ready;
  return [toldPod(one, pod, atMs), ...toldOutputs(one, atMs)];
}

function nodeNamed(i: number): string {
  return `ip-10-0-${i}.internal`;
}

function makeCluster(services: number): Made[] {
  const prng = createPrng(7);
  const text = (): string => nextUint32(prng).toString(36);
  return Array.from({ length: services }, (_, s) => ({
    namespace: `team-${Math.floor(s / SERVICES_A_NAMESPACE)}`,
    service: `service-${text()}`,
    pods: Array.from({ length: PODS_A_SERVICE }, (_, p) => ({
      name: `service-${text()}-${text()}`,
      ip: `10.${s >> 8}.${s & 255}.${p}`,
      node: nodeNamed(nextInt(prng, NODES)),
      ready: true,
    })),
  }));
}

/** An object as bytes, with its resource. */
interface Told {
  readonly resource: RecordedResource;
  readonly source: ObjectSource;
  readonly atMs: number;
}

/** Reads objects from their bytes, as the recorder does. */
function teller(encoder: Encoder): (told: Told) => void {
  const interner = createInterner();
  const last = new Map<string, EndpointTexts>();
  const reread = (resource: RecordedResource, source: ObjectSource): RecordedOutput => {
    const { output, texts } = readOutput(source, interner, PLAIN_NAMES, (namespace, name) => {
      return last.get(`${resource}/${namespace}/${name}`) ?? null;
    });
    last.set(`${resource}/${output.namespace}/${output.name}`, { endpoints: output.endpoints, texts });
    return output;
  };
  return ({ resource, source, atMs }) => {
    switch (resource) {
      case 'pods':
        encoder.put(resource, projectPod(source, interner), 'other', atMs);
        return;
      case 'services':
        encoder.put(resource, projectService(source, interner), 'other', atMs);
        return;
      case 'nodes':
        encoder.put(resource, projectNode(source, interner), 'other', atMs);
        return;
      case 'endpoints':
      case 'endpointslices':
        encoder.put(resource, reread(resource, source), 'controller', atMs);
    }
  };
}

const KINDS: Readonly<Record<RecordedResource, readonly [apiVersion: string, kind: string]>> = {
  pods: ['v1', 'Pod'],
  services: ['v1', 'Service'],
  nodes: ['v1', 'Node'],
  endpoints: ['v1', 'Endpoints'],
  endpointslices: ['discovery.k8s.io/v1', 'EndpointSlice'],
};

function told(resource: RecordedResource, object: object, atMs: number): Told {
  const [apiVersion, kind] = KINDS[resource];
  const bytes = encodeBare({ apiVersion, kind, ...object });
  return { resource, source: { encoding: 'protobuf', apiVersion, kind, bytes }, atMs };
}

function toldNode(name: string): Told {
  return told('nodes', { metadata: { name, uid: name, labels: { 'topology.kubernetes.io/zone': zoneOf(name) } } }, 0);
}

function toldService(one: Made): Told[] {
  const { namespace, service } = one;
  const ports = [{ name: 'http', port: 80, targetPort: 8080 }];
  const spec = { selector: { app: service }, ports, clusterIP: '10.96.0.1' };
  const object = { metadata: { namespace, name: service, uid: service, labels: labelsOf(one) }, spec };
  return [told('services', object, 0), ...one.pods.map((pod) => toldPod(one, pod, 0)), ...toldOutputs(one, 0)];
}

function labelsOf({ service }: Made): object {
  return { app: service, team: 'platform', tier: 'backend' };
}

function toldPod(one: Made, { name, node, ip, ready }: MadePod, atMs: number): Told {
  const labels = { ...labelsOf(one), 'pod-template-hash': 'x' };
  const object = {
    metadata: { namespace: one.namespace, name, uid: `uid-${name}`, labels },
    spec: { nodeName: node, containers: [{ name: 'c', image: 'i', ports: [{ name: 'http', containerPort: 8080 }] }] },
    status: {
      phase: 'Running',
      podIP: ip,
      podIPs: [{ ip }],
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: timeOf(atMs) }],
    },
  };
  return told('pods', object, atMs);
}

function toldOutputs(one: Made, atMs: number): Told[] {
  const { namespace, service, pods } = one;
  const annotations = { 'endpoints.kubernetes.io/last-change-trigger-time': timeOf(atMs) };
  const reference = (name: string): object => ({ kind: 'Pod', namespace, name, uid: `uid-${name}` });
  const ports = [{ name: 'http', port: 8080, protocol: 'TCP' }];
  const labels = {
    'kubernetes.io/service-name': service,
    'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
  };
  const slice = {
    metadata: { namespace, name: `${service}-abcde`, uid: `slice-${service}`, annotations, labels },
    addressType: 'IPv4',
    ports,
    endpoints: pods.map(({ name, ip, node, ready }) => ({
      addresses: [ip],
      conditions: { ready, serving: ready, terminating: false },
      nodeName: node,
      zone: zoneOf(node),
      targetRef: reference(name),
    })),
  };
  const addressesOf = (wanted: boolean): object[] =>
    pods
      .filter(({ ready }) => ready === wanted)
      .map(({ name, ip, node }) => ({ ip, nodeName: node, targetRef: reference(name) }));
  const endpoints = {
    metadata: { namespace, name: service, uid: `endpoints-${service}`, annotations, labels: labelsOf(one) },
    subsets: [{ addresses: addressesOf(true), notReadyAddresses: addressesOf(false), ports }],
  };
  return [told('endpointslices', slice, atMs), told('endpoints', endpoints, atMs)];
}

function zoneOf(node: string): string {
  return `zone-${Number(/^ip-10-0-(\d+)\./.exec(node)?.[1]) % 3}`;
}

function timeOf(atMs: number): string {
  return new Date((1_700_000_000 + Math.floor(atMs / 1000)) * 1000).toISOString().replace('.000', '');
}

function collisions(count: number): number {
  const { names } = createPseudonyms(() => 0);
  const seen = new Set<string>();
  for (let i = 0; i < count; i++)
    seen.add(names.pod('shop', `pod-${i}`)).add(names.address(`192.${i >>> 16}.${(i >>> 8) & 255}.${i & 255}`));
  return 2 * count - seen.size;
}
