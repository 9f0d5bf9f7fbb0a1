import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createEncoder, type Encoder } from '../../src/recording/encode.ts';
import { PLAIN_NAMES } from '../../src/recording/names.ts';
import { RECORDING_BEGAN_SECONDS, type Change, type RecordedEvent } from '../../src/recording/recording.ts';
import { BEGAN, endpointOf, fileOf, node, pod, read, service, slice } from './made.ts';

function eventsOf(tell: (encoder: Encoder) => void): RecordedEvent[] {
  const { events, broken } = read(fileOf(tell));
  const all = [...events];
  assert.equal(broken(), null);
  return all;
}

function changesOf(tell: (encoder: Encoder) => void): Change[] {
  return eventsOf(tell).filter((event) => event.type === 'change');
}

describe('lines of a recording', () => {
  it('lines read as what was told, with times counted from the beginning', () => {
    const web = pod('web-1', { readyTime: BEGAN - 10, ports: [{ name: 'web', containerPort: 8080, protocol: 'TCP' }] });
    const [first] = changesOf((encoder) => encoder.put('pods', web, 'other', 12.34));
    assert.deepEqual(first?.after, { ...web, readyTime: RECORDING_BEGAN_SECONDS - 10 });
    assert.deepEqual([first?.atMs, first?.before], [12.3, null]);
  });

  it('lines tell changes only, and nothing of an event that changes nothing', () => {
    const lines: string[] = [];
    const file = fileOf((encoder) => {
      encoder.put('pods', pod('web-1'), 'other', 0);
      lines.push(String(encoder.put('pods', pod('web-1', { resourceVersion: '7' }), 'other', 1)));
      lines.push(String(encoder.put('pods', pod('web-1', { ready: false }), 'other', 2)));
    });
    assert.deepEqual(lines, ['false', 'true']);
    const changes = [...read(file).events].filter((event) => event.type === 'change');
    assert.deepEqual(
      changes.map(({ after }) => (after as { ready: boolean }).ready),
      [true, false],
    );
  });

  it('every field of a Service, a node and a slice is read back', () => {
    const web = service('web', {
      labels: ['a', 'b'],
      annotations: ['service.kubernetes.io/topology-mode', 'Auto'],
      creationTime: BEGAN - 5,
      clusterIP: 'None',
      ipFamilies: ['IPv4', 'IPv6'],
      publishNotReadyAddresses: true,
      trafficDistribution: 'PreferClose',
      ports: [{ name: '', protocol: 'UDP', port: 53, targetPort: 5353, appProtocol: 'dns' }],
    });
    const worker = node('worker-1', 'zone-a');
    const custom = slice('web-x', [], {
      triggerMs: BEGAN * 1000 + 250,
      ports: [[{ name: 'http', port: 8080, protocol: 'TCP', appProtocol: 'x' }, {}]],
      endpoints: [
        endpointOf(pod('gone-1'), {
          hostname: 'h',
          forZones: ['zone-b'],
          forNodes: ['worker-2'],
          conditions: { ready: false },
        }),
      ],
    });
    const found = changesOf((encoder) => {
      encoder.put('services', web, 'other', 0);
      encoder.put('nodes', worker, 'other', 0);
      encoder.put('endpointslices', custom, 'controller', 0);
    }).map(({ after }) => after);
    assert.deepEqual(found[0], { ...web, creationTime: RECORDING_BEGAN_SECONDS - 5 });
    assert.deepEqual(found[1], worker);
    assert.deepEqual(found[2], { ...custom, triggerMs: RECORDING_BEGAN_SECONDS * 1000 + 250 });
  });

  it('endpoints are read back in their order, whatever came, went and moved', () => {
    const pods = Array.from({ length: 6 }, (_, i) => pod(`web-${i}`));
    const ready = pods.map((one) => endpointOf(one));
    const ending = endpointOf(pods[2]!, { conditions: { ready: false, serving: true, terminating: true } });
    const states = [
      ready.slice(0, 4),
      [ready[0]!, ready[1]!, ending, ready[3]!],
      [ready[5]!, ready[0]!, ready[3]!, ready[1]!],
      [],
      ready,
    ];
    const found = changesOf((encoder) => {
      encoder.put('nodes', node('worker-1', 'zone-a'), 'other', 0);
      for (const one of pods) encoder.put('pods', one, 'other', 0);
      for (const endpoints of states) encoder.put('endpointslices', slice('web-x', endpoints), 'controller', 0);
    }).flatMap((change) => (change.resource === 'endpointslices' ? [change.after?.endpoints] : []));
    assert.deepEqual(found, states);
  });

  it('a ready endpoint of a known pod is written as one number', () => {
    const lines: string[] = [];
    const encoder = createEncoder(PLAIN_NAMES, BEGAN, (line) => lines.push(line));
    encoder.put('nodes', node('worker-1', 'zone-a'), 'other', 0);
    encoder.put('pods', pod('web-1'), 'other', 0);
    encoder.put('endpointslices', slice('web-x', [endpointOf(pod('web-1'))]), 'controller', 0);
    const { new: fields } = JSON.parse(lines.at(-1)!) as { new: { endpoints: unknown } };
    assert.deepEqual(fields.endpoints, [2]);
  });

  it('lists, gaps and the makers of changes are read back', () => {
    const events = eventsOf((encoder) => {
      encoder.listing('endpoints', 0, 5);
      encoder.put('endpoints', slice('web', [], { addressType: '', resourceVersion: '3' }), 'controller', 5);
      encoder.listed('endpoints', '10', 5);
      encoder.put(
        'endpoints',
        slice('web', [], { addressType: '', triggerMs: BEGAN * 1000, resourceVersion: '12' }),
        'other',
        6,
      );
      encoder.listing('endpoints', 4, 10);
      encoder.remove('endpoints', 'shop', 'web', { by: 'unknown', version: '15' }, 10);
      encoder.listed('endpoints', '20', 10);
      encoder.tell(11, { end: true });
    });
    const told = events.map((event) => {
      if (event.type === 'change')
        return [event.told, event.by, event.version, event.after === null ? 'gone' : 'there'];
      return event.type === 'listed' ? [event.told, event.sinceMs] : [event.type];
    });
    assert.deepEqual(told, [
      ['start', 'controller', Number.NaN, 'there'],
      ['start', 5],
      ['watch', 'other', 2, 'there'],
      ['list', 'unknown', 5, 'gone'],
      ['list', 6],
      ['end'],
    ]);
  });

  it('a version from before the first list is told of no object', () => {
    const turned = (ready: boolean, resourceVersion: string) => pod('web-1', { ready, resourceVersion });
    const changes = changesOf((encoder) => {
      encoder.put('pods', turned(true, '40'), 'other', 0);
      encoder.listed('pods', '100', 0);
      encoder.put('pods', turned(false, '103'), 'other', 1);
      // etcd is restored from a backup.
      encoder.put('pods', turned(true, '40'), 'other', 2);
      encoder.remove('pods', 'shop', 'web-1', { by: 'other', version: '0' }, 3);
      encoder.put('pods', turned(true, '104'), 'other', 4);
    });
    assert.deepEqual(
      changes.map(({ version }) => version),
      [Number.NaN, 3, Number.NaN, Number.NaN, 4],
    );
  });

  it('an object ends when another one takes its name', () => {
    const changes = changesOf((encoder) => {
      encoder.put('pods', pod('web-1'), 'other', 0);
      encoder.put('pods', pod('web-1', { uid: 'another' }), 'other', 1);
    });
    assert.deepEqual(
      changes.map(({ id, before, after }) => [id, before === null, after === null]),
      [
        [1, true, false],
        [1, false, true],
        [2, true, false],
      ],
    );
  });
});
