import { sourceLine } from './source-lines.ts';

/** Files through which lines go on their way to the log. They say nothing themselves. */
const PASSED_OVER: ReadonlySet<string> = new Set(['log', 'outbox', 'state']);
/** The code that says a line, the files on the way, and one more. */
const FRAMES = 6;
const FRAME = /(file:[^\s]+):(\d+):(\d+)\)?$/;
/** The last two names of a path, and the last one without its extension. */
const FILE = /[^/]+\/([^/]+)\.\w+$/;

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
    const [, url = null, line, column] = FRAME.exec(frame) ?? [];
    if (url === null) continue;
    const said = sourceLine(url, Number(line), Number(column)) ?? { source: url, line };
    const [place, file = ''] = FILE.exec(said.source) ?? [];
    if (place !== undefined && !PASSED_OVER.has(file)) return `${place}:${said.line}`;
  }
  return 'unknown/unknown:0';
}
