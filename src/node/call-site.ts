/** Files through which lines go on their way to the log. They say nothing themselves. */
const PASSED_OVER: ReadonlySet<string> = new Set(['log', 'outbox', 'state']);
/** The code that says a line, the files on the way, and one more. */
const FRAMES = 6;
const FRAME = /([^/\\\s(]+[/\\][^/\\]+):(\d+):\d+\)?$/;

/**
 * Where in the source a line of the log comes from: `<folder>/<file>:<line>`. It takes some 5 us, so it is called only
 * for lines that are written.
 */
export function callSite(): string {
  const { stackTraceLimit } = Error;
  const frames: { stack?: string } = {};
  Error.stackTraceLimit = FRAMES;
  Error.captureStackTrace(frames, callSite);
  Error.stackTraceLimit = stackTraceLimit;
  for (const frame of (frames.stack ?? '').split('\n')) {
    const [, file = '', line = ''] = FRAME.exec(frame) ?? [];
    if (file !== '' && !PASSED_OVER.has(file.slice(file.search(/[/\\]/) + 1).replace(/\.\w+$/, ''))) {
      return `${file.replace('\\', '/')}:${line}`;
    }
  }
  return 'unknown/unknown:0';
}
