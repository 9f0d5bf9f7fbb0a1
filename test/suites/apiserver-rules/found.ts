import { create, get, jsonPatch, merge, put, remove, type Script } from '../apiserver-script.ts';

const SPEC = { ports: [{ port: 80 }] };

/** What seeded stories of requests have shown, told by hand. */
export const FOUND_SCRIPTS: Readonly<Record<string, Script>> = {
  'Service: the allocator of addresses refuses a name before the rules of names do': {
    steps: [
      create('services', { metadata: { name: '' }, spec: SPEC }),
      create('services', { metadata: { name: '..' }, spec: SPEC }),
      create('services', { metadata: { name: 'a/b%' }, spec: SPEC }),
      create('services', { metadata: { name: 'a/b' }, spec: { ...SPEC, clusterIP: '10.96.77.1' } }),
      create('services', { metadata: { name: 'a/b' }, spec: { ...SPEC, clusterIP: 'None' } }),
      create('services', { metadata: { name: 'A' }, spec: SPEC }),
    ],
    sees: [
      '422',
      '  spec.clusterIPs: Invalid value: [""]: failed to allocate IP: IPAddress.networking.k8s.io "<given>" is invalid: spec.parentRef.name: Required value',
      '422',
      '  spec.clusterIPs: Invalid value: [""]: failed to allocate IP: IPAddress.networking.k8s.io "<given>" is invalid: spec.parentRef.name: Invalid value: "..": may not be \'..\'',
      '422',
      '  spec.clusterIPs: Invalid value: [""]: failed to allocate IP: IPAddress.networking.k8s.io "<given>" is invalid: [spec.parentRef.name: Invalid value: "a/b%": may not contain \'/\', spec.parentRef.name: Invalid value: "a/b%": may not contain \'%\']',
      '422',
      '  spec.clusterIPs: Invalid value: ["10.96.77.1"]: failed to allocate IP 10.96.77.1: IPAddress.networking.k8s.io "10.96.77.1" is invalid: spec.parentRef.name: Invalid value: "a/b": may not contain \'/\'',
      '422',
      '  metadata.name: Invalid value: "a/b": <no label>',
      '422',
      '  metadata.name: Invalid value: "A": <no label>',
    ],
  },
  'Service status: a PUT makes a Service that stays without an address': {
    steps: [
      put('services/a/status', {
        spec: { ...SPEC, type: 'NodePort' },
        status: { loadBalancer: { ingress: [{ ip: '10.0.0.1' }] } },
      }),
      put('services/a', { spec: SPEC }),
      merge('services/a', { spec: { selector: { a: 'b' } } }),
      put('services/b/status', { metadata: { name: 'b' }, spec: {} }),
      put('services/c/status', { metadata: { name: 'c', uid: 'u' }, spec: SPEC }),
      merge('services/c/status', {}),
      put('pods/c/status', { metadata: { name: 'c' }, spec: {} }),
    ],
    sees: [
      '201',
      '  spec = {"externalTrafficPolicy":"Cluster","internalTrafficPolicy":"Cluster","ports":[{"port":80,"protocol":"TCP","targetPort":80}],"sessionAffinity":"None","type":"NodePort"}',
      '  status = {"loadBalancer":{}}',
      '200',
      '  spec = {"internalTrafficPolicy":"Cluster","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","ports":[{"port":80,"protocol":"TCP","targetPort":80}],"sessionAffinity":"None","type":"ClusterIP"}',
      '  status = {"loadBalancer":{}}',
      '200',
      '  spec = {"internalTrafficPolicy":"Cluster","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","ports":[{"port":80,"protocol":"TCP","targetPort":80}],"selector":{"a":"b"},"sessionAffinity":"None","type":"ClusterIP"}',
      '  status = {"loadBalancer":{}}',
      '422',
      '  spec.ports: Required value',
      '409',
      '  Conflict: Operation cannot be fulfilled on services "c": StorageError: invalid object, Code: 4, Key: /registry/services/specs/NS/c, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: u, UID in object meta: ',
      '404',
      '  NotFound: services "c" not found',
      '404',
      '  NotFound: pods "c" not found',
    ],
  },
  'Node: amounts beyond 64 bits in thousandths are no whole numbers': {
    steps: [
      create('/api/v1/nodes', { metadata: { name: 'NS-a' }, status: { capacity: { 'example.com/x': '1Ei' } } }),
      create(
        '/api/v1/nodes',
        { metadata: { name: 'NS-a' }, status: { capacity: { 'example.com/x': '9223372036854775' } } },
        'status.capacity',
      ),
      put('/api/v1/nodes/NS-a/status', {
        metadata: { name: 'NS-a' },
        status: { capacity: { 'example.com/x': '9223372036854776' } },
      }),
    ],
    sees: [
      '422',
      '  status.capacity.example.com/x: Invalid value: "1Ei": must be an integer',
      '  status.allocatable.example.com/x: Invalid value: "1Ei": must be an integer',
      '201',
      '  status.capacity = {"example.com/x":"9223372036854775"}',
      '422',
      '  status.capacity.example.com/x: Invalid value: "9223372036854776": must be an integer',
      '  status.allocatable.example.com/x: Invalid value: "9223372036854776": must be an integer',
    ],
  },
  'JSON patch: an absent field passes a test for null': {
    steps: [
      create('endpoints', { metadata: { labels: { a: 'b' } } }, 'kind'),
      jsonPatch('endpoints/a', [{ op: 'test', path: '/subsets', value: null }], 'kind'),
      jsonPatch('endpoints/a', [{ op: 'test', path: '/metadata/labels/x' }], 'kind'),
      jsonPatch('endpoints/a', [{ op: 'test', path: '/metadata/labels/a', value: null }]),
      jsonPatch('endpoints/a', [{ op: 'test', path: '/subsets/0', value: null }]),
    ],
    sees: [
      '201',
      '  kind = "Endpoints"',
      '200',
      '  kind = "Endpoints"',
      '200',
      '  kind = "Endpoints"',
      '422',
      '  Invalid: the server rejected our request due to an error in our request',
      '422',
      '  Invalid: the server rejected our request due to an error in our request',
    ],
  },
  'create: an object of the name that is being deleted is in the way': {
    steps: [
      create('endpoints', { metadata: { finalizers: ['a.b/c'] } }, 'kind'),
      remove('endpoints/a', {}, 'kind'),
      create('endpoints', {}),
    ],
    sees: [
      '201',
      '  kind = "Endpoints"',
      '200',
      '  kind = "Endpoints"',
      '409',
      '  AlreadyExists: object is being deleted: endpoints "a" already exists',
    ],
  },
  'Pod: an image with the name of a digest is pulled like one': {
    steps: ['a', 'b'].map((name, at) =>
      create(
        'pods',
        { metadata: { name }, spec: { containers: [{ name: 'c', image: 'a'.repeat(64 - at) }] } },
        'spec.containers.0.imagePullPolicy',
      ),
    ),
    sees: [
      '201',
      '  spec.containers.0.imagePullPolicy = "IfNotPresent"',
      '201',
      '  spec.containers.0.imagePullPolicy = "Always"',
    ],
  },
  'path: unserved groups are 404': {
    steps: [
      get('/apis/none.example.com/v1/endpoints'),
      create('/apis/none.example.com/v1/namespaces/NS/endpoints', {}),
      remove('/apis/none.example.com/v1/namespaces/NS/endpoints/a/status'),
      get('/apis/discovery.k8s.io/v9/endpointslices'),
      get('/apis/none.example.com'),
    ],
    sees: [
      '404',
      '  text/plain; charset=utf-8: 404 page not found\n',
      '404',
      '  text/plain; charset=utf-8: 404 page not found\n',
      '404',
      '  text/plain; charset=utf-8: 404 page not found\n',
      '404',
      '  NotFound: the server could not find the requested resource',
      '404',
      '  text/plain; charset=utf-8: 404 page not found\n',
    ],
  },
};
