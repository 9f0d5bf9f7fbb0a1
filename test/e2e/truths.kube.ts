/** What endpointd tells of itself at the default verbosity, on real servers: at a take-over, beside others, in an outage. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, beforeEach, describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fetch } from 'undici';
import type { ApiClient } from '../../src/node/api-client.ts';
import { strangeLines } from '../support/log-patterns.ts';
import { clientOf } from './client.ts';
import { startControllerManager, type Cluster, type ControllerManager } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from './cluster.ts';
import { startEndpointd, type Endpointd } from './endpointd.ts';
import { createZoneNodes } from './slices-script.ts';
import { expectAllRight, seenByAll } from './whole-check.ts';
import { createPod, createService, createWorld, forEach, setReady, until, type World } from './world.ts';

const CONTROLLERS = ['endpoints-controller', 'endpointslice-controller', 'endpointslice-mirroring-controller'];
const SERVICES = 20;
const FAST = ['--kube-api-qps=500', '--kube-api-burst=500'];

interface Line {
  readonly msg: string;
  readonly level?: string;
  readonly [key: string]: unknown;
}

async function linesOf({ logPath }: Pick<Endpointd, 'logPath'>): Promise<Line[]> {
  const text = await readFile(logPath, 'utf8');
  return text.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Line] : []));
}

/** Lines that begin so, printed for who reads the test. */
async function lines(test: TestContext, endpointd: Endpointd, ...beginnings: string[]): Promise<Line[]> {
  const found = (await linesOf(endpointd)).filter(({ msg }) => beginnings.some((text) => msg.startsWith(text)));
  for (const line of found) test.diagnostic(JSON.stringify(line));
  return found;
}

const warningsOf = async (endpointd: Endpointd): Promise<Line[]> =>
  (await linesOf(endpointd)).filter(({ level }) => level === 'warning');

describe('the log of endpointd', () => {
  let cluster: Cluster;
  let client: ApiClient;
  let world: World;
  let endpointd: Endpointd;
  let round = 0;

  before(async () => {
    cluster = await startCluster();
    client = clientOf(cluster);
    await createZoneNodes(client);
    world = await createWorld(client, 'shop');
    await forEach(SERVICES, async (i) => {
      await createPod(world, `web-${i}`, { ip: `10.1.0.${i + 1}`, labels: { app: `web-${i}` } });
      await createService(world, `web-${i}`);
    });
    const manager = await startControllerManager(cluster, CONTROLLERS, { qps: 500, burst: 500 });
    await seenByAll(client, 'managed');
    await expectAllRight(client);
    await checkManager(manager);
    await manager.stop();
  });

  beforeEach(async () => {
    endpointd = await startEndpointd(cluster, FAST);
    await until(async () => (await linesOf(endpointd)).some(({ msg }) => msg === 'All services are synced'));
  });

  after(async () => {
    await client?.close();
    await cluster?.stop();
  });

  /** Each pod turns, so that whoever follows writes each service once. */
  async function turnAll(): Promise<void> {
    const ready = round++ % 2 === 1;
    await forEach(SERVICES, (i) => setReady(world, `web-${i}`, ready));
  }

  /** What ours is to be like. */
  async function checkManager(manager: ControllerManager): Promise<void> {
    const text = await readFile(manager.logPath, 'utf8');
    assert.ok(text.split('\n').length > 50);
    assert.deepEqual(
      strangeLines(text).filter((line) => /^[IWEF]\d{4} /.test(line)),
      [],
    );
    managerBounds = boundsIn(await manager.metricsText());
  }
  let managerBounds: ReadonlyMap<string, string>;

  it('the log of a take-over says that all is synced, without a write or a warning', async (test) => {
    const [line, ...more] = await lines(test, endpointd, 'All services are synced');
    const { services, writes, stuck } = line!;
    assert.deepEqual([services, writes, stuck, more], [SERVICES + 2, 0, 0, []]);
    assert.deepEqual(await warningsOf(endpointd), []);
    await endpointd.term();
  });

  it('the log names a second endpointd', async (test) => {
    const second = await startEndpointd(cluster, FAST);
    for (let i = 0; i < 3; i++) {
      await turnAll();
      await sleep(1500);
    }
    const told = async (): Promise<Line[]> => [...(await warningsOf(endpointd)), ...(await warningsOf(second))];
    await until(async () => (await told()).some(({ msg }) => msg === 'Another writer changes the same objects'));
    await lines(test, endpointd, 'Another writer');
    await lines(test, second, 'Another writer');
    for (const line of await told()) assert.equal(line['manager'], 'endpointd', JSON.stringify(line));
    const edits = async (of: Endpointd): Promise<number> =>
      (await of.metrics()).sum('endpointd_foreign_edits_total', { manager: 'endpointd' });
    assert.ok((await edits(endpointd)) + (await edits(second)) >= SERVICES);
    await second.term();
    await endpointd.term();
    await expectAllRight(client).catch(() => undefined);
  });

  it('the log names kube-controller-manager when its controllers run, in one warning', async (test) => {
    const manager = await startControllerManager(cluster, CONTROLLERS, { qps: 500, burst: 500 });
    await until(() => manager.idle());
    for (let i = 0; i < 3; i++) {
      await turnAll();
      await sleep(1500);
    }
    await until(async () => (await warningsOf(endpointd)).length > 0);
    const told = await lines(test, endpointd, 'Another writer');
    assert.deepEqual(
      told.map(({ manager: name }) => name),
      ['kube-controller-manager'],
    );
    assert.deepEqual(await warningsOf(endpointd), told);
    const metrics = await endpointd.metrics();
    assert.ok(metrics.sum('endpointd_foreign_edits_total', { manager: 'kube-controller-manager' }) >= 3);
    test.diagnostic(metrics.lines('endpointd_foreign_edits_total{'));
    await manager.stop();
    await expectAllRight(client);
    await endpointd.term();
  });

  it('the log tells the length of an outage of the API server', async (test) => {
    await cluster.killApiserver();
    await sleep(10_000);
    await cluster.startApiserver();
    await until(async () => (await linesOf(endpointd)).some(({ msg }) => msg === 'All watches are back'));
    const told = await lines(test, endpointd, 'Watch is', 'List is', 'All watches');
    const of = (msg: string): Line[] => told.filter((line) => line.msg === msg);
    assert.equal(of('Watch is back').length, 5);
    assert.deepEqual(
      of('All watches are back').map(({ watches }) => watches),
      [5],
    );
    const seconds = Number(/^(\d+)s$/.exec(String(of('All watches are back')[0]!['outage']))?.[1]);
    assert.ok(seconds >= 10 && seconds < 60, `${seconds} s`);
    assert.ok(!told.some(({ err }) => String(err).includes('HTTP/1.1')), 'no words of a parser');
    // Of each watch: that it was closed, that nobody is there, perhaps that its version is too old, and that it is back.
    assert.ok(told.length <= 5 * 4 + 1, `${told.length} lines`);
    await turnAll();
    await expectAllRight(client);
    await endpointd.term();
  });

  it('metrics have the bounds of kube-controller-manager, letter by letter', async () => {
    const ours = boundsIn(await (await fetch(`http://${endpointd.address}/metrics`)).text());
    const shared = [...ours.keys()].filter((name) => managerBounds.has(name));
    assert.ok(shared.includes('workqueue_queue_duration_seconds') && shared.length >= 6, shared.join());
    for (const name of shared) assert.equal(ours.get(name), managerBounds.get(name), name);
    await endpointd.term();
  });
});

/** Of each histogram the values of `le`, in the order of one series. */
function boundsIn(text: string): Map<string, string> {
  const bounds = new Map<string, Set<string>>();
  for (const [, name = '', le = ''] of text.matchAll(/^(\w+)_bucket\{[^\n]*le="([^"]+)"/gm)) {
    bounds.set(name, (bounds.get(name) ?? new Set()).add(le));
  }
  return new Map([...bounds].map(([name, found]) => [name, [...found].join(' ')]));
}
