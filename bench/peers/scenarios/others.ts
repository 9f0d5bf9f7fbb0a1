/** Nodes, Endpoints made by hand, a controller that comes back, and events that change nothing. */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../../src/kube/types.ts';
import { handMadeSubsets, type HandMadeService } from '../../../src/workload/hand-made.ts';
import { patch, remove } from '../../../src/workload/request.ts';
import { changesOf, chosen, closedLoop, flips, openLoop, shuffledBySeed } from '../drive.ts';
import type { Scenario, Stage } from '../scenario.ts';
import { running } from './bursts.ts';
import { CHURN_RATES } from './flips.ts';
import { dense, HAND_MADE, SPREAD } from './profiles.ts';

const ZONE_LABEL = 'topology.kubernetes.io/zone';
const FLIGHTS = { tiny: 4, small: 48, full: 64 };

/** kube-controller-manager does not follow it, so its runs are wrong. */
export const NODE_ZONE: Scenario = {
  name: 'node-zone',
  what: 'a node with some 110 pods changes its zone',
  pairSeconds: 50,
  server: 'kube',
  outset: 'right',
  profile: dense(SPREAD),
  endsAtJudge: true,
  story: nodeZone,
};

export const NODE_LOST: Scenario = {
  name: 'node-lost',
  what: 'a node with some 110 pods is lost, and its pods are deleted',
  pairSeconds: 35,
  server: 'kube',
  outset: 'right',
  profile: dense(SPREAD),
  endsAtJudge: true,
  story: nodeLost,
};

export const MIRROR: Scenario = {
  name: 'mirror',
  what: 'Endpoints made by hand are edited, 20 a second',
  pairSeconds: 60,
  server: 'kube',
  outset: 'right',
  controllers: ['endpointslice-mirroring-controller'],
  profile: HAND_MADE,
  story: mirror,
};

export const FAILOVER: Scenario = {
  name: 'failover',
  what: 'the controller, then the API server, is killed and started again while pods flip',
  pairSeconds: 110,
  server: 'kube',
  outset: 'right',
  profile: SPREAD,
  leavesInputs: true,
  lasting: true,
  story: failover,
};

export const INTAKE: Scenario = {
  name: 'intake',
  what: '265,000 events of pods that change nothing for any service, as fast as they can be made, on the embedded API server',
  pairSeconds: 200,
  server: 'embedded',
  outset: 'right',
  profile: SPREAD,
  endsAtRest: true,
  story: intake,
};

async function nodeZone(stage: Stage): Promise<void> {
  const { cluster, server } = stage;
  const { name } = cluster.nodes[0]!;
  const elsewhere = { [ZONE_LABEL]: 'zone-elsewhere' };
  await running(stage);
  stage.step('zone');
  await stage.measure(async () => {
    stage.expect((objects) => ({
      ...objects,
      nodes: objects.nodes.map((each) => relabelled(each, name, elsewhere)),
    }));
    const fromMs = performance.now();
    await server.client.send(patch('Node', undefined, name, { metadata: { labels: elsewhere } }));
    if (await stage.follows("a node's new zone")) stage.note('rightMs', performance.now() - fromMs);
  });
}

async function nodeLost(stage: Stage): Promise<void> {
  const { cluster, server } = stage;
  const { name } = cluster.nodes[0]!;
  await running(stage);
  stage.step('lost');
  await stage.measure(async () => {
    const gone = cluster.pods.filter((pod) => cluster.nodes[pod.node]!.name === name);
    for (const pod of gone) {
      for (const service of stage.servicesOf(pod.app)) stage.mayVanish(service, pod.address);
    }
    const keys = new Set(gone.map(({ app, name: pod }) => `${app.namespace}/${pod}`));
    stage.expect((objects) => ({
      ...objects,
      pods: objects.pods.filter(({ metadata }) => !keys.has(`${metadata.namespace}/${metadata.name}`)),
      nodes: objects.nodes.filter(({ metadata }) => metadata.name !== name),
    }));
    const fromMs = performance.now();
    await server.client.send(remove('Node', undefined, name, 0));
    await Promise.all(gone.map(({ app, name: pod }) => server.client.send(remove('Pod', app.namespace, pod, 0))));
    if (await stage.follows('the loss of a node')) stage.note('lostMs', performance.now() - fromMs);
  });
}

function relabelled(object: KubeObject, name: string, labels: Readonly<Record<string, string>>): KubeObject {
  const { metadata } = object;
  return metadata.name === name
    ? { ...object, metadata: { ...metadata, labels: { ...metadata.labels, ...labels } } }
    : object;
}

/** Addresses become unready one after the other, and ready again later. */
async function mirror(stage: Stage): Promise<void> {
  const { settings, cluster } = stage;
  const { rate, count } = changesOf(settings, { tiny: 20, small: 20, full: 20 }, { tiny: 0.4, small: 5, full: 20 });
  const services = shuffledBySeed(
    cluster.handMade.filter(({ skipMirror, layout }) => !skipMirror && layout === 'one subset'),
    settings.seed,
  );
  await running(stage);
  stage.step('edits');
  await stage.measure(async () => {
    await openLoop(count, rate, (i, dueMs) => edit(stage, services[i % services.length]!, dueMs));
    await stage.seen();
  });
}

async function edit(stage: Stage, service: HandMadeService, dueMs: number): Promise<void> {
  const { namespace, name, addresses } = service;
  const address = addresses[0]!;
  address.ready = !address.ready;
  await stage.change({
    request: patch('Endpoints', namespace, name, { subsets: handMadeSubsets(service) }),
    dueMs,
    expected: [{ service: `${namespace}/${name}`, address: address.ip, ready: address.ready }],
  });
}

/** The latencies show how long nobody worked. What was missed is right at the end. */
async function failover(stage: Stage): Promise<void> {
  const { settings, cluster } = stage;
  const { rate, count } = changesOf(settings, CHURN_RATES, { tiny: 0.5, small: 6, full: 15 });
  const pods = shuffledBySeed(cluster.pods, settings.seed);
  await running(stage);
  const disturbed = async (what: 'controller' | 'server', restart: () => Promise<void>): Promise<void> => {
    const flipped = flips(stage, pods, count, rate);
    await sleep((count / rate / 3) * 1000);
    stage.step(`${what} ended`);
    const fromMs = performance.now();
    await restart();
    await flipped;
    await stage.seen();
    const { rightMs, wrongMost, wrongSeconds } = stage.disturbance(fromMs);
    stage.note(`${what}RightMs`, rightMs);
    stage.note(`${what}WrongMost`, wrongMost);
    stage.note(`${what}WrongSeconds`, wrongSeconds);
  };
  stage.step('flips');
  await stage.measure(async () => {
    await disturbed('controller', async () => {
      await stage.kill();
      await stage.start();
    });
    await disturbed('server', () => stage.restartServer());
  });
}

async function intake(stage: Stage): Promise<void> {
  const { settings, cluster, server } = stage;
  const events = chosen(settings.rate, settings.size, { tiny: 60, small: 10_000, full: 265_000 });
  const rounds = Array.from({ length: events }, (_, i) => i);
  await running(stage);
  stage.step('events');
  await stage.measure(async () => {
    await closedLoop(rounds, chosen(settings.flight, settings.size, FLIGHTS), async (i) => {
      const { app, name } = cluster.pods[i % cluster.pods.length]!;
      const annotations = { 'bench.endpointd.example/round': String(i) };
      await server.client.send(patch('Pod', app.namespace, name, { metadata: { annotations } }));
    });
    await stage.rest();
  });
  stage.note('events', events);
}
