/**
 * Two whole processes with leader election before one simulated API server, under all faults of the simulation and those
 * that leaders suffer. At each write that the server does: it was sent within a lease. At the end all is right, nothing is
 * written any more, and the other replica takes over without a write.
 */
import { makeWorld, OPT_OUT_LABEL } from './cast.ts';
import { HAPPENINGS, type HappeningKind } from './happenings.ts';
import { watchLeases } from './lease-oracle.ts';
import { collectGarbage } from './other-writers.ts';
import { holdFor, type Deed, type Run } from './run.ts';
import { rightWithinMs, type Trouble } from './settle.ts';
import { makeStory } from './story.ts';
import { wrongNow } from './wrong-now.ts';
import { leadershipOf, TIMES } from '../support/election-world.ts';
import { createSim, writesOf, type Sim, type SimConfig } from '../support/sim.ts';
import { createPrng, nextFloat, nextInt, type Prng } from '../../src/lib/prng.ts';

interface Act {
  readonly atMs: number;
  readonly what: string;
  readonly deed: Deed;
  readonly forMs: number;
  readonly draw: number;
  readonly replica: number;
}

export interface ReplicasOutcome {
  /** What was wrong first; null = nothing. */
  readonly wrong: string | null;
  /** What happened, a line each. */
  readonly told: readonly string[];
  /** How often another process took the Lease. */
  readonly leaders: number;
}

/** What leaders suffer. */
const LEADERS: Readonly<Record<string, Deed>> = {
  crash: HAPPENINGS.crash,
  restart: HAPPENINGS.restart,
  freeze: HAPPENINGS.freeze,
  'clock-set': HAPPENINGS['clock-set'],
  down: HAPPENINGS.down,
  slow: {
    trouble: 'network',
    lastsMs: [1000, 30_000],
    act(run, prng, forMs) {
      const lag = { toMs: nextFloat(prng) * 6000, backMs: nextFloat(prng) * 6000 };
      holdFor(
        run,
        'slow',
        forMs,
        () => (run.sim.lag = () => lag),
        () => (run.sim.lag = () => ({ toMs: 0, backMs: 0 })),
      );
      return `${Math.round(lag.toMs)} ms there, ${Math.round(lag.backMs)} ms back`;
    },
  },
};

/** Replicas have the same flags. */
const NOT_HERE: ReadonlySet<HappeningKind> = new Set(['upgrade']);
const LENGTH_MS = 60_000;
const START_MS = 4000;
const FIRST_LOOK_MS = 5000;
/** A lapse, the Lease's time, and a try that is lost. */
const ELECTION_MS = 2 * TIMES.leaseDurationMs + TIMES.renewDeadlineMs;
const REST_MS = 40_000;

class Breach extends Error {
  override name = 'Breach';
}

interface Stage {
  readonly runs: readonly Run[];
  readonly told: string[];
  readonly troubles: ReadonlySet<Trouble>;
  readonly lagMs: number;
}

/** @param renewDeadlineMs of the processes; the oracle has the right one */
export function playReplicas(seed: number, renewDeadlineMs = TIMES.renewDeadlineMs): ReplicasOutcome {
  const told: string[] = [];
  let leaders = 0;
  try {
    const story = makeStory(seed);
    const prng = createPrng(seed + 3);
    const acts = drawActs(story.happenings, prng);
    const sims = createSims(seed, story.world, prng, renewDeadlineMs);
    const stage = begin({ sims, seed, world: story.world, acts, prng, told, onLeader: () => leaders++ });
    happen(stage, acts);
    untilRight(stage);
    rest(stage);
    return { wrong: null, told, leaders };
  } catch (error) {
    const wrong = error instanceof Breach ? error.message : error instanceof Error ? error.stack! : String(error);
    return { wrong, told, leaders };
  }
}

/** Those of the story, each on one of the replicas, and what leaders suffer between them. */
function drawActs(happenings: ReturnType<typeof makeStory>['happenings'], prng: Prng): Act[] {
  // One clock of a process may be wrong at a time: the other one tells it then that its lease is over.
  const clocks = [0, 1].map(() => (nextInt(prng, 2) === 0 ? 'freeze' : 'clock-set'));
  const fits = (what: string, replica: number): boolean =>
    (what !== 'freeze' && what !== 'clock-set') || clocks[replica] === what;
  const acts = happenings
    .filter(({ what }) => !NOT_HERE.has(what))
    .map(({ atMs, what, forMs, draw }): Act => ({
      atMs,
      what,
      deed: HAPPENINGS[what],
      forMs,
      draw,
      replica: draw % 2,
    }));
  const names = Object.keys(LEADERS);
  const count = 2 + nextInt(prng, 6);
  for (let i = 0; i < count; i++) {
    const what = names[nextInt(prng, names.length)]!;
    const deed = LEADERS[what]!;
    const [least, most] = deed.lastsMs ?? [0, 0];
    const forMs = least + nextInt(prng, most - least + 1);
    const replica = nextInt(prng, 2);
    acts.push({ atMs: nextInt(prng, LENGTH_MS), what, deed, forMs, draw: nextInt(prng, 1_000_000), replica });
  }
  return acts.filter(({ what, replica }) => fits(what, replica)).toSorted((a, b) => a.atMs - b.atMs);
}

function createSims(seed: number, world: Run['world'], prng: Prng, renewDeadlineMs: number): Sim[] {
  const config: SimConfig = {
    seed,
    shards: world.shards,
    serverWatchList: world.serverWatchList,
    ...(world.lagMs === 0 ? {} : { servers: { count: 3, lagMsMax: world.lagMs } }),
    serviceClusterIPRanges: ['10.96.0.0/12', 'fd00::/108'],
    options: { endpoints: true, slices: true, mirror: true, optOutLabel: OPT_OUT_LABEL, ...world.options },
  };
  const leadership = (identity: string): SimConfig['leadership'] => ({
    ...leadershipOf(identity, nextInt(prng, 3) === 0 ? 'cold' : 'warm'),
    renewDeadlineMs,
  });
  const first = createSim({ ...config, leadership: leadership('a') });
  return [first, createSim({ ...config, seed: seed + 1, beside: first, leadership: leadership('b') })];
}

interface Play extends Pick<Stage, 'told'> {
  readonly sims: readonly Sim[];
  readonly seed: number;
  readonly world: Run['world'];
  readonly acts: readonly Act[];
  readonly prng: Prng;
  readonly onLeader: () => void;
}

function begin({ sims, seed, world, acts, prng, told, onLeader }: Play): Stage {
  const first = sims[0]!;
  makeWorld(first, world, createPrng(seed + 2));
  const troubles = new Set<Trouble>(acts.map(({ deed }) => deed.trouble));
  const history = { backups: 0 };
  const runs = sims.map((sim): Run => ({
    sim,
    world,
    troubles,
    flags: world.options,
    maxEndpointsPerSlice: world.options.maxEndpointsPerSlice ?? 100,
    history,
    held: new Map(),
    ownVersions: new Set(),
    applied: [],
  }));
  watchLeases(sims, TIMES.renewDeadlineMs, onLeader, (text) => {
    throw new Breach(`at ${seconds(first.nowMs())}: ${text}`);
  });
  if (world.collectMs > 0) collectForEver(runs[0]!, world.collectMs);
  for (const sim of sims) {
    sim.start();
    sim.run(nextInt(prng, START_MS));
  }
  first.run(START_MS);
  return { runs, told, troubles, lagMs: world.lagMs };
}

function collectForEver(run: Run, everyMs: number): void {
  run.sim.at(run.sim.nowMs() + everyMs, () => {
    collectGarbage(run);
    collectForEver(run, everyMs);
  });
}

function happen({ runs, told }: Stage, acts: readonly Act[]): void {
  const { sim } = runs[0]!;
  const startMs = sim.nowMs();
  let endMs = startMs;
  for (const { atMs, what, deed, forMs, draw, replica } of acts) {
    sim.run(startMs + atMs - sim.nowMs());
    const text = deed.act(runs[replica]!, createPrng(draw), forMs);
    told.push(`${seconds(sim.nowMs())} ${'ab'[replica]}: ${what} for ${seconds(forMs)}: ${text}`);
    endMs = Math.max(endMs, startMs + atMs + forMs);
  }
  sim.run(endMs - sim.nowMs() + 1);
}

function untilRight({ runs, troubles, lagMs }: Stage): void {
  const [run] = runs;
  const { sim } = run!;
  const fromMs = sim.nowMs();
  const withinMs = rightWithinMs(troubles, lagMs) + ELECTION_MS;
  for (let lookMs = FIRST_LOOK_MS; ; lookMs *= 2) {
    sim.run(fromMs + Math.min(lookMs, withinMs) - sim.nowMs());
    const wrong = wrongNow(run!);
    if (wrong.length === 0) return;
    if (lookMs >= withinMs) throw new Breach(`${seconds(withinMs)} after the last happening: ${wrong.join('; ')}`);
  }
}

/** At rest one leads and nothing is written; when it ends, the other one leads and finds nothing to do. */
function rest({ runs, troubles, lagMs }: Stage): void {
  const sims = runs.map(({ sim }) => sim);
  const [first] = sims;
  // Repairs of what others did last may still be due, though all is right.
  first!.run(rightWithinMs(troubles, lagMs));
  const before = written(sims);
  first!.run(REST_MS);
  const leaders = sims.filter(leads);
  if (leaders.length !== 1) throw new Breach(`${leaders.length} lead at rest`);
  check(runs, before, 'at rest');
  leaders[0]!.kill();
  // Its last renewal may be seen so late, by a watch and then by a read.
  first!.run(REST_MS + 2 * lagMs);
  if (!leads(sims.find((sim) => sim !== leaders[0])!)) throw new Breach('nobody leads after a kill at rest');
  check(runs, before, 'by the one that took over');
}

function check(runs: readonly Run[], before: number, when: string): void {
  const sims = runs.map(({ sim }) => sim);
  const late = written(sims) - before;
  if (late > 0) throw new Breach(`${late} writes ${when}`);
  const wrong = wrongNow(runs[0]!);
  if (wrong.length > 0) throw new Breach(`${when}: ${wrong.join('; ')}`);
}

function leads({ loop }: Sim): boolean {
  return loop !== null && !loop.state.isShadow;
}

function written(sims: readonly Sim[]): number {
  return sims.flatMap((sim) => writesOf(sim).filter((line) => !line.includes('/leases'))).length;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(3)} s`;
}
