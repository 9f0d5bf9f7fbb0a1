import process from 'node:process';
import { createClock } from '../../node/clock.ts';
import { createCredentials, SERVICE_ACCOUNT_DIRECTORY } from '../../node/credentials.ts';
import { endNow } from '../../node/end-process.ts';
import { createLog, type LogLine } from '../../node/log.ts';
import { createRandom } from '../../node/random.ts';
import { readOnly } from '../../node/read-only-transport.ts';
import { onStopSignals } from '../../node/signals.ts';
import { createTransport } from '../../node/transport.ts';
import { userAgent, version } from '../../node/version.ts';
import { formatBytes, plural } from '../../lib/figures.ts';
import { createRecorder, NOT_SHOWN, type Recorder, type RecorderStatus } from '../../recording/recorder.ts';
import { createBeginning, objectsIn } from './beginning.ts';
import { parseRecordFlags, type RecordOptions } from './record-flags.ts';
import { createProgress } from '../progress.ts';
import { createRecordingFile, ZSTD, type RecordingFile } from './recording-file.ts';
import { info } from './record-info.ts';

const LOOK_EVERY_MS = 200;

/** `endpointd record`: records what these controllers read and write in a cluster. Returns the exit status. */
export async function record(args: readonly string[]): Promise<number> {
  if (args.includes('--info')) return info(args.filter((arg) => arg !== '--info'));
  const options = parseRecordFlags(args, (text) => process.stdout.write(text));
  // The reader of the progress may go away. The recording goes on.
  process.stderr.on('error', () => undefined);
  const credentials = createCredentials({
    kubeconfig: options.kubeconfig,
    master: options.master,
    env: process.env,
    serviceAccountDirectory: SERVICE_ACCOUNT_DIRECTORY,
  });
  const access = await credentials.read('refresh');
  const file = createRecordingFile(options.file);
  const clock = createClock();
  const log = createLog({ verbosity: options.v, format: options.loggingFormat, destination: 2 });
  let close = (): Promise<void> => Promise.resolve();
  const recorder = createRecorder({
    header: { program: version(), names: options.plain ? 'plain' : 'pseudonyms' },
    clock,
    random: createRandom(),
    transport(deliver) {
      const { read: readAccess, refreshMs } = credentials;
      const transport = readOnly(
        createTransport(
          {
            access,
            readAccess,
            refreshMs,
            userAgent: userAgent('endpointd-record'),
            maxWritesInFlight: 1,
            clock,
            log: options.plain ? log.write : (line) => log.write(withoutWarning(line)),
            observe: () => undefined,
          },
          deliver,
        ),
      );
      close = () => transport.close();
      return transport;
    },
    compression: ZSTD,
    write: file.write,
    log: log.write,
  });
  const status = await untilOver(recorder, file, options);
  await close();
  clock.close();
  await log.flush(1000);
  return status;
}

/** A line of the transport without the text of a Warning header, in which a server or a webhook may name objects. */
function withoutWarning(line: LogLine): LogLine {
  return 'text' in line.fields ? { ...line, fields: { ...line.fields, text: NOT_SHOWN } } : line;
}

/**
 * Waits for the end of the time, for a signal, or until it is clear that nothing can be read or written. Returns the exit
 * status.
 */
function untilOver(recorder: Recorder, file: RecordingFile, options: RecordOptions): Promise<number> {
  const progress = createProgress(process.stderr, () => performance.now());
  return new Promise((resolve) => {
    const beginningOf = createBeginning();
    const over = (hopeless: string): void => {
      clearInterval(timer);
      const { begunAt } = beginningOf(recorder.status());
      off();
      recorder.stop();
      file.close();
      const failure = file.failure() || hopeless;
      const isGood = failure === '' && begunAt !== null;
      // The file tells nothing, and the next try would not overwrite it.
      if (begunAt === null) file.remove();
      const rest = begunAt === null ? '' : '. What was recorded before can be read';
      progress.done(
        isGood
          ? summary(recorder.status(), begunAt, options.file)
          : `endpointd record: ${failure || 'it was ended before everything was listed, and leaves no file'}${rest}`,
      );
      resolve(isGood ? 0 : 1);
    };
    const off = onStopSignals(() => over(''), endNow);
    const timer = setInterval(() => {
      const now = recorder.status();
      const { begunAt, hopeless } = beginningOf(now);
      const isOver = begunAt !== null && now.seconds - begunAt >= options.for / 1000;
      if (isOver || hopeless !== '' || file.failure() !== '') over(hopeless);
      else progress.show(progressText(now, begunAt));
    }, LOOK_EVERY_MS);
    recorder.start();
  });
}

/** @param begunAt the second at which everything was listed; null = it is not yet */
function progressText(
  { seconds, waitsFor, objects, changes, bytes, gaps }: RecorderStatus,
  begunAt: number | null,
): string {
  if (begunAt === null) return `listing ${waitsFor === '' ? 'what is refused' : waitsFor}, ${objectsText(objects)}`;
  const parts = [plural(changes, 'change'), formatBytes(bytes), ...(gaps > 0 ? [plural(gaps, 'gap')] : [])];
  return `recording for ${Math.floor(seconds - begunAt)} s: ${parts.join(', ')}`;
}

function objectsText(objects: RecorderStatus['objects']): string {
  return plural(objectsIn({ objects }), 'object');
}

function summary(
  { seconds, waitsFor, objects, changes, bytes, gaps, rewatched, refused }: RecorderStatus,
  begunAt: number,
  file: string,
): string {
  const lines = [
    `${file}: ${objectsText(objects)}, ${plural(changes, 'change')} in ${Math.floor(seconds - begunAt)} s, ${formatBytes(bytes)}`,
    ...(waitsFor === '' ? [] : [`The recording ended before everything was listed: ${waitsFor} is incomplete.`]),
    ...(refused.length === 0 ? [] : [`The server refused ${refused.join(', ')}: what depends on them is not known.`]),
    ...(gaps === 0 ? [] : [`${plural(gaps, 'gap')}, in which nothing was seen.`]),
    ...(rewatched === 0
      ? []
      : [`Watches were lost ${plural(rewatched, 'time')} without a gap, and told changes late.`]),
  ];
  return lines.join('\n');
}
