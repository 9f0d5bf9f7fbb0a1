/** A loud side and a quiet one: how long the quiet one waits. */
import { addPod, type PodModel } from '../../../src/workload/cluster.ts';
import { podObject, readinessConditions } from '../../../src/workload/objects.ts';
import { createRequests, patchStatus, remove, type WorkloadRequest } from '../../../src/workload/request.ts';
import { changesOf, flips, openLoop, shuffledBySeed, type Paced } from '../drive.ts';
import { COALESCING_MARKS, type Scenario, type Stage } from '../scenario.ts';
import { running } from './bursts.ts';
import { SPREAD } from './profiles.ts';

/** The changes of the quiet side as a share of the loud side's. */
const QUIET_SHARE = 0.1;

export const ROLLOUT: Scenario = {
  name: 'rollout',
  what: '1,000 pods are replaced, 50 a second, while other services flip',
  pairSeconds: 70,
  server: 'kube',
  outset: 'right',
  profile: SPREAD,
  story: rollout,
  marks: COALESCING_MARKS,
};

export const STORM: Scenario = {
  name: 'storm',
  what: 'one namespace flips at 200 a second, the others quietly, with 50 writes a second of each controller',
  pairSeconds: 70,
  server: 'kube',
  outset: 'right',
  profile: SPREAD,
  leavesInputs: true,
  settings: { qps: 50, burst: 50 },
  story: storm,
};

async function rollout(stage: Stage): Promise<void> {
  const { settings, cluster } = stage;
  const paced = changesOf(settings, { tiny: 10, small: 50, full: 50 }, { tiny: 0.6, small: 5, full: 20 });
  const half = cluster.namespaces[cluster.namespaces.length >>> 1]!;
  const [loud, quiet] = sides(cluster.pods, (pod) => pod.app.namespace < half, settings.seed);
  await running(stage);
  stage.step('rollout');
  await stage.measure(async () => {
    const olds = loud.slice(0, paced.count);
    await Promise.all([
      openLoop(olds.length, paced.rate, (i, dueMs) => replace(stage, olds[i]!, dueMs)),
      flips(stage, quiet, ...quietly(paced), true),
    ]);
    await stage.seen();
  });
}

/** A pod with a new name becomes ready, then the old one goes. */
async function replace(stage: Stage, old: PodModel, dueMs: number): Promise<void> {
  const { cluster, server } = stage;
  const { app } = old;
  const lateMs = performance.now() - dueMs;
  // A later request of the chain is due when the one before it is answered.
  const dueNow = (): number => performance.now() - lateMs;
  const fresh = addPod(cluster, app, true);
  const services = stage.servicesOf(app);
  const object = podObject(cluster, fresh);
  const [create] = createRequests(object) as [WorkloadRequest, WorkloadRequest];
  await server.client.send(create);
  const status = patchStatus('Pod', app.namespace, fresh.name, readyNow(object['status'] as PodStatus));
  const comes = services.map((service) => ({ service, address: fresh.address, ready: true }));
  await stage.change({ request: status, dueMs: dueNow(), expected: comes });
  const goes = services.map((service) => ({ service, address: old.address, ready: false }));
  await stage.change({ request: remove('Pod', app.namespace, old.name, 0), dueMs: dueNow(), expected: goes });
}

interface PodStatus {
  readonly conditions: readonly { readonly type: string }[];
}

/** Pods of a cluster are ready since long ago: this one turns so now, which the trigger time tells. */
function readyNow(status: PodStatus): PodStatus {
  const turned = readinessConditions(true, Math.floor(Date.now() / 1000)) as { type: string }[];
  const others = status.conditions.filter(({ type }) => !turned.some((condition) => condition.type === type));
  return { ...status, conditions: [...others, ...turned] };
}

async function storm(stage: Stage): Promise<void> {
  const { settings, cluster } = stage;
  const paced = changesOf(settings, { tiny: 40, small: 200, full: 200 }, { tiny: 0.5, small: 5, full: 20 });
  const first = cluster.namespaces[0]!;
  const [loud, quiet] = sides(cluster.pods, (pod) => pod.app.namespace === first, settings.seed);
  await running(stage);
  stage.step('storm');
  await stage.measure(async () => {
    await Promise.all([flips(stage, loud, paced.count, paced.rate), flips(stage, quiet, ...quietly(paced), true)]);
    await stage.seen();
  });
}

function quietly({ rate, count }: Paced): [count: number, rate: number] {
  return [Math.max(4, 2 * Math.round((count * QUIET_SHARE) / 2)), rate * QUIET_SHARE];
}

function sides(
  pods: readonly PodModel[],
  isLoud: (pod: PodModel) => boolean,
  seed: number,
): [loud: PodModel[], quiet: PodModel[]] {
  const mixed = shuffledBySeed(pods, seed);
  return [mixed.filter(isLoud), mixed.filter((pod) => !isLoud(pod))];
}
