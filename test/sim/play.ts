/** Plays a story and says what was wrong with it. */
import { watchOver } from './always.ts';
import { makeWorld } from './cast.ts';
import { HAPPENINGS } from './happenings.ts';
import { collectGarbage } from './other-writers.ts';
import type { Run } from './run.ts';
import { graceMs, rightWithinMs, type Trouble } from './settle.ts';
import { noteApplied, standOff, startSecond, type Second } from './second.ts';
import { FIXED_OPTIONS, RESYNC_MS, type Story } from './story.ts';
import { wrongNow } from './wrong-now.ts';
import { checkNothingKept } from '../support/nothing-kept.ts';
import { createSim, writesOf, type Sim } from '../support/sim.ts';
import { metric } from '../support/sim-reports.ts';
import { createPrng, nextFloat } from '../../src/lib/prng.ts';

export interface Outcome {
  /** What was wrong first; null = nothing. */
  readonly wrong: string | null;
  /** What happened, a line each. */
  readonly told: readonly string[];
  /** Kinds of trouble in the story. */
  readonly troubles: ReadonlySet<Trouble>;
  /** Virtual milliseconds from the last happening until all was right; -1 = it never was. */
  readonly rightAfterMs: number;
  /** Requests of the controller that changed something. */
  readonly writes: number;
}

/** May break in on a story. */
export interface PlayOptions {
  /** The process dies when the server has done so many of its writes, and starts again; 0 = it does not. */
  readonly crashAfterWrite?: number;
  /** Called with the world before the controller starts. */
  readonly prepare?: (sim: Sim) => void;
}

const START_MS = 2000;
/** Looks at what is right, after this long, then twice as long, and so on. */
const FIRST_LOOK_MS = 5000;

class Breach extends Error {
  override name = 'Breach';
}

export function play(story: Story, options: PlayOptions = {}): Outcome {
  const told: string[] = [];
  const troubles = new Set<Trouble>(story.happenings.map(({ what }) => HAPPENINGS[what].trouble));
  if (story.world.second !== 'nobody') troubles.add('foreign');
  const run = begin(story, troubles, options);
  const outcome = { told, troubles, rightAfterMs: -1 };
  const wrongIs = (wrong: string | null): Outcome => ({ ...outcome, wrong, writes: writesOf(run.sim).length });
  try {
    const second = startSecond(run, story.world.second, story.seed + 4);
    happen(run, story, told);
    if (!second.plansTheSame) endFight(run, second);
    second.follow();
    outcome.rightAfterMs = untilRight(run);
    rest(run, second);
    return wrongIs(null);
  } catch (error) {
    if (error instanceof Breach) return wrongIs(error.message);
    return wrongIs(error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
}

function begin(
  { seed, world }: Story,
  troubles: ReadonlySet<Trouble>,
  { crashAfterWrite = 0, prepare }: PlayOptions,
): Run {
  const prng = createPrng(seed + 1);
  const sim = createSim({
    seed,
    shards: world.shards,
    serverWatchList: world.serverWatchList,
    batchMs: () => (world.batchMs === 1 ? 1 : nextFloat(prng) * world.batchMs),
    ...(world.lagMs === 0 ? {} : { servers: { count: 3, lagMsMax: world.lagMs } }),
    serviceClusterIPRanges: ['10.96.0.0/12', 'fd00::/108'],
    options: { ...FIXED_OPTIONS, ...world.options },
  });
  makeWorld(sim, world, createPrng(seed + 2));
  const run: Run = {
    sim,
    world,
    troubles,
    flags: world.options,
    maxEndpointsPerSlice: world.options.maxEndpointsPerSlice ?? 100,
    history: { backups: 0 },
    held: new Map(),
    ownVersions: new Set(),
    applied: [],
  };
  const always = watchOver(run, (text) => {
    throw new Breach(`at ${seconds(sim.nowMs())}: ${text}`);
  });
  let writes = 0;
  sim.observer = {
    ...always,
    after(request, status) {
      if (request.pool === 'write' && status < 300) run.ownVersions.add(sim.server.revision);
      noteApplied(run.applied, 'the first', sim, request, status);
      always.after(request, status);
      if (request.pool !== 'write' || status >= 300 || ++writes !== crashAfterWrite) return;
      sim.kill();
      sim.at(sim.nowMs() + 100, () => sim.start());
    },
  };
  prepare?.(sim);
  if (world.collectMs > 0) collectForEver(run, world.collectMs);
  sim.start();
  sim.run(START_MS);
  return run;
}

function collectForEver(run: Run, everyMs: number): void {
  run.sim.at(run.sim.nowMs() + everyMs, () => {
    collectGarbage(run);
    collectForEver(run, everyMs);
  });
}

function happen(run: Run, { happenings }: Story, told: string[]): void {
  const { sim } = run;
  const startMs = sim.nowMs();
  let endMs = startMs;
  for (const { atMs, what, forMs, draw } of happenings) {
    sim.run(startMs + atMs - sim.nowMs());
    const text = HAPPENINGS[what].act(run, createPrng(draw), forMs);
    const lasting = forMs === 0 ? '' : ` for ${seconds(forMs)}`;
    told.push(`${seconds(sim.nowMs())} ${what}${lasting}${text === '' ? '' : `: ${text}`}`);
    endMs = Math.max(endMs, startMs + atMs + forMs);
  }
  sim.run(endMs - sim.nowMs() + 1);
}

const OLDEST_UNWRITTEN = 'endpointd_oldest_unwritten_change_seconds';
/** After these troubles the controller knows of all changes by the first look, and admission has altered nothing. */
const TOLD_AT_ONCE: ReadonlySet<Trouble> = new Set(['change', 'foreign', 'refused', 'nodeGone', 'orphan']);

/** @returns how long it took */
function untilRight(run: Run): number {
  const { sim, troubles } = run;
  const fromMs = sim.nowMs();
  const withinMs = rightWithinMs(troubles, run.world.lagMs);
  for (let lookMs = FIRST_LOOK_MS; ; lookMs *= 2) {
    sim.run(fromMs + Math.min(lookMs, withinMs) - sim.nowMs());
    const wrong = wrongNow(run);
    const ageSeconds = metric(sim, OLDEST_UNWRITTEN);
    if (wrong.length === 0) return sim.nowMs() - fromMs;
    const isKnown = [...troubles].every((trouble) => TOLD_AT_ONCE.has(trouble)) && run.world.lagMs === 0;
    const refused = ['invalid', 'forbidden', 'poison'].some(
      (name) => metric(sim, 'endpointd_stuck_service', { class: name }) > 0,
    );
    const isDue = sim.nowMs() - fromMs > graceMs(troubles) && !refused;
    if (isKnown && isDue && ageSeconds === 0) throw new Breach(`${OLDEST_UNWRITTEN} is 0 with ${wrong.join('; ')}`);
    if (lookMs >= withinMs) throw new Breach(`${seconds(withinMs)} after the last happening: ${wrong.join('; ')}`);
  }
}

/** What two writers do who want it otherwise has a bound, and an end when one of them has. */
function endFight(run: Run, second: Second): void {
  const tooOften = standOff(run);
  if (tooOften !== null) throw new Breach(tooOften);
  second.stop();
}

/** At rest nothing is written, nothing is kept, and a process that knows nothing finds nothing to do. */
function rest(run: Run, second: Second): void {
  const { sim } = run;
  // Repairs of what others did last may still be due, though all is right. And a stream that has seen no end of a lost
  // history may still bring its news, until it is ended.
  const bringsLostNews = run.troubles.has('restored') && run.troubles.has('silent');
  sim.run(bringsLostNews ? rightWithinMs(run.troubles, run.world.lagMs) : REPAIRS_MS);
  const [writes, ofSecond] = [writesOf(sim).length, second.writes().length];
  const check = (when: string): void => {
    const late = [...writesOf(sim).slice(writes), ...second.writes().slice(ofSecond)];
    if (late.length > 0) throw new Breach(`written ${when}: ${late.join('; ')}`);
    const wrong = wrongNow(run);
    if (wrong.length > 0) throw new Breach(`${when}: ${wrong.join('; ')}`);
  };
  sim.run(3 * RESYNC_MS);
  check('at rest');
  const failed = sim.loop!.readiness().find(({ ok }) => !ok);
  if (failed !== undefined) throw new Breach(`not ready at rest: ${failed.name}: ${failed.message}`);
  const reset = sim.logLines.find(({ message }) => /history went back/i.test(message));
  if (reset !== undefined && !run.held.has('restored')) throw new Breach(`no restore, but: ${reset.message}`);
  endSyncs(sim);
  const ageSeconds = metric(sim, OLDEST_UNWRITTEN);
  if (ageSeconds !== 0) throw new Breach(`${OLDEST_UNWRITTEN} is ${ageSeconds} at rest`);
  checkNothingKept(sim, 'at rest');
  second.stop();
  sim.kill();
  sim.start(run.flags);
  sim.run(30_000);
  check('by a new process');
}

/** A resync may be under way at just that moment: it is over within seconds, or it hangs. */
function endSyncs(sim: Sim): void {
  const areSyncing = (): boolean => sim.loop!.state.controllers.some(({ queue }) => queue.processing.length > 0);
  for (let i = 0; i < SYNC_SECONDS_MAX && areSyncing(); i++) sim.run(1000);
}

const SYNC_SECONDS_MAX = 60;
/** The longest pause before a repair. */
const REPAIRS_MS = 310_000;

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(3)} s`;
}
