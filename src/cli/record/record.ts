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
import { parseRecordFlags, type RecordOptions } from './record-flags.ts';
import { createProgress } from '../progress.ts';
import { createRecordingFile, ZSTD, type RecordingFile } from './recording-file.ts';
import { info } from './record-info.ts';

const LOOK_EVERY_MS = 200;
/** If the first lists are refused, or nothing more is listed, for so long, the command ends with an error. */
const START_MS_MAX = 120_000;

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
    let listedAt = -1;
    let listed = { objects: 0, seconds: 0 };
    const over = (status: number, text: string): void => {
      clearInterval(timer);
      off();
      recorder.stop();
      file.close();
      const failure = file.failure();
      const hasListed = listedAt >= 0;
      // The file tells nothing, and the next try would not overwrite it.
      if ((status !== 0 || failure !== '') && !hasListed) file.remove();
      const rest = hasListed ? '. What was recorded before can be read' : '';
      progress.done(failure === '' ? text : `endpointd record: ${failure}${rest}`);
      resolve(failure === '' ? status : 1);
    };
    const off = onStopSignals(() => over(0, summary(recorder.status(), options.file)), endNow);
    const timer = setInterval(() => {
      const now = recorder.status();
      const objects = objectsIn(now);
      if (objects !== listed.objects) listed = { objects, seconds: now.seconds };
      const hopeless = now.waitsFor === '' ? whyHopeless(now) : tooLong(now, now.seconds - listed.seconds);
      if (hopeless !== '' || file.failure() !== '') {
        over(1, `endpointd record: ${hopeless}`);
        return;
      }
      if (now.waitsFor === '' && listedAt < 0) listedAt = now.seconds;
      if (listedAt >= 0 && now.seconds - listedAt >= options.for / 1000) over(0, summary(now, options.file));
      else progress.show(progressText(now));
    }, LOOK_EVERY_MS);
    recorder.start();
  });
}

/** Why nothing can be learnt; '' = something can. */
function whyHopeless({ refused }: RecorderStatus): string {
  const inputs = refused.filter((resource) => resource === 'pods' || resource === 'services');
  const outputs = refused.filter((resource) => resource.startsWith('endpoint'));
  if (inputs.length === 0 && outputs.length < 2) return '';
  const missing = inputs.length > 0 ? inputs : outputs;
  return `the server refuses ${missing.join(' and ')}: the rights get, list and watch are needed, see docs/recording.md`;
}

/** @param idleSeconds for so long nothing more was listed */
function tooLong({ waitsFor }: RecorderStatus, idleSeconds: number): string {
  if (idleSeconds * 1000 < START_MS_MAX) return '';
  return `nothing more of ${waitsFor} could be listed for ${START_MS_MAX / 1000} s; the log above has the reason`;
}

function progressText({ seconds, waitsFor, objects, changes, bytes, gaps }: RecorderStatus): string {
  if (waitsFor !== '') return `listing ${waitsFor}, ${objectsText(objects)}`;
  const parts = [plural(changes, 'change'), formatBytes(bytes), ...(gaps > 0 ? [plural(gaps, 'gap')] : [])];
  return `recording for ${Math.floor(seconds)} s: ${parts.join(', ')}`;
}

function objectsText(objects: RecorderStatus['objects']): string {
  return plural(objectsIn({ objects }), 'object');
}

function objectsIn({ objects }: Pick<RecorderStatus, 'objects'>): number {
  return Object.values(objects).reduce((sum, count) => sum + count, 0);
}

function summary({ seconds, waitsFor, objects, changes, bytes, gaps, refused }: RecorderStatus, file: string): string {
  const lines = [
    `${file}: ${objectsText(objects)}, ${plural(changes, 'change')} in ${Math.floor(seconds)} s, ${formatBytes(bytes)}`,
    ...(waitsFor === '' ? [] : [`The recording ended before everything was listed: ${waitsFor} is incomplete.`]),
    ...(refused.length === 0 ? [] : [`The server refused ${refused.join(', ')}: what depends on them is not known.`]),
    ...(gaps === 0 ? [] : [`There are ${plural(gaps, 'gap')}, in which nothing was seen.`]),
  ];
  return lines.join('\n');
}
