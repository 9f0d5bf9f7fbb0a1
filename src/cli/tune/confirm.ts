/**
 * `endpointd tune --confirm`: plays the best settings and today's settings for real, in turns, on a test API server.
 */
import process from 'node:process';
import { endNow } from '../../node/end-process.ts';
import { onStopSignals } from '../../node/signals.ts';
import { createPrng, shuffled } from '../../lib/prng.ts';
import { createFixedObjects, replay, type Replayed, type TestController } from '../../testbed/replay.ts';
import { createStoryCluster, type StoryCluster } from '../../testbed/story-cluster.ts';
import {
  findPrograms,
  startEndpointd,
  startKubeControllerManager,
  startTestServer,
  type TestPrograms,
  type TestServer,
} from '../../testbed/test-programs.ts';
import {
  type Confirmation,
  isDecided,
  LATE_MS_MAX,
  type Pair,
  PODS_MAX,
  triedOf,
  type Tried,
} from '../../tune/confirmation.ts';
import { settingFlags } from '../../tune/flag-lines.ts';
import type { Objective, Scope } from '../../tune/objective.ts';
import type { Run } from '../../twin/run.ts';
import type { Controller, Settings } from '../../twin/settings.ts';
import { isChange, outputsOf, type Story } from '../../twin/story.ts';
import { StartError } from '../usage.ts';

export interface ConfirmQuestion {
  /** The run of today's settings on the part of the story that is played. */
  readonly run: Run;
  readonly objective: Objective;
  readonly watchers: Omit<Scope, 'durationMs'>;
  /** Settings to try, the best first. */
  readonly candidates: readonly Settings[];
  readonly programs: TestPrograms;
}

/**
 * Looks, before the search begins, whether a confirmation is possible, and finds the programs for it.
 * @param part the part of the story that is to be played
 * @throws StartError
 */
export async function programsFor(controller: Controller, part: Story): Promise<TestPrograms> {
  const pods = podsAtStart(part);
  if (pods > PODS_MAX)
    throw new StartError(
      `cannot confirm: a test API server is filled with at most ${PODS_MAX} pods, and there are ${pods}`,
    );
  const programs = await findPrograms(process.env['KUBEBUILDER_ASSETS'] ?? '');
  if (controller === 'kube-controller-manager' && programs.kubeControllerManager === null)
    throw new StartError(
      'cannot confirm: KUBEBUILDER_ASSETS names no directory with a kube-controller-manager to try settings on',
    );
  return programs;
}

function podsAtStart({ places }: Story): number {
  return places.filter(({ start }) => start.slices !== 0).length;
}

/**
 * A signal first stops everything that was started and then ends the process. A second signal ends the process at once.
 * @param say takes a line of progress
 */
export async function confirm(question: ConfirmQuestion, say: (text: string) => void): Promise<Confirmation> {
  const stopped = Promise.withResolvers<never>();
  stopped.promise.catch(() => undefined);
  let endsWith: number | null = null;
  const off = onStopSignals((signal, status) => {
    endsWith = status;
    stopped.reject(new StartError(`${signal} was received`));
  }, endNow);
  try {
    return await onServer(question, stopped.promise, say);
  } finally {
    off();
    if (endsWith !== null) endNow(endsWith);
  }
}

/** @param stopped is rejected when a signal asks to stop */
async function onServer(
  question: ConfirmQuestion,
  stopped: Promise<never>,
  say: (text: string) => void,
): Promise<Confirmation> {
  const { story, controller } = question.run;
  const cluster = createStoryCluster(story);
  const started = await startTestServer(question.programs);
  const server = { ...started, failed: Promise.race([started.failed, stopped]) };
  server.failed.catch(() => undefined);
  try {
    say(`filling the ${server.kind} with ${podsAtStart(story)} pods`);
    await createFixedObjects(server, cluster);
    const rounds = await playRounds(question, server, cluster, say);
    return {
      server: server.kind,
      seconds: story.durationMs / 1000,
      changes: story.changes.filter((change) => isChange(change, controller)).length,
      ...rounds,
    };
  } finally {
    await server.stop();
  }
}

type Rounds = Pick<Confirmation, 'rounds' | 'lateMs' | 'tried'>;

/**
 * Plays rounds until every candidate is decided. A round plays today's settings and the open candidates, in random
 * order.
 */
async function playRounds(
  { run, objective, watchers, candidates, programs }: ConfirmQuestion,
  server: TestServer,
  cluster: StoryCluster,
  say: (text: string) => void,
): Promise<Rounds> {
  const prng = createPrng(run.seed);
  const pairs: Pair[][] = candidates.map(() => []);
  const tried: Tried[] = [];
  let [rounds, lateMs, lateRounds] = [0, 0, 0];
  for (let open = candidates.map((_, i) => i); open.length > 0;) {
    const played = new Map<number, Replayed>();
    for (const [n, i] of shuffled([TODAY, ...open], prng).entries()) {
      say(`round ${rounds + 1}, run ${n + 1} of ${open.length + 1}`);
      const flags = settingFlags(i === TODAY ? run.settings : candidates[i]!, run.controller);
      played.set(i, await replay(server, cluster, () => startOf(server, programs, run, flags)));
    }
    const late = Math.max(...[...played.values()].map((result) => result.lateMs));
    // A round with late changes has played another story. It does not count.
    if (late > LATE_MS_MAX) {
      if (++lateRounds > LATE_ROUNDS_MAX) throw tooSlow(late);
      continue;
    }
    rounds++;
    lateMs = Math.max(lateMs, late);
    const today = played.get(TODAY)!.ledger;
    for (const i of open) {
      pairs[i]!.push({ today, tried: played.get(i)!.ledger });
      tried[i] = triedOf(run, objective, watchers, candidates[i]!, pairs[i]!);
    }
    open = open.filter((i) => !isDecided(tried[i]!));
  }
  return { rounds, lateMs, tried };
}

const LATE_ROUNDS_MAX = 3;

function tooSlow(lateMs: number): StartError {
  return new StartError(
    `cannot confirm: in ${LATE_ROUNDS_MAX + 1} rounds changes were made up to ${Math.round(lateMs)} ms late, so this machine is too slow or too busy for them`,
  );
}

const TODAY = -1;

function startOf(
  server: TestServer,
  { kubeControllerManager }: TestPrograms,
  { controller, story }: Run,
  flags: readonly string[],
): Promise<TestController> {
  const outputs = outputsOf(story);
  return controller === 'endpointd'
    ? startEndpointd(server, flags, outputs)
    : startKubeControllerManager(server, kubeControllerManager!, flags, outputs);
}
