/** What of a recording is another program's. Plain data in and out. */
import type { Output } from '../twin/ledger.ts';
import type { Program } from '../metrics/program-of.ts';
import { outputsOf, type Story } from '../twin/story.ts';
import type { Evidence } from './evidence.ts';

/** The programs that have written each output; [] = the recording does not tell. */
export type WritersOf = Readonly<Record<Output, readonly Program[]>>;

export interface OwnPart {
  readonly story: Story;
  readonly evidence: Evidence;
  /** Reasons to recommend nothing. */
  readonly refusals: readonly string[];
  readonly notes: readonly string[];
}

/** Leaves out an output that the other program alone has written, such as Endpoints where endpointd keeps slices alone. */
export function ownPart(story: Story, evidence: Evidence, writers: WritersOf, controller: Program): OwnPart {
  const outputs = outputsOf(story);
  const mixed = outputs.filter((output) => writers[output].length > 1);
  const foreign = outputs.filter((output) => writers[output].length === 1 && writers[output][0] !== controller);
  const refusals = mixed.map(
    (output) => `${writers[output].join(' and ')} have both written ${output}: the recording tells of neither alone`,
  );
  const [first] = foreign;
  if (first === undefined) return { story, evidence, refusals, notes: [] };
  const [other] = writers[first];
  if (foreign.length === outputs.length) {
    const why = `${other} has written what was recorded, and not ${controller}: name it with --controller`;
    return { story, evidence, refusals: [...refusals, why], notes: [] };
  }
  return {
    story: { ...story, outputs: outputs.filter((output) => !foreign.includes(output)) },
    evidence: without(foreign, evidence),
    refusals,
    notes: foreign.map((output) => `${output} are left out: ${other} has written them`),
  };
}

function without(foreign: readonly Output[], { samples, writes, ...others }: Evidence): Evidence {
  const kept = <T>(of: Readonly<Record<Output, readonly T[]>>): Record<Output, readonly T[]> => ({
    endpoints: foreign.includes('endpoints') ? [] : of.endpoints,
    slices: foreign.includes('slices') ? [] : of.slices,
  });
  return { ...others, samples: kept(samples), writes: kept(writes) };
}
