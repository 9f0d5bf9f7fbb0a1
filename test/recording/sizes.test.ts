import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeBare, encodeBare, encodeObject } from '../../src/kube/codec.ts';
import { JSON_TYPE, PROTOBUF_WATCH } from '../../src/kube/media-type.ts';
import { encodeWatchFrame } from '../../src/kube/watch-framing.ts';
import { addSize, createFrameSizer, NO_SUMS, sizeLine, type SizeSums } from '../../src/recording/sizes.ts';
import { apiEndpoints, apiPod, scriptedCluster } from './scripted-cluster.ts';

const USUAL = { base: 500, each: 100 };

function sums(...objects: readonly (readonly [endpoints: number, bytes: number])[]): SizeSums {
  return objects.reduce((all, [endpoints, bytes]) => addSize(all, endpoints, bytes), NO_SUMS);
}

function repeated<T>(count: number, of: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => of(i));
}

describe('bytes of a change', () => {
  it('bytes of a change are a line over the number of endpoints', () => {
    const { base, each } = sizeLine(sums(...repeated(40, (i) => [i % 10, 300 + 50 * (i % 10)] as const)), USUAL);
    assert.deepEqual([Math.round(base), Math.round(each)], [300, 50]);
  });

  it('the usual slope is kept through the mean if all objects are of one size', () => {
    assert.deepEqual(sizeLine(sums(...repeated(40, () => [5, 800] as const)), USUAL), { base: 300, each: 100 });
  });

  it('the usual sizes are taken if fewer than twenty changes were seen', () => {
    assert.equal(sizeLine(sums(...repeated(19, (i) => [i, 10 * i] as const)), USUAL), USUAL);
  });

  it('more endpoints never take fewer bytes', () => {
    const { each } = sizeLine(sums(...repeated(40, (i) => [i % 2, 800 - 100 * (i % 2)] as const)), USUAL);
    assert.equal(each, 0);
  });
});

describe('the frame that tells a watcher of an object', () => {
  const object = {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { namespace: 'shop', name: 'web', resourceVersion: '17' },
    subsets: [{ addresses: repeated(30, (i) => ({ ip: `192.0.2.${i}`, nodeName: `node-${i}` })) }],
  };

  it('a frame has the bytes that the API server sends, in both encodings', () => {
    const bytes = encodeBare(object);
    const sizes = createFrameSizer().sizeOf({ encoding: 'protobuf', apiVersion: 'v1', kind: 'Endpoints', bytes });
    assert.equal(sizes.protobuf, encodeWatchFrame(PROTOBUF_WATCH, 'MODIFIED', encodeObject(object)).length);
    const json = JSON.stringify(decodeBare('v1', 'Endpoints', bytes));
    assert.equal(sizes.json, encodeWatchFrame(JSON_TYPE, 'MODIFIED', Buffer.from(json)).length);
  });

  it('a frame is not told in JSON if a field that nobody reads is malformed', () => {
    // generateName as a number.
    const metadata = Uint8Array.of(0x0a, 2, 0x10, 1);
    const source = { encoding: 'protobuf', apiVersion: 'v1', kind: 'Endpoints', bytes: metadata } as const;
    assert.throws(() => decodeBare('v1', 'Endpoints', metadata), { name: 'DecodeError' });
    const sizes = createFrameSizer().sizeOf(source);
    assert.equal(sizes.json, null);
    assert.ok(sizes.protobuf! > metadata.length);
  });

  it('frames of few objects only are told in the other encoding', () => {
    const sizer = createFrameSizer();
    const bytes = encodeBare(object);
    const told = repeated(128, () =>
      sizer.sizeOf({ encoding: 'protobuf', apiVersion: 'v1', kind: 'Endpoints', bytes }),
    );
    assert.equal(told.filter(({ json }) => json !== null).length, 32 + 3);
  });
});

describe('a recording', () => {
  it('a recording tells the sums of all changes, and the size of no single object', () => {
    const cluster = scriptedCluster('pseudonyms');
    cluster.objects.pods.push(apiPod('web-1'));
    const written = (second: number): object =>
      apiEndpoints('web', 'kube-controller-manager', second, `192.0.2.${second}`);
    cluster.objects.endpoints.push(written(9));
    cluster.recorder.start();
    cluster.pass(1000);
    for (let i = 0; i < 65; i++) {
      cluster.event('endpoints', 'MODIFIED', written(i));
      cluster.pass(3000);
    }
    cluster.recorder.stop();
    const told = cluster.events().filter((event) => event.type === 'sizes');
    // Each time of at least 20 more changes, so that no difference is the size of one.
    assert.deepEqual(
      told.map(({ sizes }) => sizes.endpoints.json.slice(0, 2)),
      [
        [20, 20],
        [40, 40],
        [65, 65],
      ],
    );
  });
});
