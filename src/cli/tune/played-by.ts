/** What `tune` plays: a profile, or the controller's own part of a recording. */
import type { Broken } from '../../recording/frames.ts';
import type { Recorded } from '../../tune/measured.ts';
import { type LostWatch, playedOf, type RecordedPart } from '../../tune/played.ts';
import { ownPart } from '../../tune/strangers.ts';
import type { TuneInput } from '../../tune/tune.ts';
import { profileStory, STORY_PROFILES } from '../../twin/profiles.ts';
import type { Story } from '../../twin/story.ts';
import { withRecording } from '../record/recording-file.ts';
import type { TuneOptions } from './tune-flags.ts';

/** The story, and the evidence that it is compared with. */
interface Input extends Pick<TuneInput, 'evidence' | 'doubts' | 'notes'> {
  readonly story: Story;
  /** What was written, by whichever program, as scrapes count it; null = there is no recording. */
  readonly recorded: Recorded | null;
  /** How many nodes the recording has; 0 = none, or there is no recording. */
  readonly nodes: number;
  /** The version of the recorder; null = there is no recording. */
  readonly recordedBy: string | null;
}

export function playedBy({ from, seed, controller }: Pick<TuneOptions, 'from' | 'seed' | 'controller'>): Input {
  const profile = STORY_PROFILES.find(({ name }) => name === from);
  if (profile !== undefined) {
    const story = profileStory(profile, seed);
    return { story, evidence: null, recorded: null, nodes: 0, recordedBy: null, doubts: [], notes: [] };
  }
  const whole = readPart(from);
  const { lost, recorded, isEnded } = whole.part;
  const { story, evidence, nodes, writers, doubts, notes } = lost === null ? whole.part : readPart(from, lost).part;
  const own = ownPart(story, evidence, writers, controller);
  return {
    story: own.story,
    evidence: own.evidence,
    recorded,
    nodes,
    recordedBy: whole.program,
    doubts: [...doubts, ...own.refusals],
    notes: [...endingOf(whole.broken, isEnded), ...lossOf(lost), ...own.notes, ...notes],
  };
}

interface ReadPart {
  readonly program: string;
  readonly broken: Broken | null;
  readonly part: RecordedPart;
}

/** @param lost a watch that did not come back: what precedes its loss is read */
function readPart(from: string, lost?: LostWatch): ReadPart {
  return withRecording(from, ({ header, events, broken }) => {
    const part = playedOf(from, events, lost?.sinceMs);
    return { program: header.program, part, broken: broken() };
  });
}

function lossOf(lost: LostWatch | null): string[] {
  if (lost === null) return [];
  const { resource, afterMs } = lost;
  return [`the watch of ${resource} was lost after ${Math.floor(afterMs / 1000)} s for good: what precedes counts`];
}

function endingOf(cut: Broken | null, isEnded: boolean): string[] {
  if (cut !== null)
    return [
      `the recording is broken at byte ${cut.atByte}: what precedes counts, and a watch that was lost then is not told`,
    ];
  if (isEnded) return [];
  return [
    'the recorder did not end in good order: what it has written counts, and a watch that was lost then is not told',
  ];
}
