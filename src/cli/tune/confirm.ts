/**
 * `endpointd tune --confirm`: plays the best settings and today's settings for real, in turns, on a test API server.
 */
import process from 'node:process';
import { createFixedObjects, replay, type Replayed, type TestController } from '../../testbed/replay.ts';
import { createStoryCluster } from '../../testbed/story-cluster.ts';
import {
  findPrograms,
  startEndpointd,
  startKubeControllerManager,
  startTestServer,
  type TestPrograms,
  type TestServer,
  versionOf,
} from '../../testbed/test-programs.ts';
import { type Confirmation, PODS_MAX } from '../../tune/confirmation.ts';
import { settingFlags } from '../../tune/flag-lines.ts';
import type { Run } from '../../twin/run.ts';
import type { Program } from '../../metrics/program-of.ts';
import type { Settings } from '../../twin/settings.ts';
import { isChange, outputsOf, type Story } from '../../twin/story.ts';
import { StartError } from '../usage.ts';
import { playRounds, type TrialQuestion } from './rounds.ts';

export interface ConfirmPrograms extends TestPrograms {
  /** That of the kube-controller-manager that is tried; null = none is, or it does not say. */
  readonly version: string | null;
}

export interface ConfirmQuestion extends TrialQuestion {
  readonly programs: ConfirmPrograms;
}

/**
 * Looks, before the search begins, whether a confirmation is possible, and finds the programs for it.
 * @param part the part of the story that is to be played
 * @throws StartError
 */
export async function programsFor(controller: Program, part: Story): Promise<ConfirmPrograms> {
  const pods = podsAtStart(part);
  if (pods > PODS_MAX)
    throw new StartError(
      `cannot confirm: a test API server is filled with at most ${PODS_MAX} pods, and there are ${pods}`,
    );
  const programs = await findPrograms(process.env['KUBEBUILDER_ASSETS'] ?? '');
  if (controller === 'endpointd') return { ...programs, version: null };
  const { kubeControllerManager } = programs;
  if (kubeControllerManager === null)
    throw new StartError(
      'cannot confirm: KUBEBUILDER_ASSETS names no directory with a kube-controller-manager to try settings on',
    );
  return { ...programs, version: await versionOf(kubeControllerManager) };
}

function podsAtStart({ places }: Story): number {
  return places.filter(({ start }) => start.slices !== 0).length;
}

/** The trials, and what is to be told of them besides. */
export interface Confirmed {
  readonly confirmation: Confirmation;
  readonly notes: readonly string[];
}

/**
 * When it returns or throws, all that it has started has ended.
 * @param stopped is rejected when nothing more is to be played
 * @param say takes a line of progress
 */
export async function confirm(
  question: ConfirmQuestion,
  stopped: Promise<never>,
  say: (text: string) => void,
): Promise<Confirmed> {
  const { story, controller } = question.run;
  const cluster = createStoryCluster(story);
  const started = await startTestServer(question.programs);
  const server = { ...started, failed: Promise.race([started.failed, stopped]) };
  let isOver = false;
  server.failed.catch(() => void (isOver = true));
  const batchMs = Math.max(...[question.run.settings, ...question.candidates].map(longestBatchMs));
  const play = (settings: Settings): Promise<Replayed> => {
    const flags = settingFlags(settings, controller);
    return replay(server, cluster, () => startOf(server, question.programs, question.run, flags), batchMs);
  };
  try {
    say(`filling the ${server.kind} with ${podsAtStart(story)} pods`);
    await createFixedObjects(server, cluster);
    const { notes, ...rounds } = await playRounds(question, { play, isOver: () => isOver, say });
    const changes = story.changes.filter((change) => isChange(change, controller)).length;
    const { version } = question.programs;
    const seconds = story.durationMs / 1000;
    return { confirmation: { server: server.kind, version, seconds, changes, ...rounds }, notes };
  } finally {
    await server.stop();
  }
}

function longestBatchMs({ endpointsBatchMs, slicesBatchMs, adaptiveBatchMs }: Settings): number {
  return Math.max(endpointsBatchMs, slicesBatchMs, adaptiveBatchMs);
}

function startOf(
  server: TestServer,
  { kubeControllerManager }: TestPrograms,
  { controller, settings, story }: Run,
  flags: readonly string[],
): Promise<TestController> {
  const outputs = outputsOf(story);
  return controller === 'endpointd'
    ? startEndpointd(server, flags, outputs, settings.controllers)
    : startKubeControllerManager(server, kubeControllerManager!, flags, outputs);
}
