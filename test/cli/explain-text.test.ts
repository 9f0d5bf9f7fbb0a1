/** What `explain` says of a pod, one case for each rule that leaves it out, or in as not ready. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { POD_HEAD, podCells, podLines } from '../../src/cli/explain/explain-text.ts';
import { mirroredAddresses } from '../../src/core/explain/mirroring.ts';
import { leftOutText } from '../../src/core/explain/reasons.ts';
import {
  type ExplainConfig,
  explainService,
  type Seen,
  type ServiceExplanation,
} from '../../src/core/explain/service.ts';
import type { CpuShares } from '../../src/core/slices/cpu-shares.ts';
import { emptyOutput } from '../../src/kube/record.ts';
import type { Endpoint, Endpoints, EndpointSlice, OutputRecord, ServiceRecord } from '../../src/kube/types.ts';
import { EXPLAIN_CONFIG } from '../support/explain.ts';
import { labelsFromRecord } from '../support/labels.ts';
import { makePod, makeService, makeServicePort } from '../support/records.ts';
import { manyPods } from '../core/slices/slices-world.ts';

type Service = Parameters<typeof makeService>[0];
type Pod = Parameters<typeof makePod>[1];

interface World {
  readonly service?: Service;
  readonly pod?: Pod;
  readonly zones?: Readonly<Record<string, string>> | null;
  readonly others?: Seen['pods'];
  readonly allPods?: boolean;
  readonly shares?: CpuShares;
  readonly config?: Partial<ExplainConfig>;
}

function explain({
  service,
  pod,
  zones = { 'node-1': 'a' },
  others = [],
  allPods = true,
  shares,
  config,
}: World): ServiceExplanation {
  const seen: Seen = {
    service: makeService(service),
    pods: [makePod('p', pod), ...others],
    asked: null,
    allPods,
    zones: zones === null ? null : new Map(Object.entries(zones)),
    shares: shares ?? null,
    endpoints: undefined,
    slices: [],
  };
  return explainService(seen, { ...EXPLAIN_CONFIG, ...config });
}

const NOTHING: Omit<Seen, 'service'> = {
  pods: [],
  asked: null,
  allPods: true,
  zones: null,
  shares: null,
  endpoints: null,
  slices: [],
};

/** What the columns of the pod say, those that are not about the rules left out. */
function said(world: World): string {
  const { unplanned, pods } = explain(world);
  if (unplanned !== '') return unplanned;
  const cells = podCells(pods[0]!);
  return ['ENDPOINTS', 'SLICES', 'HINTS', 'WHY']
    .map((column) =>
      cells[POD_HEAD.indexOf(column as (typeof POD_HEAD)[number])]!.replaceAll(/ \((?:in none yet|not read)\)/g, ''),
    )
    .map((cell) => (cell === '' ? '-' : cell))
    .join(' | ');
}

const NONE = 'none: the Service asks for none';
const NAMED: Service = { ports: [makeServicePort({ targetPort: 'web' })] };
const TWO_NAMED: Service = {
  ports: [makeServicePort({ name: 'a', targetPort: 'web' }), makeServicePort({ name: 'b', targetPort: 'admin' })],
};
const AUTO: Service = { annotations: { 'service.kubernetes.io/topology-mode': 'Auto' } };
const HALVES: CpuShares = { version: 1, zones: ['a', 'b'].map((zone) => ({ zone, share: 0.5 })) };

function sharesOf(...zones: [zone: string, share: number][]): CpuShares {
  return { version: 1, zones: zones.map(([zone, share]) => ({ zone, share })) };
}

const cases: [rule: string, world: World, text: string][] = [
  ['all is well', {}, `ready | IPv4 ready | ${NONE} | -`],

  // docs/spec/endpoints.md "One sync", docs/spec/endpointslice.md "One sync"
  ['ExternalName', { service: { type: 'ExternalName' } }, 'the Service is of type ExternalName'],
  ['no selector', { service: { selector: null } }, 'the Service has no selector'],
  [
    'opted out',
    { service: { labels: { mine: '' } }, config: { optOutLabel: 'mine' } },
    'the Service has the label of --opt-out-label: its objects are left alone',
  ],
  [
    'a label has another value',
    { pod: { labels: { app: 'db' } } },
    'left out | IPv4 left out | - | label app is "db", the selector wants "web"',
  ],
  [
    'a label is missing',
    { service: { selector: { app: 'web', tier: 'a' } } },
    'left out | IPv4 left out | - | label tier is missing, the selector wants tier=a',
  ],
  ['an empty selector selects every pod', { service: { selector: {} } }, `ready | IPv4 ready | ${NONE} | -`],
  [
    'a Service on its way out gets no new slices',
    { service: { deleting: true } },
    'ready | IPv4 left out | - | IPv4: the Service is being deleted and gets no new slices',
  ],

  // docs/spec/endpoints.md "Which pods are included", docs/spec/endpointslice.md "Which pods count"
  ['Succeeded', { pod: { phase: 'Succeeded' } }, 'left out | IPv4 left out | - | its phase is Succeeded'],
  ['Failed', { pod: { phase: 'Failed' } }, 'left out | IPv4 left out | - | its phase is Failed'],
  [
    'no IP yet',
    { pod: { podIP: '', podIPs: [], phase: 'Pending' } },
    'left out | IPv4 left out | - | it has no IP yet: status.podIP and status.podIPs are empty',
  ],
  [
    'being deleted',
    { pod: { deleting: true } },
    `left out | IPv4 not ready, serving | none: the Service asks for none | Endpoints: it is being deleted, and the Service does not set publishNotReadyAddresses; IPv4: it is being deleted`,
  ],
  [
    'being deleted, and not ready',
    { pod: { deleting: true, ready: false } },
    `left out | IPv4 not ready | ${NONE} | Endpoints: it is being deleted, and the Service does not set publishNotReadyAddresses; IPv4: its condition Ready is not True`,
  ],
  [
    'being deleted, or ended by its kubelet',
    { pod: { deleting: true }, config: { kubeletShutdownIsTermination: true } },
    `left out | IPv4 not ready, serving | ${NONE} | Endpoints: it is being deleted, or its kubelet ends it (DisruptionTarget), and the Service does not set publishNotReadyAddresses; IPv4: it is being deleted, or its kubelet ends it (DisruptionTarget)`,
  ],
  [
    'being deleted, and published',
    { pod: { deleting: true }, service: { publishNotReadyAddresses: true } },
    `ready | IPv4 ready | ${NONE} | -`,
  ],

  // docs/spec/endpoints.md "Readiness"
  ['not ready', { pod: { ready: false } }, `not ready | IPv4 not ready | ${NONE} | its condition Ready is not True`],
  [
    'not ready, and published',
    { pod: { ready: false }, service: { publishNotReadyAddresses: true } },
    `ready | IPv4 ready | ${NONE} | -`,
  ],
  [
    'not ready, and published by the annotation of old',
    {
      pod: { ready: false },
      service: { annotations: { 'service.alpha.kubernetes.io/tolerate-unready-endpoints': 'true' } },
      config: { tolerateUnreadyEndpointsAnnotation: true },
    },
    `ready | IPv4 ready | ${NONE} | -`,
  ],

  // docs/spec/endpoints.md "Address and family", docs/spec/endpointslice.md "Address types"
  [
    'no address of the family',
    { service: { ipFamilies: ['IPv6'] } },
    'left out | IPv6 left out | - | Endpoints: status.podIPs: no IPv6 address, left out: "10.0.0.1"; IPv6: it has no address of a family of the Service',
  ],
  [
    'an address of one of two families',
    { service: { ipFamilies: ['IPv4', 'IPv6'] } },
    `ready | IPv4 ready, IPv6 left out | ${NONE} | IPv6: it has no address of a family of the Service`,
  ],
  [
    'an address that the API server refuses',
    { pod: { podIPs: ['127.0.0.1'] } },
    'left out | IPv4 left out | - | status.podIPs[0].ip: loopback, left out: "127.0.0.1"',
  ],
  [
    'a host name that the API server refuses',
    { pod: { hostname: 'not.a.label', subdomain: 'web' } },
    `ready | IPv4 ready | ${NONE} | spec.hostname: not a DNS label, left out: "not.a.label"`,
  ],

  // docs/spec/endpoints.md "Ports", docs/spec/endpointslice.md "Ports"
  [
    'no port of that name',
    { service: NAMED },
    `left out | IPv4 ready | ${NONE} | Endpoints: it offers none of the Service's ports: web/TCP`,
  ],
  [
    'the name with another protocol',
    { service: NAMED, pod: { ports: [{ name: 'web', containerPort: 80, protocol: 'UDP' }] } },
    `left out | IPv4 ready | ${NONE} | Endpoints: it offers none of the Service's ports: web/TCP`,
  ],
  [
    'one port of two',
    { service: TWO_NAMED, pod: { ports: [{ name: 'web', containerPort: 80, protocol: 'TCP' }] } },
    `ready | IPv4 ready | ${NONE} | -`,
  ],
  [
    'a Service without ports',
    { service: { ports: [] } },
    `left out | IPv4 ready | ${NONE} | Endpoints: the Service has no ports and is not headless`,
  ],
  [
    'a headless Service without ports',
    { service: { ports: [], clusterIP: 'None' } },
    `ready | IPv4 ready | ${NONE} | -`,
  ],

  // docs/spec/endpoints.md "Over capacity"
  [
    'over capacity, and not ready',
    { pod: { ready: false, podIPs: ['10.9.0.1'] }, others: manyPods(1000) },
    `left out | IPv4 not ready | ${NONE} | Endpoints: an Endpoints object holds 1000 addresses, those that are ready first; IPv4: its condition Ready is not True`,
  ],
  [
    'over capacity, and ready',
    { pod: { podIPs: ['99.0.0.1'] }, others: manyPods(1000) },
    `left out | IPv4 ready | ${NONE} | Endpoints: an Endpoints object holds 1000 addresses, those that are ready first`,
  ],

  // docs/spec/endpointslice.md "Nodes"
  ['a node that does not exist', { zones: {} }, 'ready | IPv4 left out | - | IPv4: its node does not exist: node-1'],
  ['no node', { pod: { nodeName: '' } }, 'ready | IPv4 left out | - | IPv4: it has no node'],
  [
    'a node that does not exist, and published',
    { zones: {}, service: { publishNotReadyAddresses: true } },
    `ready | IPv4 ready | ${NONE} | -`,
  ],
  ['nodes that could not be seen are taken to exist', { zones: null }, `ready | IPv4 ready | ${NONE} | -`],

  // docs/spec/endpointslice.md "Traffic distribution"
  ['PreferClose', { service: { trafficDistribution: 'PreferClose' } }, 'ready | IPv4 ready | zone a: its own zone | -'],
  [
    'PreferSameNode',
    { service: { trafficDistribution: 'PreferSameNode' } },
    'ready | IPv4 ready | zone a, node node-1: its own zone and node | -',
  ],
  [
    'PreferSameNode without a zone',
    { service: { trafficDistribution: 'PreferSameNode' }, zones: { 'node-1': '' } },
    'ready | IPv4 ready | node node-1: its own node | -',
  ],
  [
    'PreferSameNode without a node, and published',
    { pod: { nodeName: '' }, service: { trafficDistribution: 'PreferSameNode', publishNotReadyAddresses: true } },
    'ready | IPv4 ready | none: it has neither a zone nor a node of its own | -',
  ],
  [
    'PreferClose without a zone',
    { service: { trafficDistribution: 'PreferClose' }, zones: { 'node-1': '' } },
    'ready | IPv4 ready | none: its node has no zone | -',
  ],
  [
    'PreferClose, not ready',
    { service: { trafficDistribution: 'PreferClose' }, pod: { ready: false } },
    'not ready | IPv4 not ready | none: only ready endpoints get hints | its condition Ready is not True',
  ],
  [
    'PreferClose, and the nodes could not be seen',
    { service: { trafficDistribution: 'PreferClose' }, zones: null },
    'ready | IPv4 ready | zone not seen: the nodes could not be seen | -',
  ],
  [
    'PreferSameNode, and the nodes could not be seen',
    { service: { trafficDistribution: 'PreferSameNode' }, zones: null },
    'ready | IPv4 ready | zone not seen, node node-1: the nodes could not be seen | -',
  ],
  [
    'PreferClose, not ready, and the nodes could not be seen',
    { service: { trafficDistribution: 'PreferClose' }, pod: { ready: false }, zones: null },
    'not ready | IPv4 not ready | none: only ready endpoints get hints | its condition Ready is not True',
  ],

  // docs/spec/endpointslice.md "CPU shares", "Allocation", "Assignment"
  [
    'Auto without shares',
    { service: AUTO },
    'ready | IPv4 ready | none: Insufficient Node information: allocatable CPU or zone not specified on one or more nodes | -',
  ],
  [
    'Auto in one zone',
    { service: AUTO, shares: sharesOf(['a', 1]) },
    'ready | IPv4 ready | none: Nodes only ready in one zone | -',
  ],
  [
    'Auto with too few endpoints',
    { service: AUTO, shares: HALVES },
    'ready | IPv4 ready | none: Insufficient number of endpoints (1 endpoints, 2 zones) | -',
  ],
  [
    'Auto beyond the overload threshold',
    { service: AUTO, shares: sharesOf(['a', 0.9], ['b', 0.1]), others: manyPods(1) },
    'ready | IPv4 ready | none: Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (2 endpoints, 2 zones) | -',
  ],
  [
    'Auto with an endpoint without a zone',
    { service: AUTO, shares: HALVES, others: manyPods(1), zones: { 'node-1': '' } },
    'ready | IPv4 ready | none: One or more endpoints do not have a zone specified | -',
  ],
  [
    'Auto in its own zone',
    {
      service: AUTO,
      shares: HALVES,
      others: manyPods(1, 0, { nodeName: 'node-2' }),
      zones: { 'node-1': 'a', 'node-2': 'b' },
    },
    'ready | IPv4 ready | zone a: its own zone | -',
  ],
  [
    'Auto for another zone',
    { service: AUTO, shares: HALVES, others: manyPods(1) },
    'ready | IPv4 ready | zone b: zone a has more than its share of the CPU, zone b less | -',
  ],
  [
    'Auto, and the nodes could not be seen',
    { service: AUTO, zones: null },
    'ready | IPv4 ready | zone not seen: the nodes could not be seen | -',
  ],
  [
    'Auto, and the other pods could not be seen',
    { service: AUTO, shares: HALVES, allPods: false },
    'ready | IPv4 ready | zone not seen: the other pods could not be seen | -',
  ],
];
for (const [rule, world, text] of cases) test(rule, () => assert.equal(said(world), text));

test('writes and hints that depend on unseen nodes are not told', () => {
  const { families, due, endpoints } = explain({ service: AUTO, zones: null });
  assert.deepEqual(endpoints, { ready: 1, notReady: 0, truncated: 0 });
  assert.equal(due.slices, null);
  assert.deepEqual(families, [{ family: 'IPv4', endpoints: 1, slices: 1, hints: 'Auto', hintsFailure: null }]);
});

test('unseen nodes matter for the writes only if there is an endpoint', () => {
  assert.equal(explain({ pod: { phase: 'Failed' }, zones: null }).due.slices, 1);
});

test('counts and writes are not told if pods could not be seen', () => {
  const { endpoints, families, due } = explain({ allPods: false });
  assert.deepEqual([endpoints, families, due], [null, [], { endpoints: null, slices: null }]);
});

test('where one pod is asked for, each Service explains it alone, and counts all', () => {
  const pods = [makePod('p', { ready: false, podIPs: ['10.9.0.1'] }), ...manyPods(50)];
  for (const name of ['web', 'api']) {
    const seen: Seen = { ...NOTHING, service: makeService({ name }), pods };
    const all = explainService(seen, EXPLAIN_CONFIG);
    const one = explainService({ ...seen, asked: 'p' }, EXPLAIN_CONFIG);
    assert.equal(all.pods.length, 51);
    assert.deepEqual(one, { ...all, pods: all.pods.filter(({ pod }) => pod === 'ns/p') });
    assert.deepEqual(one.endpoints, { ready: 50, notReady: 1, truncated: 0 });
  }
});

test('pods with one uid and address are listed once', () => {
  const twin = makePod('q', { uid: 'uid-p' });
  const { pods } = explain({ others: [twin] });
  assert.deepEqual(
    pods.map(({ endpoints }) => endpoints!.why),
    ['', 'another pod with the same uid and address is listed'],
  );
});

// docs/spec/endpointslice.md "Mirroring: sync", "Mirroring: content"

function whyNotMirrored(service: Service, record: Partial<OutputRecord> | null, config?: Partial<ExplainConfig>) {
  const object: Endpoints = { apiVersion: 'v1', kind: 'Endpoints', metadata: {} };
  const made: ServiceRecord = makeService(service);
  const endpoints = record === null ? null : { object, record: { ...emptyOutput(), ...record } };
  const seen: Seen = { ...NOTHING, service: made, endpoints };
  return explainService(seen, { ...EXPLAIN_CONFIG, ...config }).unmirrored;
}

test('Endpoints that are not mirrored name the rule', () => {
  const byHand: Service = { selector: null };
  const labels = labelsFromRecord({ 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' });
  const skip = labelsFromRecord({ 'endpointslice.kubernetes.io/skip-mirror': 'true' });
  assert.deepEqual(
    [
      whyNotMirrored(byHand, {}),
      whyNotMirrored(byHand, null),
      whyNotMirrored({}, {}),
      whyNotMirrored(byHand, { labels: skip }),
      whyNotMirrored(byHand, { leaderElection: true }),
      whyNotMirrored(byHand, { labels }, { cleanUpUnselected: true }),
      whyNotMirrored({ ...byHand, labels: { mine: '' } }, {}, { optOutLabel: 'mine' }),
    ],
    [
      '',
      'there are no Endpoints of that name',
      'the Service has a selector',
      'the Endpoints have the label endpointslice.kubernetes.io/skip-mirror=true',
      'the Endpoints elect a leader (annotation control-plane.alpha.kubernetes.io/leader)',
      'the Endpoints are left from a time when the Service had a selector, and --clean-up-unselected removes them',
      'the Service has the label of --opt-out-label: its objects are left alone',
    ],
  );
});

test('a Service that is not planned has no due writes where nothing plans them', () => {
  const due = (service: Service, config?: Partial<ExplainConfig>): unknown => {
    const { endpoints, slices } = explain({ service, config: config ?? {} }).due;
    return [endpoints, slices];
  };
  // A slice that mirrors its Endpoints may be missing.
  assert.deepEqual(due({ selector: null }), [0, null]);
  assert.deepEqual(due({ selector: null, type: 'ExternalName' }), [0, null]);
  assert.deepEqual(due({ type: 'ExternalName' }), [0, 0]);
  assert.deepEqual(due({ type: 'ExternalName' }, { cleanUpUnselected: true }), [null, null]);
  const nobody = { endpoints: 'e', slices: 's', mirror: 'm' };
  assert.deepEqual(due({ type: 'ExternalName' }, { cleanUpUnselected: true, notRun: nobody }), [0, 0]);
  assert.deepEqual(due({ selector: null, labels: { mine: '' } }, { optOutLabel: 'mine' }), [0, 0]);
});

test('a Service that is not planned says why, and what becomes of its objects', () => {
  const object: Endpoints = { apiVersion: 'v1', kind: 'Endpoints', metadata: {} };
  const byHand: Seen['endpoints'] = { object, record: emptyOutput() };
  const lines = (service: Service, endpoints: Seen['endpoints'], config?: Partial<ExplainConfig>): string[] => {
    const seen: Seen = { ...NOTHING, service: makeService(service), endpoints };
    const { unplanned, unmirrored, notes } = explainService(seen, { ...EXPLAIN_CONFIG, ...config });
    return [unplanned, unmirrored!, ...notes];
  };
  const externalName: Service = { type: 'ExternalName', selector: null };
  assert.deepEqual(lines(externalName, byHand), ['the Service is of type ExternalName', '']);
  const noEndpoints = 'there are no Endpoints of that name';
  assert.deepEqual(lines({ selector: null }, null), ['the Service has no selector', noEndpoints]);

  const cleanUpUnselected = true;
  const deletes = (kinds: string): string =>
    `--clean-up-unselected deletes ${kinds} that were written for it while it selected pods`;
  assert.deepEqual(lines({ type: 'ExternalName' }, null, { cleanUpUnselected }), [
    'the Service is of type ExternalName',
    'the Service has a selector',
    deletes('Endpoints and EndpointSlices'),
  ]);
  const notRun = { endpoints: 'endpoints-controller', slices: '', mirror: '' };
  assert.deepEqual(lines({ selector: null }, null, { cleanUpUnselected, notRun }), [
    'the Service has no selector',
    noEndpoints,
    deletes('EndpointSlices'),
  ]);
  const optedOut: Service = { selector: null, labels: { mine: '' } };
  assert.equal(lines(optedOut, null, { cleanUpUnselected, optOutLabel: 'mine' }).length, 2);
});

test('mirroring shows only what the Service tells if its Endpoints cannot be read', () => {
  assert.equal(explain({ service: { selector: null } }).unmirrored, null);
  assert.equal(explain({}).unmirrored, 'the Service has a selector');
});

test('an address that is not mirrored names the rule', () => {
  const endpoints: Endpoints = {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'web', namespace: 'ns' },
    subsets: [
      {
        addresses: [{ ip: '10.0.0.1' }, { ip: '127.0.0.1' }],
        notReadyAddresses: [{ ip: '10.0.0.2' }, { ip: '10.0.0.3' }],
        ports: [{ port: 80, protocol: 'TCP' }],
      },
    ],
  };
  const told = mirroredAddresses(endpoints, { endpointsPerSubsetMax: 2, all: false });
  assert.deepEqual(
    told.map(({ ip, state, ports, reason }) => [
      ip,
      state,
      ports.join(','),
      reason === null ? '' : leftOutText(reason, 2),
    ]),
    [
      ['10.0.0.1', 'ready', '80/TCP', ''],
      ['10.0.0.2', 'not-ready', '80/TCP', ''],
      ['127.0.0.1', 'left-out', '', 'no address that an EndpointSlice may hold'],
      [
        '10.0.0.3',
        'left-out',
        '',
        'above the limit of 2 addresses of one subset (--mirroring-max-endpoints-per-subset)',
      ],
    ],
  );
});

test('the stored contents of Endpoints are shown beside the planned ones', () => {
  const pods = [...['a', 'b', 'c', 'd', 'e'].map((name) => makePod(name)), makePod('f', { phase: 'Failed' })];
  const at = (name: string, ip = '10.0.0.1', uid = `uid-${name}`): object => ({
    ip,
    nodeName: 'node-1',
    targetRef: { kind: 'Pod', namespace: 'ns', name, uid },
  });
  const addresses = [at('a'), at('d', '10.0.0.9'), at('e', '10.0.0.1', 'earlier'), at('f', '10.0.0.1', 'earlier')];
  const object = { metadata: { name: 'web' }, subsets: [{ addresses, notReadyAddresses: [at('b')] }] };
  const endpoints = { record: null, object } as unknown as Seen['endpoints'];
  const seen: Seen = { ...NOTHING, service: makeService(), pods, zones: new Map(), endpoints };
  const { pods: explained } = explainService(seen, EXPLAIN_CONFIG);
  assert.deepEqual(
    explained.map(({ pod, endpoints: inEndpoints }) => [pod, inEndpoints!.listed]),
    [
      ['ns/a', 'ready'],
      ['ns/b', 'not-ready'],
      ['ns/c', 'left-out'],
      ['ns/d', 'outdated'],
      ['ns/e', 'outdated'],
      ['ns/f', 'ready'],
    ],
  );
});

test('an object that could not be read differs from one that agrees', () => {
  const seen: Seen = { ...NOTHING, service: makeService(), pods: [makePod('p'), makePod('q', { labels: {} })] };
  const cells = (more: Partial<Seen>): string[] =>
    explainService({ ...seen, ...more }, EXPLAIN_CONFIG).pods.map((pod) => podCells(pod).slice(5, 7).join(' | '));
  assert.deepEqual(cells({ endpoints: undefined, slices: undefined }), [
    'ready (not read) | IPv4 ready (not read)',
    'left out (not read) | IPv4 left out (not read)',
  ]);
  assert.deepEqual(cells({}), ['ready (now left out) | IPv4 ready (in none yet)', 'left out | IPv4 left out']);
});

/** What a stored slice of the Service may say of the pod `p`; as planned if nothing is given. */
interface StoredAs {
  readonly endpoint?: Partial<Endpoint>;
  readonly managedBy?: string;
}

function sliceAs(name: string, { endpoint, managedBy = 'endpointslice-controller.k8s.io' }: StoredAs): EndpointSlice {
  const labels = { 'kubernetes.io/service-name': 'web', 'endpointslice.kubernetes.io/managed-by': managedBy };
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Service', name: 'web', uid: 'uid-web', controller: true }];
  const asPlanned: Endpoint = {
    addresses: ['10.0.0.1'],
    conditions: { ready: true, serving: true, terminating: false },
    nodeName: 'node-1',
    targetRef: { kind: 'Pod', namespace: 'ns', name: 'p', uid: 'uid-p' },
    zone: 'a',
  };
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, namespace: 'ns', labels, ownerReferences },
    addressType: 'IPv4',
    endpoints: [{ ...asPlanned, ...endpoint }],
    ports: [{ name: '', port: 8080, protocol: 'TCP' }],
  };
}

/** The column SLICES of the pod `p`. */
function slicesCell(pod: Pod, stored: readonly StoredAs[], more: Partial<Seen> = {}, service: Service = {}): string {
  const slices = stored.map((each, i) => sliceAs(`web-${i}`, each));
  const zones = new Map([['node-1', 'a']]);
  const seen: Seen = { ...NOTHING, service: makeService(service), pods: [makePod('p', pod)], zones, slices, ...more };
  return podCells(explainService(seen, EXPLAIN_CONFIG).pods[0]!)[POD_HEAD.indexOf('SLICES')]!;
}

const UNREADY = { ready: false, serving: false, terminating: false };
const EARLIER: Endpoint['targetRef'] = { kind: 'Pod', namespace: 'ns', name: 'p', uid: 'earlier' };
const PUBLISHED: Service = { publishNotReadyAddresses: true };

for (const [what, cell, text] of [
  ['as planned', slicesCell({}, [{}]), 'IPv4 ready in web-0'],
  [
    'not ready, and the pod is',
    slicesCell({}, [{ endpoint: { conditions: UNREADY } }]),
    'IPv4 ready (now not ready) in web-0',
  ],
  ['ready, and the pod is not', slicesCell({ ready: false }, [{}]), 'IPv4 not ready (now ready) in web-0'],
  [
    'ready, and the pod is ending',
    slicesCell({ deleting: true }, [{}]),
    'IPv4 not ready, serving (now ready) in web-0',
  ],
  [
    'not terminating, and the pod is, but is published',
    slicesCell({ deleting: true }, [{}], {}, PUBLISHED),
    'IPv4 ready (now ready, not terminating) in web-0',
  ],
  [
    'serving, and the pod is not, but is published',
    slicesCell({ ready: false }, [{}], {}, PUBLISHED),
    'IPv4 ready (now ready, serving) in web-0',
  ],
  [
    'with an earlier address',
    slicesCell({}, [{ endpoint: { addresses: ['10.0.0.9'] } }]),
    'IPv4 ready (now outdated) in web-0',
  ],
  ['with an earlier uid', slicesCell({}, [{ endpoint: { targetRef: EARLIER } }]), 'IPv4 ready (now outdated) in web-0'],
  ['in another zone', slicesCell({}, [{ endpoint: { zone: 'b' } }]), 'IPv4 ready (now outdated) in web-0'],
  ['in a zone that cannot be seen', slicesCell({}, [{}], { zones: null }), 'IPv4 ready in web-0'],
  [
    'as planned, and elsewhere with an earlier address',
    slicesCell({}, [{}, { endpoint: { addresses: ['10.0.0.9'] } }]),
    'IPv4 ready (now outdated) in web-0+web-1',
  ],
  [
    'earlier, and the pod has ended',
    slicesCell({ phase: 'Failed' }, [{ endpoint: { targetRef: EARLIER } }]),
    'IPv4 left out still in web-0',
  ],
  [
    'only in a slice of somebody else',
    slicesCell({}, [{ managedBy: 'other' }]),
    'IPv4 ready (in none yet), in web-0 (not planned)',
  ],
  [
    'only in a slice of somebody else, and the pod has ended',
    slicesCell({ phase: 'Failed' }, [{ managedBy: 'other' }]),
    'IPv4 left out, in web-0 (not planned)',
  ],
] as const) {
  test(`a pod that is stored ${what}`, () => assert.equal(cell, text));
}

test('a pod that is gone is named where all were seen, by what somebody writes', () => {
  const seen: Seen = { ...NOTHING, service: makeService({ selector: {} }), slices: [sliceAs('web-0', {})] };
  const names = (of: Partial<Seen>, slices = ''): string[] =>
    explainService({ ...seen, ...of }, { ...EXPLAIN_CONFIG, notRun: { endpoints: '', slices, mirror: '' } }).pods.map(
      ({ pod, selected }) => `${pod} ${selected}`,
    );
  assert.deepEqual(names({}), ['ns/p false']);
  assert.deepEqual(names({ pods: [makePod('p')] }), ['ns/p true']);
  assert.deepEqual(names({ allPods: false }), []);
  assert.deepEqual(names({ asked: 'q' }), []);
  assert.deepEqual(names({}, 'endpointslice-controller'), []);
});

test('a controller that --controllers leaves out writes nothing, and no write is due', () => {
  const notRun = { endpoints: 'endpoints-controller', slices: '', mirror: '' };
  const seen: Seen = { ...NOTHING, service: makeService(), pods: [makePod('p')], slices: [sliceAs('web-0', {})] };
  const told = (more: Partial<ExplainConfig['notRun']>, of: Partial<Seen> = {}): ServiceExplanation =>
    explainService({ ...seen, ...of }, { ...EXPLAIN_CONFIG, notRun: { ...notRun, ...more } });
  const cells = ({ pods }: ServiceExplanation): string => podCells(pods[0]!).slice(5).join(' | ');

  const slicesOnly = told({}, { zones: new Map([['node-1', 'a']]) });
  const without = 'Endpoints: not written, --controllers leaves out endpoints-controller';
  assert.deepEqual([slicesOnly.notWritten, slicesOnly.endpoints], [[without], null]);
  assert.deepEqual(slicesOnly.due, { endpoints: 0, slices: 0 });
  assert.equal(cells(slicesOnly), `not written | IPv4 ready in web-0 | ${NONE} | `);
  assert.equal(podLines('ns/p', [slicesOnly])[1], without);
  assert.deepEqual(told({}, { pods: [], allPods: false }).due, { endpoints: 0, slices: null });

  const endpointsOnly = told({ endpoints: '', slices: 'endpointslice-controller' });
  assert.deepEqual(endpointsOnly.notWritten, [
    'EndpointSlices: not written, --controllers leaves out endpointslice-controller',
  ]);
  assert.deepEqual([endpointsOnly.due, endpointsOnly.families], [{ endpoints: 1, slices: 0 }, []]);
  assert.equal(cells(endpointsOnly), 'ready (now left out) | not written |  | ');

  const byHand = { service: makeService({ selector: null }), endpoints: null };
  const unmirrored = told({ mirror: 'endpointslice-mirroring-controller' }, byHand);
  assert.equal(unmirrored.unmirrored, 'not written, --controllers leaves out endpointslice-mirroring-controller');
  assert.deepEqual([unmirrored.due, unmirrored.mirrored], [{ endpoints: 0, slices: 0 }, []]);
});

test('names and labels of others cannot steer a terminal', () => {
  const pod = makePod('p', { labels: { app: '\u001B[2J\u202E' }, phase: 'Run\u009Bning', nodeName: '\u0007' });
  const service = makeService();
  const seen: Seen = { ...NOTHING, service, pods: [pod], zones: new Map() };
  const text = podLines('ns/p', [explainService(seen, EXPLAIN_CONFIG)]).join('\n');
  assert.ok(!/[\p{Cc}\p{Cf}]/u.test(text.replaceAll('\n', '')));
  assert.ok(text.includes(String.raw`label app is "\u001b[2J\u202e"`), text);
});

test('a pod may have a line for more Services than a call has arguments', () => {
  const explanation = explainService({ ...NOTHING, service: makeService() }, EXPLAIN_CONFIG);
  const services = Array.from({ length: 200_000 }, () => explanation);
  assert.equal(podLines('ns/p', services).length, 200_003);
});
