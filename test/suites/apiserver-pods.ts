import assert from 'node:assert/strict';
import type { Case } from './apiserver.ts';
import { type Answer, JSON_PATCH, MERGE, plain, STRATEGIC, type Client, type Json } from './apiserver-client.ts';

async function podsPath(client: Client): Promise<string> {
  return `/api/v1/namespaces/${await client.namespace()}/pods`;
}

function pod(name: string, spec: object = {}): object {
  return { metadata: { name }, spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }], ...spec } };
}

async function patchStatus(client: Client, path: string, status: object, contentType = STRATEGIC): Promise<Json> {
  return (await client.ok('PATCH', `${path}/status`, { status }, { contentType })).status;
}

export const POD_CASES: Readonly<Record<string, Case>> = {
  'a create sets the defaults': async (client) => {
    const path = await podsPath(client);
    const created = await client.ok('POST', path, {
      metadata: { name: 'p', labels: { app: 'a' } },
      spec: {
        containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 80, name: 'http' }] }],
        initContainers: [{ name: 's', image: 'reg:5000/i:v1', restartPolicy: 'Always' }],
      },
      status: { phase: 'Running', podIP: '1.2.3.4' },
    });
    const container = {
      resources: {},
      terminationMessagePath: '/dev/termination-log',
      terminationMessagePolicy: 'File',
    };
    const toleration = { operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 };
    assert.deepEqual(plain(created), {
      kind: 'Pod',
      apiVersion: 'v1',
      metadata: { name: 'p', labels: { app: 'a' }, generation: 1 },
      spec: {
        initContainers: [
          { ...container, name: 's', image: 'reg:5000/i:v1', restartPolicy: 'Always', imagePullPolicy: 'IfNotPresent' },
        ],
        containers: [
          {
            ...container,
            name: 'c',
            image: 'i',
            ports: [{ name: 'http', containerPort: 80, protocol: 'TCP' }],
            imagePullPolicy: 'Always',
          },
        ],
        restartPolicy: 'Always',
        terminationGracePeriodSeconds: 30,
        dnsPolicy: 'ClusterFirst',
        securityContext: {},
        schedulerName: 'default-scheduler',
        tolerations: [
          { key: 'node.kubernetes.io/not-ready', ...toleration },
          { key: 'node.kubernetes.io/unreachable', ...toleration },
        ],
        priority: 0,
        enableServiceLinks: true,
        preemptionPolicy: 'PreemptLowerPriority',
      },
      status: { phase: 'Pending', qosClass: 'BestEffort' },
    });
  },

  'a pod with scheduling gates says that they hold it back': async (client) => {
    const spec = { containers: [{ name: 'c', image: 'i' }], schedulingGates: [{ name: 'x.y/a' }] };
    const { status } = await client.ok('POST', await podsPath(client), { metadata: { name: 'p' }, spec });
    const [{ lastTransitionTime, ...condition }, ...others] = status.conditions;
    assert.match(lastTransitionTime, /Z$/);
    assert.deepEqual(
      [condition, others],
      [
        {
          type: 'PodScheduled',
          status: 'False',
          lastProbeTime: null,
          reason: 'SchedulingGated',
          message: 'Scheduling is blocked due to non-empty scheduling gates',
        },
        [],
      ],
    );
  },

  'scheduling gates can be taken away and not added, tolerations the other way round': async (client) => {
    const path = await podsPath(client);
    const spec = { containers: [{ name: 'c', image: 'i' }], schedulingGates: [{ name: 'x.y/a' }, { name: 'x.y/b' }] };
    await client.ok('POST', path, { metadata: { name: 'p' }, spec });
    const patch = (change: object): Promise<Answer> =>
      client.call('PATCH', `${path}/p`, [change], { contentType: JSON_PATCH });
    const gone = await patch({ op: 'remove', path: '/spec/schedulingGates/0' });
    assert.deepEqual([gone.status, gone.body.spec.schedulingGates], [200, [{ name: 'x.y/b' }]]);
    const more = await patch({ op: 'add', path: '/spec/schedulingGates/-', value: { name: 'x.y/c' } });
    assert.equal(more.status, 422);
    assert.match(
      more.body.message,
      /spec\.schedulingGates\[1\]\.name: Forbidden: only deletion is allowed, but found new scheduling gate 'x\.y\/c'/,
    );
    const toleration = { key: 'k', operator: 'Exists', effect: 'NoExecute' };
    assert.equal((await patch({ op: 'add', path: '/spec/tolerations/-', value: toleration })).status, 200);
    assert.equal((await patch({ op: 'remove', path: '/spec/tolerations/2' })).status, 422);
    const seconds = { op: 'add', path: '/spec/tolerations/2/tolerationSeconds', value: 5 };
    assert.equal((await patch(seconds)).status, 200);
  },

  'a probe that is no object is no pod': async (client) => {
    const path = await podsPath(client);
    const probe = { tcpSocket: { port: 80 }, httpGet: null };
    await client.ok('POST', path, pod('null', { containers: [{ name: 'c', image: 'i', readinessProbe: probe }] }));
    for (const readinessProbe of ['x', 5, { httpGet: 'x' }]) {
      const containers = [{ name: 'c', image: 'i', readinessProbe }];
      const { status } = await client.call('POST', path, { metadata: { name: 'p' }, spec: { containers } });
      assert.equal(status, 400, JSON.stringify(readinessProbe));
    }
  },

  'ports of the host network are ports of the host': async (client) => {
    const path = await podsPath(client);
    const containers = [{ name: 'c', image: 'i', ports: [{ containerPort: 80 }] }];
    const { spec } = await client.ok('POST', path, pod('p', { hostNetwork: true, containers }));
    assert.deepEqual(spec.containers[0].ports, [{ hostPort: 80, containerPort: 80, protocol: 'TCP' }]);
  },

  'invalid pods are refused': async (client) => {
    const path = await podsPath(client);
    const causes = async (spec: object): Promise<string[]> => {
      const { body } = await client.call('POST', path, pod('p', spec));
      return body.details.causes.map(
        ({ field, message }: Json) => `${field}: ${message.split(': ').slice(0, 2).join(': ')}`,
      );
    };
    assert.deepEqual(await causes({ containers: [] }), ['spec.containers: Required value']);
    assert.deepEqual(await causes({ containers: [{ name: 'c' }] }), ['spec.containers[0].image: Required value']);
    assert.deepEqual(await causes({ containers: [{ image: 'i' }] }), ['spec.containers[0].name: Required value']);
    assert.deepEqual(await causes({ hostname: 'A.b' }), ['spec.hostname: Invalid value: "A.b"']);
    const container = { name: 'c', image: 'i' };
    assert.deepEqual(await causes({ containers: [container, container] }), [
      'spec.containers[1].name: Duplicate value: "c"',
    ]);
    const ports = [{ containerPort: 0 }, { containerPort: 70_000, name: 'A' }, { containerPort: 1, protocol: 'HTTP' }];
    assert.deepEqual(await causes({ containers: [{ ...container, ports }] }), [
      'spec.containers[0].ports[0].containerPort: Required value',
      'spec.containers[0].ports[1].name: Invalid value: "A"',
      'spec.containers[0].ports[1].name: Invalid value: "A"',
      'spec.containers[0].ports[1].containerPort: Invalid value: 70000',
      'spec.containers[0].ports[2].protocol: Unsupported value: "HTTP"',
    ]);
  },

  'conditions merge by type': async (client) => {
    const path = await podsPath(client);
    await client.ok('POST', path, pod('p'));
    const first = await patchStatus(client, `${path}/p`, {
      phase: 'Running',
      podIP: '10.1.0.1',
      podIPs: [{ ip: '10.1.0.1' }],
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-02T03:04:05Z' }],
    });
    assert.deepEqual(first, {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: '2026-01-02T03:04:05Z' }],
      podIP: '10.1.0.1',
      podIPs: [{ ip: '10.1.0.1' }],
      qosClass: 'BestEffort',
    });
    const second = await patchStatus(client, `${path}/p`, {
      conditions: [
        { type: 'Ready', status: 'False' },
        { type: 'Other', status: 'True' },
      ],
    });
    assert.deepEqual(second.conditions, [
      { type: 'Ready', status: 'False', lastProbeTime: null, lastTransitionTime: '2026-01-02T03:04:05Z' },
      { type: 'Other', status: 'True', lastProbeTime: null, lastTransitionTime: null },
    ]);
    assert.equal(second.podIP, '10.1.0.1');
  },

  'podIP and podIPs are one value': async (client) => {
    const path = await podsPath(client);
    await client.ok('POST', path, pod('p'));
    const ips = async (status: object, contentType = MERGE): Promise<unknown[]> => {
      const { podIP, podIPs } = await patchStatus(client, `${path}/p`, status, contentType);
      return [podIP, podIPs];
    };
    assert.deepEqual(await ips({ podIP: '10.1.0.1' }), ['10.1.0.1', [{ ip: '10.1.0.1' }]]);
    assert.deepEqual(await ips({ podIP: '10.1.0.2' }), ['10.1.0.2', [{ ip: '10.1.0.2' }]]);
    assert.deepEqual(await ips({ podIP: null, podIPs: null }), [undefined, undefined]);
    assert.deepEqual(await ips({ podIPs: [{ ip: '10.1.0.3' }, { ip: '2001:db8::3' }] }), [
      '10.1.0.3',
      [{ ip: '10.1.0.3' }, { ip: '2001:db8::3' }],
    ]);
  },

  'an invalid podIP is refused': async (client) => {
    const path = await podsPath(client);
    await client.ok('POST', path, pod('p'));
    const { status, body } = await client.call(
      'PATCH',
      `${path}/p/status`,
      { status: { podIP: '10.1.0.x' } },
      { contentType: MERGE },
    );
    assert.equal(status, 422);
    assert.equal(
      body.message,
      'Pod "p" is invalid: status.podIPs[0]: Invalid value: "10.1.0.x": must be a valid IP address, ' +
        '(e.g. 10.9.8.7 or 2001:db8::ffff)',
    );
  },

  'the status and the rest are written apart': async (client) => {
    const path = await podsPath(client);
    await client.ok('POST', path, pod('p'));
    await patchStatus(client, `${path}/p`, { phase: 'Running' });
    const main = await client.ok(
      'PATCH',
      `${path}/p`,
      { metadata: { labels: { a: 'b' } }, status: { phase: 'Failed' } },
      { contentType: MERGE },
    );
    assert.deepEqual([main.metadata.labels, main.status.phase], [{ a: 'b' }, 'Running']);
    const status = await client.ok('PUT', `${path}/p/status`, {
      metadata: { name: 'p' },
      status: { phase: 'Succeeded' },
    });
    assert.deepEqual([status.status.phase, status.spec.nodeName], ['Succeeded', 'n1']);
    assert.equal((await client.ok('GET', `${path}/p/status`)).status.phase, 'Succeeded');
  },

  'a node cannot be changed once it is set': async (client) => {
    const path = await podsPath(client);
    await client.ok('POST', path, pod('p'));
    const { status, body } = await client.call(
      'PATCH',
      `${path}/p`,
      { spec: { nodeName: 'n2' } },
      { contentType: MERGE },
    );
    assert.equal(status, 422);
    assert.deepEqual([body.details.causes[0].reason, body.details.causes[0].field], ['FieldValueForbidden', 'spec']);
    assert.match(
      body.message,
      /^Pod "p" is invalid: spec: Forbidden: pod updates may not change fields other than `spec.containers\[\*\].image`/,
    );
  },

  'an image can be changed, which gives a new generation': async (client) => {
    const path = await podsPath(client);
    await client.ok('POST', path, pod('p'));
    const spec = { containers: [{ name: 'c', image: 'i:2' }] };
    const patched = await client.ok('PATCH', `${path}/p`, { spec }, { contentType: STRATEGIC });
    assert.deepEqual([patched.spec.containers[0].image, patched.metadata.generation], ['i:2', 2]);
  },

  'a pod on a node gets time to end': async (client) => {
    const path = await podsPath(client);
    const { metadata } = await client.ok('POST', path, pod('p'));
    const events = await client.watch(`${path}?watch=1&resourceVersion=${metadata.resourceVersion}`);
    const marked = await client.ok('DELETE', `${path}/p`);
    assert.deepEqual([marked.metadata.deletionGracePeriodSeconds, marked.metadata.generation], [30, 2]);
    assert.ok(Math.abs(Date.parse(marked.metadata.deletionTimestamp) - Date.now() - 30_000) < 20_000);
    const again = await client.ok('DELETE', `${path}/p`);
    assert.equal(again.metadata.resourceVersion, marked.metadata.resourceVersion);
    const gone = await client.ok('DELETE', `${path}/p`, { gracePeriodSeconds: 0 });
    assert.equal(gone.metadata.deletionGracePeriodSeconds, 0);
    assert.equal((await client.call('GET', `${path}/p`)).status, 404);
    const seen = await events.take(3);
    events.close();
    assert.deepEqual(
      seen.map(({ type, object }) => [type, object.metadata.deletionGracePeriodSeconds]),
      [
        ['MODIFIED', 30],
        ['MODIFIED', 0],
        ['DELETED', 0],
      ],
    );
    assert.equal(seen[2]!.object.metadata.resourceVersion, gone.metadata.resourceVersion);
  },

  'the grace period can be chosen, and shortened': async (client) => {
    const path = await podsPath(client);
    await client.ok('POST', path, pod('p', { terminationGracePeriodSeconds: 100 }));
    const first = await client.ok('DELETE', `${path}/p?gracePeriodSeconds=50`);
    assert.equal(first.metadata.deletionGracePeriodSeconds, 50);
    const longer = await client.ok('DELETE', `${path}/p`, { gracePeriodSeconds: 60 });
    assert.equal(longer.metadata.deletionGracePeriodSeconds, 50);
    const shorter = await client.ok('DELETE', `${path}/p`, { gracePeriodSeconds: 10 });
    assert.equal(shorter.metadata.deletionGracePeriodSeconds, 10);
  },

  'a pod without a node, or at its end, goes at once': async (client) => {
    const path = await podsPath(client);
    const { metadata } = await client.ok('POST', path, pod('p', { nodeName: '' }));
    await client.ok('POST', path, pod('q'));
    await patchStatus(client, `${path}/q`, { phase: 'Succeeded' });
    await client.ok('DELETE', `${path}/p`);
    await client.ok('DELETE', `${path}/q`);
    assert.deepEqual((await client.ok('GET', path)).items, []);
    const events = await client.watch(`${path}?watch=1&resourceVersion=${metadata.resourceVersion}`);
    const seen = await events.take(6);
    events.close();
    assert.deepEqual(
      seen.map(({ type, object }) => `${type} ${object.metadata.name}`),
      ['ADDED q', 'MODIFIED q', 'MODIFIED p', 'DELETED p', 'MODIFIED q', 'DELETED q'],
    );
  },

  'finalizers hold a pod beyond its grace period': async (client) => {
    const path = await podsPath(client);
    await client.ok('POST', path, { ...pod('p'), metadata: { name: 'p', finalizers: ['x.y/z'] } });
    const held = await client.ok('DELETE', `${path}/p`, { gracePeriodSeconds: 0 });
    assert.deepEqual([held.metadata.deletionGracePeriodSeconds, held.metadata.finalizers], [0, ['x.y/z']]);
    await client.ok('PATCH', `${path}/p`, { metadata: { finalizers: null } }, { contentType: MERGE });
    assert.equal((await client.call('GET', `${path}/p`)).status, 404);
  },
};
