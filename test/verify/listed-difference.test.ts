/** Which listed difference from kube-controller-manager is behind what is found; damage.test.ts has further ones. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  ENDPOINTS_DIFFERENCES,
  MIRRORING_DIFFERENCES,
  SLICES_DIFFERENCES,
  type UpstreamDifference,
} from '../../src/core/differences.ts';
import type { Problem } from '../../src/core/problem.ts';
import type { Difference } from '../../src/verify/difference.ts';
import { listedDifference } from '../../src/verify/listed-difference.ts';

const AN_ADDRESS = 'ready=true, nodeName=node-1, targetRef=Pod default/web-1 some-uid';

function listed(
  difference: Partial<Difference>,
  problems: readonly Problem['kind'][] = [],
  ended = '',
  writer = '',
): string | null {
  const all = { kind: 'Endpoints', name: 'web', field: '', stored: null, planned: null, ...difference } as const;
  const about = {
    writer,
    problems: problems.map((kind) => ({ kind, object: '', field: '', message: '' })),
    hasEnded: (pod: string) => pod === ended,
  };
  return listedDifference(all, about)?.id ?? null;
}

const MANAGED_BY = 'metadata.labels[endpoints.kubernetes.io/managed-by]';

describe('a listed difference is recognised by', () => {
  it('the label of 1.33 on an older object is a listed difference', () => {
    assert.equal(listed({ field: MANAGED_BY, planned: 'endpoint-controller' }), 'managed-by-label');
    assert.equal(listed({ field: MANAGED_BY, stored: 'helm', planned: 'endpoint-controller' }), null);
    assert.equal(listed({ kind: 'EndpointSlice', field: MANAGED_BY, planned: 'endpoint-controller' }), null);
  });

  it('a pod that has ended is the sign of a listed difference', () => {
    const field = 'subsets.addresses[10.0.0.1]';
    assert.equal(listed({ field, stored: AN_ADDRESS }, [], 'web-1'), 'pod-phase');
    assert.equal(listed({ field, stored: AN_ADDRESS }, [], 'web-2'), null);
    assert.equal(listed({ field, planned: AN_ADDRESS }, [], 'web-1'), null);
    const ofSlice = { kind: 'EndpointSlice', field: 'endpoints[2001:db8::1]', stored: AN_ADDRESS } as const;
    assert.equal(listed(ofSlice, [], 'web-1'), 'slices-pod-phase');
  });

  it('a problem of the service is the sign of a listed difference', () => {
    const slice = { kind: 'EndpointSlice', field: 'endpoints[10.0.0.1]', planned: AN_ADDRESS } as const;
    assert.equal(listed(slice), null);
    assert.equal(listed(slice, ['unknown-node']), 'slices-unknown-node');
    assert.equal(listed(slice, ['bad-address']), 'slices-bad-pod-ip');
    assert.equal(listed({ planned: '1 endpoint' }, ['bad-address']), 'bad-pod-ip');
  });

  it('missing hints, other hints and hints for nodes are listed differences', () => {
    const zones = { kind: 'EndpointSlice', field: 'endpoints[10.0.0.1].hints.forZones' } as const;
    assert.equal(listed({ ...zones, planned: 'a' }), 'slices-hints-return');
    assert.equal(listed({ ...zones, stored: 'b', planned: 'a' }), 'slices-node-cpu');
    assert.equal(listed({ ...zones, stored: 'b' }), null);
    const nodes = { kind: 'EndpointSlice', field: 'endpoints[10.0.0.1].hints.forNodes', stored: 'n' } as const;
    assert.equal(listed(nodes), 'slices-hints-of-nodes');
  });

  it('another writer is a sign, unless another sign says more', () => {
    const edited = { field: 'metadata.labels[team]', stored: 'x' };
    assert.equal(listed(edited, [], '', 'kubectl-edit'), 'foreign-edits');
    assert.equal(listed(edited, [], '', 'kube-controller-manager'), null);
    assert.equal(listed(edited), null);
    assert.equal(listed({ field: MANAGED_BY, planned: 'endpoint-controller' }, [], '', 'kubectl'), 'managed-by-label');
  });

  it('an address without a node is the sign of a listed difference', () => {
    const field = 'subsets.addresses[10.0.0.1]';
    assert.equal(listed({ field, planned: 'ready=true' }), 'empty-node-name');
    assert.equal(listed({ field, planned: AN_ADDRESS }), null);
  });

  it('a label with an empty value, missing from a slice, is a listed difference', () => {
    const label = { kind: 'EndpointSlice', field: 'metadata.labels[team]' } as const;
    assert.equal(listed({ ...label, planned: '' }), 'slices-empty-label');
    assert.equal(listed({ ...label, planned: 'a' }), null);
  });
});

it('every sign has at least one condition', () => {
  const all: readonly UpstreamDifference[] = [
    ...ENDPOINTS_DIFFERENCES,
    ...SLICES_DIFFERENCES,
    ...MIRRORING_DIFFERENCES,
  ];
  for (const { id, sign } of all) assert.ok(sign === undefined || Object.keys(sign).length > 0, id);
});
