/** `endpointd serve` with `endpointd run` pointed at it: what is applied shows in Endpoints a moment later. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startController, type ControllerProcess } from '../../src/testbed/controller-process.ts';
import { wrongObjects, type WrongObject } from '../../src/judge/cluster-check.ts';
import { readObjects } from '../../src/testbed/read-objects.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { ApiError, createApiClient, type ApiClient } from '../../src/node/api-client.ts';
import { startServe, type ServeProcess } from '../../src/testbed/serve-process.ts';
import { MAIN } from '../support/installed.ts';

const POLL_MS = 20;
const TIME_MS_MAX = 20_000;

let client: ApiClient;
let serve: ServeProcess;
let controller: ControllerProcess;

async function start(flags: readonly string[]): Promise<void> {
  serve = await startServe(flags, MAIN);
  client = createApiClient({ url: serve.url }, 4);
  controller = startController([`--kubeconfig=${serve.kubeconfig}`, '--shards=0', '--kube-api-qps=1000'], MAIN);
}

async function stop(): Promise<void> {
  await controller.stop();
  await client.close();
  assert.equal(await serve.stop(), 0);
}

/** The first value that `look` gives without an ApiError and that fits. */
async function eventually<T>(look: () => Promise<T>, fits: (value: T) => boolean): Promise<T> {
  const untilMs = Date.now() + TIME_MS_MAX;
  for (;;) {
    const value = await look();
    if (fits(value)) return value;
    if (Date.now() > untilMs) assert.fail(`still ${JSON.stringify(value)}`);
    await sleep(POLL_MS);
  }
}

async function addressesOf(path: string): Promise<string[]> {
  try {
    const object = (await client.send({ method: 'GET', path })) as { subsets?: { addresses?: { ip: string }[] }[] };
    return (object.subsets ?? []).flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip));
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return [];
    throw error;
  }
}

describe('serve with a controller', () => {
  before(() => start(['--pod-step=30ms']));
  after(stop);

  const core = '/api/v1/namespaces';
  const post = (path: string, body: object): Promise<unknown> => client.send({ method: 'POST', path, body });
  const pod = (name: string): object => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: 'web' } },
    spec: { containers: [{ name: 'main', image: 'main:1' }] },
  });

  it('pods come to Endpoints and leave, and deleted objects take theirs along', async () => {
    await post(core, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
    await post(`${core}/shop/services`, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web' },
      spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
    });
    await post(`${core}/shop/pods`, pod('web-1'));
    await post(`${core}/shop/pods`, pod('web-2'));
    const endpoints = (): Promise<string[]> => addressesOf(`${core}/shop/endpoints/web`);
    await eventually(endpoints, (addresses) => addresses.length === 2);
    await client.send({ method: 'DELETE', path: `${core}/shop/pods/web-1` });
    await eventually(endpoints, (addresses) => addresses.length === 1);

    const slices = async (): Promise<readonly KubeObject[]> => (await readObjects(client)).slices;
    await eventually(slices, (held) => held.some(({ metadata }) => metadata.namespace === 'shop'));
    await client.send({ method: 'DELETE', path: `${core}/shop/services/web` });
    await eventually(slices, (held) => held.every(({ metadata }) => metadata.namespace !== 'shop'));

    await client.send({ method: 'DELETE', path: `${core}/shop` });
    const names = async (): Promise<string[]> => (await client.list(core)).items.map(({ metadata }) => metadata.name!);
    await eventually(names, (held) => !held.includes('shop'));
    const left = Object.values(await readObjects(client)).flat();
    assert.deepEqual(
      left.filter(({ metadata }) => metadata.namespace === 'shop'),
      [],
    );
  });

  it('a foreground delete takes the slices along, an orphaning one leaves them', async () => {
    await post(core, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'depot' } });
    const path = `${core}/depot/services`;
    await post(`${core}/depot/pods`, pod('web-1'));
    const slices = async (): Promise<readonly KubeObject[]> =>
      (await readObjects(client)).slices.filter(({ metadata }) => metadata.namespace === 'depot');
    const services = async (): Promise<readonly KubeObject[]> => (await client.list(path)).items;
    for (const [policy, isLeft] of [
      ['Foreground', false],
      ['Orphan', true],
    ] as const) {
      const spec = { selector: { app: 'web' }, ports: [{ port: 80 }] };
      await post(path, { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' }, spec });
      await eventually(slices, (held) => held.length === 1);
      await client.send({ method: 'DELETE', path: `${path}/web?propagationPolicy=${policy}` });
      await eventually(services, (held) => held.length === 0);
      const owners = (await slices()).map(({ metadata }) => metadata.ownerReferences ?? []);
      assert.deepEqual(owners, isLeft ? [[]] : [], policy);
    }
  });
});

const FAULTS =
  'verb=create|update|watch,resource=endpoints|endpointslices,lose-request=0.05,lose-reply=0.1,too-many=0.05,server-error=0.1,' +
  'cut-watch=0.05,lag=0.3,delay=exponential:5ms';

describe('serve with a profile that changes, under faults', () => {
  before(() => start(['--profile=tiny', '--churn-rate=20', '--nodes=0', `--fault=${FAULTS}`, '--fault-admin']));
  after(stop);

  it('the controller follows a changing profile under faults', async () => {
    const versions = async (): Promise<number> => Number((await client.list('/api/v1/pods')).resourceVersion);
    const from = await versions();
    await eventually(versions, (version) => version > from + 40);
    await fetch(`${serve.url}/endpointd/faults`, { method: 'DELETE' });
    // Between two changes there is a moment at which all objects are right.
    const wrong = async (): Promise<readonly WrongObject[]> =>
      wrongObjects(await readObjects(client), { garbageCollected: true });
    await eventually(wrong, (objects) => objects.length === 0);
  });
});
