/** Many changes at once, at a rate, or of one huge object. */
import { performance } from 'node:perf_hooks';
import type { PodModel } from '../../../src/workload/cluster.ts';
import { patch, remove } from '../../../src/workload/request.ts';
import { changesOf, chosen, closedLoop, openLoop, shuffledBySeed } from '../drive.ts';
import { COALESCING_MARKS, SHIPPED_MARKS, type Scenario, type Stage } from '../scenario.ts';
import { HUGE, ONE_OF_1000, SPREAD, unready } from './profiles.ts';

/** Requests under way. */
export const FLIGHTS = { tiny: 4, small: 48, full: 48 };

export const BURST: Scenario = {
  name: 'burst',
  what: 'the watch is held back until all 10,000 pods are ready, then released at once (HTTP/1.1)',
  pairSeconds: 50,
  server: 'kube',
  outset: 'right',
  additionsOnly: true,
  profile: unready(SPREAD),
  gated: true,
  story: burst,
  marks: COALESCING_MARKS,
};

export const RAMP: Scenario = {
  name: 'ramp',
  what: 'pods become ready at a rate that is kept whatever becomes of it',
  pairSeconds: 70,
  server: 'kube',
  outset: 'right',
  additionsOnly: true,
  profile: unready(SPREAD),
  story: ramp,
  marks: COALESCING_MARKS,
};

export const SCALE_UP: Scenario = {
  name: 'scale-up',
  what: '1,000 pods of one service become ready, 50 a second',
  pairSeconds: 80,
  server: 'kube',
  outset: 'right',
  additionsOnly: true,
  profile: unready(ONE_OF_1000),
  story: scaleUp,
  marks: COALESCING_MARKS,
};

/** The one setting that helps a scale-up: docs/decisions.md says why it is no default. */
export const SCALE_UP_COLLECTED: Scenario = {
  ...SCALE_UP,
  name: 'scale-up-collected',
  what: '1,000 pods of one service become ready, 50 a second; endpointd alone collects the changes of Endpoints for 100 ms, kube-controller-manager has its defaults',
  settings: { endpointdFlags: ['--endpoint-updates-batch-period=100ms'] },
  marks: SHIPPED_MARKS,
};

export const REMOVAL: Scenario = {
  name: 'removal',
  what: 'ready pods are deleted at a steady rate',
  pairSeconds: 70,
  server: 'kube',
  outset: 'right',
  profile: SPREAD,
  story: removal,
};

export const BIG: Scenario = {
  name: 'big',
  what: 'a service gets 5,000 pods at once: 50 slices are made',
  pairSeconds: 40,
  server: 'kube',
  outset: 'right',
  profile: HUGE,
  endsAtJudge: true,
  story: big,
};

/** Resolves when the controller runs, and everything is right by its peer's rules. */
export async function running(stage: Stage): Promise<void> {
  stage.step('start');
  await stage.start();
  await stage.right();
  await stage.rest();
}

async function burst(stage: Stage): Promise<void> {
  const { settings, cluster } = stage;
  await running(stage);
  stage.step('held');
  stage.hold();
  await stage.measure(async () => {
    const flight = chosen(settings.flight, settings.size, FLIGHTS);
    await closedLoop(shuffledBySeed(cluster.pods, settings.seed), flight, (pod, dueMs) => stage.turn(pod, true, dueMs));
    stage.step('released');
    const fromMs = performance.now();
    stage.release();
    await stage.seen();
    stage.note('rightMs', performance.now() - fromMs);
  });
}

async function ramp(stage: Stage): Promise<void> {
  const { settings, cluster } = stage;
  const { rate, count } = changesOf(settings, { tiny: 40, small: 100, full: 150 }, { tiny: 0.5, small: 5, full: 20 });
  const pods = shuffledBySeed(cluster.pods, settings.seed).slice(0, count);
  await becomeReady(stage, 'ramp', pods, rate);
}

/** In the order in which they were made, as kubelets start them. */
async function scaleUp(stage: Stage): Promise<void> {
  const { settings, cluster } = stage;
  const { rate, count } = changesOf(settings, { tiny: 40, small: 50, full: 50 }, { tiny: 0.5, small: 5, full: 20 });
  const pods = cluster.pods.slice(0, count);
  await becomeReady(stage, 'scale-up', pods, rate);
}

async function becomeReady(stage: Stage, step: string, pods: readonly PodModel[], rate: number): Promise<void> {
  await running(stage);
  stage.step(step);
  await stage.measure(async () => {
    await openLoop(pods.length, rate, (i, dueMs) => stage.turn(pods[i]!, true, dueMs));
    await stage.seen();
  });
}

async function removal(stage: Stage): Promise<void> {
  const { settings, cluster } = stage;
  const { rate, count } = changesOf(settings, { tiny: 20, small: 50, full: 50 }, { tiny: 0.5, small: 5, full: 20 });
  const pods = shuffledBySeed(cluster.pods, settings.seed).slice(0, count);
  await running(stage);
  stage.step('removal');
  await stage.measure(async () => {
    await openLoop(pods.length, rate, (i, dueMs) => {
      const { app, name, address } = pods[i]!;
      const expected = stage.servicesOf(app).map((service) => ({ service, address, ready: false }));
      return stage.change({ request: remove('Pod', app.namespace, name, 0), dueMs, expected });
    });
    await stage.seen();
  });
}

/** The Service selects nothing for a while, so that its pods exist before it selects them. */
async function big(stage: Stage): Promise<void> {
  const { cluster, server } = stage;
  const [service] = cluster.services;
  const { namespace, name, app } = service!;
  const select = async (selector: Record<string, string>): Promise<void> => {
    await server.client.send(patch('Service', namespace, name, { spec: { selector } }));
  };
  await running(stage);
  for (const { address } of cluster.pods) stage.mayVanish(`${namespace}/${name}`, address);
  await select({ app: 'nobody' });
  await stage.rest();
  stage.step('big');
  await stage.measure(async () => {
    await select({ app: app.name });
    await stage.right();
  });
}
