/** Who has written the outputs since the recording began. */
import type { Program } from '../metrics/program-of.ts';
import type { OutputResource, RecordedEvent } from './recording.ts';

/** The programs that have written each output, as managedFields tell, each once; [] = they tell none. */
export type OutputWriters = Readonly<Record<OutputResource, Program[]>>;

export function createOutputWriters(): OutputWriters {
  return { endpoints: [], endpointslices: [] };
}

export function followWriters(writers: OutputWriters, event: RecordedEvent): void {
  if (event.type === 'wrote') {
    const known = writers[event.resource];
    if (!known.includes(event.writer)) known.push(event.writer);
  } else if (event.type === 'listed' && event.told === 'start') {
    // The recording begins with the last of these lists, and what came before is no part of it.
    for (const known of Object.values(writers)) known.length = 0;
  }
}
