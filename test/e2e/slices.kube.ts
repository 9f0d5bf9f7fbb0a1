/**
 * All three controllers of endpointd beside those of the real kube-controller-manager, each on an API server of its own: a
 * seeded random script of services, pods, nodes and hand-made Endpoints, and a written one. At every quiet point both have
 * written the same, and endpointd has not written more often. Then each starts on what the other has left.
 *
 * While a step happens both are held (SIGSTOP): how many changes are one for a controller must not hang on the machine.
 */
import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterLife } from '../../src/testbed/cluster-life.ts';
import { runGarbageCollector } from '../../src/testbed/garbage-collector.ts';
import { loadCluster } from '../../src/testbed/load-cluster.ts';
import { readObjects } from '../../src/testbed/read-objects.ts';
import { SLICES_DIFFERENCES } from '../../src/core/differences.ts';
import { SERVICE_NAME_LABEL, TOPOLOGY_MODE_ANNOTATION, TRIGGER_TIME_ANNOTATION } from '../../src/kube/names.ts';
import type { ApiClient } from '../../src/node/api-client.ts';
import { createChurn, nextChange } from '../../src/workload/churn.ts';
import type { ChurnMix } from '../../src/workload/change.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
import { findProfile, type Profile } from '../../src/workload/profile.ts';
import type { WorkloadRequest } from '../../src/workload/request.ts';
import { writesOf, type ObjectWrite } from './audit.ts';
import { clientOf } from './client.ts';
import { startControllerManager, type Cluster } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from './cluster.ts';
import { startEndpointd, type Endpointd } from './endpointd.ts';
import { addressesOf, DUAL_STACK, SCRIPT } from './script.ts';
import { createZoneNodes, SLICES_SCRIPT, TOPOLOGY, type SlicesChapter } from './slices-script.ts';
import { expectAllRight, touchServices } from './whole-check.ts';
import { createPod, createService, createWorld, until, type World } from './world.ts';
import { readWritten, writtenDifferences, type Written } from './written.ts';
import { seeds } from '../support/runs.ts';

const SEED = seeds({ first: 20_261_121, count: 1 }).first;
const CHANGES_PER_ROUND = 100;
const QPS = 500;
const FLAGS = [`--kube-api-qps=${QPS}`, `--kube-api-burst=${QPS}`, '--shards=1'];
const UPSTREAM = 'kube-controller-manager';
const OURS = 'endpointd';
const CONTROLLERS = ['endpoints-controller', 'endpointslice-controller', 'endpointslice-mirroring-controller'];
const RESOURCES = ['endpoints', 'endpointslices'] as const;
const EQUAL_MS_MAX = 90_000;
const POLL_MS = 300;
/** Longer than what either waits before it repairs a slice: what nobody has written for so long is how it stays. */
const REST_MS = 1500;

const PROFILE: Profile = {
  ...findProfile('small'),
  name: 'random',
  nodes: 9,
  namespaces: 2,
  servicesPerNamespace: 20,
  topologyShare: 0.3,
};

const PODS: ChurnMix = {
  readiness: 3,
  'pod-replace': 1,
  'pod-recreate': 1,
  'pod-relabel': 1,
  'scale-up': 1,
  'scale-down': 1,
  'rolling-update': 1,
};
const SERVICES: ChurnMix = {
  'service-selector': 1,
  'service-ports': 1,
  'service-labels': 1,
  'service-publish': 1,
  'service-traffic': 1,
  'service-topology': 1,
  'service-create': 1,
  'endpoints-edit': 3,
};
const NODES: ChurnMix = { ...PODS, 'node-zone': 4, 'node-readiness': 4, 'node-replace': 4 };
const LIVES: ChurnMix = {
  ...PODS,
  ...SERVICES,
  'service-delete': 3,
  'service-recreate': 3,
  'endpoints-recreate': 3,
};

interface Round {
  readonly title: string;
  readonly mix: ChurnMix;
  /** Listed differences that make upstream learn of some of it only with the next change of the service. */
  readonly touched?: readonly string[];
}

const ROUNDS: readonly Round[] = [
  { title: 'pods', mix: PODS },
  { title: 'pods, services and hand-made Endpoints', mix: { ...PODS, ...SERVICES } },
  {
    title: 'nodes and pods',
    mix: NODES,
    touched: ['slices-zone-change', 'slices-unknown-node', 'slices-hints-return'],
  },
  { title: 'services that go and come back', mix: LIVES, touched: ['slices-recreated-service'] },
];

/** The chapters about Endpoints whose objects differ for a reason, or whose packing hangs on what no two servers share. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'over-capacity',
  'below-capacity-again',
  'refused-create',
  'terminating-namespace',
  'endpoints-deleted',
]);

interface Side {
  readonly cluster: Cluster;
  readonly client: ApiClient;
  readonly collector: ClusterLife;
  readonly canary: World;
  canaries: number;
}

describe('all controllers beside those of the real kube-controller-manager', () => {
  let ours: Side;
  let theirs: Side;
  let endpointd: Endpointd;
  let manager: { readonly pid: number; stop(): Promise<void> };
  const model = makeCluster(PROFILE, SEED);

  before(async () => {
    [ours, theirs] = await Promise.all([createSide(), createSide()]);
    endpointd = await startEndpointd(ours.cluster, FLAGS);
    manager = await startManager(theirs);
    await Promise.all([handled(ours), handled(theirs)]);
  });

  after(async () => {
    await endpointd?.kill9();
    for (const side of [ours, theirs]) {
      await side?.collector.stop();
      await side?.client.close();
      await side?.cluster.stop();
    }
  });

  /** Both controllers see what is told as one change. */
  async function held(tell: (side: Side) => Promise<void>): Promise<void> {
    const pids = [endpointd.child.pid, manager.pid];
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    try {
      await Promise.all([tell(ours), tell(theirs)]);
    } finally {
      for (const pid of pids) process.kill(pid, 'SIGCONT');
    }
  }

  async function expectEqual(): Promise<void> {
    await Promise.all([handled(ours), handled(theirs)]);
    await expectAllRight(ours.client, { garbageCollected: true });
    await equalAtRest(ours, theirs);
  }

  async function touch(): Promise<void> {
    await Promise.all([handled(ours), handled(theirs)]);
    const value = String(touches++);
    await held(({ client }) => touchServices(client, value));
  }
  let touches = 0;

  it('both write the same about a cluster that is new to them', async () => {
    await held(({ client }) => loadCluster(client, makeCluster(PROFILE, SEED), 8));
    await expectEqual();
  });

  for (const [at, { title, mix, touched }] of ROUNDS.entries()) {
    it(`both write the same after random changes: ${title}`, async () => {
      const churn = createChurn(model, mix, SEED + at);
      const requests: WorkloadRequest[] = [];
      for (let i = 0; i < CHANGES_PER_ROUND; i++) requests.push(nextChange(churn, SCRIPT_MS + at * 60_000)!.request);
      // What is under way comes to its end.
      for (const story of churn.open) for (const { request } of story) requests.push(request);
      await held(async ({ client }) => {
        for (const request of requests) await client.send(request);
      });
      if (touched !== undefined) await touch();
      await expectEqual();
    });
  }

  /** Step by step, those of the same number of all chapters at once: each has a namespace of its own. */
  function follow(title: string, chapters: readonly SlicesChapter[]): void {
    const stepsMax = Math.max(...chapters.map(({ steps }) => steps.length));
    for (let at = 0; at < stepsMax; at++) {
      it(`both write the same after step ${at + 1} of ${stepsMax}: ${title}`, async () => {
        await held(async ({ client }) => {
          await Promise.all(
            chapters.map(async ({ name, steps }) => {
              const world = at === 0 ? await createWorld(client, name) : { client, namespace: name };
              await steps[at]?.tell(world);
            }),
          );
        });
        if (chapters.some(({ steps }) => steps[at]?.touched !== undefined)) await touch();
        await expectEqual();
      });
    }
  }
  follow(SLICES_SCRIPT.map(({ name }) => name).join(', '), SLICES_SCRIPT);
  follow(TOPOLOGY.name, [TOPOLOGY]);

  it('both write the same slices in the chapters about Endpoints', async () => {
    const chapters = SCRIPT.filter(({ name, difference }) => difference === undefined && !LEFT_OUT.has(name));
    const tellAll = async (side: Side): Promise<void> => {
      await Promise.all(
        chapters.map(async ({ name, tell }) => tell(await createWorld(side.client, name), () => handled(side))),
      );
    };
    await Promise.all([tellAll(ours), tellAll(theirs)]);
    await touch();
    await expectEqual();
    assert.deepEqual(await triggerTimes(ours, 'trigger-time'), await triggerTimes(theirs, 'trigger-time'));
  });

  it('every difference is listed', () => {
    const met = [...ROUNDS, ...SLICES_SCRIPT.flatMap(({ steps }) => steps), ...TOPOLOGY.steps].flatMap(
      ({ touched = [] }) => touched,
    );
    const listed = new Set(SLICES_DIFFERENCES.map(({ id }) => id));
    assert.deepEqual(
      met.filter((id) => !listed.has(id)),
      [],
    );
  });

  it('endpointd has not written more often', async (test) => {
    for (const resource of RESOURCES) {
      const [a, b] = [
        await writesOf(ours.cluster, OURS, resource),
        await writesOf(theirs.cluster, UPSTREAM, resource),
      ].map((writes) => writes.filter(({ status }) => status < 300));
      test.diagnostic(`${resource}: endpointd ${verbsOf(a!)}, kube-controller-manager ${verbsOf(b!)}`);
      assert.ok(a!.length <= b!.length, `${resource}: ${a!.length} writes, kube-controller-manager ${b!.length}`);
    }
  });

  it("a start on kube-controller-manager's objects writes listed differences only", async () => {
    const hindered = await hinderedOf(theirs);
    await manager.stop();
    const seen = await Promise.all(RESOURCES.map((resource) => writesOf(theirs.cluster, OURS, resource)));
    assert.deepEqual(seen, [[], []]);
    const successor = await startEndpointd(theirs.cluster, FLAGS);
    await handled(theirs);
    await until(() => successor.idle());
    await sleep(REST_MS);
    await successor.term();
    for (const resource of RESOURCES) {
      const keys = keysOf(await writesOf(theirs.cluster, OURS, resource));
      assert.deepEqual(
        keys.filter((key) => !hindered.has(key) && !hindered.has(key.slice(0, key.lastIndexOf('-')))),
        [],
      );
    }
  });

  it('kube-controller-manager then writes what any start of it writes', async () => {
    await endpointd.term();
    const runs: string[][] = [];
    const seen = new Map<string, number>();
    while (runs.length < 2) {
      const successor = await startManager(ours);
      await handled(ours);
      await until(() => successor.idle());
      await sleep(REST_MS);
      await successor.stop();
      const keys: string[] = [];
      for (const resource of RESOURCES) {
        const writes = await writesOf(ours.cluster, UPSTREAM, resource);
        keys.push(...keysOf(writes.slice(seen.get(resource) ?? 0)).map((key) => `${resource} ${key}`));
        seen.set(resource, writes.length);
      }
      runs.push(keys);
    }
    const [first, second] = runs as [string[], string[]];
    const byChance = await hintedByCpu(ours);
    assert.deepEqual(
      first.filter((key) => !second.includes(key) && !byChance.has(key.slice(0, key.lastIndexOf('-')))),
      [],
    );
  });
});

/** When the random script is told, as its objects see it: the same on both servers. */
const SCRIPT_MS = 1_800_000_000_000;

async function createSide(): Promise<Side> {
  const cluster = await startCluster({ auditLog: true, serviceClusterIPRanges: DUAL_STACK });
  const client = clientOf(cluster);
  await createZoneNodes(client);
  const collector = runGarbageCollector(client);
  return { cluster, client, collector, canary: await createWorld(client, 'canary'), canaries: 0 };
}

function startManager({ cluster }: Side): ReturnType<typeof startControllerManager> {
  return startControllerManager(cluster, CONTROLLERS, { qps: QPS, burst: QPS });
}

/** Resolves when the controllers have written about a service and a pod that came after everything else. */
async function handled(side: Side): Promise<void> {
  const name = `canary-${side.canaries++}`;
  const ip = `10.4.${side.canaries >> 8}.${side.canaries & 255}`;
  await createService(side.canary, name);
  await createPod(side.canary, name, { ip, labels: { app: name } });
  const selector = encodeURIComponent(`${SERVICE_NAME_LABEL}=${name}`);
  await until(async () => {
    const addresses = await addressesOf(side.canary, name).catch((): string[] => []);
    if (!addresses.includes(ip)) return false;
    const path = `/apis/discovery.k8s.io/v1/namespaces/canary/endpointslices?labelSelector=${selector}`;
    return JSON.stringify((await side.client.list(path)).items).includes(ip);
  });
}

/** @throws Error with what differs at the deadline */
async function equalAtRest(ours: Side, theirs: Side): Promise<void> {
  const startMs = Date.now();
  let restedSinceMs = startMs;
  let before = '';
  for (;;) {
    const [a, b] = await Promise.all([readWritten(ours.client), readWritten(theirs.client)]);
    const versions = versionsOf(a, b);
    if (versions !== before) restedSinceMs = Date.now();
    before = versions;
    const wrong = writtenDifferences(a, b).filter((text) => !isTheirFragment(text));
    const restedMs = Date.now() - restedSinceMs;
    if (restedMs >= REST_MS) {
      if (wrong.length === 0) return;
      const hindered = await hinderedOf(theirs);
      if (wrong.every((text) => [...hindered].some((service) => text.startsWith(`EndpointSlices ${service}\n`))))
        return;
    }
    if (Date.now() - startMs > EQUAL_MS_MAX) {
      throw new Error(`${wrong.length} differ, at rest for ${restedMs} ms:\n${wrong.slice(0, 6).join('\n')}`);
    }
    await sleep(POLL_MS);
  }
}

/**
 * kube-controller-manager packs what its cache shows at the moment, and never again: where it has looked at a service of a
 * thousand pods halfway, it keeps a slice more. Only that way round, and only the number: contents must be equal.
 */
function isTheirFragment(text: string): boolean {
  const [, ...lines] = text.split('\n');
  return lines.length > 0 && lines.every((line) => line.startsWith('  theirs slice '));
}

/**
 * Services whose slices kube-controller-manager cannot bring up to date. It tries to create a mirrored slice that is there,
 * again and again (difference mirror-recycle). Or it waits for ever for an own write that its cache has never shown
 * (difference slices-own-writes). What endpointd makes of these services the oracles have judged.
 */
async function hinderedOf({ cluster }: Side): Promise<Set<string>> {
  const refused = (await writesOf(cluster, UPSTREAM, 'endpointslices')).filter(
    ({ verb, status }) => verb === 'create' && status === 409,
  );
  return new Set([...refused.map(({ key }) => key.slice(0, key.lastIndexOf('-'))), ...(await staleForEver(cluster))]);
}

/** It tries again after 1, 2, 4, 8 and 16 s: a cache that shows the write is not late by so much. */
const STALE_TRIES = 6;
const STALE = /key="([^"]+)" err="EndpointSlice informer cache is out of date"/g;

async function staleForEver({ directory }: Cluster): Promise<string[]> {
  const tries = new Map<string, number>();
  for await (const log of glob('kube-controller-manager-*.log', { cwd: directory })) {
    for (const [, key] of (await readFile(join(directory, log), 'utf8')).matchAll(STALE)) {
      tries.set(key!, (tries.get(key!) ?? 0) + 1);
    }
  }
  return [...tries].filter(([, count]) => count >= STALE_TRIES).map(([key]) => key);
}

/**
 * Services that want hints by CPU, as the keys of their slices begin. A start of kube-controller-manager takes hints away,
 * or gives them back, as its workers happen to run: some services are synced before the CPU of the nodes is summed
 * (difference slices-hints-start).
 */
async function hintedByCpu({ client }: Side): Promise<Set<string>> {
  const { services } = await readObjects(client);
  const wanting = services.filter(({ metadata }) => metadata.annotations?.[TOPOLOGY_MODE_ANNOTATION] === 'Auto');
  return new Set(wanting.map(({ metadata }) => `endpointslices ${metadata.namespace}/${metadata.name}`));
}

function versionsOf(a: Written, b: Written): string {
  return `${a.versions} | ${b.versions}`;
}

/** By service: the annotation's values in its slices, `creation` for the Service's own time, `none` for no annotation. */
async function triggerTimes({ client }: Side, namespace: string): Promise<Record<string, string[]>> {
  const { services, slices } = await readObjects(client);
  const found: Record<string, string[]> = {};
  for (const { metadata } of services.filter((service) => service.metadata.namespace === namespace)) {
    const own = slices.filter(
      (slice) =>
        slice.metadata.namespace === namespace && slice.metadata.labels?.[SERVICE_NAME_LABEL] === metadata.name,
    );
    found[metadata.name!] = own.map((slice) => {
      const time = slice.metadata.annotations?.[TRIGGER_TIME_ANNOTATION] ?? 'none';
      return time === metadata.creationTimestamp ? 'creation' : time;
    });
  }
  return found;
}

function verbsOf(writes: readonly ObjectWrite[]): string {
  const counts = new Map<string, number>();
  for (const { verb } of writes) counts.set(verb, (counts.get(verb) ?? 0) + 1);
  return `${writes.length} (${[...counts].map(([verb, count]) => `${count} ${verb}`).join(', ')})`;
}

function keysOf(writes: readonly ObjectWrite[]): string[] {
  const keys = writes.filter(({ key }) => !key.startsWith('canary/')).map(({ key }) => key);
  return [...new Set(keys)].toSorted();
}
