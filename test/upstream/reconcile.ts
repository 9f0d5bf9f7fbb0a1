import { runGoTests, type TestResult } from './go-test.ts';
import { type Run, startsOf } from './part.ts';

/** Tables that cannot be asked from outside, by name, and why. Each must exist. */
const NOT_RUN: Readonly<Record<string, string>> = {
  TestReconcilerFinalizeSvcDeletionTimestamp: 'calls a step within the reconciler',
  'TestReconcileTopology/no_change,_topologyCache_disabled,_annotation_==_auto':
    'switches the cache of the process off',
  'TestReconcile_TrafficDistribution/trafficDistribution=PreferSameZone,_PSTD_disabled':
    'switches a feature gate of Kubernetes 1.34 off, which has no switch here',
};

/** Tables with another result by a listed difference (docs/differences.md). Each must fail. */
const OTHERWISE: Readonly<Record<string, string>> = {
  'TestReconcile1Pod/dualstack-service': 'gauges of slices count both families of a Service',
  TestReconcileEndpointSlicesSomePreexisting:
    'of a create and an update that do not wait for each other the update is sent first',
};

/** @throws Error when endpointd took no part, or a listed table does what it should not */
export async function runReconcile(run: Run): Promise<TestResult[]> {
  const before = await startsOf(run);
  const results = await runGoTests({
    ...run,
    package: 'k8s.io/endpointslice',
    run: '^TestReconcile',
    skip: Object.keys(NOT_RUN),
    logPath: `${run.logs}/reconcile.log`,
  });
  const starts = (await startsOf(run)) - before;
  if (starts < results.length) throw new Error(`${results.length} tables have started endpointd ${starts} times`);
  for (const name of Object.keys(OTHERWISE)) {
    const outcome = results.find((result) => result.name === name)?.outcome;
    if (outcome !== 'fail')
      throw new Error(`${name}: ${outcome ?? 'not found'}, expected to fail by a listed difference`);
  }
  return results.map(({ suite, name, outcome }) => ({
    suite,
    name,
    outcome: Object.hasOwn(OTHERWISE, name) ? 'otherwise' : outcome,
  }));
}
