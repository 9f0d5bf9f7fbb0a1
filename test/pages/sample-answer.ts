/** An answer of `endpointd tune` with all that a page of it can show: made evidence, and made runs of --confirm. */
import type { Answer } from '../../src/tune/answer.ts';
import { busiestPart, triedOf } from '../../src/tune/confirmation.ts';
import { measuredOf } from '../../src/tune/measured.ts';
import { parseMetrics } from '../../src/metrics/text.ts';
import { GUESSED } from '../../src/tune/numbers.ts';
import { parseObjective } from '../../src/tune/objective.ts';
import { tune } from '../../src/tune/tune.ts';
import { profileStory } from '../../src/twin/profiles.ts';
import { runModel } from '../../src/twin/run.ts';
import { DEFAULT_CALIBRATION, DEFAULT_SETTINGS, type Settings } from '../../src/twin/settings.ts';

const PROFILE = {
  name: 'sample',
  what: '',
  namespaces: 2,
  services: [{ count: 10, pods: 10 }],
  minutes: 6,
  flipsPerSecond: 12,
  isStorm: false,
  rolloutsPerMinute: 3,
  podsPerSecond: 2,
};

const CONTROLLER = (writes: number): string => `process_start_time_seconds 1
workqueue_work_duration_seconds_count{name="endpoint"} ${writes}
rest_client_request_duration_seconds_bucket{verb="PUT",le="0.005"} ${writes * 0.1223}
rest_client_request_duration_seconds_bucket{verb="PUT",le="0.025"} ${writes * 0.938}
rest_client_request_duration_seconds_bucket{verb="PUT",le="0.1"} ${writes * 0.99994}
rest_client_request_duration_seconds_bucket{verb="PUT",le="+Inf"} ${writes}
go_sched_gomaxprocs_threads 8
`;

export function sampleAnswer(): Answer {
  const story = { ...profileStory(PROFILE, 1), name: 'cluster.rec' };
  const run = {
    story,
    controller: 'kube-controller-manager',
    settings: { ...DEFAULT_SETTINGS, qps: 24, burst: 36 },
    calibration: { ...DEFAULT_CALIBRATION, apiMs: { median: 10, tail: 4 } },
    seed: 1,
  } as const;
  const objective = parseObjective('p99(add)<=1s, min bytes');
  const scrapes = { before: parseMetrics(CONTROLLER(0)), after: parseMetrics(CONTROLLER(4000)), from: 'a.txt, b.txt' };
  const watchers = { nodes: 1000, endpointsWatchers: 2 };
  const answer = tune(
    {
      run,
      unsure: GUESSED,
      evidence: runModel({ ...run, seed: 78 }),
      doubts: [],
      notes: [],
      measured: { ...measuredOf(scrapes, null, run.controller, null), cpuMsPerWrite: null },
      given: [
        { name: '--kube-api-qps', value: '50', unsure: '', from: 'configz.json' },
        { name: 'watchers of slices', value: '1000', unsure: '', from: 'given' },
      ],
      calibrationFrom: 'usual',
      coresFrom: 'usual',
      ...watchers,
      objective,
      program: '0.1.0',
      recordedBy: '0.0.9',
    },
    () => undefined,
  );
  if (answer.recommendation === null) throw new Error(JSON.stringify(answer.backTest));
  const part = { ...run, story: busiestPart(story, 30_000, run.controller), calibration: answer.calibration };
  const pairs = (settings: Settings): Parameters<typeof triedOf>[4] =>
    [3, 4, 5, 6].map((seed) => ({
      today: runModel({ ...part, seed }),
      tried: runModel({ ...part, settings, seed: seed + 10 }),
    }));
  const tried = answer.recommendation.candidates.map((settings) =>
    triedOf(part, objective, watchers, settings, pairs(settings)),
  );
  const changes = part.story.changes.length;
  return {
    ...answer,
    confirmation: { server: 'kube-apiserver', version: 'v1.36.3', seconds: 30, changes, rounds: 4, lateMs: 3, tried },
  };
}
