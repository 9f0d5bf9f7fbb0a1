/** What happens to the process and its threads. */
import { pick } from './hand.ts';
import type { Deeds, Run } from './run.ts';
import { drawOptions } from './story.ts';
import { nextInt, type Prng } from '../../src/lib/prng.ts';

/** A new process, unless the last one was told to end and another happening has begun one already. */
function startAgain(run: Run, afterMs: number): void {
  const { sim } = run;
  sim.kill();
  // What comes in the meantime finds no process; the last of these starts count.
  sim.at(sim.nowMs() + afterMs, () => {
    sim.kill();
    sim.start(run.flags);
  });
}

function shardOf({ sim }: Run, prng: Prng): number {
  return sim.shards === null ? 0 : nextInt(prng, sim.shards.count);
}

export const PROCESS = {
  crash: {
    trouble: 'restart',
    lastsMs: [0, 5000],
    act(run, _, forMs) {
      startAgain(run, forMs);
      return 'kill -9';
    },
  },
  restart: {
    trouble: 'restart',
    lastsMs: [0, 12_000],
    act(run, _, forMs) {
      const { sim } = run;
      sim.stop();
      sim.at(sim.nowMs() + forMs, () => startAgain(run, 0));
      return 'SIGTERM';
    },
  },
  upgrade: {
    trouble: 'restart',
    lastsMs: [0, 12_000],
    act(run, prng, forMs) {
      const { sim } = run;
      sim.stop();
      run.flags = drawOptions(prng);
      run.maxEndpointsPerSlice = Math.max(run.maxEndpointsPerSlice, run.flags.maxEndpointsPerSlice!);
      sim.at(sim.nowMs() + forMs, () => startAgain(run, 0));
      return JSON.stringify(run.flags);
    },
  },
  freeze: {
    trouble: 'restart',
    lastsMs: [100, 40_000],
    act(run, prng, forMs) {
      const { sim } = run;
      const slept = nextInt(prng, 2) === 0;
      sim.freeze();
      const { loop } = sim;
      sim.at(sim.nowMs() + forMs, () => {
        if (sim.loop === loop) sim.thaw(slept);
      });
      return slept ? 'the machine sleeps, its monotonic clock stands' : 'SIGSTOP';
    },
  },
  'clock-set': {
    trouble: 'change',
    act({ sim }, prng) {
      sim.wallShiftMs = nextInt(prng, 7200_000) - 3600_000;
      return `${sim.wallShiftMs} ms`;
    },
  },
  'thread-death': {
    trouble: 'restart',
    act(run, prng) {
      run.sim.shards?.kill(shardOf(run, prng), 'simulated death');
      return '';
    },
  },
  'plan-throws': {
    trouble: 'poison',
    act({ sim }, prng) {
      if (sim.shards === null) return '';
      const known = [...sim.planner(nextInt(prng, sim.shards.count)).services.values()];
      const service = pick(prng, known);
      if (service === undefined) return '';
      // Planning Endpoints of which nobody knows what the server holds is a fault that the planner refuses with a throw.
      service.endpoints.uncertain = true;
      return '';
    },
  },
  'thread-hangs': {
    trouble: 'poison',
    act(run, prng) {
      run.sim.shards?.hang(shardOf(run, prng));
      return '';
    },
  },
} as const satisfies Deeds;
