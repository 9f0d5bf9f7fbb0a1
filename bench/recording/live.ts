/** What `endpointd record` costs as a process: lists, watches over HTTP, pseudonyms, compression and the file. */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { withRecording } from '../../src/cli/record/recording-file.ts';
import { figuresOf } from '../../src/recording/figures.ts';
import { profileStory } from '../../src/twin/profiles.ts';
import { DEFAULT_SETTINGS } from '../../src/twin/settings.ts';
import { makeRight, openWorld, settled } from '../cells/cell-world.ts';
import { liveStory, loadStory } from '../cells/story-life.ts';
import { programOf } from '../peers/peers.ts';
import { compileProgram } from '../support/compile.ts';
import type { Size } from '../support/micro-bench.ts';
import { cpuSecondsOf } from '../support/process-usage.ts';

const WORLD = { server: 'embedded', controller: 'endpointd' } as const;
/** The recorder writes every two seconds. */
const FLUSHED_MS = 2500;
/** Above what the changes need. */
const SETTINGS = { ...DEFAULT_SETTINGS, qps: 1000, burst: 1000 };

export interface LiveCost {
  readonly eventsPerSecond: number;
  /** Of one core, while there were so many events: in the first half of the time, while code is compiled, and in the second. */
  readonly cpuShares: readonly [number, number];
  readonly bytesPerEvent: number;
  readonly bytesPerListed: number;
}

/** Pods flip, and a controller shows each change in a slice and in Endpoints: three events for each change. */
export async function liveCost(size: Size, eventsPerSecond: number): Promise<LiveCost> {
  const seconds = size === 'tiny' ? 3 : 120;
  const story = profileStory(
    {
      name: 'recording',
      what: '',
      namespaces: size === 'tiny' ? 1 : 10,
      services: [{ count: 40, pods: 20 }],
      minutes: seconds / 60,
      // A flip is two changes; one of a pod that flips already is left out.
      flipsPerSecond: (1.1 * eventsPerSecond) / 3 / 2,
      isStorm: false,
      rolloutsPerMinute: 0,
      podsPerSecond: 0,
    },
    1,
  );
  if (size === 'full') compileProgram();
  const program = programOf(size);
  const server = await openWorld(WORLD, program);
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-recording-'));
  const path = join(directory, 'live.rec');
  try {
    await loadStory(server.client, story);
    await makeRight(server, SETTINGS);
    const controller = await server.startController(SETTINGS, false);
    await settled(server.client);
    const recorder = await server.startRecorder(path, 'pseudonyms');
    await settled(server.client);
    await sleep(FLUSHED_MS);
    const listedBytes = statSync(path).size;
    const usage = (): Usage => ({ atSeconds: performance.now() / 1000, cpuSeconds: cpuSecondsOf(recorder.pid) });
    const began = usage();
    const [, half] = await Promise.all([
      liveStory(server.client, story, seconds * 1000),
      sleep((seconds * 1000) / 2).then(usage),
    ]);
    const ended = usage();
    const elapsed = ended.atSeconds - began.atSeconds;
    await recorder.stop();
    await controller.stop();
    const { contents } = withRecording(path, ({ events }) => figuresOf(events));
    const of = Object.values(contents.resources);
    const sum = (count: (one: (typeof of)[number]) => number): number => of.reduce((all, one) => all + count(one), 0);
    const changes = sum((one) => one.changes);
    return {
      eventsPerSecond: sum((one) => one.changes + one.irrelevant) / elapsed,
      cpuShares: [shareOf(began, half), shareOf(half, ended)],
      bytesPerEvent: (statSync(path).size - listedBytes) / changes,
      bytesPerListed: listedBytes / sum((one) => one.objects),
    };
  } finally {
    await server.stop();
    rmSync(directory, { recursive: true });
  }
}

interface Usage {
  readonly atSeconds: number;
  readonly cpuSeconds: number;
}

function shareOf(from: Usage, to: Usage): number {
  return (to.cpuSeconds - from.cpuSeconds) / (to.atSeconds - from.atSeconds);
}
