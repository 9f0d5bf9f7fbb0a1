/**
 * `npm run bench -- watch-bytes`: the bytes that the API server sends to watchers of the outputs, counted at real watchers
 * by resource and encoding, beside what the queue model predicts from a recording of the same time.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { withRecording } from '../../src/cli/record/recording-file.ts';
import { ENCODINGS, type Encoding } from '../../src/recording/sizes.ts';
import { playedOf } from '../../src/tune/played.ts';
import { bytesOf, writesOf } from '../../src/twin/figures.ts';
import { type Output, OUTPUTS } from '../../src/twin/ledger.ts';
import { profileStory } from '../../src/twin/profiles.ts';
import { runModel } from '../../src/twin/run.ts';
import { DEFAULT_CALIBRATION } from '../../src/twin/settings.ts';
import { programOf } from '../peers/peers.ts';
import { compileProgram } from '../support/compile.ts';
import { openLoadWatch, receivedBy, type LoadWatch } from '../support/http-load.ts';
import type { Size } from '../support/micro-bench.ts';
import { table } from '../support/table.ts';
import { makeRight, openWorld, type Server, settled } from './cell-world.ts';
import { millisecondsOf } from './cell-times.ts';
import { type World, worldOf } from './data.ts';
import { bytesCell } from './plan.ts';
import { liveStory, loadStory } from './story-life.ts';

const HELP = `npm run bench -- watch-bytes [flags]
  --server=KIND       embedded or kube (embedded)
  --controller=NAME   endpointd or kube-controller-manager (endpointd)
  --watchers=N,N      of each resource and encoding, one run each (1,50)
  --measure=D         how long changes are made (30s)`;

const PATHS: Readonly<Record<Output, string>> = {
  endpoints: '/api/v1/endpoints',
  slices: '/apis/discovery.k8s.io/v1/endpointslices',
};
const ACCEPTS: Readonly<Record<Encoding, string>> = {
  protobuf: 'application/vnd.kubernetes.protobuf;stream=watch',
  json: 'application/json',
};
const MARK = 0.05;
/** What was written last is on its way. */
const LAST_MS = 1000;
/** Of HTTP: a chunk around each event. */
const CHUNK_BYTES = 7;

export async function runWatchBytesBench(size: Size, args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      server: { type: 'string', default: 'embedded' },
      controller: { type: 'string', default: 'endpointd' },
      watchers: { type: 'string', default: size === 'tiny' ? '1,2' : '1,50' },
      measure: { type: 'string', default: size === 'tiny' ? '3s' : '30s' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return;
  }
  const world = worldOf(values.server, values.controller);
  const measureMs = millisecondsOf(values.measure);
  const counts = values.watchers.split(',').map(countOf);
  if (size !== 'tiny') compileProgram();
  const rows: Row[] = [];
  for (const count of counts) rows.push(...(await countBytes(world, count, measureMs, programOf(size))));
  const text = rows.map(({ output, encoding, watchers, writes, counted, predicted }) => [
    output,
    encoding,
    String(watchers),
    String(writes.seen),
    String(writes.predicted),
    (counted / 1000).toFixed(1),
    (predicted / 1000).toFixed(1),
    `${(100 * (predicted / counted - 1)).toFixed(1)} %`,
  ]);
  console.log(
    table(['resource', 'encoding', 'watchers', 'writes', 'predicted', 'kB to all of them', 'predicted', 'error'], text),
  );
  const within = rows.filter(({ counted, predicted }) => Math.abs(predicted / counted - 1) <= MARK);
  console.log(`${within.length} of ${rows.length} are within ${100 * MARK} % (the mark)`);
}

function countOf(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new Error(`--watchers: numbers such as 1,50 were expected, not ${text}`);
  return Number(text);
}

interface Row {
  readonly output: Output;
  readonly encoding: Encoding;
  readonly watchers: number;
  readonly writes: { readonly seen: number; readonly predicted: number };
  readonly counted: number;
  readonly predicted: number;
}

interface Group {
  readonly output: Output;
  readonly encoding: Encoding;
  readonly watches: readonly LoadWatch[];
  /** Received before anything was changed. */
  readonly before: number;
}

async function countBytes(world: World, watchers: number, durationMs: number, program: URL): Promise<Row[]> {
  const { settings, workload } = bytesCell();
  const story = profileStory({ ...workload, minutes: durationMs / 60_000 }, 1);
  const server = await openWorld(world, program);
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-bytes-'));
  const path = join(directory, 'bytes.rec');
  const groups: Group[] = [];
  try {
    await loadStory(server.client, story);
    await makeRight(server, settings);
    const controller = await server.startController(settings, false);
    const recorder = await server.startRecorder(path);
    await settled(server.client);
    for (const output of OUTPUTS)
      for (const encoding of ENCODINGS) groups.push(await openGroup(server, output, encoding, watchers));
    await liveStory(server.client, story, durationMs);
    await settled(server.client);
    await sleep(LAST_MS);
    const counted = groups.map(({ watches, before }) => receivedBy(watches) - before);
    await recorder.stop();
    await controller.stop();
    const { story: recorded, evidence } = withRecording(path, ({ events }) => playedOf(path, events));
    const calibration = DEFAULT_CALIBRATION;
    const ledger = runModel({ story: recorded, controller: world.controller, settings, calibration, seed: 1 });
    return groups.map(({ output, encoding }, i) => {
      const framing = CHUNK_BYTES * writesOf(ledger, [output]);
      const predicted = watchers * (bytesOf(ledger, [output], encoding) + framing);
      const writes = { seen: evidence.writes[output].length, predicted: writesOf(ledger, [output]) };
      return { output, encoding, watchers, writes, counted: counted[i]!, predicted };
    });
  } finally {
    for (const { watches } of groups) for (const { stop } of watches) stop();
    await server.stop();
    rmSync(directory, { recursive: true });
  }
}

async function openGroup(server: Server, output: Output, encoding: Encoding, count: number): Promise<Group> {
  const { resourceVersion } = await server.client.list(PATHS[output]);
  const path = `${PATHS[output]}?watch=true&timeoutSeconds=3600&resourceVersion=${resourceVersion}`;
  const open = (): Promise<LoadWatch> => openLoadWatch(server.target, path, ACCEPTS[encoding]);
  const watches = await Promise.all(Array.from({ length: count }, open));
  return { output, encoding, watches, before: receivedBy(watches) };
}
