import { basename, dirname } from 'node:path';
import { kubeBinaries } from '../e2e/binaries.ts';
import { moduleCache } from './adapt.ts';
import { runGoTests, type TestResult } from './go-test.ts';
import { type Run, startsOf } from './part.ts';

interface Suite {
  readonly package: string;
  readonly run: string;
}

/**
 * Kubernetes' integration tests that make one of the three controllers: all tests of a package, or some by name. Two lanes
 * run at once: each server of a test takes a minute to stop, because endpointd goes on watching.
 */
const LANES: readonly (readonly Suite[])[] = [
  [{ package: 'endpointslice', run: '.' }],
  [
    { package: 'endpoints', run: '.' },
    { package: 'service', run: '^Test_TransitionsForTrafficDistribution$' },
    { package: 'dualstack', run: '^TestDualStackEndpoints$' },
  ],
];

/** @throws Error when tests have passed without endpointd, or a package does not build */
export async function runIntegration(run: Run): Promise<TestResult[]> {
  const { etcd } = await kubeBinaries();
  const modules = await moduleCache();
  const env = {
    ...run.env,
    PATH: `${dirname(etcd)}:${process.env['PATH']}`,
    // Where a binary that was built with -trimpath finds the files beside its sources.
    TEST_SRCDIR: dirname(modules),
    TEST_WORKSPACE: basename(modules),
  };
  const lanes = LANES.map(async (suites) => {
    const results: TestResult[] = [];
    for (const suite of suites) results.push(...(await runSuite({ ...run, env }, suite)));
    return results;
  });
  return (await Promise.all(lanes)).flat();
}

async function runSuite(run: Run, suite: Suite): Promise<TestResult[]> {
  const env = { ...run.env, ENDPOINTD_STARTS: `${run.logs}/starts-${suite.package}` };
  const results = await runGoTests({
    ...run,
    package: `k8s.io/kubernetes/test/integration/${suite.package}`,
    run: suite.run,
    env,
    logPath: `${run.logs}/integration-${suite.package}.log`,
  });
  const passed = results.filter(({ outcome }) => outcome === 'pass').map(({ name }) => name.split('/')[0]);
  const starts = await startsOf({ ...run, env });
  const tests = new Set(passed).size;
  if (starts < tests) throw new Error(`${suite.package}: ${tests} tests have started endpointd ${starts} times`);
  return results;
}
