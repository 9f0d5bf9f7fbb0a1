import { write, writeSync } from 'node:fs';
import process, { pid } from 'node:process';
import { createLineWriter, type LineSink, type LineWriter } from './line-writer.ts';

/** One line of the log, as the controller's log effects carry it. */
export interface LogLine {
  readonly level: 'error' | 'warning' | 'info';
  /** klog verbosity: written when `-v` is at least this; errors and warnings always are. */
  readonly v: number;
  readonly message: string;
  readonly fields: Readonly<Record<string, string | number | boolean>>;
}

export interface Log extends Omit<LineWriter, 'push'> {
  readonly write: (line: LogLine) => void;
}

export interface LogConfig {
  readonly verbosity: number;
  readonly format: 'text' | 'json';
  /** File descriptor; 2 = stderr, where klog writes too. */
  readonly destination: number;
}

/** Some thousand lines: what is written in the seconds for which a reader may pause. */
const BUFFER_BYTES_MAX = 1_048_576;

/** The log in klog's two formats. `write` never waits and never throws: the lines are written later. */
export function createLog(config: LogConfig): Log {
  const format = config.format === 'json' ? formatJson : formatText;
  const { push, ...writer } = createLineWriter({
    sink: fileSink(config.destination),
    bytesMax: BUFFER_BYTES_MAX,
    dropNotice: (lines) =>
      format({ level: 'warning', v: 0, message: 'Lines of the log were dropped', fields: { lines } }, Date.now()),
  });
  return {
    ...writer,
    write(line) {
      if (line.level === 'info' && line.v > config.verbosity) return;
      push(format(line, Date.now()));
    },
  };
}

/**
 * Writes run on Node's thread pool, for which an ending process waits. So a write to a pipe that nobody reads must fail
 * with EAGAIN and not wait. Node sets its own stderr so when the stream for it is made. All other outputs come back by
 * themselves.
 */
function fileSink(fd: number): LineSink {
  if (fd === process.stderr.fd) process.stderr.unref?.();
  return {
    write: (bytes, done) => write(fd, bytes, done),
    writeSync: (bytes) => writeSync(fd, bytes),
  };
}

/** component-base's JSON: `ts` in milliseconds, `v` for information, `err` for errors. */
export function formatJson(line: LogLine, wallMs: number): string {
  const head = line.level === 'info' ? { ts: wallMs, v: line.v } : { ts: wallMs, level: line.level };
  return `${JSON.stringify({ ...head, msg: line.message, ...line.fields })}\n`;
}

/** klog's text: `Lmmdd hh:mm:ss.uuuuuu pid] "message" key="value"`, in UTC. */
export function formatText(line: LogLine, wallMs: number): string {
  const iso = new Date(wallMs).toISOString();
  const severity = line.level === 'error' ? 'E' : line.level === 'warning' ? 'W' : 'I';
  let text = `${severity}${iso.slice(5, 7)}${iso.slice(8, 10)} ${iso.slice(11, 23)}000 ${pid}] ${JSON.stringify(line.message)}`;
  for (const [key, value] of Object.entries(line.fields)) {
    text += ` ${key}=${typeof value === 'string' ? JSON.stringify(value) : value}`;
  }
  return `${text}\n`;
}
