import assert from 'node:assert/strict';
import { test } from 'node:test';
import { awaitFlip } from '../../src/testbed/flip.ts';
import { createChurn, nextChange } from '../../src/workload/churn.ts';
import type { Change } from '../../src/workload/change.ts';
import { makeCluster, type Cluster } from '../../src/workload/cluster.ts';
import { findProfile } from '../../src/workload/profile.ts';

const PLAIN = { ...findProfile('tiny'), overlapShare: 0, publishNotReadyShare: 0 };

/** The services whose Endpoints are expected to show the change. */
function awaited(cluster: Cluster, change: Change): string[] {
  const services: string[] = [];
  const view = { expectAddress: (service: string) => services.push(service) };
  awaitFlip(cluster, change, view, () => undefined);
  return services;
}

function firstFlip(cluster: Cluster): Change {
  return nextChange(createChurn(cluster, { readiness: 1 }, 1), 0)!;
}

test('a flip is awaited in the Endpoints of the service before the pod', () => {
  const cluster = makeCluster(PLAIN, 1);
  const flip = firstFlip(cluster);
  const { app } = flip.pod!;
  assert.deepEqual(awaited(cluster, flip), [`${app.namespace}/${app.name}`]);
});

test('a flip is awaited in the Endpoints of a neighbour that selects the pod, too', () => {
  const cluster = makeCluster({ ...PLAIN, overlapShare: 1 }, 1);
  const flip = firstFlip(cluster);
  assert.ok(awaited(cluster, flip).length > 1);
});

test('a service that publishes pods that are not ready shows no flip', () => {
  const cluster = makeCluster({ ...PLAIN, publishNotReadyShare: 1 }, 1);
  assert.deepEqual(awaited(cluster, firstFlip(cluster)), []);
});

test('other changes are not awaited', () => {
  const cluster = makeCluster(PLAIN, 1);
  assert.deepEqual(awaited(cluster, nextChange(createChurn(cluster, { 'service-labels': 1 }, 1), 0)!), []);
});
