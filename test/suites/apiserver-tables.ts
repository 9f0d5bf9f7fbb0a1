import assert from 'node:assert/strict';
import type { Case } from './apiserver.ts';
import { STRATEGIC, type Client, type Json } from './apiserver-client.ts';

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const KUBECTL = `${TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json`;

const IMAGE = 'registry.example/app:1';
const TIME = '2026-01-01T00:00:00Z';

async function table(client: Client, path: string): Promise<Json> {
  const { status, body, contentType } = await client.call('GET', path, undefined, { accept: KUBECTL });
  assert.deepEqual(
    [status, contentType, body.kind, body.apiVersion],
    [200, 'application/json', 'Table', 'meta.k8s.io/v1'],
  );
  return body;
}

/** Columns as `Name` or, when only `-o wide` shows them, `(Name)`. */
function columnsOf({ columnDefinitions }: Json): string[] {
  for (const column of columnDefinitions) {
    assert.deepEqual(Object.keys(column), ['name', 'type', 'format', 'description', 'priority']);
    assert.deepEqual([column.type, column.format], ['string', column.name === 'Name' ? 'name' : '']);
  }
  return columnDefinitions.map(({ name, priority }: Json) => (priority === 0 ? name : `(${name})`));
}

/** What the cells of a pod with that spec and status are, but for name and age. */
async function podCells(client: Client, spec: object, status: object): Promise<unknown[]> {
  const path = `/api/v1/namespaces/${await client.namespace()}/pods`;
  const containers = [{ name: 'c', image: IMAGE }];
  await client.ok('POST', path, { metadata: { name: 'p' }, spec: { containers, ...spec } });
  await client.ok('PATCH', `${path}/p/status`, { status }, { contentType: STRATEGIC });
  const [, ready, phase, restarts, , ...wide] = (await table(client, `${path}/p`)).rows[0].cells;
  return [ready, phase, restarts, ...wide];
}

const container = (name: string, state: object, more: object = {}) => ({
  name,
  image: IMAGE,
  imageID: '',
  ready: false,
  restartCount: 0,
  state,
  ...more,
});
const running = (name: string, ready = true) => container(name, { running: { startedAt: TIME } }, { ready });
const ended = (name: string, terminated: object) => container(name, { terminated });
const condition = (type: string, status = 'True', reason = '') => ({ type, status, reason });
const NO_WIDE = ['<none>', '<none>', '<none>', '<none>'];

async function serviceCells(client: Client, spec: object): Promise<unknown[]> {
  const path = `/api/v1/namespaces/${await client.namespace()}/services`;
  await client.ok('POST', path, { metadata: { name: 's' }, spec });
  const [, type, ip, external, ports, , selector] = (await table(client, `${path}/s`)).rows[0].cells;
  await client.ok('DELETE', `${path}/s`);
  return [type, ip, external, ports, selector];
}

/** Tables, which `kubectl get` prints. */
export const TABLE_CASES: Readonly<Record<string, Case>> = {
  'a list has columns, and one row for each object': async (client) => {
    const path = `/api/v1/namespaces/${await client.namespace()}/endpoints`;
    await client.ok('POST', path, { metadata: { name: 'a', labels: { b: 'c' } } });
    await client.ok('POST', path, { metadata: { name: 'b' } });
    const list = await table(client, path);
    assert.deepEqual(Object.keys(list), ['kind', 'apiVersion', 'metadata', 'columnDefinitions', 'rows']);
    assert.match(list.metadata.resourceVersion, /^[0-9]+$/);
    assert.deepEqual(columnsOf(list), ['Name', 'Endpoints', 'Age']);
    assert.deepEqual(
      list.rows.map(({ cells }: Json) => cells.slice(0, 2)),
      [
        ['a', '<none>'],
        ['b', '<none>'],
      ],
    );
    assert.match(list.rows[0].cells[2], /^[0-9]+s$/);
    const { kind, apiVersion, metadata } = list.rows[0].object;
    assert.deepEqual(
      [kind, apiVersion, metadata.name, metadata.labels],
      ['PartialObjectMetadata', 'meta.k8s.io/v1', 'a', { b: 'c' }],
    );
  },

  'an empty list has no rows': async (client) => {
    assert.deepEqual((await table(client, `/api/v1/namespaces/${await client.namespace()}/pods`)).rows, []);
  },

  pages: async (client) => {
    const path = `/api/v1/namespaces/${await client.namespace()}/endpoints`;
    for (const name of ['a', 'b', 'c']) await client.ok('POST', path, { metadata: { name } });
    const first = await table(client, `${path}?limit=2`);
    assert.deepEqual([first.rows.length, first.metadata.remainingItemCount], [2, 1]);
    const second = await table(client, `${path}?limit=2&continue=${encodeURIComponent(first.metadata.continue)}`);
    assert.deepEqual(
      second.rows.map(({ cells }: Json) => cells[0]),
      ['c'],
    );
  },

  'includeObject gives the part of the object with a row': async (client) => {
    const path = `/api/v1/namespaces/${await client.namespace()}`;
    const { resourceVersion } = (await client.ok('GET', path)).metadata;
    const none = await table(client, `${path}?includeObject=None`);
    assert.deepEqual([none.rows[0].object, none.metadata], [null, { resourceVersion }]);
    const whole = (await table(client, `${path}?includeObject=Object`)).rows[0].object;
    assert.deepEqual([whole.kind, whole.apiVersion, whole.status], ['Namespace', 'v1', { phase: 'Active' }]);
    const { status, body } = await client.call('GET', `${path}?includeObject=foo`, undefined, { accept: TABLE });
    assert.equal(status, 400);
    assert.equal(
      body.message,
      `Unable to convert to Table as requested: includeObject: Invalid value: "foo": must be 'Metadata', 'Object', 'None', or empty`,
    );
  },

  'v1beta1 is served on request, other versions and protobuf are not': async (client) => {
    const path = '/api/v1/namespaces/default';
    const get = (accept: string) => client.call('GET', path, undefined, { accept });
    const beta = await get('application/json;as=Table;v=v1beta1;g=meta.k8s.io');
    assert.deepEqual([beta.status, beta.body.apiVersion], [200, 'meta.k8s.io/v1beta1']);
    for (const accept of [
      'application/json;as=Table;v=v2;g=meta.k8s.io',
      'application/json;as=Table;v=v1;g=foo',
      'application/json;as=Table',
      'application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io',
    ]) {
      const { status, body } = await get(accept);
      assert.equal(status, 406, accept);
      assert.equal(
        body.message,
        'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf',
      );
    }
    assert.equal((await get(`application/json;as=Table;v=v2;g=meta.k8s.io,application/json`)).body.kind, 'Namespace');
  },

  'a written object may be a table, and an error is none': async (client) => {
    const path = `/api/v1/namespaces/${await client.namespace()}/endpoints`;
    const created = await client.call('POST', path, { metadata: { name: 'a' } }, { accept: TABLE });
    assert.deepEqual([created.status, created.body.kind, created.body.rows[0].cells[0]], [201, 'Table', 'a']);
    const missing = await client.call('GET', `${path}/b`, undefined, { accept: TABLE });
    assert.deepEqual([missing.status, missing.body.kind], [404, 'Status']);
    const gone = await client.call('DELETE', `${path}/a`, undefined, { accept: TABLE });
    assert.deepEqual([gone.status, gone.body.kind], [200, 'Status']);
  },

  'a watch has one row for each event, and columns in the first': async (client) => {
    const path = `/api/v1/namespaces/${await client.namespace()}/endpoints`;
    await client.ok('POST', path, { metadata: { name: 'a' } });
    const watch = await client.watch(`${path}?watch=1`, { accept: KUBECTL });
    const first = await watch.take(1);
    const { metadata } = await client.ok('POST', path, { metadata: { name: 'b' } });
    await client.ok('DELETE', `${path}/a`);
    const events = [...first, ...(await watch.take(2))];
    watch.close();
    assert.deepEqual(
      events.map(({ type, object }) => [type, object.kind, object.rows.length, object.rows[0].cells[0]]),
      [
        ['ADDED', 'Table', 1, 'a'],
        ['ADDED', 'Table', 1, 'b'],
        ['DELETED', 'Table', 1, 'a'],
      ],
    );
    assert.equal(events[0]!.object.columnDefinitions.length, 3);
    assert.deepEqual([events[1]!.object.columnDefinitions, events[2]!.object.columnDefinitions], [null, null]);
    assert.deepEqual(events[1]!.object.metadata, { resourceVersion: metadata.resourceVersion });
  },

  'bookmarks of a watch are tables with an empty row': async (client) => {
    const path = `/api/v1/namespaces/${await client.namespace()}/endpoints`;
    const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const watch = await client.watch(`${path}?${query}&includeObject=None`, { accept: TABLE });
    const [bookmark] = await watch.take(1);
    watch.close();
    assert.deepEqual([bookmark!.type, bookmark!.object.kind], ['BOOKMARK', 'Table']);
    const [{ cells, object }] = bookmark!.object.rows;
    assert.deepEqual(cells, ['', '<none>', '<unknown>']);
    assert.deepEqual(object.metadata.annotations, { 'k8s.io/initial-events-end': 'true' });
  },

  'endpoints: every ready address and port is counted, three are named': async (client) => {
    const path = `/api/v1/namespaces/${await client.namespace()}/endpoints`;
    const cellOf = async (name: string, subsets: object[]): Promise<string> => {
      await client.ok('POST', path, { metadata: { name }, subsets });
      return (await table(client, `${path}/${name}`)).rows[0].cells[1];
    };
    const addresses = ['10.0.0.1', '10.0.0.2'].map((ip) => ({ ip }));
    const two = [
      { name: 'a', port: 80 },
      { name: 'b', port: 81 },
    ];
    assert.equal(await cellOf('one', [{ addresses, ports: [{ port: 80 }] }]), '10.0.0.1:80,10.0.0.2:80');
    assert.equal(await cellOf('more', [{ addresses, ports: two }]), '10.0.0.1:80,10.0.0.2:80,10.0.0.1:81 + 1 more...');
    assert.equal(await cellOf('no-ports', [{ addresses }]), '10.0.0.1,10.0.0.2');
    assert.equal(await cellOf('not-ready', [{ notReadyAddresses: addresses, ports: two }]), '');
    assert.equal(await cellOf('v6', [{ addresses: [{ ip: 'fd00::1' }], ports: [{ port: 80 }] }]), '[fd00::1]:80');
  },

  'endpointslices: ports are numbers, and addresses those of all endpoints': async (client) => {
    const path = `/apis/discovery.k8s.io/v1/namespaces/${await client.namespace()}/endpointslices`;
    const cellsOf = async (name: string, ports: object[], endpoints: object[]): Promise<string[]> => {
      await client.ok('POST', path, { metadata: { name }, addressType: 'IPv4', ports, endpoints });
      const list = await table(client, `${path}/${name}`);
      assert.deepEqual(columnsOf(list), ['Name', 'AddressType', 'Ports', 'Endpoints', 'Age']);
      return list.rows[0].cells.slice(1, 4);
    };
    const endpoints = ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4'].map((ip) => ({ addresses: [ip] }));
    assert.deepEqual(await cellsOf('none', [], []), ['IPv4', '<unset>', '<unset>']);
    assert.deepEqual(await cellsOf('some', [{ port: 80 }, { name: 'b' }], endpoints.slice(0, 2)), [
      'IPv4',
      '80,b',
      '10.0.0.1,10.0.0.2',
    ]);
    assert.deepEqual(await cellsOf('nameless', [{}], []), ['IPv4', '<unset>', '<unset>']);
    const ports = ['a', 'b', 'c', 'd', 'e'].map((name, at) => ({ name, port: 80 + at }));
    assert.deepEqual(await cellsOf('many', ports, endpoints), [
      'IPv4',
      '80,81,82 + 2 more...',
      '10.0.0.1,10.0.0.2,10.0.0.3 + 1 more...',
    ]);
  },

  "services: the columns are the real server's": async (client) => {
    assert.deepEqual(columnsOf(await table(client, `/api/v1/namespaces/${await client.namespace()}/services`)), [
      'Name',
      'Type',
      'Cluster-IP',
      'External-IP',
      'Port(s)',
      'Age',
      '(Selector)',
    ]);
  },

  'services: each type has its cells': async (client) => {
    const clusterIP = 'None';
    const ports = [{ name: 'a', port: 80 }];
    assert.deepEqual(await serviceCells(client, { clusterIP, selector: { b: 'c', a: 'b' }, ports }), [
      'ClusterIP',
      'None',
      '<none>',
      '80/TCP',
      'a=b,b=c',
    ]);
    assert.deepEqual(await serviceCells(client, { type: 'ExternalName', externalName: 'x.example' }), [
      'ExternalName',
      '<none>',
      'x.example',
      '<none>',
      '<none>',
    ]);
  },

  'services: node ports and external addresses are shown': async (client) => {
    const path = `/api/v1/namespaces/${await client.namespace()}/services`;
    const ports = [
      { name: 'a', port: 80 },
      { name: 'b', port: 53, protocol: 'UDP' },
    ];
    const externalIPs = ['192.0.2.8', '192.0.2.7'];
    const { spec } = await client.ok('POST', path, {
      metadata: { name: 's' },
      spec: { type: 'NodePort', ports, externalIPs },
    });
    const [, ...cells] = (await table(client, `${path}/s`)).rows[0].cells;
    const [first, second] = spec.ports.map(({ nodePort }: Json) => nodePort);
    assert.deepEqual(cells.toSpliced(4, 1), [
      'NodePort',
      spec.clusterIP,
      '192.0.2.8,192.0.2.7',
      `80:${first}/TCP,53:${second}/UDP`,
      '<none>',
    ]);
  },

  'services: a load balancer is pending until it has an address': async (client) => {
    const path = `/api/v1/namespaces/${await client.namespace()}/services`;
    await client.ok('POST', path, { metadata: { name: 's' }, spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } });
    const external = async (): Promise<string> => (await table(client, `${path}/s`)).rows[0].cells[3];
    assert.equal(await external(), '<pending>');
    const ingress = [{ hostname: 'b.a-long-name.example' }, { ip: '192.0.2.1', ipMode: 'VIP' }];
    await client.ok('PATCH', `${path}/s/status`, { status: { loadBalancer: { ingress } } }, { contentType: STRATEGIC });
    assert.equal(await external(), '192.0.2.1,b.a-long-name.example');
  },

  "pods: the columns are the real server's": async (client) => {
    assert.deepEqual(columnsOf(await table(client, `/api/v1/namespaces/${await client.namespace()}/pods`)), [
      'Name',
      'Ready',
      'Status',
      'Restarts',
      'Age',
      '(IP)',
      '(Node)',
      '(Nominated Node)',
      '(Readiness Gates)',
    ]);
  },

  'pods: pending, running and unready ones have their status': async (client) => {
    assert.deepEqual(await podCells(client, {}, {}), ['0/1', 'Pending', '0', ...NO_WIDE]);
    const spec = {
      nodeName: 'n1',
      readinessGates: [{ conditionType: 'a.example/g' }, { conditionType: 'b.example/g' }],
      containers: ['a', 'b'].map((name) => ({ name, image: IMAGE })),
    };
    const status = {
      phase: 'Running',
      podIP: '10.1.0.1',
      podIPs: [{ ip: '10.1.0.1' }],
      conditions: [condition('a.example/g')],
      containerStatuses: [running('a'), running('b', false)],
    };
    assert.deepEqual(await podCells(client, spec, status), ['1/2', 'Running', '0', '10.1.0.1', 'n1', '<none>', '1/2']);
  },

  'pods: the status says why a container waits or has ended': async (client) => {
    const waiting = container('c', { waiting: { reason: 'CrashLoopBackOff' } });
    const cells = async (phase: string, ...containerStatuses: object[]) =>
      (await podCells(client, {}, { phase, containerStatuses })).slice(0, 3);
    assert.deepEqual(await cells('Running', waiting), ['0/1', 'CrashLoopBackOff', '0']);
    assert.deepEqual(await cells('Failed', ended('c', { exitCode: 1, reason: 'Error' })), ['0/1', 'Error', '0']);
    assert.deepEqual(await cells('Failed', ended('c', { exitCode: 3 })), ['0/1', 'ExitCode:3', '0']);
    assert.deepEqual(await cells('Failed', ended('c', { exitCode: 0, signal: 9 })), ['0/1', 'Signal:9', '0']);
    const completed = ended('c', { exitCode: 0, reason: 'Completed' });
    assert.deepEqual(await cells('Succeeded', completed), ['0/1', 'Completed', '0']);
  },

  'pods: one with a completed and a running container is NotReady or Running': async (client) => {
    const spec = { containers: ['a', 'b'].map((name) => ({ name, image: IMAGE })) };
    const containerStatuses = [ended('a', { exitCode: 0, reason: 'Completed' }), running('b')];
    const cells = async (...conditions: object[]) =>
      (await podCells(client, spec, { phase: 'Running', containerStatuses, conditions })).slice(0, 2);
    assert.deepEqual(await cells(), ['1/2', 'NotReady']);
    assert.deepEqual(await cells(condition('Ready')), ['1/2', 'Running']);
  },

  'pods: init containers come first': async (client) => {
    const spec = { initContainers: ['i', 'j'].map((name) => ({ name, image: IMAGE })) };
    const cells = async (...initContainerStatuses: object[]) =>
      (await podCells(client, spec, { phase: 'Pending', initContainerStatuses })).slice(0, 2);
    const done = ended('i', { exitCode: 0, reason: 'Completed' });
    assert.deepEqual(await cells(running('i')), ['0/1', 'Init:0/2']);
    assert.deepEqual(await cells(done, container('j', { waiting: { reason: 'PodInitializing' } })), [
      '0/1',
      'Init:1/2',
    ]);
    assert.deepEqual(await cells(container('i', { waiting: { reason: 'ErrImagePull' } })), [
      '0/1',
      'Init:ErrImagePull',
    ]);
    assert.deepEqual(await cells(ended('i', { exitCode: 2 })), ['0/1', 'Init:ExitCode:2']);
    assert.deepEqual(await cells(ended('i', { exitCode: 2, reason: 'Error' })), ['0/1', 'Init:Error']);
  },

  'pods: sidecars count as containers': async (client) => {
    const spec = { initContainers: [{ name: 's', image: IMAGE, restartPolicy: 'Always' }] };
    const sidecar = { ...running('s'), started: true };
    const status = { phase: 'Running', initContainerStatuses: [sidecar], containerStatuses: [running('c')] };
    assert.deepEqual((await podCells(client, spec, status)).slice(0, 3), ['2/2', 'Running', '0']);
  },

  'pods: restarts are counted, with the age of the last one': async (client) => {
    const again = { ...running('c'), restartCount: 3 };
    const status = (lastState: object) => ({ phase: 'Running', containerStatuses: [{ ...again, lastState }] });
    assert.equal((await podCells(client, {}, status({})))[2], '3');
    const finishedAt = new Date(Date.now() - 3_599_000).toISOString().replace(/\.\d+/, '');
    const cells = await podCells(client, {}, status({ terminated: { exitCode: 1, finishedAt } }));
    assert.match(String(cells[2]), /^3 \((59|60)m ago\)$/);
  },

  'pods: a reason, gates and the end are shown': async (client) => {
    assert.equal((await podCells(client, {}, { phase: 'Failed', reason: 'Evicted' }))[1], 'Evicted');
    const gated = { conditions: [condition('PodScheduled', 'False', 'SchedulingGated')] };
    assert.equal((await podCells(client, {}, gated))[1], 'SchedulingGated');
    const path = `/api/v1/namespaces/${await client.namespace()}/pods`;
    const spec = { nodeName: 'n1', containers: [{ name: 'c', image: IMAGE }] };
    await client.ok('POST', path, { metadata: { name: 'p' }, spec });
    await client.ok('DELETE', `${path}/p`);
    assert.equal((await table(client, path)).rows[0].cells[2], 'Terminating');
  },

  'pods: rows of completed ones have a condition': async (client) => {
    const path = `/api/v1/namespaces/${await client.namespace()}/pods`;
    await client.ok('POST', path, { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: IMAGE }] } });
    await client.ok('PATCH', `${path}/p/status`, { status: { phase: 'Succeeded' } }, { contentType: STRATEGIC });
    const [{ conditions }] = (await table(client, path)).rows;
    assert.deepEqual(
      conditions.map(({ type, status, reason }: Json) => [type, status, reason]),
      [['Completed', 'True', 'Succeeded']],
    );
  },

  'nodes: status, roles, version and addresses are shown': async (client) => {
    const name = await client.namespace();
    const labels = { 'node-role.kubernetes.io/worker': '', 'kubernetes.io/role': 'edge' };
    await client.ok('POST', '/api/v1/nodes', { metadata: { name, labels } });
    const first = await table(client, `/api/v1/nodes/${name}`);
    assert.deepEqual(columnsOf(first), [
      'Name',
      'Status',
      'Roles',
      'Age',
      'Version',
      '(Internal-IP)',
      '(External-IP)',
      '(OS-Image)',
      '(Kernel-Version)',
      '(Container-Runtime)',
    ]);
    const cells = ({ rows }: Json): unknown[] => rows[0].cells.filter((_: unknown, at: number) => at !== 0 && at !== 3);
    assert.deepEqual(cells(first), [
      'Unknown',
      'edge,worker',
      '',
      '<none>',
      '<none>',
      '<unknown>',
      '<unknown>',
      '<unknown>',
    ]);
    const status = {
      conditions: [{ type: 'Ready', status: 'True' }],
      addresses: [
        { type: 'InternalIP', address: '192.0.2.1' },
        { type: 'Hostname', address: 'h' },
      ],
      nodeInfo: {
        kubeletVersion: 'v1.36.3',
        osImage: 'OS 1',
        kernelVersion: '6.1',
        containerRuntimeVersion: 'cri://2',
      },
    };
    await client.ok('PATCH', `/api/v1/nodes/${name}/status`, { status }, { contentType: STRATEGIC });
    await client.ok('PATCH', `/api/v1/nodes/${name}`, { spec: { unschedulable: true } }, { contentType: STRATEGIC });
    const second = await table(client, `/api/v1/nodes/${name}`);
    await client.ok('DELETE', `/api/v1/nodes/${name}`);
    assert.deepEqual(cells(second), [
      'Ready,SchedulingDisabled',
      'edge,worker',
      'v1.36.3',
      '192.0.2.1',
      '<none>',
      'OS 1',
      '6.1',
      'cri://2',
    ]);
  },

  'namespaces and leases have their cells': async (client) => {
    const name = await client.namespace();
    const namespaces = await table(client, `/api/v1/namespaces/${name}`);
    assert.deepEqual(columnsOf(namespaces), ['Name', 'Status', 'Age']);
    assert.deepEqual(namespaces.rows[0].cells.slice(0, 2), [name, 'Active']);
    const path = `/apis/coordination.k8s.io/v1/namespaces/${name}/leases`;
    await client.ok('POST', path, { metadata: { name: 'a' }, spec: { holderIdentity: 'me' } });
    await client.ok('POST', path, { metadata: { name: 'b' } });
    const leases = await table(client, path);
    assert.deepEqual(columnsOf(leases), ['Name', 'Holder', 'Age']);
    assert.deepEqual(
      leases.rows.map(({ cells }: Json) => cells.slice(0, 2)),
      [
        ['a', 'me'],
        ['b', ''],
      ],
    );
  },

  'events: both kinds have their cells': async (client) => {
    const namespace = await client.namespace();
    const path = `/api/v1/namespaces/${namespace}/events`;
    const involvedObject = { kind: 'Service', namespace, name: 's', fieldPath: 'spec.x' };
    const ago = (seconds: number): string => new Date(Date.now() - seconds * 1000).toISOString().replace(/\.\d+/, '');
    const base = { involvedObject, reason: 'Why', type: 'Warning' };
    await client.ok('POST', path, {
      ...base,
      metadata: { name: 'counted' },
      message: ' text\n',
      source: { component: 'c', host: 'h' },
      firstTimestamp: ago(86_400 * 9),
      lastTimestamp: ago(60 * 200),
      count: 7,
    });
    await client.ok('POST', path, {
      ...base,
      metadata: { name: 'single' },
      involvedObject: { kind: 'Node', namespace },
      message: 'text',
      firstTimestamp: ago(86_400 * 3 + 3605),
      reportingComponent: 'r',
    });
    const list = await table(client, path);
    assert.deepEqual(
      list.columnDefinitions.map(({ name, priority }: Json) => (priority === 0 ? name : `(${name})`)),
      [
        'Last Seen',
        'Type',
        'Reason',
        'Object',
        '(Subobject)',
        '(Source)',
        'Message',
        '(First Seen)',
        '(Count)',
        '(Name)',
      ],
    );
    assert.deepEqual(
      list.rows.map(({ cells }: Json) => cells),
      [
        ['3h20m', 'Warning', 'Why', 'service/s', 'spec.x', 'c, h', 'text', '9d', 7, 'counted'],
        ['3d1h', 'Warning', 'Why', 'node', '', 'r', 'text', '3d1h', 1, 'single'],
      ],
    );
  },
};
