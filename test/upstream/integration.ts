import { basename, dirname } from 'node:path';
import { kubeBinaries } from '../e2e/binaries.ts';
import { moduleCache } from './adapt.ts';
import { runGoTests, type TestResult } from './go-test.ts';
import { type Run, startsOf } from './part.ts';

/** Kubernetes' integration tests that make one of the three controllers: all tests of a package, or some by name. */
const SUITES: readonly { readonly package: string; readonly run: string }[] = [
  { package: 'endpoints', run: '.' },
  { package: 'endpointslice', run: '.' },
  { package: 'service', run: '^Test_TransitionsForTrafficDistribution$' },
  { package: 'dualstack', run: '^TestDualStackEndpoints$' },
];

/**
 * All packages at once: each server of a test takes a minute to stop, because endpointd goes on watching.
 * @throws Error when a test has not started endpointd, or a package does not build
 */
export async function runIntegration(run: Run): Promise<TestResult[]> {
  const { etcd } = await kubeBinaries();
  const modules = await moduleCache();
  const all = await Promise.all(
    SUITES.map(async (suite) => {
      const env = {
        ...run.env,
        ENDPOINTD_STARTS: `${run.logs}/starts-${suite.package}`,
        PATH: `${dirname(etcd)}:${process.env['PATH']}`,
        // Where a binary that was built with -trimpath finds the files beside its sources.
        TEST_SRCDIR: dirname(modules),
        TEST_WORKSPACE: basename(modules),
      };
      const results = await runGoTests({
        ...run,
        package: `k8s.io/kubernetes/test/integration/${suite.package}`,
        run: suite.run,
        env,
        logPath: `${run.logs}/integration-${suite.package}.log`,
      });
      const tests = new Set(results.map(({ name }) => name.split('/')[0])).size;
      const starts = await startsOf({ ...run, env });
      if (starts < tests) throw new Error(`${suite.package}: ${tests} tests have started endpointd ${starts} times`);
      return results;
    }),
  );
  return all.flat();
}
