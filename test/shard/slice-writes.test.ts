import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { SliceWrite } from '../../src/core/slices/slice-write.ts';
import { sameBeyondMetadata } from '../../src/kube/beyond-metadata.ts';
import type { Endpoint, EndpointSlice } from '../../src/kube/types.ts';
import { encodeSliceWrites } from '../../src/shard/slice-writes.ts';

suite('writes of slices', () => {
  test('writes go out by phase, small ones first, deletes last, and get acks by id', () => {
    const pending = new Map<number, SliceWrite>();
    let id = 10;
    const writes = [
      write('delete', 'old', 2),
      write('update', 'shrunk', 2, [endpoint(1)]),
      write('create', 'big', 1, [endpoint(1), endpoint(2), endpoint(3)]),
      write('update', 'small', 1, [endpoint(4)]),
    ];
    const { writes: encoded, isWhole } = encodeSliceWrites(
      writes,
      () => undefined,
      pending,
      () => ++id,
    );
    assert.deepEqual(
      encoded.map(({ id, verb, name, phase }) => [id, `${verb} ${name}`, phase]),
      [
        [11, 'update small', 1],
        [12, 'create big', 1],
        [13, 'update shrunk', 2],
        [14, 'delete old', 2],
      ],
    );
    assert.deepEqual(
      [...pending].map(([id, { name }]) => [id, name]),
      [
        [11, 'small'],
        [12, 'big'],
        [13, 'shrunk'],
        [14, 'old'],
      ],
    );
    assert.equal(isWhole, true);
    assert.deepEqual([encoded[3]?.body.length, encoded[3]?.uid, encoded[3]?.resourceVersion], [0, 'old-uid', '7']);
  });

  test('beyond eight megabytes what goes last is left for the next plan', () => {
    const megabytes = (count: number): Endpoint[] => [{ ...endpoint(1), hostname: 'h'.repeat(count * 2 ** 20) }];
    const names = (...sizes: readonly number[]): string => {
      let id = 0;
      const writes = sizes.map((size, i) => write('create', `${i}`, i === 0 ? 2 : 1, megabytes(size)));
      const pending = new Map<number, SliceWrite>();
      const planned = encodeSliceWrites(
        writes,
        () => undefined,
        pending,
        () => ++id,
      );
      assert.equal(pending.size, planned.writes.length, 'nothing waits for what is left out');
      return `${planned.writes.map(({ name }) => name).join(' ')}${planned.isWhole ? '' : ' ...'}`;
    };
    assert.equal(names(1, 3, 3, 1), '3 1 2 0');
    assert.equal(names(1, 3, 3, 2), '3 1 2 ...', 'the one of phase 2 is left out');
    assert.equal(names(1, 3, 3, 3, 3), '1 2 3 ...');
    assert.equal(names(1, 20, 1), '1 ...');
    assert.equal(names(20), '0');
  });

  test('writes are encoded as Go encodes them, so that the echo has the same bytes', () => {
    const full: Endpoint = {
      addresses: ['10.0.0.1'],
      conditions: { ready: true, serving: true, terminating: false },
      hostname: 'db-0',
      targetRef: { kind: 'Pod', namespace: 'shop', name: 'web-1', uid: 'uid-1' },
      nodeName: 'node-1',
      zone: 'zone-a',
      hints: { forZones: [{ name: 'zone-a' }], forNodes: [{ name: 'node-1' }] },
    };
    const mirrored: Endpoint = { addresses: ['10.0.0.2'], conditions: { ready: false } };
    const ports = [
      { name: '', protocol: 'TCP', port: 8080, appProtocol: '' },
      { name: 'dns', protocol: 'UDP', port: 53 },
    ];
    // Made by EndpointSlice.Marshal of k8s.io/api v0.36.3.
    check(
      { ...slice('web', [full, mirrored]), ports },
      '0a190a097765622d616263646512001a0022002a00320038004200' +
        '125f0a0831302e302e302e3112060801100118001a0464622d30221f0a03506f64120473686f701a057765622d3122057569642d31' +
        '2a0032003a0032066e6f64652d313a067a6f6e652d6142140a080a067a6f6e652d6112080a066e6f64652d31' +
        '120e0a0831302e302e302e3212020800' +
        '1a0c0a00120354435018903f22001a0c0a03646e7312035544501835220449507634',
    );
    check(
      { ...slice('web', null), addressType: 'IPv6', ports: null },
      '0a190a097765622d616263646512001a0022002a00320038004200220449507636',
    );
  });
});

function check(object: EndpointSlice, hex: string): void {
  const { writes } = encodeSliceWrites(
    [{ verb: 'create', name: 'web', uid: '', resourceVersion: '', phase: 1, waits: false, family: 'IPv4', object }],
    () => undefined,
    new Map(),
    () => 1,
  );
  const { body } = writes[0]!;
  assert.ok(sameBeyondMetadata(body, Buffer.from(hex, 'hex')), Buffer.from(body).toString('hex'));
}

function write(verb: SliceWrite['verb'], name: string, phase: 1 | 2, endpoints: Endpoint[] = []): SliceWrite {
  const object = verb === 'delete' ? null : slice(name, endpoints);
  return { verb, name, uid: `${name}-uid`, resourceVersion: '7', phase, waits: phase > 1, family: 'IPv4', object };
}

function slice(name: string, endpoints: Endpoint[] | null): EndpointSlice {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name },
    addressType: 'IPv4',
    endpoints,
    ports: [],
  };
}

function endpoint(n: number): Endpoint {
  return { addresses: [`10.0.0.${n}`], conditions: { ready: true } };
}
