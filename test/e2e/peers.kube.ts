/**
 * The same script under this controller and under the real kube-controller-manager, each on an API server of its own: equal
 * objects but for the listed differences. Then each starts on what the other has left.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ENDPOINTS_DIFFERENCES } from '../../src/core/differences.ts';
import { TRIGGER_TIME_ANNOTATION } from '../../src/kube/names.ts';
import type { EndpointAddress, EndpointPort, EndpointSubset, KubeObject } from '../../src/kube/types.ts';
import type { ApiClient } from '../../src/node/api-client.ts';
import { endpointsWrites, type EndpointsWrite } from './audit.ts';
import { clientOf, differences, endpointsVersions, expectRight, keyOf } from './client.ts';
import { startControllerManager, type Cluster, type ControllerManager } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from './cluster.ts';
import { startEndpointd, type Endpointd } from './endpointd.ts';
import { addressesOf, DUAL_STACK, leaveOrphans, SCRIPT } from './script.ts';
import { createPod, createService, createWorld, until, type World } from './world.ts';

const QPS = 500;
const FLAGS = [`--kube-api-qps=${QPS}`, `--kube-api-burst=${QPS}`, '--shards=1'];
const UPSTREAM = 'kube-controller-manager';
const OURS = 'endpointd';

/** Differences that a script on a real server does not show, with the reason. */
const NOT_SHOWN: Readonly<Record<string, string>> = {
  'managed-by-label': 'needs objects of a release before 1.33: test/e2e/verify.kube.ts makes them',
  'bad-host-or-node-name': 'a real API server accepts no pod with such a name',
  'many-subsets': 'it takes more than 250,000 addresses: shard/planner.test.ts shows it',
  'etcd-restore': 'it takes an etcd of its own: restore.kube.ts shows it',
  'repeated-deletions': 'it shows in how often an object is made again within minutes, not in objects',
  'never-dropped': 'upstream takes 164 s until it drops a service',
  'own-writes': 'it differs in failures counted, not in objects',
  'conflict-events': 'no conflict can be provoked without a race',
  'unanswered-events': 'it takes answers that are lost or 429 at each try: scenarios/writes.test.ts shows a lost one',
  'trigger-time-unseen': 'it needs a watch that is down while a pod turns: scenarios/annotations.test.ts shows it',
  'tolerate-unready': 'the flag is off here; the chapter publish-not-ready shows that both ignore the annotation',
};

/**
 * Chapters whose steps begin with nothing due. The objects may be right before: a sync that is late, and writes nothing, would
 * take the trigger time of the next step's change.
 */
const BY_STEP: ReadonlySet<string> = new Set(['trigger-time']);

interface Side {
  readonly cluster: Cluster;
  readonly client: ApiClient;
  readonly canary: World;
  canaries: number;
}

/** The program that works on a side. */
type Controller = Pick<Endpointd | ControllerManager, 'idle'>;

describe('beside the real kube-controller-manager', () => {
  let ours: Side;
  let theirs: Side;
  let endpointd: Endpointd;
  let manager: ControllerManager;
  const shown = new Set<string>();

  before(async () => {
    [ours, theirs] = await Promise.all([createSide(), createSide()]);
    endpointd = await startEndpointd(ours.cluster, FLAGS);
    manager = await startManager(theirs);
    await Promise.all([handledAll(ours, endpointd), handledAll(theirs, manager)]);
  });

  after(async () => {
    await endpointd?.kill9();
    for (const side of [ours, theirs]) {
      await side?.client.close();
      await side?.cluster.stop();
    }
  });

  for (const { name, difference, cutByUid = false, tell } of SCRIPT) {
    it(difference === undefined ? `does the same: ${name}` : `differs: ${name}`, async () => {
      const rightIn = (side: Side) => expectRight(side.client, { namespace: name });
      const isByStep = BY_STEP.has(name);
      const weSettle = (): Promise<void> => (isByStep ? handledAll(ours, endpointd) : rightIn(ours));
      const theySettle = (): Promise<void> =>
        isByStep || difference !== undefined ? handledAll(theirs, manager) : rightIn(theirs);
      await Promise.all([
        createWorld(ours.client, name).then((world) => tell(world, weSettle)),
        createWorld(theirs.client, name).then((world) => tell(world, theySettle)),
      ]);
      // Right may be what a write that is due undoes for a moment: looked at once more when nothing is due any more.
      await Promise.all([handledAll(ours, endpointd), handledAll(theirs, manager)]);
      await Promise.all([rightIn(ours), theySettle()]);
      if (difference !== undefined) {
        assert.notDeepEqual(await differences(theirs.client, { namespace: name }), [], 'upstream does the same by now');
        shown.add(difference);
      } else if (!cutByUid) assert.deepEqual(await comparable(ours, name), await comparable(theirs, name));
    });
  }

  it('trigger times are the same', async () => {
    const times = {
      web: '2026-05-28T20:28:20Z',
      flipped: '2026-05-28T20:28:20Z',
      emptied: 'none',
      untouched: 'creation',
      starting: '2026-05-28T20:26:40Z',
    };
    assert.deepEqual(await triggerTimes(theirs, 'trigger-time'), times);
    assert.deepEqual(await triggerTimes(ours, 'trigger-time'), times);
  });

  it('listed: the trigger time survives a refused write', async () => {
    assert.deepEqual(await triggerTimes(theirs, 'refused-create'), { refused: 'none' });
    assert.deepEqual(await triggerTimes(ours, 'refused-create'), { refused: 'creation' });
    shown.add('trigger-time-retry');
  });

  it('listed: a Service that was an ExternalName for a while has a trigger time anew', async () => {
    const [upstream, own] = [await triggerTimes(theirs, 'external-name'), await triggerTimes(ours, 'external-name')];
    assert.deepEqual([upstream['web'], own['web']], ['2026-01-01T00:00:00Z', 'creation']);
    shown.add('trigger-time-forgotten');
  });

  it('Event objects of a refused create are on the same kind of object', async () => {
    assert.deepEqual(await kindsOfEvents(theirs, 'refused-create/refused'), ['Endpoints']);
    assert.deepEqual(await kindsOfEvents(ours, 'refused-create/refused'), ['Endpoints']);
  });

  it("listed: the Event object of a refused create is in the service's namespace", async () => {
    assert.deepEqual(await namespacesOfEvents(theirs, 'refused-create/refused'), ['default']);
    assert.deepEqual(await namespacesOfEvents(ours, 'refused-create/refused'), ['refused-create']);
    shown.add('event-namespace');
  });

  it('listed: the sweep leaves objects alone that nobody has labelled', async () => {
    const orphans = async ({ client }: Side): Promise<string[]> =>
      [...(await endpointsVersions(client)).keys()].filter((key) => key.startsWith('orphans/'));
    assert.deepEqual(await orphans(theirs), ['orphans/leader']);
    assert.deepEqual(await orphans(ours), ['orphans/by-hand', 'orphans/leader']);
    shown.add('sweep');
  });

  it('listed: an object that does not exist is not deleted', async () => {
    const deletes = async ({ cluster }: Side, program: string): Promise<EndpointsWrite[]> =>
      (await endpointsWrites(cluster, program)).filter(
        ({ verb, key }) => verb === 'delete' && key === 'selectorless/bare',
      );
    assert.notDeepEqual(await deletes(theirs, UPSTREAM), []);
    assert.deepEqual(await deletes(ours, OURS), []);
    shown.add('delete-calls');
  });

  it('a take-over repairs the listed differences, and writes nothing else', async () => {
    await manager.stop();
    const wanted = SCRIPT.flatMap(({ name, difference }) => (difference === undefined ? [] : [`${name}/web`]));
    const successor = await startEndpointd(theirs.cluster, FLAGS);
    await expectRight(theirs.client);
    await handledAll(theirs, successor);
    await successor.term();
    const written = keysOf(await endpointsWrites(theirs.cluster, OURS), ({ status }) => status < 300);
    assert.deepEqual(written, wanted.toSorted());
  });

  it('kube-controller-manager then writes what any start of it writes', async () => {
    await endpointd.term();
    const runs: string[][] = [];
    for (let seen = 0; runs.length < 2;) {
      const successor = await startManager(ours);
      await handledAll(ours, successor);
      await successor.stop();
      const writes = await endpointsWrites(ours.cluster, UPSTREAM);
      runs.push(keysOf(writes.slice(seen)));
      seen = writes.length;
    }
    const [first, second] = runs as [string[], string[]];
    // By hand, without a label: the sweep, once.
    assert.deepEqual(
      first.filter((key) => !second.includes(key)),
      ['orphans/by-hand'],
    );
    if (first.includes('over-capacity/web')) shown.add('truncated-no-op');
    if (first.includes('reserved-labels/web')) shown.add('reserved-service-labels');
  });

  it('every listed difference shows, or the test says why not', () => {
    const missing = ENDPOINTS_DIFFERENCES.filter(({ id }) => !shown.has(id) && NOT_SHOWN[id] === undefined);
    assert.deepEqual(
      missing.map(({ id }) => id),
      [],
    );
  });
});

async function createSide(): Promise<Side> {
  const cluster = await startCluster({ auditLog: true, serviceClusterIPRanges: DUAL_STACK });
  const client = clientOf(cluster);
  await leaveOrphans(await createWorld(client, 'orphans'));
  return { cluster, client, canary: await createWorld(client, 'canary'), canaries: 0 };
}

function startManager({ cluster }: Side): Promise<ControllerManager> {
  return startControllerManager(cluster, ['endpoints-controller'], { qps: QPS, burst: QPS });
}

/**
 * Resolves when the controller has done all that was to do so far: it has seen a service and a pod that came after
 * everything else, and nothing waits in its queue or is under way.
 */
async function handledAll(side: Side, controller: Controller): Promise<void> {
  const name = `canary-${side.canaries++}`;
  const ip = `10.4.0.${side.canaries}`;
  await createService(side.canary, name);
  await createPod(side.canary, name, { ip, labels: { app: name } });
  await until(async () => {
    const addresses = await addressesOf(side.canary, name).catch((): string[] => []);
    return addresses.includes(ip);
  });
  await until(() => controller.idle());
}

/** What the objects of a namespace say, without what cannot be equal on two servers: uids, their order, times. */
async function comparable({ client }: Side, namespace: string): Promise<Record<string, unknown>> {
  const { items } = await client.list(`/api/v1/namespaces/${namespace}/endpoints`);
  return Object.fromEntries(
    items.map((object) => {
      const { [TRIGGER_TIME_ANNOTATION]: _, ...annotations } = object.metadata.annotations ?? {};
      const subsets = ((object['subsets'] ?? []) as EndpointSubset[]).map(subsetTexts);
      const texts = subsets.map((texts) => texts.join('\n')).toSorted();
      return [keyOf(object), { labels: object.metadata.labels, annotations, subsets: texts }];
    }),
  );
}

function subsetTexts({ addresses = [], notReadyAddresses = [], ports = [] }: EndpointSubset): string[] {
  return [
    `ports ${ports.map(portText).join(' ')}`,
    ...addresses.map((address) => `ready ${addressText(address)}`).toSorted(),
    ...notReadyAddresses.map((address) => `not ready ${addressText(address)}`).toSorted(),
  ];
}

function portText({ name = '', port, protocol = '', appProtocol = '' }: EndpointPort): string {
  return `${name}:${port}/${protocol}/${appProtocol}`;
}

function addressText({ ip, hostname = '', nodeName = 'none', targetRef }: EndpointAddress): string {
  return `${ip} ${hostname} ${nodeName} ${targetRef?.kind} ${targetRef?.namespace}/${targetRef?.name}`;
}

/** By name: the annotation's value, `creation` for the Service's own time, or `none`. */
async function triggerTimes({ client }: Side, namespace: string): Promise<Record<string, string>> {
  const listOf = async (resource: string): Promise<KubeObject[]> =>
    (await client.list(`/api/v1/namespaces/${namespace}/${resource}`)).items;
  const [services, endpoints] = await Promise.all([listOf('services'), listOf('endpoints')]);
  const created = new Map(services.map(({ metadata }) => [metadata.name, metadata.creationTimestamp]));
  return Object.fromEntries(
    endpoints.map(({ metadata }) => {
      const time = metadata.annotations?.[TRIGGER_TIME_ANNOTATION] ?? 'none';
      return [metadata.name!, time === created.get(metadata.name) ? 'creation' : time];
    }),
  );
}

async function namespacesOfEvents(side: Side, service: string): Promise<string[]> {
  return [...new Set((await eventsOfCreates(side, service)).map(({ metadata }) => metadata.namespace!))];
}

async function kindsOfEvents(side: Side, service: string): Promise<string[]> {
  const events = await eventsOfCreates(side, service);
  return [...new Set(events.map(({ involvedObject }) => (involvedObject as { kind: string }).kind))];
}

async function eventsOfCreates({ client }: Side, service: string): Promise<KubeObject[]> {
  const { items } = await client.list('/api/v1/events');
  return items.filter(({ reason, message }) => {
    return reason === 'FailedToCreateEndpoint' && String(message).includes(service);
  });
}

function keysOf(writes: readonly EndpointsWrite[], counts: (write: EndpointsWrite) => boolean = () => true): string[] {
  const keys = writes.filter((write) => counts(write) && !write.key.startsWith('canary/')).map(({ key }) => key);
  return [...new Set(keys)].toSorted();
}
