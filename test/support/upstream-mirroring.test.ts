/** The golden vectors of docs/spec/endpointslice.md "Mirroring: golden vectors", on the port that ours is judged by. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EndpointAddress, Endpoints, EndpointSubset, ObjectMeta } from '../../src/kube/types.ts';
import { SKIP_MIRROR_LABEL } from '../../src/kube/names.ts';
import { createPrng } from '../../src/lib/prng.ts';
import { makeService } from './records.ts';
import { createSliceServer, serveSliceRequest, type SliceServer } from './slice-server.ts';
import { countWrites, sliceSizes } from './slice-content.ts';
import { upstreamMirror } from './upstream-mirroring.ts';

const SELECTORLESS = makeService({ selector: null });
const HTTP = [{ name: 'http', port: 80, protocol: 'TCP' }];
const HTTPS = [{ name: 'https', port: 443, protocol: 'TCP' }];

function makeEndpoints(subsets: readonly EndpointSubset[], metadata: ObjectMeta = {}): Endpoints {
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'web', namespace: 'ns', uid: 'uid-ep', ...metadata },
    subsets,
  };
}

function addresses(count: number, prefix = '10.0'): EndpointAddress[] {
  return Array.from({ length: count }, (_, i) => ({ ip: `${prefix}.${Math.floor(i / 250)}.${1 + (i % 250)}` }));
}

interface Outcome {
  readonly writes: string;
  readonly sizes: number[];
  readonly skipped: number;
  readonly events: readonly string[];
}

function mirror(server: SliceServer, endpoints: Endpoints | undefined, max = 1000, service = SELECTORLESS): Outcome {
  const world = { service, endpoints, slices: [...server.slices.values()] };
  const { writes, skipped, events } = upstreamMirror(world, 'web', max, createPrng(1));
  for (const write of writes) serveSliceRequest(server, write);
  return { writes: countWrites(writes), sizes: sliceSizes(server.slices.values()), skipped, events };
}

function expectSlices(subsets: readonly EndpointSubset[], writes: string, sizes: readonly number[]): void {
  const server = createSliceServer();
  const outcome = mirror(server, makeEndpoints(subsets));
  assert.deepEqual([outcome.writes, outcome.sizes], [writes, sizes]);
  assert.equal(mirror(server, makeEndpoints(subsets)).writes, 'none', 'at rest');
}

test('no subsets, no addresses: no slices, and existing ones go', () => {
  expectSlices([], 'none', []);
  expectSlices([{ ports: HTTP }], 'none', []);
  const server = createSliceServer();
  mirror(server, makeEndpoints([{ addresses: addresses(1), ports: HTTP }]));
  assert.equal(mirror(server, makeEndpoints([{ ports: HTTP }])).writes, '1 delete');
});

test('two ports of one address share a slice', () => {
  const one = addresses(1);
  expectSlices(
    [
      { addresses: one, ports: HTTP },
      { addresses: one, ports: HTTPS },
    ],
    '1 create',
    [1],
  );
});

test('two addresses of one port share a slice', () => {
  const subset = (ip: string): EndpointSubset => ({ addresses: [{ ip }], ports: HTTP });
  expectSlices([subset('10.0.0.1'), subset('10.0.0.2')], '1 create', [2]);
});

test('a port with appProtocol is another one in each subset, and leaves the shared', () => {
  const ports = [...HTTP, { ...HTTPS[0]!, appProtocol: 'h2c' }];
  const [one, two, three] = addresses(3);
  // http at all three, https at all three.
  expectSlices(
    [
      { addresses: [one!, two!], ports },
      { addresses: [three!], ports },
    ],
    '2 create',
    [3, 3],
  );
  // Both ports at the first, https at the second.
  expectSlices(
    [
      { addresses: [one!], ports },
      { addresses: [two!, three!], ports: ports.slice(1) },
    ],
    '2 create',
    [2, 1],
  );
});

test('different ports of different addresses make two slices', () => {
  const subset = (ip: string, ports: typeof HTTP): EndpointSubset => ({ addresses: [{ ip }], ports });
  expectSlices([subset('10.0.0.1', HTTP), subset('10.0.0.2', HTTPS)], '2 create', [1, 1]);
});

test('each family has its slice', () => {
  expectSlices([{ addresses: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }], ports: HTTP }], '2 create', [1, 1]);
});

test('an address that is ready and not ready is not ready', () => {
  const [address] = addresses(1);
  const server = createSliceServer();
  mirror(server, makeEndpoints([{ addresses: [address!], notReadyAddresses: [address!], ports: HTTP }]));
  const [slice] = server.slices.values();
  assert.deepEqual(slice!.endpoints, [{ addresses: ['10.0.0.1'], conditions: { ready: false } }]);
});

test('addresses above the limit are left out, with an Event object', () => {
  const server = createSliceServer();
  const outcome = mirror(server, makeEndpoints([{ addresses: addresses(1001), ports: HTTP }]));
  assert.deepEqual(outcome, {
    writes: '1 create',
    sizes: [1000],
    skipped: 1,
    events: [
      'TooManyAddressesToMirror: A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. ' +
        '1 addresses were skipped',
    ],
  });
});

test('the limit is per subset', () => {
  const subsets = [
    { addresses: addresses(2), ports: HTTP },
    { addresses: addresses(3, '10.1'), ports: HTTPS },
  ];
  const outcome = mirror(createSliceServer(), makeEndpoints(subsets), 2);
  assert.deepEqual([outcome.writes, outcome.sizes, outcome.skipped], ['2 create', [2, 2], 1]);
});

test('without a valid address nothing is written', () => {
  const invalid = Array.from({ length: 5 }, (_, i) => ({ ip: `host-${i}` }));
  const outcome = mirror(createSliceServer(), makeEndpoints([{ addresses: invalid, ports: HTTP }]));
  assert.deepEqual(outcome, {
    writes: 'none',
    sizes: [],
    skipped: 5,
    events: ['InvalidIPAddress: Skipped 5 invalid IP addresses when mirroring to EndpointSlices'],
  });
});

test('another owner, another annotation and another label are one update each', () => {
  const subsets = [{ addresses: addresses(2), ports: HTTP }];
  const server = createSliceServer();
  mirror(server, makeEndpoints(subsets, { annotations: { note: 'a' } }));
  for (const metadata of [{ uid: 'another' }, {}, { labels: { team: 'a' } }, { annotations: { note: 'a' } }]) {
    assert.equal(mirror(server, makeEndpoints(subsets, metadata)).writes, '1 update');
    assert.equal(mirror(server, makeEndpoints(subsets, metadata)).writes, 'none');
  }
});

test('only the exact word skips, and mirrored slices go', () => {
  const subsets = [{ addresses: addresses(1), ports: HTTP }];
  const server = createSliceServer();
  const labelled = (value: string): Outcome =>
    mirror(server, makeEndpoints(subsets, { labels: { [SKIP_MIRROR_LABEL]: value } }));
  assert.equal(labelled('true').writes, 'none');
  assert.equal(labelled('invalid').writes, '1 create');
  assert.equal(labelled('false').writes, '1 update');
  assert.equal(labelled('true').writes, '1 delete');
});

test('a service that gets a selector loses its mirrored slices, and gets them back', () => {
  const endpoints = makeEndpoints([{ addresses: addresses(1), ports: HTTP }]);
  const server = createSliceServer();
  mirror(server, endpoints);
  assert.equal(mirror(server, endpoints, 1000, makeService()).writes, '1 delete');
  assert.equal(mirror(server, endpoints).writes, '1 create');
  assert.equal(mirror(server, undefined).writes, '1 delete');
});

test('another port recycles the slice of its family', () => {
  const both = [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }];
  const server = createSliceServer();
  mirror(server, makeEndpoints([{ addresses: both, ports: HTTP }]));
  const names = [...server.slices.keys()].toSorted();
  assert.equal(mirror(server, makeEndpoints([{ addresses: both, ports: HTTPS }])).writes, '2 update');
  assert.deepEqual([...server.slices.keys()].toSorted(), names);
});
