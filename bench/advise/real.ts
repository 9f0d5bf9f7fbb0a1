/**
 * `endpointd advise` on real processes: endpointd and kube-controller-manager, on the embedded API server in a process
 * of its own. Scenarios have one bottleneck, two, none, or too little to tell. The right advice is found by trying
 * plenty of tokens, of syncs, and of both: the resource that shortens the delay is the bottleneck.
 */
import { performance } from 'node:perf_hooks';
import { observe } from '../../src/advise/observation.ts';
import { type Advice, adviseOn, type Verdict } from '../../src/advise/rules.ts';
import { createPrng, nextFloat } from '../../src/lib/prng.ts';
import { parseMetrics } from '../../src/metrics/text.ts';
import { createFixedObjects, replay, type TestController } from '../../src/testbed/replay.ts';
import { createStoryCluster } from '../../src/testbed/story-cluster.ts';
import {
  startEndpointd,
  startKubeControllerManager,
  startTestServer,
  type TestServer,
} from '../../src/testbed/test-programs.ts';
import type { Output } from '../../src/twin/ledger.ts';
import { profileStory } from '../../src/twin/profiles.ts';
import type { Program } from '../../src/metrics/program-of.ts';
import { kubeBinaries } from '../../test/e2e/binaries.ts';
import type { ControllerName } from './simulate.ts';

interface RealScenario {
  readonly name: string;
  readonly flipsPerSecond: number;
  /** The syncs of each controller. */
  readonly syncs: number;
  readonly qps: number;
  /** Rules of `endpointd serve --fault`; '' = there are none. */
  readonly fault: string;
}

const SLOW = 'verb=update,resource=endpoints|endpointslices,delay=fixed:';
const SLOW_MS = 80;
const SLOW_WRITES = `${SLOW}${SLOW_MS}ms`;
/** How many times as much, or as little, a drawn rate may be. */
const VARIED = 1.3;

const SCENARIOS: readonly RealScenario[] = [
  { name: 'tokens', flipsPerSecond: 12, syncs: 10, qps: 8, fault: '' },
  { name: 'syncs', flipsPerSecond: 12, syncs: 1, qps: 1000, fault: SLOW_WRITES },
  { name: 'none', flipsPerSecond: 6, syncs: 10, qps: 1000, fault: '' },
  { name: 'two', flipsPerSecond: 12, syncs: 1, qps: 6, fault: SLOW_WRITES },
  { name: 'quiet', flipsPerSecond: 0.3, syncs: 5, qps: 20, fault: '' },
  { name: 'slow, and enough syncs', flipsPerSecond: 6, syncs: 20, qps: 1000, fault: SLOW_WRITES },
];
const CONTROLLERS: readonly Program[] = ['endpointd', 'kube-controller-manager'];
const OUTPUT_OF: Readonly<Record<ControllerName, Output>> = { endpoint: 'endpoints', endpoint_slice: 'slices' };
const NAMES = Object.keys(OUTPUT_OF) as readonly ControllerName[];
const SECONDS = 15;
const PLENTY = { syncs: 50, qps: 5000 };
/** As in `scenarios.ts`. */
const HELPS = 0.7;
const LITTLE = 1.5;
const SOME = 4;
const CHANGES_MIN = 20;

interface Looked {
  readonly verdicts: Readonly<Record<ControllerName, Verdict>>;
  readonly because: Readonly<Record<ControllerName, string>>;
  /** Mean milliseconds from a change until an object shows it. */
  readonly delayMs: Readonly<Record<ControllerName, number>>;
  readonly changes: number;
}

/**
 * @param only a part of a scenario's name, to run that scenario alone
 * @param seed 0 = the scenarios as they are here; else their rates are others
 */
export async function runRealAdvice(only: string, seed: number): Promise<void> {
  let [right, wrong, count] = [0, 0, 0];
  for (const controller of CONTROLLERS) {
    for (const scenario of seed === 0 ? SCENARIOS : drawn(seed)) {
      const title = `${controller}: ${scenario.name}`;
      if (!title.includes(only)) continue;
      const judged = await judge(controller, scenario);
      count++;
      if (judged.isRight) right++;
      if (judged.isWrong) wrong++;
      const word = judged.isRight ? 'right' : judged.isWrong ? 'confident and wrong' : 'not sure';
      console.log(
        `${title}: ${word}: said ${JSON.stringify(judged.verdicts)}, right is ${JSON.stringify(judged.truth)}`,
      );
      console.log(`  mean delays, ms: ${JSON.stringify(judged.delays)}`);
      for (const name of judged.isRight ? [] : NAMES) console.log(`  ${name}: ${judged.because[name]}`);
    }
  }
  console.log(`${right} of ${count} right, ${wrong} confident and wrong`);
}

/** The same scenarios, each with other rates. */
function drawn(seed: number): RealScenario[] {
  const prng = createPrng(seed);
  const near = (value: number): number => value * VARIED ** (2 * nextFloat(prng) - 1);
  return SCENARIOS.map(({ name, flipsPerSecond, syncs, qps, fault }) => ({
    name,
    flipsPerSecond: near(flipsPerSecond),
    syncs,
    qps: near(qps),
    fault: fault === '' ? '' : `${SLOW}${near(SLOW_MS).toFixed(0)}ms`,
  }));
}

async function judge(
  controller: Program,
  scenario: RealScenario,
): Promise<{
  readonly verdicts: Looked['verdicts'];
  readonly because: Looked['because'];
  readonly truth: Readonly<Record<ControllerName, readonly string[]>>;
  readonly delays: Readonly<Record<string, Looked['delayMs']>>;
  readonly isRight: boolean;
  readonly isWrong: boolean;
}> {
  const base = await look(controller, scenario);
  const isQuiet = base.changes < CHANGES_MIN;
  const tokens = isQuiet ? base : await look(controller, { ...scenario, qps: PLENTY.qps });
  const syncs = isQuiet ? base : await look(controller, { ...scenario, syncs: PLENTY.syncs });
  const both = isQuiet ? base : await look(controller, { ...scenario, ...PLENTY });
  const truthOf = (name: ControllerName): string[] => {
    if (isQuiet) return [];
    const [delay, floor] = [base.delayMs[name], both.delayMs[name]];
    if (delay <= LITTLE * floor) return ['none'];
    const helping = Object.entries({ tokens, syncs }).filter(([, tried]) => tried.delayMs[name] <= HELPS * delay);
    const names = helping.map(([resource]) => resource);
    return delay <= SOME * floor ? [...names, 'none'] : names;
  };
  const truth = { endpoint: truthOf('endpoint'), endpoint_slice: truthOf('endpoint_slice') };
  const isRightOf = (name: ControllerName): boolean =>
    base.verdicts[name] === 'cannot tell' ? truth[name].length === 0 : truth[name].includes(base.verdicts[name]);
  return {
    verdicts: base.verdicts,
    because: base.because,
    truth,
    delays: { base: base.delayMs, tokens: tokens.delayMs, syncs: syncs.delayMs, both: both.delayMs },
    isRight: NAMES.every(isRightOf),
    isWrong: NAMES.some((name) => !isRightOf(name) && base.verdicts[name] !== 'cannot tell'),
  };
}

/** One run, with the metrics when the changes begin and when all are shown. */
async function look(controller: Program, scenario: RealScenario): Promise<Looked> {
  const { flipsPerSecond, syncs, qps, fault } = scenario;
  const profile = {
    name: 'advise',
    what: '',
    namespaces: 1,
    services: [{ count: 60, pods: 5 }],
    minutes: SECONDS / 60,
    flipsPerSecond,
    isStorm: false,
    rolloutsPerMinute: 0,
    podsPerSecond: 0,
  };
  const cluster = createStoryCluster(profileStory(profile, 1));
  const server = await startTestServer({ server: null }, fault === '' ? [] : [`--fault=${fault}`]);
  const flags = [
    `--concurrent-endpoint-syncs=${syncs}`,
    `--concurrent-service-endpoint-syncs=${syncs}`,
    `--kube-api-qps=${qps}`,
    `--kube-api-burst=${Math.ceil(qps)}`,
  ];
  const looks: { readonly text: string; readonly atMs: number }[] = [];
  try {
    await createFixedObjects(server, cluster);
    const { ledger } = await replay(server, cluster, async () => {
      const started = await startOf(controller, server, flags);
      // The replay asks for the CPU when the changes begin, now and then, and when all are shown.
      const cpuSeconds = async (): Promise<number> => {
        looks.push({ text: await started.metricsText(), atMs: performance.now() });
        return started.cpuSeconds();
      };
      return { ...started, cpuSeconds };
    });
    const mean = (output: Output): number => {
      const samples = ledger.samples[output];
      return samples.reduce((sum, { latencyMs }) => sum + latencyMs, 0) / Math.max(1, samples.length);
    };
    return {
      ...adviceOf([looks[0]!, looks.at(-1)!], syncs),
      delayMs: { endpoint: Math.round(mean('endpoints')), endpoint_slice: Math.round(mean('slices')) },
      changes: ledger.samples.slices.length,
    };
  } finally {
    await server.stop();
  }
}

async function startOf(controller: Program, server: TestServer, flags: readonly string[]): Promise<TestController> {
  if (controller === 'endpointd') return startEndpointd(server, flags);
  return startKubeControllerManager(server, (await kubeBinaries()).kubeControllerManager, flags);
}

function adviceOf(
  [before, after]: readonly { readonly text: string; readonly atMs: number }[],
  syncs: number,
): Pick<Looked, 'verdicts' | 'because'> {
  const settings = {
    syncs: { endpoint: syncs, endpoint_slice: syncs, endpoint_slice_mirroring: 5 },
    cores: null,
    qps: { endpoint: null, endpoint_slice: null, endpoint_slice_mirroring: null },
    writesInFlightMax: 64,
  };
  const seconds = (after!.atMs - before!.atMs) / 1000;
  const observed = observe(parseMetrics(before!.text), parseMetrics(after!.text), seconds, settings);
  if (!observed.ok) throw new Error(observed.why);
  const advice = adviseOn(observed.observation);
  const of = (name: ControllerName): Advice => advice.find(({ queue }) => queue === name)!;
  const [endpoint, slices] = [of('endpoint'), of('endpoint_slice')];
  return {
    verdicts: { endpoint: endpoint.verdict, endpoint_slice: slices.verdict },
    because: { endpoint: endpoint.because, endpoint_slice: slices.because },
  };
}
