/** The account of CPU: of a start from nothing and of flips in a small cluster, of a restart in a large one. Linux only. */
import { createApiClient } from '../../src/node/api-client.ts';
import { loadCluster } from '../../src/testbed/load-cluster.ts';
import { startServe } from '../../src/testbed/serve-process.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
import type { Profile } from '../../src/workload/profile.ts';
import { programOf } from '../peers/peers.ts';
import { LARGE, SPREAD } from '../peers/scenarios/profiles.ts';
import type { Size } from '../support/micro-bench.ts';
import { readExpected, whichControllers } from '../support/outputs.ts';
import { SEED } from '../support/records.ts';
import { accountOfFlips } from './flips.ts';
import type { Stage } from './process.ts';
import { accountOfRestart, accountOfStart } from './starts.ts';

const CONTROLLERS = ['endpoints-controller', 'endpointslice-controller'];
const CONNECTIONS = 16;

export async function runAccountBench(size: Size): Promise<void> {
  await onStage(SPREAD(size), size, async (stage) => {
    await accountOfStart(stage, size);
    await accountOfFlips(stage, size);
  });
  await onStage(LARGE(size), size, (stage) => accountOfRestart(stage, size));
}

async function onStage(profile: Profile, size: Size, use: (stage: Stage) => Promise<void>): Promise<void> {
  const serve = await startServe(['--life=false', '--end-namespaces=false', '--nodes=0']);
  const client = createApiClient({ url: serve.url }, CONNECTIONS);
  try {
    const cluster = makeCluster(profile, SEED);
    await loadCluster(client, cluster, CONNECTIONS);
    const expected = await readExpected(client, cluster.namespaces, whichControllers(CONTROLLERS));
    const flags = ['--leader-elect=false', '--secure-port=0', '--kube-api-qps=5000', '--kube-api-burst=5000'];
    const args = [`--master=${serve.url}`, `--controllers=${CONTROLLERS.join(',')}`, '--shards=0', ...flags];
    const main = programOf(size);
    const program = new URL(main.href.endsWith('.ts') ? 'cli/run.ts' : 'cli/run.js', main).href;
    await use({ client, cluster, expected, outputsEach: CONTROLLERS.length, program, args });
  } finally {
    await client.close();
    await serve.stop();
  }
}
