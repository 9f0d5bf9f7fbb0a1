import assert from 'node:assert/strict';
import type { Case } from './apiserver.ts';
import { MERGE, plain, STRATEGIC, type Client, type Json } from './apiserver-client.ts';

async function servicesPath(client: Client): Promise<string> {
  return `/api/v1/namespaces/${await client.namespace()}/services`;
}

async function created(client: Client, spec: object): Promise<Json> {
  return (await client.ok('POST', await servicesPath(client), { metadata: { name: 'a' }, spec })).spec;
}

async function refused(client: Client, spec: object, name = 'a'): Promise<string[]> {
  const { status, body } = await client.call('POST', await servicesPath(client), { metadata: { name }, spec });
  assert.equal(status, 422);
  return body.details.causes.map(({ field, message }: Json) => `${field}: ${message}`);
}

const CLUSTER_IP = /^10\.(9[6-9]|10[0-9]|11[01])\.[0-9]+\.[0-9]+$/;
const PORTS = { ports: [{ port: 80 }] };
const SINGLE = { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' };

export const SERVICE_CASES: Readonly<Record<string, Case>> = {
  'Service: a plain type gets its defaults': async (client) => {
    const { clusterIP, clusterIPs, ...spec } = await created(client, { selector: { app: 'a' }, ...PORTS });
    assert.match(clusterIP, CLUSTER_IP);
    assert.deepEqual(clusterIPs, [clusterIP]);
    assert.deepEqual(spec, {
      ports: [{ protocol: 'TCP', port: 80, targetPort: 80 }],
      selector: { app: 'a' },
      type: 'ClusterIP',
      sessionAffinity: 'None',
      internalTrafficPolicy: 'Cluster',
      ...SINGLE,
    });
  },

  'Service: a create drops its status': async (client) => {
    const path = await servicesPath(client);
    const service = await client.ok('POST', path, {
      metadata: { name: 'a' },
      spec: PORTS,
      status: { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } },
    });
    assert.deepEqual(service.status, { loadBalancer: {} });
    assert.equal(service.metadata.generation, undefined);
  },

  'Service: a headless one has no address': async (client) => {
    const spec = await created(client, { clusterIP: 'None', selector: { app: 'a' } });
    assert.deepEqual(spec, {
      selector: { app: 'a' },
      clusterIP: 'None',
      clusterIPs: ['None'],
      type: 'ClusterIP',
      sessionAffinity: 'None',
      internalTrafficPolicy: 'Cluster',
      ...SINGLE,
    });
  },

  'Service: headless without a selector takes both families': async (client) => {
    const { ipFamilies, ipFamilyPolicy } = await created(client, { clusterIP: 'None' });
    assert.deepEqual([ipFamilies, ipFamilyPolicy], [['IPv4', 'IPv6'], 'RequireDualStack']);
  },

  'Service: an empty selector counts as absent': async (client) => {
    const spec = await created(client, { selector: {}, ...PORTS });
    assert.equal(spec.selector, undefined);
  },

  'Service: NodePort gets node ports': async (client) => {
    const spec = await created(client, {
      type: 'NodePort',
      ports: [
        { port: 80, name: 'x' },
        { port: 81, name: 'y', protocol: 'UDP', targetPort: 'http' },
      ],
    });
    const [x, y] = spec.ports;
    assert.deepEqual([x.targetPort, y.targetPort, y.protocol], [80, 'http', 'UDP']);
    assert.ok(x.nodePort >= 30_000 && x.nodePort <= 32_767 && y.nodePort !== x.nodePort);
    assert.deepEqual([spec.externalTrafficPolicy, spec.allocateLoadBalancerNodePorts], ['Cluster', undefined]);
  },

  'Service: LoadBalancer may have session affinity': async (client) => {
    const spec = await created(client, { type: 'LoadBalancer', sessionAffinity: 'ClientIP', ...PORTS });
    assert.ok(spec.ports[0].nodePort >= 30_000);
    assert.deepEqual([spec.externalTrafficPolicy, spec.allocateLoadBalancerNodePorts], ['Cluster', true]);
    assert.deepEqual(spec.sessionAffinityConfig, { clientIP: { timeoutSeconds: 10_800 } });
  },

  'Service: ExternalName has no address': async (client) => {
    const spec = await created(client, { type: 'ExternalName', externalName: 'foo.example' });
    assert.deepEqual(spec, { type: 'ExternalName', sessionAffinity: 'None', externalName: 'foo.example' });
    assert.deepEqual(await refused(client, { type: 'ExternalName' }), ['spec.externalName: Required value']);
  },

  'Service: PreferDualStack gets one family where the server has one': async (client) => {
    const { ipFamilies, ipFamilyPolicy } = await created(client, { ipFamilyPolicy: 'PreferDualStack', ...PORTS });
    assert.deepEqual([ipFamilies, ipFamilyPolicy], [['IPv4'], 'PreferDualStack']);
    assert.deepEqual(await refused(client, { ipFamilyPolicy: 'RequireDualStack', ...PORTS }), [
      'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
    ]);
  },

  'Service: ports are needed, unless it is headless': async (client) => {
    assert.deepEqual(await refused(client, {}), ['spec.ports: Required value']);
  },

  'Service: several ports need names': async (client) => {
    const label =
      "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with " +
      "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
      "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
    assert.deepEqual(await refused(client, { ports: [{ port: 80 }, { port: 80, name: 'X' }] }, 'A_'), [
      `metadata.name: Invalid value: "A_": ${label}`,
      'spec.ports[0].name: Required value',
      `spec.ports[1].name: Invalid value: "X": ${label}`,
      'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}',
    ]);
  },

  'Service: fields with rules of their own are validated': async (client) => {
    const selector = { 'a b': '-' };
    const [targetPort, key, value] = await refused(client, { ports: [{ port: 80, targetPort: 'A_b' }], selector });
    const letters = 'must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)';
    assert.equal(targetPort, `spec.ports[0].targetPort: Invalid value: "A_b": ${letters}`);
    assert.match(key!, /^spec.selector: Invalid value: "a b": name part must consist of/);
    assert.match(value!, /^spec.selector: Invalid value: "-": a valid label must be/);
    const odd = { type: 'Foo', sessionAffinity: 'Bar', ports: [{ port: 80, protocol: 'X' }] };
    assert.deepEqual(await refused(client, odd), [
      'spec.ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
      'spec.sessionAffinity: Unsupported value: "Bar": supported values: "ClientIP", "None"',
      'spec.type: Unsupported value: "Foo": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
    ]);
    const external = await refused(client, { type: 'ExternalName', externalName: 'A_b', clusterIP: '1.2.3.4' });
    assert.equal(external[0], 'spec.clusterIPs: Forbidden: may not be set for ExternalName services');
    assert.match(
      external[1]!,
      /^spec.externalName: Invalid value: "A_b": a lowercase RFC 1123 subdomain must consist of/,
    );
  },

  'Service: impossible addresses and families are refused': async (client) => {
    const several = "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified";
    for (const [spec, expected] of [
      [
        { clusterIP: 'foo' },
        ['spec.clusterIPs[0]: Invalid value: "foo": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
      ],
      [
        { clusterIP: '10.96.3.3', clusterIPs: ['10.96.3.4'] },
        ['spec.clusterIPs: Invalid value: ["10.96.3.4"]: first value must match `clusterIP`'],
      ],
      [
        { clusterIP: 'None', type: 'NodePort' },
        [`spec.clusterIPs[0]: Invalid value: "None": may not be set to 'None' for NodePort services`],
      ],
      [
        { clusterIP: 'None', selector: { a: 'b' }, ipFamilies: ['IPv6', 'IPv4'] },
        [`spec.ipFamilyPolicy: Invalid value: "SingleStack": ${several}`],
      ],
      [
        { clusterIP: 'None', ipFamilies: ['IPv7'], ipFamilyPolicy: 'X' },
        [
          'spec.ipFamilies[0]: Unsupported value: "IPv7": supported values: "IPv4", "IPv6"',
          'spec.ipFamilyPolicy: Unsupported value: "X": supported values: "PreferDualStack", "RequireDualStack", "SingleStack"',
        ],
      ],
    ] as const) {
      assert.deepEqual(await refused(client, { ...spec, ...PORTS }), expected);
    }
  },

  'Service: impossible node ports are refused': async (client) => {
    const { ports } = await created(client, { type: 'NodePort', ...PORTS });
    const { nodePort } = ports[0];
    const causes = (port: number): Promise<string[]> =>
      refused(client, { type: 'NodePort', ports: [{ port: 80, nodePort: port }] });
    assert.deepEqual(await causes(nodePort), [
      `spec.ports[0].nodePort: Invalid value: ${nodePort}: provided port is already allocated`,
    ]);
    assert.deepEqual(await causes(40), [
      'spec.ports[0].nodePort: Invalid value: 40: provided port is not in the valid range. The range of valid ports is 30000-32767',
    ]);
  },

  'Service: an address that is taken or out of range is refused': async (client) => {
    const { clusterIP } = await created(client, PORTS);
    assert.deepEqual(await refused(client, { clusterIP, ...PORTS }), [
      `spec.clusterIPs: Invalid value: ["${clusterIP}"]: failed to allocate IP ${clusterIP}: provided IP is already allocated`,
    ]);
    const [cause] = await refused(client, { clusterIP: '1.2.3.4', ...PORTS });
    assert.match(
      cause!,
      /^spec.clusterIPs: Invalid value: \["1.2.3.4"\]: failed to allocate IP 1.2.3.4: the provided network does not match the current range$/,
    );
  },

  'Service: an address is free again after a delete': async (client) => {
    const path = await servicesPath(client);
    // kube-apiserver's repair of addresses may reserve that of a Service anew while the Service is deleted. Another address
    // is tried then.
    const answers: Json[] = [];
    for (let tries = 0; tries < 3 && answers.at(-1)?.kind !== 'Service'; tries++) {
      const { spec } = await client.ok('POST', path, { metadata: { name: `a${tries}` }, spec: PORTS });
      await client.ok('DELETE', `${path}/a${tries}`);
      const again = { metadata: { name: 'b' }, spec: { clusterIP: spec.clusterIP, ...PORTS } };
      answers.push((await client.call('POST', path, again)).body);
    }
    assert.equal(answers.pop()!.kind, 'Service');
    for (const { message } of answers) assert.match(message, /: provided IP is already allocated$/);
  },

  'Service: an update keeps addresses that it leaves out': async (client) => {
    const path = await servicesPath(client);
    const first = await client.ok('POST', path, { metadata: { name: 'a' }, spec: { type: 'NodePort', ...PORTS } });
    const second = await client.ok('PUT', `${path}/a`, {
      metadata: { name: 'a' },
      spec: { type: 'NodePort', selector: { app: 'b' }, ...PORTS },
    });
    assert.deepEqual(second.spec, { ...first.spec, selector: { app: 'b' } });
  },

  'Service: its address cannot change': async (client) => {
    const path = await servicesPath(client);
    await client.ok('POST', path, { metadata: { name: 'a' }, spec: PORTS });
    const { status, body } = await client.call(
      'PATCH',
      `${path}/a`,
      { spec: { clusterIP: 'None', clusterIPs: ['None'] } },
      { contentType: MERGE },
    );
    assert.equal(status, 422);
    assert.deepEqual(body.details.causes, [
      {
        reason: 'FieldValueInvalid',
        message: 'Invalid value: ["None"]: may not change once set',
        field: 'spec.clusterIPs[0]',
      },
    ]);
  },

  'Service: a selector can be changed and removed': async (client) => {
    const path = await servicesPath(client);
    await client.ok('POST', path, { metadata: { name: 'a' }, spec: { selector: { a: 'b' }, ...PORTS } });
    const changed = await client.ok(
      'PATCH',
      `${path}/a`,
      { spec: { selector: { c: 'd' } } },
      { contentType: STRATEGIC },
    );
    assert.deepEqual(changed.spec.selector, { a: 'b', c: 'd' });
    const removed = await client.ok('PATCH', `${path}/a`, { spec: { selector: null } }, { contentType: MERGE });
    assert.equal(removed.spec.selector, undefined);
  },

  'Service: ports merge by their number': async (client) => {
    const path = await servicesPath(client);
    await client.ok('POST', path, { metadata: { name: 'a' }, spec: { ports: [{ name: 'x', port: 80 }] } });
    const { spec } = await client.ok(
      'PATCH',
      `${path}/a`,
      { spec: { ports: [{ name: 'y', port: 81 }] } },
      { contentType: STRATEGIC },
    );
    // How the server orders them is its own business.
    assert.deepEqual(spec.ports.map((port: Json) => port.name).sort(), ['x', 'y']);
  },

  'Service: it can become ExternalName, and ClusterIP again': async (client) => {
    const path = await servicesPath(client);
    await client.ok('POST', path, { metadata: { name: 'a' }, spec: PORTS });
    const external = await client.ok('PUT', `${path}/a`, {
      metadata: { name: 'a' },
      spec: { type: 'ExternalName', externalName: 'x.y', ...PORTS },
    });
    assert.deepEqual(
      [external.spec.clusterIP, external.spec.clusterIPs, external.spec.ipFamilies],
      [undefined, undefined, undefined],
    );
    const back = await client.ok('PUT', `${path}/a`, { metadata: { name: 'a' }, spec: PORTS });
    assert.match(back.spec.clusterIP, CLUSTER_IP);
    assert.deepEqual(back.spec.ipFamilies, ['IPv4']);
  },

  'Service: status is written apart': async (client) => {
    const path = await servicesPath(client);
    const spec = { type: 'LoadBalancer', ...PORTS };
    await client.ok('POST', path, { metadata: { name: 'a' }, spec });
    const status = { loadBalancer: { ingress: [{ hostname: 'lb.example' }] } };
    const patched = await client.ok('PATCH', `${path}/a/status`, { status }, { contentType: MERGE });
    assert.deepEqual(patched.status, { loadBalancer: { ingress: [{ hostname: 'lb.example' }] } });
    const put = await client.ok('PUT', `${path}/a`, { metadata: { name: 'a' }, spec, status: {} });
    assert.deepEqual(put.status, patched.status);
  },

  'Service: only a load balancer has an address in its status': async (client) => {
    const path = await servicesPath(client);
    await client.ok('POST', path, { metadata: { name: 'a' }, spec: PORTS });
    const status = { loadBalancer: { ingress: [{ hostname: 'lb.example' }] } };
    const refused = await client.call('PATCH', `${path}/a/status`, { status }, { contentType: MERGE });
    assert.equal(refused.status, 422);
    assert.deepEqual(
      refused.body.details.causes.map(({ field, message }: Json) => `${field}: ${message}`),
      ["status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"],
    );
  },

  'Namespace: a create sets the defaults': async ({ call }) => {
    const { status, body } = await call('POST', '/api/v1/namespaces', {
      metadata: { generateName: 'case-', labels: { a: 'b' } },
    });
    assert.equal(status, 201);
    const { name } = body.metadata;
    assert.deepEqual(plain(body), {
      kind: 'Namespace',
      apiVersion: 'v1',
      metadata: { name, generateName: 'case-', labels: { a: 'b', 'kubernetes.io/metadata.name': name } },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    });
  },

  'Namespace: those of the system exist': async ({ ok }) => {
    const { items } = await ok('GET', '/api/v1/namespaces');
    const names: string[] = items.map((item: Json) => item.metadata.name);
    const system = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];
    assert.deepEqual(
      names.filter((name) => system.includes(name)),
      system,
    );
  },

  'the kubernetes Service and its Endpoints exist': async ({ ok }) => {
    const service = await ok('GET', '/api/v1/namespaces/default/services/kubernetes');
    assert.deepEqual([service.spec.selector, service.spec.ports[0].name], [undefined, 'https']);
    const endpoints = await ok('GET', '/api/v1/namespaces/default/endpoints/kubernetes');
    assert.equal(endpoints.metadata.labels['endpointslice.kubernetes.io/skip-mirror'], 'true');
    assert.equal(endpoints.subsets.length, 1);
  },

  'Node: allocatable defaults to the capacity': async ({ ok }) => {
    const name = `node-${Math.floor(Math.random() * 1e9)}`;
    const node = await ok('POST', '/api/v1/nodes', { metadata: { name }, status: { capacity: { cpu: '4' } } });
    assert.deepEqual([node.spec, node.status.allocatable, node.status.nodeInfo.osImage], [{}, { cpu: '4' }, '']);
    const conditions = [{ type: 'Ready', status: 'True' }];
    const patched = await ok(
      'PATCH',
      `/api/v1/nodes/${name}/status`,
      { status: { conditions } },
      { contentType: STRATEGIC },
    );
    assert.deepEqual(patched.status.conditions, [
      { type: 'Ready', status: 'True', lastHeartbeatTime: null, lastTransitionTime: null },
    ]);
    await ok('DELETE', `/api/v1/nodes/${name}`);
  },

  'Event: it is created, and counted by a patch': async ({ ok, namespace }) => {
    const ns = await namespace();
    const path = `/api/v1/namespaces/${ns}/events`;
    const event = {
      metadata: { name: 'e' },
      involvedObject: { kind: 'Pod', namespace: ns, name: 'p' },
      reason: 'R',
      message: 'm',
      type: 'Warning',
      count: 1,
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:00Z',
      source: { component: 'c' },
    };
    const stored = {
      kind: 'Event',
      apiVersion: 'v1',
      ...event,
      eventTime: null,
      reportingComponent: '',
      reportingInstance: '',
    };
    assert.deepEqual(plain(await ok('POST', path, event)), plain(stored));
    const patch = { count: 2, lastTimestamp: '2026-01-01T00:01:00Z' };
    const patched = await ok('PATCH', `${path}/e`, patch, { contentType: STRATEGIC });
    assert.deepEqual(plain(patched), plain({ ...stored, ...patch }));
  },

  'Event: it cannot be of an object in another namespace': async ({ call, namespace }) => {
    const path = `/api/v1/namespaces/${await namespace()}/events`;
    const { status, body } = await call('POST', path, {
      metadata: { name: 'e' },
      involvedObject: { namespace: 'other' },
    });
    assert.equal(status, 422);
    assert.equal(
      body.message,
      'Event "e" is invalid: involvedObject.namespace: Invalid value: "other": does not match event.namespace',
    );
  },

  'Lease: times have microseconds': async ({ ok, call, namespace }) => {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${await namespace()}/leases`;
    const spec = {
      holderIdentity: 'x',
      leaseDurationSeconds: 15,
      renewTime: '2026-01-01T00:00:00.123456Z',
      leaseTransitions: 0,
    };
    assert.deepEqual((await ok('POST', path, { metadata: { name: 'a' }, spec })).spec, spec);
    const whole = { ...spec, renewTime: '2026-01-01T00:00:00Z' };
    const { status, body } = await call('POST', path, { metadata: { name: 'b' }, spec: whole });
    assert.deepEqual([status, body.reason], [400, 'BadRequest']);
    assert.match(
      body.message,
      /^Lease in version "v1" cannot be handled as a Lease: parsing time "2026-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00"/,
    );
  },

  'Lease: invalid fields are refused': async ({ call, namespace }) => {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${await namespace()}/leases`;
    const { status, body } = await call('POST', path, {
      metadata: { name: 'a' },
      spec: { leaseDurationSeconds: 0, leaseTransitions: -1 },
    });
    assert.equal(status, 422);
    assert.equal(
      body.message,
      'Lease.coordination.k8s.io "a" is invalid: [spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0, ' +
        'spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0]',
    );
  },
};
