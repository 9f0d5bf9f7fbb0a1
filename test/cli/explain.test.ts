/** `endpointd explain` as a process, against a server that knows a little, and refuses some of it. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { execPath } from 'node:process';
import { after, before, describe, it } from 'node:test';
import { parseExplainFlags } from '../../src/cli/explain/explain.ts';
import { UsageError } from '../../src/cli/usage.ts';
import { BIN } from '../support/installed.ts';

const META = { namespace: 'shop', labels: { app: 'web' }, uid: 'u' };
const SERVICE = {
  kind: 'Service',
  apiVersion: 'v1',
  metadata: { ...META, name: 'web' },
  spec: {
    selector: { app: 'web' },
    clusterIP: '10.0.0.1',
    ipFamilies: ['IPv4'],
    ports: [{ port: 80, targetPort: 80, protocol: 'TCP' }],
  },
};

function pod(name: string, fields: object = {}): object {
  const status = {
    phase: 'Running',
    podIP: '10.1.0.1',
    podIPs: [{ ip: '10.1.0.1' }],
    conditions: [{ type: 'Ready', status: 'True' }],
  };
  return { metadata: { ...META, name, uid: name }, spec: { nodeName: 'node-1' }, status, ...fields };
}

const NODE = { metadata: { name: 'node-1' } };
const V1 = '/api/v1/namespaces/shop';
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices';

/** A change as the debug page has it, but for its number and its controller. */
const CHANGE = {
  namespace: 'shop',
  name: 'web',
  result: 'written',
  writes: 1,
  endedWallMs: 1.8e12,
  watchInMs: 1000,
  queueMs: 2,
  batchWaitMs: 0,
  planMs: 3,
  throttleMs: 500,
  writeMs: 7,
  totalMs: 512,
};

/** What JSON says of the last changes of a Service. */
interface Noted {
  readonly changes: readonly object[];
  readonly changesNote: string;
}

describe('endpointd explain', () => {
  /** By path: what is answered, or 403, 404 or 410. Of a row each answer is given once, the last one always. */
  let answers: Record<string, object | number | (object | number)[]>;
  const asked: string[] = [];
  /** A page of so many is bigger than can be taken. */
  let tooManyItems = Infinity;
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://server');
    asked.push(request.url!);
    if (Number(searchParams.get('limit')) >= tooManyItems) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(Buffer.alloc(65 * 2 ** 20, ' '));
      return;
    }
    const token = searchParams.get('continue');
    const row = answers[token === null ? pathname : `${pathname}?${token}`] ?? 404;
    const answer = !Array.isArray(row) ? row : row.length > 1 ? row.shift()! : row[0]!;
    const status = typeof answer === 'number' ? answer : 200;
    const reason = { 403: 'Forbidden', 404: 'NotFound', 410: 'Expired' }[status];
    const failure = {
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      reason,
      message: `user may not\u001B[2J: ${reason}`,
      code: status,
    };
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(status === 200 ? answer : failure));
  });
  let url: string;

  before(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => server.close());

  function list(kind: string, items: readonly object[], token = ''): object {
    return { kind: `${kind}List`, apiVersion: 'v1', metadata: { resourceVersion: '9', continue: token }, items };
  }

  function slices(...items: readonly object[]): object {
    return { ...list('EndpointSlice', items), apiVersion: 'discovery.k8s.io/v1' };
  }

  /** A slice of the Service with the pod web-1. */
  function sliceOf(service: string, fields: object = {}): object {
    const endpoint = {
      addresses: ['10.1.0.1'],
      conditions: { ready: true, serving: true, terminating: false },
      nodeName: 'node-1',
      targetRef: { kind: 'Pod', namespace: 'shop', name: 'web-1', uid: 'web-1' },
      ...fields,
    };
    const labels = {
      ...META.labels,
      'kubernetes.io/service-name': service,
      'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
    };
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Service', name: service, uid: META.uid, controller: true }];
    return {
      metadata: { namespace: 'shop', name: `${service}-x`, labels, ownerReferences },
      addressType: 'IPv4',
      endpoints: [endpoint],
      ports: [{ name: '', port: 80, protocol: 'TCP' }],
    };
  }

  function all(): Record<string, object | number> {
    asked.length = 0;
    return {
      [`${V1}/services/web`]: SERVICE,
      [`${V1}/services`]: list('Service', [SERVICE]),
      [`${V1}/pods`]: list('Pod', [pod('web-1'), pod('web-2', { spec: { nodeName: 'node-2' } })]),
      [`${V1}/pods/web-1`]: { kind: 'Pod', apiVersion: 'v1', ...pod('web-1') },
      [SLICES]: slices(),
      '/api/v1/nodes': list('Node', [NODE]),
    };
  }

  function explain(...args: string[]): Promise<{ status: number; stdout: string; stderr: string }> {
    return new Promise((resolve) => {
      execFile(execPath, [BIN, 'explain', `--master=${url}`, ...args], (error, stdout, stderr) => {
        resolve({ status: error === null ? 0 : Number(error.code), stdout, stderr });
      });
    });
  }

  it('explain shows each pod of a Service in a line', async () => {
    answers = all();
    const { status, stdout, stderr } = await explain('service', 'shop/web');
    assert.deepEqual([status, stderr], [0, '']);
    assert.deepEqual(stdout.replaceAll(/ {2,}/g, ' | ').split('\n'), [
      'Service shop/web: ClusterIP, IPv4, selector app=web, ports 80->80/TCP',
      'Endpoints: 2 ready, 0 not ready; 1 write is due, or the Service is changing just now',
      'EndpointSlices IPv4: 1 endpoints in 1 slice',
      'EndpointSlices: 1 write is due, or the Service is changing just now',
      '',
      'POD | ADDRESSES | PHASE | READY | NODE | PORTS | ENDPOINTS | SLICES | HINTS | WHY',
      'web-1 | IPv4 10.1.0.1 | Running | yes | node-1 | 80 | ready (now left out) | IPv4 ready (in none yet) | none: the Service asks for none | -',
      'web-2 | IPv4 10.1.0.1 | Running | yes | node-2 (unknown) | 80 | ready (now left out) | IPv4 left out | - | IPv4: its node does not exist: node-2',
      '',
    ]);
  });

  it('explain shows a pod in a line for each Service', async () => {
    answers = all();
    const { status, stdout } = await explain('pod', 'shop/web-1');
    assert.equal(status, 0);
    assert.match(stdout, /^Pod shop\/web-1\n\nSERVICE .*\nshop\/web {2}IPv4 10\.1\.0\.1 .* ready /);
  });

  /** The pod web-1 has these labels, and the objects of the Service web still have it as ready. */
  function stale(labels: object): typeof answers {
    const subsets = [{ addresses: [{ ip: '10.1.0.1', targetRef: { kind: 'Pod', name: 'web-1' } }] }];
    return {
      ...all(),
      [`${V1}/pods/web-1`]: {
        kind: 'Pod',
        apiVersion: 'v1',
        ...pod('web-1', { metadata: { ...META, name: 'web-1', uid: 'web-1', labels } }),
      },
      [`${V1}/endpoints/web`]: {
        kind: 'Endpoints',
        apiVersion: 'v1',
        metadata: { namespace: 'shop', name: 'web' },
        subsets,
      },
      [SLICES]: slices(sliceOf('web')),
    };
  }

  for (const [what, labels, why] of [
    ['nearly selects', { app: 'debug' }, 'label app is "debug", the selector wants "web"'],
    ['does not select', {}, 'label app is missing, the selector wants app=web'],
  ] as const) {
    it(`explain shows a pod in the objects of a Service that ${what} it`, async () => {
      answers = stale(labels);
      const { stdout } = await explain('pod', 'shop/web-1');
      const row = new RegExp(`^shop/web .* left out \\(now ready\\) +IPv4 left out still in web-x +- +${why}$`, 'm');
      assert.match(stdout, row);
      const { services } = JSON.parse((await explain('pod', 'shop/web-1', '-o', 'json')).stdout) as {
        services: { due: object }[];
      };
      assert.deepEqual(services[0]!.due, { endpoints: null, slices: null });
    });
  }

  it('explain says what the objects have of a pod that has changed', async () => {
    answers = stale({ app: 'web' });
    const conditions = { ready: false, serving: false, terminating: false };
    answers[SLICES] = slices(sliceOf('web', { conditions }));
    const one = await explain('pod', 'shop/web-1');
    assert.match(one.stdout, /^shop\/web .* ready \(now outdated\) +IPv4 ready \(now not ready\) in web-x +none: /m);
    const { pods } = JSON.parse((await explain('service', 'shop/web', '-o', 'json')).stdout) as {
      pods: { endpoints: { listed: string }; slices: object[] }[];
    };
    const { listed, listedServing, listedTerminating } = pods[0]!.slices[0] as Record<string, unknown>;
    assert.deepEqual(
      [pods[0]!.endpoints.listed, listed, listedServing, listedTerminating],
      ['outdated', 'not-ready', false, false],
    );
  });

  it('explain names a pod that is gone and that the objects still list', async () => {
    answers = stale({ app: 'web' });
    Object.assign(answers, { [`${V1}/pods`]: list('Pod', [pod('web-2')]), [`${V1}/pods/web-1`]: 404 });
    const { stdout } = await explain('service', 'shop/web');
    const rows = stdout.replaceAll(/ {2,}/g, ' | ').split('\n');
    assert.deepEqual(
      rows.filter((line) => line.startsWith('web-1')),
      ['web-1 | - | - | - | - | - | left out (now ready) | IPv4 left out still in web-x | - | there is no such pod'],
    );
    const { pods } = JSON.parse((await explain('service', 'shop/web', '-o', 'json')).stdout) as {
      pods: { pod: string; exists: boolean; selected: boolean; endpoints: { reason: string } }[];
    };
    assert.deepEqual(
      pods.map(({ pod: key, exists, selected, endpoints }) => [key, exists, selected, endpoints.reason]),
      [
        ['shop/web-2', true, true, null],
        ['shop/web-1', false, false, 'gone'],
      ],
    );

    const one = await explain('pod', 'shop/web-1');
    assert.equal(one.status, 1);
    assert.equal(one.stdout, 'There is no pod shop/web-1.\nEndpointSlice web-x of Service web lists it.\n');
    const json = JSON.parse((await explain('pod', 'shop/web-1', '-o', 'json')).stdout) as object;
    const listedIn = [{ slice: 'web-x', service: 'web' }];
    assert.deepEqual(json, { error: 'there is no pod shop/web-1', listedIn, unseen: [] });
  });

  it('explain names the last writer, controllers of the same second aside', async () => {
    const slice = sliceOf('web') as { metadata: object };
    const managedFields = [
      { manager: 'kubectl', time: '2026-01-01T00:00:01Z' },
      { manager: 'kube-controller-manager', time: '2026-01-01T00:00:01Z' },
      { manager: 'helm', time: '2026-01-01T00:00:00Z' },
    ];
    Object.assign(slice.metadata, { managedFields });
    answers = { ...all(), [SLICES]: slices(slice) };
    const { stdout } = await explain('service', 'shop/web');
    assert.match(stdout, /^web-x +IPv4 +1 +endpointslice-controller\.k8s\.io +2026-01-01T00:00:01Z +kubectl$/m);
  });

  it('explain counts no write of a controller that --controllers leaves out', async () => {
    answers = { ...all(), [`${V1}/pods`]: list('Pod', [pod('web-1')]), [SLICES]: slices(sliceOf('web')) };
    const flag = '--controllers=*,-endpoints-controller';
    const { status, stdout } = await explain('service', 'shop/web', flag);
    assert.equal(status, 0);
    assert.deepEqual(stdout.replaceAll(/ {2,}/g, ' | ').split('\n').slice(0, 7), [
      'Service shop/web: ClusterIP, IPv4, selector app=web, ports 80->80/TCP',
      'Endpoints: not written, --controllers leaves out endpoints-controller',
      'EndpointSlices IPv4: 1 endpoints in 1 slice',
      'EndpointSlices: stored as planned',
      '',
      'POD | ADDRESSES | PHASE | READY | NODE | PORTS | ENDPOINTS | SLICES | HINTS | WHY',
      'web-1 | IPv4 10.1.0.1 | Running | yes | node-1 | 80 | not written | IPv4 ready in web-x | none: the Service asks for none | -',
    ]);
    const { services } = JSON.parse((await explain('pod', 'shop/web-1', flag, '-o', 'json')).stdout) as {
      services: { notWritten: string[]; due: object; explanation: { endpoints: null } }[];
    };
    const { notWritten, due, explanation } = services[0]!;
    assert.deepEqual(notWritten, ['Endpoints: not written, --controllers leaves out endpoints-controller']);
    assert.deepEqual([due, explanation.endpoints], [{ endpoints: 0, slices: 0 }, null]);
  });

  it('a Service beyond --others is shown if its slices list the pod', async () => {
    answers = stale({ app: 'debug' });
    const { stdout } = await explain('pod', 'shop/web-1', '--others=0');
    assert.match(stdout, /^shop\/web .* left out \(now ready\)/m);
    assert.doesNotMatch(stdout, /more Services/);
  });

  it('explain tells nothing of a slice that lists an earlier pod of the name', async () => {
    answers = stale({});
    const targetRef = { kind: 'Pod', namespace: 'shop', name: 'web-1', uid: 'earlier' };
    answers[SLICES] = slices(
      sliceOf('web', { targetRef }),
      sliceOf('web', { targetRef: { ...targetRef, kind: 'VM' } }),
    );
    const { status, stdout } = await explain('pod', 'shop/web-1');
    assert.equal(status, 0);
    assert.deepEqual(stdout.split('\n'), [
      'Pod shop/web-1',
      'No Service of the namespace selects the pod, or nearly does, and no slice of one lists it.',
      '',
    ]);
  });

  it('explain says of stored objects that it could not read that it has not', async () => {
    answers = { ...stale({ app: 'debug' }), [SLICES]: 403, [`${V1}/endpoints/web`]: 403 };
    const near = await explain('pod', 'shop/web-1');
    assert.match(near.stdout, /^shop\/web .* left out \(not read\) +IPv4 left out \(not read\) /m);
    assert.equal(near.stdout.match(/Could not be seen: endpointslices of shop/g)!.length, 1);
    answers = { ...stale({}), [SLICES]: 403 };
    const far = await explain('pod', 'shop/web-1');
    assert.match(far.stdout, /, or nearly does, and whether a slice lists it could not be seen\.$/m);
  });

  it('explain has status 1 if the Services of a pod cannot be read', async () => {
    answers = { ...all(), [`${V1}/services`]: 403 };
    const { status, stdout } = await explain('pod', 'shop/web-1', '-o', 'json');
    assert.equal(status, 1);
    assert.deepEqual(JSON.parse(stdout), {
      pod: 'shop/web-1',
      unseen: ['services of shop: user may not\u001B[2J: Forbidden'],
    });
  });

  it("explain reads only the pods that the pod's Services select", async () => {
    answers = all();
    await explain('pod', 'shop/web-1');
    const lists = asked.filter((path) => path.startsWith(`${V1}/pods?`));
    assert.deepEqual(lists, [`${V1}/pods?limit=500&labelSelector=app%3Dweb`]);
  });

  it('explain names an object that does not exist, with status 1', async () => {
    answers = { [SLICES]: slices(sliceOf('web')) };
    const service = await explain('service', 'shop/web');
    const one = await explain('pod', 'shop/web-3');
    assert.deepEqual([service.status, service.stdout], [1, 'There is no service shop/web.\n']);
    assert.deepEqual([one.status, one.stdout], [1, 'There is no pod shop/web-3.\nNo EndpointSlice lists it.\n']);
    answers = {};
    const unseen = ['endpointslices of shop: user may not\u001B[2J: NotFound'];
    const blind = await explain('pod', 'shop/web-3', '-o', 'json');
    assert.deepEqual(JSON.parse(blind.stdout), { error: 'there is no pod shop/web-3', listedIn: null, unseen });
  });

  it('explain names what it could not read, and answers for the rest', async () => {
    answers = { ...all(), '/api/v1/nodes': 403, [SLICES]: 403, [`${V1}/endpoints/web`]: 403 };
    const { status, stdout } = await explain('service', 'shop/web');
    assert.equal(status, 0);
    assert.match(stdout, /^Endpoints: 2 ready, 0 not ready; what is stored could not be seen$/m);
    assert.match(stdout, /^web-2 .*node-2 \(not seen\) .*ready \(not read\) +IPv4 ready \(not read\)/m);
    assert.deepEqual(stdout.split('\n').slice(-4), [
      String.raw`Could not be seen: endpoints shop/web: user may not\u001b[2J: Forbidden`,
      String.raw`Could not be seen: endpointslices of shop: user may not\u001b[2J: Forbidden`,
      String.raw`Could not be seen: nodes (zones and hints): user may not\u001b[2J: Forbidden`,
      '',
    ]);
  });

  it('explain does not guess what depends on unseen nodes', async () => {
    const slice = sliceOf('web', { zone: 'a', hints: { forZones: [{ name: 'a' }] } });
    answers = {
      ...all(),
      [`${V1}/services/web`]: { ...SERVICE, spec: { ...SERVICE.spec, trafficDistribution: 'PreferClose' } },
      [`${V1}/pods`]: list('Pod', [pod('web-1')]),
      [SLICES]: slices(slice),
      '/api/v1/nodes': 403,
    };
    const { status, stdout } = await explain('service', 'shop/web');
    assert.equal(status, 0);
    assert.deepEqual(stdout.split('\n').slice(1, 4), [
      'Endpoints: 1 ready, 0 not ready; 1 write is due, or the Service is changing just now',
      'EndpointSlices IPv4: 1 endpoints in 1 slice, if all their nodes exist; hints PreferClose: could not be seen',
      'EndpointSlices: whether a write is due could not be seen',
    ]);
    assert.match(stdout, /^web-1 .*IPv4 ready in web-x {2}zone not seen: the nodes could not be seen {2}/m);
    const { due, pods } = JSON.parse((await explain('service', 'shop/web', '-o', 'json')).stdout) as {
      due: object;
      pods: { slices: { hintZones: null }[] }[];
    };
    assert.deepEqual(due, { endpoints: 1, slices: null });
    assert.equal(pods[0]!.slices[0]!.hintZones, null);
  });

  it('explain says of a cluster in one zone why there are no hints by CPU', async () => {
    const annotations = { 'service.kubernetes.io/topology-mode': 'Auto' };
    const node = (name: string, zone: string, ready = 'True'): object => ({
      metadata: { name, labels: zone === '' ? {} : { 'topology.kubernetes.io/zone': zone } },
      status: { allocatable: { cpu: '4' }, conditions: [{ type: 'Ready', status: ready }] },
    });
    const noteOf = async (...nodes: readonly object[]): Promise<string | undefined> => {
      answers = {
        ...all(),
        [`${V1}/services/web`]: { ...SERVICE, metadata: { ...SERVICE.metadata, annotations } },
        '/api/v1/nodes': list('Node', nodes),
      };
      const { stdout } = await explain('service', 'shop/web');
      assert.match(stdout, /hints Auto: none: Insufficient Node information: /);
      return /^Note: (.*)$/m.exec(stdout)?.[1];
    };
    assert.equal(
      await noteOf(node('node-1', 'a'), node('node-2', 'b', 'False')),
      'all ready nodes that count are in one zone: a',
    );
    assert.equal(await noteOf(node('node-1', 'a', 'False')), 'no ready node counts');
    const spoils = 'node node-2: label topology.kubernetes.io/zone is missing or empty';
    assert.equal(await noteOf(node('node-1', 'a'), node('node-2', '')), spoils);
  });

  it('explain has status 1 if the pods cannot be read, and counts none', async () => {
    answers = { ...all(), [`${V1}/pods`]: 403 };
    const { status, stdout } = await explain('service', 'shop/web');
    assert.equal(status, 1);
    assert.deepEqual(stdout.split('\n'), [
      'Service shop/web: ClusterIP, IPv4, selector app=web, ports 80->80/TCP',
      'Endpoints and EndpointSlices: the pods that they depend on could not be seen',
      '',
      String.raw`Could not be seen: pods of shop: user may not\u001b[2J: Forbidden`,
      '',
    ]);
    const json = JSON.parse((await explain('service', 'shop/web', '-o', 'json')).stdout) as Record<string, unknown>;
    assert.deepEqual(
      [json['endpoints'], json['families'], json['due'], json['morePods']],
      [null, [], { endpoints: null, slices: null }, null],
    );
  });

  it('explain needs no pods for a Service that is not planned from them', async () => {
    const external = { ...SERVICE, spec: { ...SERVICE.spec, type: 'ExternalName' } };
    answers = { ...all(), [`${V1}/services/web`]: external, [`${V1}/pods`]: 403 };
    const { status, stdout } = await explain('service', 'shop/web');
    assert.equal(status, 0);
    assert.match(stdout, /^Pods: the Service is of type ExternalName/m);
  });

  it('explain tells a pod alone if the others cannot be read', async () => {
    answers = { ...all(), [`${V1}/pods`]: 403 };
    const { status, stdout } = await explain('pod', 'shop/web-1', '-o', 'json');
    assert.equal(status, 0);
    const { services } = JSON.parse(stdout) as { services: { due: object; explanation: { endpoints: object } }[] };
    assert.deepEqual(services[0]!.due, { endpoints: null, slices: null });
    assert.deepEqual(services[0]!.explanation.endpoints, {
      state: 'ready',
      reason: null,
      why: '',
      listed: 'left-out',
    });
  });

  it('explain has status 1 if the Service itself cannot be read', async () => {
    answers = { ...all(), [`${V1}/services/web`]: 403 };
    const hidden = await explain('service', 'shop/web', '-o', 'json');
    assert.equal(hidden.status, 1);
    assert.deepEqual(JSON.parse(hidden.stdout), {
      service: 'shop/web',
      unseen: ['service shop/web: user may not\u001B[2J: Forbidden'],
    });
  });

  it('a list that expires between two pages begins anew', async () => {
    answers = { ...all(), [`${V1}/pods`]: list('Pod', [pod('web-1')], 'next'), [`${V1}/pods?next`]: 410 };
    const { status, stdout } = await explain('service', 'shop/web');
    assert.equal(status, 1);
    assert.match(stdout, /Could not be seen: pods of shop: /);
    assert.doesNotMatch(stdout, /due|0 ready/);
    assert.equal(asked.filter((path) => path.startsWith(`${V1}/pods`)).length, 8);
  });

  it('a list that begins anew counts nothing twice', async () => {
    const near = { metadata: { ...META, name: 'web-3', uid: 'web-3', labels: { app: 'debug' } } };
    const far = {
      ...SERVICE,
      metadata: { ...META, name: 'debug' },
      spec: { ...SERVICE.spec, selector: { app: 'debug' } },
    };
    answers = {
      ...all(),
      [`${V1}/pods`]: [list('Pod', [pod('web-3', near)], 'next'), list('Pod', [pod('web-3', near)])],
      [`${V1}/pods?next`]: 410,
      [`${V1}/services`]: [list('Service', [far], 'next'), list('Service', [far])],
      [`${V1}/services?next`]: 410,
      '/api/v1/nodes': [list('Node', [NODE], 'next'), list('Node', [])],
      '/api/v1/nodes?next': 410,
    };
    const service = await explain('service', 'shop/web', '--others=1');
    assert.match(service.stdout, /^web-3 .*node-1 \(unknown\) .*label app is "debug"/m);
    assert.doesNotMatch(service.stdout, /more pods/);
    const one = await explain('pod', 'shop/web-1', '--others=1');
    assert.match(one.stdout, /^shop\/debug .*the selector wants "debug"/m);
    assert.doesNotMatch(one.stdout, /more Services/);
  });

  it('a list goes on with half as many objects after a page that is too big', async () => {
    answers = all();
    tooManyItems = 250;
    const { status, stdout } = await explain('service', 'shop/web');
    tooManyItems = Infinity;
    assert.equal(status, 0);
    assert.doesNotMatch(stdout, /Could not be seen/);
    const limits = asked.filter((path) => path.startsWith(`${V1}/pods`)).map((path) => /limit=(\d+)/.exec(path)![1]);
    assert.deepEqual(limits, ['500', '250', '125']);
  });

  it('explain says in one line that no server answers', async () => {
    const { status, stdout, stderr } = await explain('service', 'shop/web', '--master=http://127.0.0.1:1');
    assert.deepEqual([status, stdout], [1, '']);
    assert.match(stderr, /^endpointd explain: no answer from http:\/\/127\.0\.0\.1:1: .*ECONNREFUSED.*\n$/);
  });

  it('explain asks a running endpointd where the last changes spent their time', async () => {
    const changes = ['endpoints', 'endpointslice', 'endpoints'].map((controller, id) =>
      Object.assign({ id, controller }, CHANGE),
    );
    answers = { ...all(), '/debug/endpointd': { changes } };
    const { status, stdout } = await explain('service', 'shop/web', `--endpointd=${url}`);
    assert.equal(status, 0);
    assert.deepEqual(stdout.replaceAll(/ {2,}/g, ' | ').split('\n').slice(-4), [
      'ENDED | SERVICE | CONTROLLER | RESULT | WRITES | WATCH_IN | QUEUE | BATCH_WAIT | PLAN | THROTTLE | WRITE | TOTAL',
      '2027-01-15T08:00:00Z | shop/web | endpoints | written | 1 | 1.0 s | 2.0 ms | 0.0 ms | 3.0 ms | 500 ms | 7.0 ms | 512 ms',
      '2027-01-15T08:00:00Z | shop/web | endpointslice | written | 1 | 1.0 s | 2.0 ms | 0.0 ms | 3.0 ms | 500 ms | 7.0 ms | 512 ms',
      '',
    ]);
    assert.ok(asked.includes('/debug/endpointd?format=json&service=shop%2Fweb'));
    answers = { ...all(), '/debug/endpointd': 403 };
    const refused = await explain('pod', 'shop/web-1', `--endpointd=${url}`);
    assert.equal(refused.status, 0);
    assert.match(refused.stdout, /Could not be seen: changes of shop\/web in the running endpointd: .*status 403/);
  });

  for (const { role, said } of [
    {
      role: 'leads',
      said: /: since its start no pod of it has changed and nothing was written, or it has no room .* \(--journal-size\)\.$/,
    },
    { role: 'stands by', said: / notes no changes now: it stands by\. Ask the leader\.$/ },
    { role: 'nobody', said: / notes no changes now: it stands by, and nobody leads\.$/ },
    { role: 'waits', said: / notes no changes now: it waits to take over\.$/ },
    { role: 'catches up', said: / notes no changes now: it brings its caches up to date before it writes\.$/ },
  ]) {
    it(`explain says why a running endpointd has no change: ${role}`, async () => {
      answers = { ...all(), '/debug/endpointd': { role, changes: [] } };
      const { stdout } = await explain('service', 'shop/web', `--endpointd=${url}`, '-o', 'json');
      const { changes, changesNote } = JSON.parse(stdout) as Noted;
      assert.deepEqual(changes, []);
      assert.ok(changesNote.startsWith(`The endpointd at ${url} `), changesNote);
      assert.match(changesNote, said);
    });
  }

  it('explain says in the text, too, why a running endpointd has no change', async () => {
    answers = { ...all(), '/debug/endpointd': { role: 'leads', changes: [] } };
    const note = `\n\nThe endpointd at ${url} remembers no change of shop/web: `;
    for (const object of [['service', 'shop/web'] as const, ['pod', 'shop/web-1'] as const]) {
      const { status, stdout } = await explain(...object, `--endpointd=${url}`);
      assert.equal(status, 0);
      assert.ok(stdout.includes(note), stdout);
    }
  });

  it('explain says of the changes of a standby that the leader may have newer ones', async () => {
    const change = { id: 1, controller: 'endpoints', ...CHANGE };
    answers = { ...all(), '/debug/endpointd': { role: 'stands by', changes: [change] } };
    const { stdout } = await explain('pod', 'shop/web-1', `--endpointd=${url}`, '-o', 'json');
    const { services } = JSON.parse(stdout) as { readonly services: readonly Noted[] };
    assert.deepEqual(services[0]!.changes, [change]);
    assert.match(services[0]!.changesNote, /Ask the leader/);
  });

  it('explain says nothing of changes where no endpointd was asked', async () => {
    answers = all();
    const { stdout } = await explain('service', 'shop/web', '-o', 'json');
    const { changes, changesNote } = JSON.parse(stdout) as Noted;
    assert.deepEqual([changes, changesNote], [[], '']);
  });

  it('explain ends quietly when its reader is gone', async () => {
    answers = {
      ...all(),
      [`${V1}/pods`]: list(
        'Pod',
        Array.from({ length: 5000 }, (_, i) => pod(`web-${i}`)),
      ),
    };
    const child = spawn(execPath, [BIN, 'explain', `--master=${url}`, 'service', 'shop/web'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    child.stdout.once('data', () => child.stdout.destroy());
    const [status] = (await once(child, 'exit')) as [number];
    assert.deepEqual([status, said], [0, '']);
  });
});

for (const [args, message] of [
  [['service'], "missing required argument 'name'. Allowed: what --help shows."],
  [['node', 'a/b'], 'unknown kind "node". Allowed: service, pod.'],
  [
    ['pod', 'a/b', '--controllers=endpoint-controler'],
    'invalid argument "endpoint-controler" for --controllers: "endpoint-controler" is not a known controller. Allowed: *, endpoints-controller, endpointslice-controller, endpointslice-mirroring-controller, each also with a leading -.',
  ],
  [['pod', 'a/b', '--token-file=token'], '--token-file needs --endpointd: nothing else takes it.'],
  [['service', 'web'], 'invalid name "web". Allowed: NAMESPACE/NAME, such as shop/web.'],
  [['service', 'a/b/c'], 'invalid name "a/b/c". Allowed: NAMESPACE/NAME, such as shop/web.'],
  [['pod', 'a/\u001B[2J'], String.raw`invalid name "a/\u001b[2J". Allowed: NAMESPACE/NAME, such as shop/web.`],
  [['pod', 'a/..'], 'invalid name "a/..". Allowed: NAMESPACE/NAME, such as shop/web.'],
  [['pod', 'a/b?c'], 'invalid name "a/b?c". Allowed: NAMESPACE/NAME, such as shop/web.'],
] as const) {
  it(`explain ${JSON.stringify(args)} is refused`, () => {
    assert.throws(() => parseExplainFlags(args, () => undefined), new UsageError(message));
  });
}
