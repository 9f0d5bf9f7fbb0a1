/** Whatever networks and clocks do, never two leaders, and one soon after the last fault. */
import assert from 'node:assert/strict';
import { it } from 'node:test';

import { createPrng, nextFloat, nextInt, type Prng } from '../../../src/lib/prng.ts';
import { electionWorld, LEASE_PATH, TIMES, type Candidate, type ElectionWorld } from '../../support/election-world.ts';
import { seeds } from '../../support/runs.ts';

/** What is sent at the last moment is over by then: each write asks the server for that `timeout`. */
const WRITE_MS_MAX = TIMES.leaseDurationMs - TIMES.renewDeadlineMs - 1000;

type Fault = (candidate: Candidate, prng: Prng, world: ElectionWorld) => void;

const FAULTS: Readonly<Record<string, Fault>> = {
  cut: ({ network }) => (network.cut = true),
  slowThere: ({ network }, prng) => (network.toMs = nextFloat(prng) * 8000),
  slowBack: ({ network }, prng) => (network.backMs = nextFloat(prng) * 8000),
  mute: ({ network }) => (network.mute = true),
  freeze: (candidate) => candidate.freeze(),
  removeLease: (_candidate, _prng, world) => world.request('DELETE', LEASE_PATH),
  // One clock of each may be wrong at a time: the other one then tells the leader.
  wallJumps: (candidate, prng) => (candidate.shiftMs.wall += (nextFloat(prng) - 0.5) * 7_200_000),
  heal,
};

function heal(candidate: Candidate): void {
  Object.assign(candidate.network, { cut: false, toMs: 0, backMs: 0, mute: false });
  candidate.thaw();
}

/** @returns what went wrong, or '' */
function play(seed: number): string {
  const prng = createPrng(seed);
  const world = electionWorld(['a', 'b', 'c'].slice(0, 2 + nextInt(prng, 2)), seed);
  let wrong = '';
  let removedAtMs = -Infinity;
  /** Who could write last, and until when. */
  let last = { name: '', untilMs: -Infinity };
  world.always = () => {
    const able = world.candidates.filter((candidate) => candidate.mayWrite());
    const [first] = able;
    if (able.length > 1) wrong ||= `two may write after ${world.nowMs()} ms`;
    if (first === undefined) return;
    const name = first.elector.options.identity;
    const gapMs = world.nowMs() - last.untilMs;
    if (last.name !== '' && name !== last.name && gapMs < WRITE_MS_MAX) {
      wrong ||= `${name} may write ${gapMs} ms after ${last.name} after ${world.nowMs()} ms`;
    }
    last = { name, untilMs: world.nowMs() };
  };
  for (let i = 0; i < 25; i++) {
    const candidate = world.candidates[nextInt(prng, world.candidates.length)]!;
    const names = Object.keys(FAULTS);
    const name = names[nextInt(prng, names.length)]!;
    // Nothing is promised where it is removed again and again, or before a process has seen it once.
    const isStranger = world.candidates.some(({ elector }) => elector.seen === null);
    if (name === 'removeLease' && (isStranger || world.nowMs() - removedAtMs < 40_000)) continue;
    if (name === 'removeLease') removedAtMs = world.nowMs();
    FAULTS[name]!(candidate, prng, world);
    // In small steps, so that who may write is looked at often.
    for (let step = 0; step < 40; step++) {
      world.run(nextFloat(prng) * 400);
      world.always();
    }
  }
  for (const candidate of world.candidates) heal(candidate);
  world.run(30_000);
  if (!world.candidates.some((one) => one.mayWrite())) wrong ||= 'nobody leads 30 s after the last fault';
  return wrong;
}

it('never may two replicas write, and one may again after the last fault', () => {
  const { first, count } = seeds({ first: 1, count: 60 });
  for (let seed = first; seed < first + count; seed++) assert.equal(play(seed), '', `SEED=${seed}`);
});
