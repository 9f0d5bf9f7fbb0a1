/**
 * The account of CPU: of a start from nothing, of flips in services of 5 and of 5,000 pods, and of a restart in a small
 * cluster and in a large one. The controller is started as deployed, but for the leader election. Linux only.
 */
import { createServers, type BenchServer, type ServerKind } from '../peers/server.ts';
import type { Cluster } from '../../src/workload/cluster.ts';
import type { Profile } from '../../src/workload/profile.ts';
import { programOf } from '../peers/peers.ts';
import { CONTROLLERS, ENDPOINTD } from '../peers/scenario.ts';
import { createTeller } from '../marks/tell.ts';
import { compileProgram } from '../support/compile.ts';
import { HUGE, LARGE, SPREAD } from '../peers/scenarios/profiles.ts';
import { asDeployed } from '../support/as-deployed.ts';
import type { Size } from '../support/micro-bench.ts';
import { readExpected, whichControllers } from '../support/outputs.ts';
import { SEED } from '../support/records.ts';
import { accountOfFlips, OF_HUGE, OF_SMALL } from './flips.ts';
import type { Stage } from './process.ts';
import { accountOfRestart, accountOfStart } from './starts.ts';

const SERVER = '--server=';

/**
 * @param args `--server=kube` measures on a real API server with TLS, without the large cluster, which takes long to put
 * there
 */
export async function runAccountBench(size: Size, args: readonly string[]): Promise<void> {
  const kind = kindOf(args.findLast((arg) => arg.startsWith(SERVER)));
  const rest = args.filter((arg) => !arg.startsWith(SERVER));
  const { show, end } = createTeller(kind === 'kube' ? `account ${SERVER}${kind}` : 'account', size, rest);
  if (size === 'full') compileProgram();
  await onStage(kind, SPREAD(size), size, async (stage) => {
    await accountOfStart(stage, show);
    await accountOfFlips(stage, OF_SMALL[kind][size], show);
    if (kind === 'kube') await accountOfRestart(stage, show);
  });
  await onStage(kind, HUGE(size), size, (stage) => accountOfFlips(stage, OF_HUGE[size], show));
  if (kind === 'embedded') await onStage(kind, LARGE(size), size, (stage) => accountOfRestart(stage, show));
  end([]);
}

/** @throws Error that says what is not allowed */
function kindOf(flag: string | undefined): ServerKind {
  const server = flag?.slice(SERVER.length) ?? 'embedded';
  if (server === 'embedded' || server === 'kube') return server;
  throw new Error(`--server: embedded or kube was expected, not ${JSON.stringify(server)}`);
}

async function onStage(
  kind: ServerKind,
  profile: Profile,
  size: Size,
  use: (stage: Stage) => Promise<void>,
): Promise<void> {
  const servers = createServers();
  const program = programOf(size);
  try {
    const opened = await servers.open({
      kind,
      profile,
      seed: SEED,
      outset: 'nothing',
      controllers: CONTROLLERS,
      writer: ENDPOINTD,
      options: { fsync: false, priorityAndFairness: false },
      program,
      say: console.log,
    });
    try {
      await use(await stageOn(opened.server, opened.cluster, program));
    } finally {
      await servers.release(opened, false);
    }
  } finally {
    await servers.close();
  }
}

async function stageOn({ client, kubeconfigPath }: BenchServer, cluster: Cluster, main: URL): Promise<Stage> {
  const expected = await readExpected(client, cluster.namespaces, whichControllers(CONTROLLERS));
  const { flags, env } = await asDeployed();
  const settings = ['--leader-elect=false', '--kube-api-qps=5000', '--kube-api-burst=5000', '--shards=0'];
  const args = [`--kubeconfig=${kubeconfigPath}`, `--controllers=${CONTROLLERS.join(',')}`, ...settings, ...flags];
  const program = new URL(main.href.endsWith('.ts') ? 'cli/run.ts' : 'cli/run.js', main).href;
  return { client, cluster, expected, outputsEach: CONTROLLERS.length, program, args, env };
}
