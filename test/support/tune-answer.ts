/** A small question and its answer, for the texts and pages that show it. */
import type { Answer } from '../../src/tune/answer.ts';
import type { Evidence } from '../../src/tune/evidence.ts';
import { NOTHING_MEASURED } from '../../src/tune/measured.ts';
import { GUESSED } from '../../src/tune/numbers.ts';
import { parseObjective } from '../../src/tune/objective.ts';
import { tune, type TuneInput } from '../../src/tune/tune.ts';
import { profileStory } from '../../src/twin/profiles.ts';
import type { Run } from '../../src/twin/run.ts';
import type { StoryChange } from '../../src/twin/story.ts';
import { DEFAULT_CALIBRATION, DEFAULT_SETTINGS } from '../../src/twin/settings.ts';

const PROFILE = {
  name: 'small',
  what: '',
  namespaces: 1,
  services: [{ count: 3, pods: 10 }],
  minutes: 0.5,
  flipsPerSecond: 10,
  isStorm: false,
  rolloutsPerMinute: 6,
  podsPerSecond: 5,
};

/**
 * @param evidence null = the story is a profile's, not a recording's
 * @param before what else happens, before its changes
 * @param settings today's
 */
export function smallAnswer(
  objective = 'p99(add)<=1s, min bytes',
  name = 'small',
  evidence: Evidence | null = null,
  before: readonly StoryChange[] = [],
  settings = DEFAULT_SETTINGS,
): Answer {
  const story = profileStory(PROFILE, 1);
  const run = {
    story: { ...story, name, changes: [...before, ...story.changes] },
    controller: 'kube-controller-manager',
    settings,
    calibration: DEFAULT_CALIBRATION,
    seed: 1,
  } as const;
  return answerTo(run, evidence, objective);
}

/** The answer for 100 nodes, where nothing is known beside the recording. */
export function answerTo(
  run: Run,
  evidence: Evidence | null,
  objective: string,
  progress: (done: string) => void = () => undefined,
): Answer {
  const input: TuneInput = {
    run,
    unsure: GUESSED,
    evidence,
    doubts: [],
    notes: [],
    measured: NOTHING_MEASURED,
    given: [],
    calibrationFrom: 'usual',
    coresFrom: 'usual',
    nodes: 100,
    endpointsWatchers: 1,
    objective: parseObjective(objective),
    program: '0.1.0',
    recordedBy: evidence === null ? null : '0.0.9',
  };
  return tune(input, progress);
}
