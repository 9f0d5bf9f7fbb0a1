/** A recording from its bytes to its events. */
import { createDecoder, readHeader } from './decode.ts';
import { LineError } from './fields.ts';
import { readFrames, type Broken, type Compression, type Frame, type ReadAt } from './frames.ts';
import type { RecordedEvent, RecordingHeader } from './recording.ts';

export interface Recording {
  readonly header: RecordingHeader;
  /** The events before the broken place. They can be read once. */
  readonly events: Iterable<RecordedEvent>;
  /** null = the recording is whole, as far as `events` was read. */
  readonly broken: () => Broken | null;
}

/**
 * @param objectsMax the most objects at a time; absent = as many as a recording may have
 * @throws LineError if the file is no recording, or one of a newer program
 */
export function readRecording(readAt: ReadAt, compression: Compression, objectsMax?: number): Recording {
  const frames = readFrames(readAt, compression);
  const first = frames.next();
  if (first.done === true) throw new LineError('it ends before its first frame');
  if (!('lines' in first.value)) {
    const { kind, atByte } = first.value;
    throw new LineError(
      kind === 'cut' ? 'it ends in its first frame' : `it is damaged at byte ${atByte}, before any change`,
    );
  }
  const [head = '', ...rest] = first.value.lines;
  const header = readHeader(head);
  let broken: Broken | null = null;
  const decoder = createDecoder(objectsMax);
  function* events(): Generator<RecordedEvent> {
    yield* eventsOf({ atByte: 0, lines: rest });
    for (const frame of frames) {
      if (broken !== null) return;
      if ('lines' in frame) yield* eventsOf(frame);
      else broken = frame;
    }
  }
  function* eventsOf({ atByte, lines }: Frame): Generator<RecordedEvent> {
    decoder.frame();
    for (const line of lines) {
      let event: RecordedEvent | null;
      try {
        event = decoder.next(line);
      } catch (error) {
        if (!(error instanceof LineError)) throw error;
        broken = { kind: 'damaged', atByte };
        return;
      }
      if (event !== null) yield event;
    }
  }
  return { header, events: events(), broken: () => broken };
}
