import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpointOf, slice } from '../recording/made.ts';
import { podRecord, serviceRecord } from '../support/batches.ts';
import { MIRROR_MANAGED_BY_VALUE, SLICE_MANAGED_BY_LABEL } from '../../src/kube/names.ts';
import type { PodRecord, ServiceRecord } from '../../src/kube/types.ts';
import type { Change, RecordedEvent, RecordedOutput, RecordedResource, Told } from '../../src/recording/recording.ts';
import { backlogOf } from '../../src/tune/backlog.ts';
import { type RecordedPart, playedOf } from '../../src/tune/played.ts';
import { runModel } from '../../src/twin/run.ts';
import { fewestTokens } from '../../src/twin/write-tokens.ts';
import type { Program } from '../../src/metrics/program-of.ts';
import { DEFAULT_CALIBRATION, DEFAULT_SETTINGS } from '../../src/twin/settings.ts';

const SERVICE = serviceRecord({ namespace: 'ns', name: 'web', selector: ['app', 'web'] });

function pod(n: number, change: Partial<PodRecord> = {}): PodRecord {
  return podRecord(n, { namespace: 'ns', labels: ['app', 'web'], ready: true, ...change });
}

function change(atMs: number, told: Told, before: PodRecord | null, after: PodRecord | null): Change {
  return { type: 'change', resource: 'pods', atMs, told, by: 'other', id: 1, version: 1, before, after };
}

function listed(resource: RecordedResource): RecordedEvent {
  return { type: 'listed', resource, atMs: 250, told: 'start', sinceMs: 250 };
}

const START: readonly RecordedEvent[] = [
  {
    type: 'change',
    resource: 'services',
    atMs: 1,
    told: 'start',
    by: 'other',
    id: 9,
    version: 0,
    before: null,
    after: SERVICE,
  },
  change(2, 'start', null, pod(1)),
  listed('services'),
  listed('pods'),
  listed('nodes'),
  listed('endpoints'),
  listed('endpointslices'),
];

function play(...events: readonly RecordedEvent[]): RecordedPart {
  return playedOf('a test', [...START, ...events]);
}

test('a story begins as long after the first lists as these took', () => {
  const { story } = play(change(1500, 'watch', pod(1), pod(1, { ready: false })), { type: 'end', atMs: 2500 });
  assert.equal(story.durationMs, 2000);
  assert.deepEqual(story.namespaces, [{ services: 1, pods: 1 }]);
  assert.equal(story.places[0]!.start.isReady, true);
  const [only] = story.changes;
  assert.deepEqual([only!.atMs, only!.kind, only!.places[0]!.wanted.isReady], [1000, 'pod', false]);
});

test('the size of a namespace is its mean over the recording, not that at the end', () => {
  const service = (atMs: number, before: ServiceRecord | null, after: ServiceRecord | null): RecordedEvent => {
    const common = { type: 'change', resource: 'services', told: 'watch', by: 'other', id: 10, version: 1 } as const;
    return { ...common, atMs, before, after };
  };
  const other = serviceRecord({ namespace: 'ns', name: 'api', selector: ['app', 'api'] });
  // Two seconds: three pods in the second one, two Services for half a second.
  const { story } = play(
    service(1000, null, other),
    change(1500, 'watch', null, pod(2)),
    change(1500, 'watch', null, pod(3)),
    service(1500, other, null),
    { type: 'end', atMs: 2500 },
  );
  assert.deepEqual(story.namespaces, [{ services: 1.25, pods: 2 }]);
});

test('a pod without the port of its Service is in the slices and in no Endpoints', () => {
  const ports = [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 'web', appProtocol: undefined }] as const;
  const record = serviceRecord({ namespace: 'ns', name: 'web', selector: ['app', 'web'], ports });
  const [service, ...others] = START;
  const { story } = playedOf('a test', [{ ...service, after: record } as RecordedEvent, ...others]);
  const { start } = story.places[0]!;
  assert.deepEqual([start.endpoints, start.slices > 0], [0, true]);
});

test('a Service that is deleted is a change of its own', () => {
  const common = { type: 'change', resource: 'services', told: 'watch', by: 'other', id: 9, version: 1 } as const;
  const { story } = play({ ...common, atMs: 1500, before: SERVICE, after: null });
  const [only] = story.changes;
  assert.deepEqual([only!.kind, only!.service, only!.atMs], ['deleted', 0, 1000]);
});

test('a terminating pod is in the slices and in no Endpoints', () => {
  const { story } = play(change(1500, 'watch', pod(1), pod(1, { deleting: true })));
  const { wanted } = story.changes[0]!.places[0]!;
  assert.deepEqual([wanted.endpoints, wanted.slices > 0, wanted.isReady], [0, true, false]);
});

test('a change of a Service of two families is shown by the one that it names first', () => {
  const families = (ipFamilies: readonly string[]): unknown => {
    const record = serviceRecord({ namespace: 'ns', name: 'web', selector: ['app', 'web'], ipFamilies });
    const [service, ...others] = START;
    const { story } = playedOf('a test', [{ ...service, after: record } as RecordedEvent, ...others]);
    return story.services.map(({ families: count, primary }) => [count, primary]);
  };
  assert.deepEqual(families(['IPv4', 'IPv6']), [[2, 0]]);
  assert.deepEqual(families(['IPv6', 'IPv4']), [[2, 1]]);
  assert.deepEqual(families(['IPv6']), [[1, 0]]);
});

test('a pod that comes back as it was has its old content', () => {
  const unready = pod(1, { ready: false });
  const { story } = play(change(1500, 'watch', pod(1), unready), change(1600, 'watch', unready, pod(1)));
  assert.equal(story.changes[1]!.places[0]!.wanted.slices, story.places[0]!.start.slices);
});

test('services are looked for where a pod changes, and not for an irrelevant event', () => {
  const other = pod(2, { labels: ['app', 'other'] });
  const { story } = play(change(1500, 'watch', null, other), { type: 'irrelevant', atMs: 1600, counts: { pods: 2 } });
  assert.deepEqual(
    story.changes.map(({ kind, places }) => [kind, places.length]),
    [
      ['quiet', 0],
      ['pod', 0],
      ['quiet', 0],
    ],
  );
});

const created = pod(2, { nodeName: '', phase: 'Pending', ready: false, readyTime: 0, podIP: '', podIPs: [] });
const bound = { ...created, nodeName: 'node-1' };
const going = pod(2, { deleting: true });

for (const [name, before, after, endpointd, upstream] of [
  ['is bound to a node', created, bound, 'nothing', 'nothing'],
  ['starts its containers', bound, { ...bound, readyTime: 9 }, 'nothing', 'nothing'],
  ['with an address has a later time', pod(2), pod(2, { readyTime: 9 }), 'pod', 'nothing'],
  ['has another phase', bound, { ...bound, phase: 'Running' }, 'nothing', 'nothing'],
  ['gets an address', bound, { ...bound, podIP: '10.0.0.2' }, 'pod', 'pod'],
  ['has other labels', pod(2), pod(2, { labels: ['app', 'web', 'role', 'x'] }), 'labels', 'labels'],
  ['has other labels and another node', bound, { ...created, labels: ['app', 'x'] }, 'labels', 'labels'],
  ['is going and has another phase', going, { ...going, phase: 'Unknown' }, 'nothing', 'pod'],
  ['is going and has a later time', going, { ...going, readyTime: 9 }, 'pod', 'pod'],
] as const) {
  test(`what the controllers notice of a pod that ${name}`, () => {
    const noticed = play(change(1500, 'watch', before, after)).story.changes.at(-1)!.noticed;
    const both = { endpointd: 'pod', 'kube-controller-manager': 'pod' };
    assert.deepEqual(noticed ?? both, { endpointd, 'kube-controller-manager': upstream });
  });
}

for (const [name, before, after, means] of [
  ['comes without an address', null, created, 'other'],
  ['becomes ready', pod(2, { ready: false }), pod(2), 'adds'],
  ['comes ready', null, pod(2), 'adds'],
  ['is to go, unready', pod(2, { ready: false }), pod(2, { ready: false, deleting: true }), 'removes'],
  ['ends', pod(2, { ready: false }), pod(2, { ready: false, phase: 'Failed' }), 'removes'],
  ['has another address', pod(2, { podIP: '10.0.0.8' }), pod(2, { podIP: '10.0.0.9' }), 'removes'],
  ['is gone', going, null, 'removes'],
  ['is left by its Service', pod(2), pod(2, { labels: ['app', 'x'] }), 'removes'],
] as const) {
  test(`what it means to a service that a pod ${name}`, () => {
    const earlier = before === null ? [] : [change(1500, 'watch', null, before)];
    const { changes } = play(...earlier, change(1600, 'watch', before, after)).story;
    assert.equal(changes.at(-1)!.places.at(-1)!.change, means);
  });
}

test('neither controller syncs anything for a pod that is bound to a node', () => {
  const events = [change(1000, 'watch', null, created), change(2000, 'watch', created, bound)];
  const { story } = play(...events, { type: 'end', atMs: 9000 });
  const syncs = (controller: Program): number =>
    runModel({ story, controller, settings: DEFAULT_SETTINGS, calibration: DEFAULT_CALIBRATION, seed: 1 }).syncs;
  assert.deepEqual([syncs('endpointd'), syncs('kube-controller-manager')], [2, 2]);
});

/** One slice is written so often, from the first second on. */
function sliceWrites(count: number): RecordedEvent[] {
  const own = slice('web', []);
  return Array.from({ length: count }, (_, i) => ({
    type: 'change',
    resource: 'endpointslices',
    atMs: 1000 + i,
    told: 'watch',
    by: 'controller',
    id: 20,
    version: i + 1,
    before: i === 0 ? null : own,
    after: own,
  }));
}

test('writes that a watch replays after its list are not of the recording', () => {
  const [own, other] = [slice('web', []), slice('web', [], { triggerMs: 1 })];
  const write = (atMs: number, i: number): RecordedEvent => ({
    type: 'change',
    resource: 'endpointslices',
    atMs,
    told: 'watch',
    by: 'controller',
    id: 20,
    version: i,
    before: own,
    after: other,
  });
  // Lists of 1.5 s, in which 30 writes were made.
  const lists = START.map((event) => (event.type === 'listed' ? { ...event, atMs: 1500, sinceMs: 1500 } : event));
  const { story, evidence } = playedOf('a test', [
    ...lists,
    ...Array.from({ length: 30 }, (_, i) => write(1505, i)),
    change(1506, 'watch', pod(1), pod(1, { ready: false })),
    ...Array.from({ length: 400 }, (_, i) => write(1510 + 50 * i, 30 + i)),
    { type: 'end', atMs: 23_000 },
  ]);
  const calibration = DEFAULT_CALIBRATION;
  const writer = { controller: 'kube-controller-manager', settings: DEFAULT_SETTINGS, story, calibration } as const;
  const { slices } = fewestTokens(writer, evidence.writes);
  assert.ok(slices < 3, `${slices} tokens`);
  assert.deepEqual([story.durationMs, story.changes.length, story.places[0]!.start.isReady], [20_000, 0, false]);
});

test('a controller that writes nothing while the other one writes does not run', () => {
  const [few, enough] = [play(...sliceWrites(19)), play(...sliceWrites(20))];
  assert.deepEqual([few.story.outputs, few.notes], [['endpoints', 'slices'], []]);
  const note = 'no endpoints were written: their controller does not run, and is left out';
  assert.deepEqual([enough.story.outputs, enough.notes], [['slices'], [note]]);
});

test('mirrored slices are none of the writes that a prediction is compared with', () => {
  const own = slice('web', []);
  const mirrored = { ...own, labels: [SLICE_MANAGED_BY_LABEL, MIRROR_MANAGED_BY_VALUE] };
  const others = sliceWrites(100).map((event) =>
    Object.assign(event, { id: 21, atMs: 2000, before: mirrored, after: mirrored }),
  );
  const { evidence, recorded } = play(...sliceWrites(20), ...others);
  assert.equal(evidence.writes.slices.length, 20);
  // The metrics of the process count both.
  assert.deepEqual(recorded, { endpoints: 0, slices: 120, listsMs: 250 });
});

test('scrapes count what is written before a story begins, so its writes do so too', () => {
  const [first] = sliceWrites(1) as [Change];
  const written = (atMs: number): RecordedEvent => ({ ...first, atMs, before: first.after }) as RecordedEvent;
  const lists = START.filter(({ type }) => type === 'listed');
  // The slices are listed at once, all else takes six seconds. The story begins as long after that.
  const { evidence, recorded } = playedOf('a test', [
    ...START.filter(({ type }) => type !== 'listed'),
    lists.at(-1)!,
    ...[2000, 4000].map(written),
    ...lists.slice(0, -1).map((event) => Object.assign({}, event, { atMs: 6000 })),
    ...[7000, 10_000, 13_000].map(written),
    { type: 'end', atMs: 66_000 },
  ]);
  assert.deepEqual(
    evidence.writes.slices.map(({ atMs }) => atMs),
    [1000],
  );
  assert.deepEqual(recorded, { endpoints: 0, slices: 5, listsMs: 6000 });
});

function writtenSlice(atMs: number, before: RecordedOutput | null, after: RecordedOutput, id = 20): RecordedEvent {
  return {
    type: 'change',
    resource: 'endpointslices',
    atMs,
    told: before === null ? 'start' : 'watch',
    by: 'controller',
    id,
    version: atMs,
    before,
    after,
  };
}

test('a Service that lags behind its pods at the start was waited for', () => {
  const shows = (name: string, ...pods: readonly PodRecord[]): RecordedOutput =>
    slice(
      name,
      pods.map((one) => endpointOf(one)),
      { namespace: 'ns', service: 'web' },
    );
  const started = (shown: RecordedOutput): RecordedPart => {
    const empty = shows('web');
    const lists = START.filter(({ type }) => type === 'listed');
    const others = START.filter(({ type }) => type !== 'listed');
    const events = [
      ...others,
      writtenSlice(3, null, empty),
      ...lists,
      writtenSlice(2000, empty, shown),
      { type: 'end', atMs: 3000 },
    ];
    return playedOf('a test', events as RecordedEvent[]);
  };
  const { evidence, story } = started(shows('web', pod(1)));
  assert.deepEqual(evidence.behind, { endpoints: new Set(), slices: new Set([0]) });
  assert.deepEqual(evidence.writes.slices, [{ atMs: 1500, endpoints: 1, service: 0 }]);
  const today = { story, controller: 'kube-controller-manager', settings: DEFAULT_SETTINGS } as const;
  assert.deepEqual(backlogOf(today, evidence), { endpoints: [], slices: [{ service: 0, writes: 1, dueMs: 0 }] });
  // Objects that never catch up may be kept by nobody.
  assert.deepEqual(started(shows('web')).evidence.behind, { endpoints: new Set(), slices: new Set() });
});

test('a write tells how many endpoints its slice has, however full others are', () => {
  const pods = Array.from({ length: 300 }, (_, i) => pod(i + 1));
  // Ten of 30, as a Service has them that has shrunk from 1,000 pods.
  const shows = (i: number, ready = true): RecordedOutput => {
    const own = pods.slice(30 * i, 30 * i + 30);
    const endpoints = own.map((one, n) => endpointOf(one, n === 0 ? { conditions: { ready } } : {}));
    return slice(`web-${i}`, endpoints, { namespace: 'ns' });
  };
  const { evidence } = playedOf('a test', [
    START[0]!,
    ...pods.map((one) => change(2, 'start', null, one)),
    ...Array.from({ length: 10 }, (_, i) => writtenSlice(3, null, shows(i), 20 + i)),
    ...START.filter(({ type }) => type === 'listed'),
    change(2000, 'watch', pods[0]!, { ...pods[0]!, ready: false }),
    writtenSlice(2010, shows(0), shows(0, false), 20),
    { ...writtenSlice(2500, shows(9), shows(9), 29), after: null } as RecordedEvent,
    { type: 'end', atMs: 3000 },
  ]);
  assert.deepEqual(evidence.writes.slices, [
    { atMs: 1510, endpoints: 30, service: 0 },
    { atMs: 2000, endpoints: 0, service: 0 },
  ]);
});

test('the second family of a Service does not lag behind its pods at the start', () => {
  const families = { ipFamilies: ['IPv4', 'IPv6'] };
  const record = serviceRecord({ namespace: 'ns', name: 'web', selector: ['app', 'web'], ...families });
  const both = pod(1, { podIPs: [pod(1).podIP, 'fd00::1'] });
  const shows = (addressType: string, ...addresses: readonly string[]): RecordedOutput =>
    slice(
      `web-${addressType}`,
      addresses.map((address) => endpointOf(both, { addresses: [address] })),
      { namespace: 'ns', addressType },
    );
  const [first, second] = [shows('IPv4', both.podIP), shows('IPv6', 'fd00::1')];
  const { evidence } = playedOf('a test', [
    { ...START[0], after: record } as RecordedEvent,
    change(2, 'start', null, both),
    writtenSlice(3, null, first, 20),
    writtenSlice(4, null, second, 21),
    ...START.filter(({ type }) => type === 'listed'),
    // It shows a change of the recording.
    change(2000, 'watch', both, { ...both, ready: false }),
    writtenSlice(2010, first, shows('IPv4'), 20),
    writtenSlice(2020, second, shows('IPv6'), 21),
    { type: 'end', atMs: 3000 },
  ]);
  assert.deepEqual(evidence.behind, { endpoints: new Set(), slices: new Set() });
});

test('a controller whose objects could not be read is not said not to run', () => {
  const { story, notes, doubts } = playedOf('a test', [
    { type: 'refused', atMs: 400, resource: 'endpoints' },
    ...START.filter((event) => !(event.type === 'listed' && event.resource === 'endpoints')),
    ...sliceWrites(20),
  ]);
  assert.deepEqual([story.outputs, notes], [['endpoints', 'slices'], []]);
  assert.deepEqual(doubts, ['the recorder was not let read endpoints']);
});

test('irrelevant events are spread over the two seconds in which they came', () => {
  const late = change(3999, 'watch', pod(1), pod(1, { ready: false }));
  const { story } = play(late, { type: 'irrelevant', atMs: 4000, counts: { pods: 1000 } });
  const quiet = story.changes.filter(({ kind }) => kind === 'quiet');
  assert.deepEqual(
    [quiet.length, quiet[0]!.events, quiet.at(-1)!.atMs - quiet[0]!.atMs, story.changes.at(-1)!.kind],
    [200, 5, 1990, 'quiet'],
  );
  assert.ok(story.changes.every(({ atMs }, i) => i === 0 || atMs >= story.changes[i - 1]!.atMs));
});

for (const [event, doubt] of [
  [{ type: 'refused', atMs: 600, resource: 'endpoints' }, 'the recorder was not let read endpoints'],
  [{ type: 'lost', atMs: 600, resource: 'nodes', sinceMs: 500 }, 'the watch of nodes was lost for a while'],
  [{ type: 'rewatched', atMs: 600, resource: 'pods' }, 'the watch of pods was lost for a while'],
  [
    { type: 'listed', atMs: 600, resource: 'pods', told: 'list', sinceMs: 400 },
    'the recording has a gap: pods were listed again',
  ],
] as const) {
  test(`a recording is doubted: ${doubt}`, () =>
    assert.deepEqual(play(event, { type: 'end', atMs: 700 }).doubts, [doubt]));
}

test('a gap that was told when the watch was lost is one doubt', () => {
  const { doubts } = play(
    { type: 'lost', atMs: 600, resource: 'pods', sinceMs: 500 },
    { type: 'listed', atMs: 700, resource: 'pods', told: 'list', sinceMs: 500 },
  );
  assert.deepEqual(doubts, ['the recording has a gap: pods were listed again']);
});

test('a recording is doubted for what lasts when its story begins, no more', () => {
  const refused = (resource: RecordedResource): RecordedEvent => ({ type: 'refused', atMs: 100, resource });
  const lost = (resource: RecordedResource): RecordedEvent => ({ type: 'lost', atMs: 300, resource, sinceMs: 200 });
  const { doubts } = playedOf('a test', [
    refused('pods'),
    refused('nodes'),
    lost('services'),
    { type: 'rewatched', atMs: 400, resource: 'services' },
    lost('endpoints'),
    ...START.filter((event) => !(event.type === 'listed' && ['nodes', 'endpoints'].includes(event.resource))),
    { type: 'end', atMs: 700 },
  ]);
  assert.deepEqual(doubts, [
    'the recorder was not let read nodes',
    'the recording ended before everything was listed',
    'the watch of endpoints was lost for a while',
  ]);
});

test('a recording tells which controllers have written, each once', () => {
  const wrote = (resource: 'endpoints' | 'endpointslices', writer: Program): RecordedEvent => ({
    type: 'wrote',
    atMs: 600,
    resource,
    writer,
  });
  const none = { endpoints: [], slices: [] };
  assert.deepEqual(play({ type: 'end', atMs: 700 }).writers, none);
  const two = [
    wrote('endpoints', 'kube-controller-manager'),
    wrote('endpointslices', 'endpointd'),
    wrote('endpoints', 'endpointd'),
    wrote('endpointslices', 'endpointd'),
  ];
  assert.deepEqual(play(...two).writers, {
    endpoints: ['kube-controller-manager', 'endpointd'],
    slices: ['endpointd'],
  });
  // What came before the recording began is no part of it.
  assert.deepEqual(playedOf('a test', [...two, ...START]).writers, none);
});

test('a recording that was cut off is told from one that ended, and is not doubted', () => {
  for (const events of [[], [{ type: 'end', atMs: 700 }]] as const) {
    const { doubts, isEnded } = play(...events);
    assert.deepEqual([doubts, isEnded], [[], events.length === 1]);
  }
});
