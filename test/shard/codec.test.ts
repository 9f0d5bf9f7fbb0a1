import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { pack, unpack } from 'msgpackr';
import { decodeBatch, decodeReply, encodeBatch, encodeReply, estimateReplyBytes } from '../../src/shard/codec.ts';
import { estimateEntryBytes } from '../../src/shard/entry-bytes.ts';
import type { ContainerPort } from '../../src/kube/types.ts';
import type { Batch, BatchEntry, Plan, PlanReply } from '../../src/shard/protocol.ts';
import { CodecError } from '../../src/shard/tuples.ts';
import { batchEntries, batchEntry, batches, batchOf, member, replies, serviceRecord } from '../support/batches.ts';
import { propertyRuns } from '../support/runs.ts';

const SEED = 20261121;

suite('batch codec', () => {
  test('a decoded batch equals the encoded one', () => {
    fc.assert(
      fc.property(batches, (batch) => {
        assert.deepEqual(plain(decodeBatch(encodeBatch(batch))), plain(batch));
      }),
      propertyRuns(200, SEED),
    );
  });

  test('a decoded reply equals the encoded one', () => {
    fc.assert(
      fc.property(replies, (reply) => {
        assert.deepEqual(plain(decodeReply(encodeReply(reply))), plain(reply));
      }),
      propertyRuns(200, SEED),
    );
  });

  test('fields of a pod that no planner reads are not sent', () => {
    const { pod, zone } = member(1, { labels: ['app', 'web'], resourceVersion: '12' });
    const [entry] = decodeBatch(encodeBatch(batchOf(batchEntry({ upserts: [{ pod, zone }] })))).entries;
    assert.deepEqual(entry?.upserts, [{ pod: { ...pod, labels: [], resourceVersion: '' }, zone }]);
  });

  test('unchanged, absent and present specs are told apart', () => {
    const specs = [undefined, null, serviceRecord()];
    const batch = batchOf(...specs.map((spec) => batchEntry({ spec })));
    assert.deepEqual(
      decodeBatch(encodeBatch(batch)).entries.map((entry) => entry.spec),
      specs,
    );
  });

  test('an unknown node, a node without a zone, and a zone are told apart', () => {
    const upserts = [null, '', 'zone-b'].map((zone, n) => member(n, {}, zone));
    const [entry] = decodeBatch(encodeBatch(batchOf(batchEntry({ upserts })))).entries;
    assert.deepEqual(
      entry?.upserts.map(({ zone }) => zone),
      [null, '', 'zone-b'],
    );
  });

  test('zones of nodes are sent, also none', () => {
    const zones = [
      { node: 'node-1', zone: 'zone-a' },
      { node: 'node-2', zone: '' },
    ];
    assert.deepEqual(decodeBatch(encodeBatch({ ...batchOf(), zones })).zones, zones);
    assert.equal(decodeBatch(encodeBatch(batchOf())).zones, undefined);
  });

  test('what a pod has in common with the pod before is sent once, and shared', () => {
    const node = 'a-node-with-quite-a-long-name';
    const ports = (): ContainerPort[] => [{ name: 'http', containerPort: 8080, protocol: 'TCP' }];
    const pods = [1, 2].map((n) => member(n, { nodeName: node, ports: ports() }, 'zone-a'));
    const other = member(3, { nodeName: 'another', ports: [] }, null);
    const bytes = encodeBatch(batchOf(batchEntry({ upserts: [...pods, other, other] })));
    const text = Buffer.from(bytes).toString('latin1');
    for (const once of [node, 'http', 'TCP', 'zone-a', 'another']) assert.equal(text.split(once).length, 2, once);
    const { upserts } = decodeBatch(bytes).entries[0]!;
    assert.deepEqual(
      upserts.map(({ pod, zone }) => [pod.nodeName, pod.ports, zone]),
      [
        [node, ports(), 'zone-a'],
        [node, ports(), 'zone-a'],
        ['another', [], null],
        ['another', [], null],
      ],
    );
    assert.equal(upserts[0]!.pod.ports, upserts[1]!.pod.ports);
  });

  test('ports that differ from those before in one field are sent', () => {
    const port = { name: 'http', containerPort: 8080, protocol: 'TCP' };
    const variants = [
      [port],
      [{ ...port, name: 'web' }],
      [{ ...port, containerPort: 81 }],
      [{ ...port, protocol: 'UDP' }],
      [port, port],
    ];
    const upserts = variants.flatMap((ports, n) => [member(n, { ports }), member(n + 10, { ports: [port] })]);
    const decoded = decodeBatch(encodeBatch(batchOf(batchEntry({ upserts })))).entries[0]!.upserts;
    assert.deepEqual(
      decoded.map(({ pod }) => pod.ports),
      upserts.map(({ pod }) => pod.ports),
    );
  });

  test('the list of addresses of a pod comes as it was sent', () => {
    for (const podIPs of [null, [], ['10.0.0.1'], ['10.0.0.2'], ['10.0.0.1', 'fd00::1']]) {
      const entry = batchEntry({ upserts: [member(1, { podIP: '10.0.0.1', podIPs })] });
      const { pod } = decodeBatch(encodeBatch(batchOf(entry))).entries[0]!.upserts[0]!;
      assert.deepEqual([pod.podIP, pod.podIPs], ['10.0.0.1', podIPs]);
    }
  });

  test('unchanged, absent and present CPU shares are told apart', () => {
    for (const shares of [undefined, null, { version: 3, zones: [{ zone: 'zone-a', share: 1 / 3 }] }]) {
      assert.deepEqual(decodeBatch(encodeBatch({ ...batchOf(), shares })).shares, shares);
    }
  });

  test('every message owns its buffer, so that a transfer takes no other along', () => {
    const first = encodeBatch(batchOf(batchEntry({ service: 'shop/first' })));
    const second = encodeBatch(batchOf(batchEntry({ service: 'shop/second' })));
    assert.notEqual(first.buffer, second.buffer);
    structuredClone(first, { transfer: [first.buffer] });
    assert.equal(decodeBatch(second).entries[0]?.service, 'shop/second');
    assert.equal(
      decodeBatch(encodeBatch(batchOf(batchEntry({ service: 'shop/third' })))).entries[0]?.service,
      'shop/third',
    );
  });

  test('bodies are views of the reply, not copies', () => {
    const bytes = encodeReply(replyWithBody(Uint8Array.of(1, 2, 3)));
    const body = decodeReply(bytes).results[0]?.plans[0]?.writes[0]?.body;
    assert.deepEqual([...(body ?? [])], [1, 2, 3]);
    assert.equal(body?.buffer, bytes.buffer);
  });

  test('decoding and encoding leave their input alone', () => {
    const batch = deepFreeze(batchOf(batchEntry({ spec: serviceRecord(), upserts: [member(1), member(2)] })));
    const bytes = encodeBatch(batch);
    const before = [...bytes];
    decodeBatch(bytes);
    assert.deepEqual([...bytes], before);
  });

  test('the estimate is an upper bound that is close', () => {
    fc.assert(
      fc.property(batchEntries, (entry) => {
        const framing = encodeBatch(batchOf()).length;
        assert.ok(encodeBatch(batchOf(entry)).length - framing <= estimateEntryBytes(entry));
      }),
      propertyRuns(200, SEED),
    );
    fc.assert(
      fc.property(replies, (reply) => {
        assert.ok(encodeReply(reply).length <= estimateReplyBytes(reply));
      }),
      propertyRuns(200, SEED),
    );
    const full = batchEntry({ spec: serviceRecord(), upserts: Array.from({ length: 1000 }, (_, n) => member(n)) });
    assert.ok(estimateEntryBytes(full) < 2 * encodeBatch(batchOf(full)).length);
  });

  test('the estimate includes the headers of every write', () => {
    const write = replyWithBody(new Uint8Array(0)).results[0]!.plans[0]!.writes[0]!;
    const long = { ...write, id: Number.MAX_SAFE_INTEGER, name: 'n'.repeat(253), uid: 'u'.repeat(36) };
    const reply = replyWithBody(new Uint8Array(0));
    const [result] = reply.results;
    const [plan] = result!.plans;
    const many = { ...plan!, writes: Array.from({ length: 100 }, () => long) };
    const full: PlanReply = { ...reply, results: [{ ...result!, plans: [many] }] };
    assert.ok(encodeReply(full).length <= estimateReplyBytes(full));
  });

  test('the estimate includes every text', () => {
    const long = 'x'.repeat(10_000);
    const counts = (what: string, change: Partial<BatchEntry>): void => {
      const entry = batchEntry(change);
      const bytes = encodeBatch(batchOf(entry)).length - encodeBatch(batchOf()).length;
      assert.ok(bytes > long.length && estimateEntryBytes(entry) >= bytes, what);
    };
    const port = { name: '', protocol: 'TCP', port: 80, targetPort: 80, appProtocol: undefined };
    const containerPort = { name: '', containerPort: 80, protocol: '' };
    const ack = { write: 1, result: 'applied', uid: '', resourceVersion: '' } as const;
    counts('the key of the service', { service: `shop/${long}` });
    for (const field of ['uid', 'resourceVersion', 'type', 'clusterIP', 'trafficDistribution']) {
      counts(`${field} of a service`, { spec: serviceRecord({ [field]: long }) });
    }
    for (const field of ['labels', 'annotations', 'ipFamilies', 'selector']) {
      counts(`${field} of a service`, { spec: serviceRecord({ [field]: [long] }) });
    }
    for (const field of ['name', 'protocol', 'targetPort', 'appProtocol']) {
      counts(`${field} of a service's port`, { spec: serviceRecord({ ports: [{ ...port, [field]: long }] }) });
    }
    for (const field of ['name', 'uid', 'nodeName', 'hostname', 'subdomain', 'phase', 'podIP']) {
      counts(`${field} of a pod`, { upserts: [member(1, { [field]: long })] });
    }
    counts('podIPs of a pod', { upserts: [member(1, { podIPs: [long] })] });
    for (const field of ['name', 'protocol']) {
      counts(`${field} of a pod's port`, { upserts: [member(1, { ports: [{ ...containerPort, [field]: long }] })] });
    }
    counts('the zone of a pod', { upserts: [member(1, {}, long)] });
    counts('the name of a pod that is gone', { removals: [long] });
    for (const field of ['uid', 'resourceVersion']) counts(`${field} of an ack`, { acks: [{ ...ack, [field]: long }] });
    counts('the name of what was observed', { observed: [{ output: 'endpoints', name: long, content: null }] });
    counts('the bytes of what was observed', {
      observed: [{ output: 'endpoints', name: '', content: { encoding: 'json', bytes: new Uint8Array(long.length) } }],
    });
  });
});

suite('bytes that are no message', () => {
  test('garbage is a CodecError and no other error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        for (const decode of [decodeBatch, decodeReply]) {
          try {
            decode(bytes);
          } catch (error) {
            assert.ok(error instanceof CodecError, String(error));
          }
        }
      }),
      propertyRuns(1000, SEED),
    );
  });

  test('a cut message is a CodecError', () => {
    const bytes = encodeBatch(batchOf(batchEntry({ spec: serviceRecord(), upserts: [member(1)] })));
    for (let end = 0; end < bytes.length; end++) {
      assert.throws(() => decodeBatch(bytes.subarray(0, end)), CodecError);
    }
  });

  test('a first pod that refers to the pod before is a CodecError', () => {
    const bytes = encodeBatch(batchOf(batchEntry({ upserts: [member(1)] })));
    for (const [field, what] of [
      [4, 'nodeName'],
      [5, 'phase'],
      [7, 'hostname'],
      [8, 'subdomain'],
      [10, 'ports'],
      [11, 'zone'],
    ] as const) {
      const message = unpack(bytes) as unknown[][][];
      const [pod] = message[3]![0]![4] as unknown[][];
      pod![field] = 0;
      assert.throws(() => decodeBatch(pack(message)), new RegExp(`${what}: `), what);
    }
  });

  test('an error names a field of a batch with another type', () => {
    const shares = { version: 3, zones: [{ zone: 'zone-a', share: 0.5 }] };
    const pod = member(1, {
      podIPs: ['10.0.0.1'],
      ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
    });
    const entry = batchEntry({
      spec: serviceRecord(),
      upserts: [pod],
      removals: ['web-2'],
      acks: [{ write: 1, result: 'applied', uid: 'u', resourceVersion: '5' }],
      observed: [{ output: 'endpoints', name: 'web', content: { encoding: 'json', bytes: Uint8Array.of(1) } }],
    });
    const bytes = encodeBatch({ ...batchOf(entry), shares, zones: [{ node: 'node-1', zone: 'zone-a' }] });
    assert.equal(
      complaints(bytes, decodeBatch).join(', '),
      [
        'seed, shares version, zone, share, zones, shares, service, outputs, base',
        'uid, resourceVersion, labels, annotations, creationTime, type, clusterIP, ipFamilies, selector',
        'port name, port protocol, port, targetPort, appProtocol, ports, trafficDistribution, spec',
        'pod name, pod uid, pod flags, readyTime, nodeName, phase, podIP, hostname, subdomain, podIPs',
        'container port name, containerPort, container port protocol, pod, upserts, removals',
        'ack write, ack result, ack uid, ack resourceVersion, ack, acks, relisted',
        'observed output, observed name, observed encoding, observed bytes, observed, entry, entries',
      ].join(', '),
    );
  });

  test('an error names a field of a reply with another type', () => {
    const family = {
      family: 'IPv4',
      endpoints: 1,
      slices: 1,
      slicesDesired: 1,
      added: 1,
      removed: 0,
      writes: 1,
    } as const;
    const [result] = replyWithBody(Uint8Array.of(1)).results;
    const plans: Plan[] = [
      ...result!.plans,
      {
        facts: {
          kind: 'slices',
          families: [{ ...family, hints: [{ zone: 'zone-a', count: 1 }], hintsFailure: '' }],
          topology: true,
          trafficDistribution: '',
          waitingForNode: 0,
        },
        writes: [],
        isWhole: false,
      },
      {
        facts: {
          kind: 'mirror',
          endpoints: 1,
          slices: 1,
          slicesDesired: 1,
          added: 1,
          updated: 0,
          removed: 0,
          skipped: 0,
          nodes: ['node-1'],
        },
        writes: [],
        isWhole: false,
      },
    ];
    const failures = [{ output: 'mirror', message: 'no' }] as const;
    const problems = [{ kind: 'truncated', object: 'shop/web', field: 'subsets', message: 'too many' }] as const;
    const bytes = encodeReply({ error: 'no', results: [{ ...result!, plans, failures, problems, error: 'no' }] });
    assert.equal(
      complaints(bytes, decodeReply).join(', '),
      [
        'error, service, plan output, write id, verb, write name, write uid, write resourceVersion',
        'phase, write family, body, write, writes, ready, notReady, truncated, endpoints facts, plan',
        'family, endpoints, slices, slicesDesired, added, removed, zone, count, hints, hintsFailure',
        'family facts, families, trafficDistribution, waitingForNode, slices facts, updated, skipped',
        'mirror nodes, mirror facts, plans, failed output, failure message, failure, failures',
        'kind, object, field, message, problem, problems, result, results',
      ].join(', '),
    );
  });

  test('a number that is no output, or no set of outputs, is refused', () => {
    const observed = [{ output: 'mirror', name: 'web-x', content: null }] as const;
    const bytes = encodeBatch(batchOf(batchEntry({ outputs: ['mirror'], observed })));
    const changed = (change: (entry: unknown[]) => void): Uint8Array => {
      const message = unpack(bytes) as [number, unknown, unknown, [unknown[]]];
      change(message[3][0]);
      return pack(message);
    };
    const setOutputs = (bits: number) => changed((entry) => (entry[1] = bits));
    const setObserved = (bits: number) => changed((entry) => ((entry[8] as [unknown[]])[0][0] = bits));
    assert.deepEqual(decodeBatch(setOutputs(0)).entries[0]?.outputs, []);
    assert.throws(() => decodeBatch(setOutputs(1 << 20)), /CodecError: outputs: not a set of outputs/);
    assert.throws(() => decodeBatch(setObserved(0)), /CodecError: observed output: not an output/);
    assert.throws(() => decodeBatch(setObserved(3)), /CodecError: observed output: not an output/);
  });

  test('a reply is no batch', () => {
    assert.throws(() => decodeBatch(encodeReply({ error: null, results: [] })), /CodecError: batch: not a tuple of 4/);
  });
});

/** What decoding says when each value of the message in its turn is an object, which nothing is; each once. */
function complaints(bytes: Uint8Array, decode: (bytes: Uint8Array) => unknown): string[] {
  const message = unpack(bytes) as unknown[];
  const said = new Set<string>();
  const visit = (list: unknown[]): void => {
    list.forEach((value, i) => {
      if (Array.isArray(value)) visit(value as unknown[]);
      list[i] = {};
      try {
        decode(pack(message));
      } catch (error) {
        assert.ok(error instanceof CodecError);
        said.add(error.message.replace(/: not a.*/, ''));
      }
      list[i] = value;
    });
  };
  visit(message);
  return [...said];
}

function replyWithBody(body: Uint8Array): PlanReply {
  const write = {
    id: 1,
    verb: 'create',
    name: 'web',
    uid: '',
    resourceVersion: '',
    phase: 1,
    waits: false,
    family: '',
    body,
  } as const;
  const facts = { kind: 'endpoints', ready: 1, notReady: 0, truncated: 0 } as const;
  const plans = [{ facts, writes: [write], isWhole: true }] as const;
  const result = { service: 'shop/web', needFull: false, plans, failures: [], problems: [], error: null };
  return { error: null, results: [result] };
}

/** Buffers and Uint8Arrays of the same bytes are the same thing here. */
function plain(message: Batch | PlanReply): unknown {
  return JSON.parse(
    JSON.stringify(message, (_, value: unknown) =>
      value === undefined ? 'absent' : isBytes(value) ? [...bytesOf(value)] : value,
    ),
  );
}

function isBytes(value: unknown): boolean {
  return value instanceof Uint8Array || (typeof value === 'object' && value !== null && 'data' in value);
}

function bytesOf(value: unknown): Uint8Array {
  return value instanceof Uint8Array ? value : Uint8Array.from((value as { data: number[] }).data);
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}
