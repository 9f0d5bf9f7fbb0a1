import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encodeBare } from '../../src/kube/codec.ts';
import { createInterner } from '../../src/lib/interner.ts';
import { PLAIN_NAMES } from '../../src/recording/names.ts';
import { readOutput, type EndpointTexts } from '../../src/recording/output.ts';
import type { RecordedEndpoint } from '../../src/recording/recording.ts';

const interner = createInterner();

interface ApiObject {
  readonly kind: string;
  readonly apiVersion: string;
  readonly [field: string]: unknown;
}

/** Reads an object after its last state. */
function read(object: ApiObject, before: EndpointTexts | null = null): EndpointTexts {
  const { kind, apiVersion } = object;
  const source = { encoding: 'protobuf', kind, apiVersion, bytes: encodeBare(object) } as const;
  const { output, texts } = readOutput(source, interner, PLAIN_NAMES, () => before);
  return { endpoints: output.endpoints, texts };
}

function slice(...pods: string[]): ApiObject {
  return {
    kind: 'EndpointSlice',
    apiVersion: 'discovery.k8s.io/v1',
    metadata: { namespace: 'shop', name: 'web-1' },
    addressType: 'IPv4',
    endpoints: pods.map((pod) => ({ addresses: [`10.0.0.${pod.length}`], targetRef: { kind: 'Pod', name: pod } })),
  };
}

function endpoints(...subsets: { ready?: string[]; notReady?: string[] }[]): ApiObject {
  return {
    kind: 'Endpoints',
    apiVersion: 'v1',
    metadata: { namespace: 'shop', name: 'web' },
    subsets: subsets.map(({ ready = [], notReady = [] }) => ({
      addresses: ready.map((ip) => ({ ip })),
      notReadyAddresses: notReady.map((ip) => ({ ip })),
    })),
  };
}

function shown({ endpoints: all }: EndpointTexts): string[] {
  return all.map(({ addresses, conditions, subset }) => `${addresses[0]} ${conditions.ready} in ${subset}`);
}

/** Which endpoints are those of the last state, by their places in it. */
function shared(before: EndpointTexts, after: EndpointTexts): (number | 'new')[] {
  const places = new Map<RecordedEndpoint, number>(before.endpoints.map((one, i) => [one, i]));
  return after.endpoints.map((one) => places.get(one) ?? 'new');
}

describe('the endpoints of an object and of its last state', () => {
  it('unchanged endpoints are the same objects, in place or after one is gone', () => {
    const before = read(slice('a', 'bb', 'ccc', 'dddd'));
    assert.deepEqual(shared(before, read(slice('a', 'bb', 'ccc', 'dddd'), before)), [0, 1, 2, 3]);
    assert.deepEqual(shared(before, read(slice('a', 'xx', 'ccc', 'dddd'), before)), [0, 'new', 2, 3]);
    assert.deepEqual(shared(before, read(slice('a', 'ccc', 'dddd'), before)), [0, 2, 3]);
    assert.deepEqual(shared(before, read(slice('eeeee', 'a', 'bb', 'ccc', 'dddd'), before)), ['new', 0, 1, 2, 3]);
  });

  it('what has moved further is read again, and is what it was', () => {
    const before = read(slice('a', 'bb', 'ccc', 'dddd'));
    const after = read(slice('dddd', 'ccc', 'bb', 'a'), before);
    assert.deepEqual(after.endpoints, before.endpoints.toReversed());
    assert.deepEqual(after.texts, before.texts.toReversed());
  });

  it('the same bytes in another list or subset are another endpoint', () => {
    const before = read(endpoints({ ready: ['10.0.0.1', '10.0.0.2'] }, { ready: ['10.0.0.3'] }));
    assert.deepEqual(shown(before), ['10.0.0.1 true in 0', '10.0.0.2 true in 0', '10.0.0.3 true in 1']);
    const unready = read(endpoints({ ready: ['10.0.0.1'], notReady: ['10.0.0.2'] }, { ready: ['10.0.0.3'] }), before);
    assert.deepEqual(shown(unready), ['10.0.0.1 true in 0', '10.0.0.2 false in 0', '10.0.0.3 true in 1']);
    assert.deepEqual(shared(before, unready), [0, 'new', 2]);
    const joined = read(endpoints({ ready: ['10.0.0.1', '10.0.0.2', '10.0.0.3'] }), before);
    assert.deepEqual(shown(joined), ['10.0.0.1 true in 0', '10.0.0.2 true in 0', '10.0.0.3 true in 0']);
  });
});
