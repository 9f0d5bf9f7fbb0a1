/** A recording in the form that `tune` needs: the story, the controller's work, and reasons not to believe it. */
import { createMeasuring, isPaid, measureEvent, type Measuring, owedOf } from '../recording/measure.ts';
import type { OutputResource, RecordedEvent, RecordedResource } from '../recording/recording.ts';
import { createSelections, type Selection, takeSelection } from '../recording/selections.ts';
import { createOutputWriters, followWriters } from '../recording/writers.ts';
import { type Output, OUTPUTS, perOutput, type Sample, type Write } from '../twin/ledger.ts';
import { createRecordedStory } from '../twin/recorded-story.ts';
import type { Story } from '../twin/story.ts';
import type { Evidence } from './evidence.ts';
import type { Recorded } from './measured.ts';
import type { WritersOf } from './strangers.ts';

export interface RecordedPart {
  readonly story: Story;
  readonly evidence: Evidence;
  readonly recorded: Recorded;
  /** How many nodes there were at the end; 0 = the recorder was not let read them. */
  readonly nodes: number;
  /** The programs that have written each output; [] = the recording does not tell. */
  readonly writers: WritersOf;
  readonly doubts: readonly string[];
  /** What else is to be told of it. */
  readonly notes: readonly string[];
  /** The watch that was lost first, of those that did not come back; null = all came back, or the story begins later. */
  readonly lost: LostWatch | null;
  /** Whether the recorder ended in good order. Else what it wrote before counts. */
  readonly isEnded: boolean;
}

export interface LostWatch {
  readonly resource: RecordedResource;
  /** In milliseconds of the recording. */
  readonly sinceMs: number;
  /** In milliseconds of the story. */
  readonly afterMs: number;
}

const OUTPUT_OF: Readonly<Record<OutputResource, Output>> = { endpoints: 'endpoints', endpointslices: 'slices' };

/** @param untilMs in milliseconds of the recording: what comes from then on is left out */
export function playedOf(name: string, events: Iterable<RecordedEvent>, untilMs = Infinity): RecordedPart {
  const samples: Record<Output, Sample[]> = { endpoints: [], slices: [] };
  const writes: Record<Output, Write[]> = { endpoints: [], slices: [] };
  const counts = { endpoints: 0, slices: 0 };
  const selections = createSelections();
  const recorded = createRecordedStory(name);
  const measuring: Measuring = createMeasuring({
    shown: (kind, ready, sinceMs, atMs) => {
      if (sinceMs < recorded.beganMs()) return;
      const change = { atMs: sinceMs - recorded.beganMs(), latencyMs: atMs - sinceMs };
      samples[OUTPUT_OF[kind]].push({ ...change, kind: ready ? 'add' : 'remove' });
    },
    written: (kind, { atMs, endpoints, service, isMirrored }) => {
      counts[OUTPUT_OF[kind]]++;
      // The story has no mirroring, and nothing that came before it.
      if (isMirrored || !measuring.hasBegun || atMs < recorded.beganMs()) return;
      const write = { atMs: atMs - recorded.beganMs(), endpoints };
      writes[OUTPUT_OF[kind]].push(service === null ? write : { ...write, service: service.number });
    },
  });
  const doubts = new Set<string>();
  const writers = createOutputWriters();
  let isEnded = false;
  let nodes = 0;
  let listsMs = 0;
  const behind = createBehind(measuring);
  const lostSince = new Map<RecordedResource, number>();
  for (const event of events) {
    if (event.atMs >= untilMs) break;
    if (measuring.hasBegun && event.atMs >= recorded.beganMs()) behind.begin();
    const selection = takeSelection(selections, event);
    recorded.take(event, selection);
    measureEvent(measuring, event, selection);
    behind.take(event, selection);
    isEnded = event.type === 'end';
    nodes += nodesAdded(event);
    if (event.type === 'listed' && event.told === 'start') listsMs = event.atMs;
    followWriters(writers, event);
    noteDoubt(doubts, event, measuring);
    if (event.type === 'lost') lostSince.set(event.resource, event.sinceMs);
  }
  if (!measuring.hasBegun) doubts.add('the recording ended before everything was listed');
  for (const resource of measuring.lost) doubts.add(lostWatch(resource));
  const outputs = runningOf(writes, measuring);
  const isShown = OUTPUTS.some((output) => samples[output].length > 0);
  if (isShown && OUTPUTS.every((output) => writes[output].length === 0)) doubts.add(UNKNOWN_WRITER);
  const story = { ...recorded.finish(), outputs };
  const { endpoints, endpointslices: slices } = writers;
  return {
    story,
    evidence: { samples, writes, behind: behind.found },
    recorded: { ...counts, listsMs },
    nodes,
    writers: { endpoints, slices },
    doubts: [...doubts],
    notes: OUTPUTS.filter((output) => !outputs.includes(output)).map(
      (output) => `no ${output} were written: their controller does not run, and is left out`,
    ),
    lost: firstLost(measuring, lostSince, recorded.beganMs()),
    isEnded,
  };
}

function firstLost(
  { lost }: Measuring,
  since: ReadonlyMap<RecordedResource, number>,
  beganMs: number,
): LostWatch | null {
  const first = [...lost]
    .map((resource) => ({ resource, sinceMs: since.get(resource)!, afterMs: since.get(resource)! - beganMs }))
    .toSorted((a, b) => a.sinceMs - b.sinceMs)[0];
  return first !== undefined && first.afterMs > 0 ? first : null;
}

function nodesAdded(event: RecordedEvent): number {
  if (event.type !== 'change' || event.resource !== 'nodes') return 0;
  return (event.after === null ? 0 : 1) - (event.before === null ? 0 : 1);
}

interface Behind {
  /** Those that lag behind their pods when the story begins, and catch up in it. */
  readonly found: NonNullable<Evidence['behind']>;
  /** Called before each event of the story. */
  readonly begin: () => void;
  /** Called after each event. */
  readonly take: (event: RecordedEvent, selection: Selection) => void;
}

/** Objects may differ from the pods for good, such as those that nobody keeps. So only what is shown later was waited for. */
function createBehind(measuring: Measuring): Behind {
  const found = perOutput(() => new Set<number>());
  let owed: Readonly<Record<OutputResource, ReturnType<typeof owedOf>>> | null = null;
  return {
    found,
    begin: () => {
      owed ??= { endpoints: owedOf(measuring, 'endpoints'), endpointslices: owedOf(measuring, 'endpointslices') };
    },
    take: (event, { service }) => {
      if (owed === null || service === null || event.type !== 'change') return;
      const { resource } = event;
      if (resource !== 'endpoints' && resource !== 'endpointslices') return;
      const addresses = owed[resource].get(service);
      if (addresses === undefined || !isPaid(measuring, service, resource, addresses)) return;
      owed[resource].delete(service);
      found[OUTPUT_OF[resource]].add(service.number);
    },
  };
}

const UNKNOWN_WRITER =
  'changes were shown, but by their field managers no known controller has written: kube-controller-manager or endpointd';

/** Fewer writes of the other output do not tell that a controller is off. */
const OTHER_WRITES_MIN = 20;

/** What is written. Who has retired Endpoints has no controller of theirs. Of what was not read nobody knows. */
function runningOf(writes: Readonly<Record<Output, readonly object[]>>, { refused }: Measuring): readonly Output[] {
  const most = Math.max(...OUTPUTS.map((output) => writes[output].length));
  const isUnread = (output: Output): boolean => refused.has(output === 'slices' ? 'endpointslices' : output);
  return OUTPUTS.filter((output) => writes[output].length > 0 || most < OTHER_WRITES_MIN || isUnread(output));
}

/** A lost watch is a doubt of its own where it goes on, or has not come back at the end. A list after it is a gap. */
function noteDoubt(doubts: Set<string>, event: RecordedEvent, { refused }: Measuring): void {
  if (event.type === 'listed' && event.told === 'start') {
    // The story begins here. Only what still lasts is a doubt of it.
    doubts.clear();
    for (const resource of refused) doubts.add(unread(resource));
  }
  if (event.type === 'refused') doubts.add(unread(event.resource));
  if (event.type === 'listed' && event.told === 'list') {
    doubts.add(`the recording has a gap: ${event.resource} were listed again`);
  }
  if (event.type === 'rewatched') doubts.add(lostWatch(event.resource));
}

function unread(resource: RecordedResource): string {
  return `the recorder was not let read ${resource}`;
}

function lostWatch(resource: RecordedResource): string {
  return `the watch of ${resource} was lost for a while`;
}
