import { write, writeSync } from 'node:fs';
import process, { pid } from 'node:process';
import { escapedJson } from '../lib/printable.ts';
import { callSite } from './call-site.ts';
import { createLineWriter, type LineSink, type LineWriter } from './line-writer.ts';

/** One line of the log, as the controller's log effects carry it. */
export interface LogLine {
  readonly level: 'error' | 'warning' | 'info';
  /** klog's verbosity: an info line is written if `-v` is at least this. Errors and warnings are always written. */
  readonly v: number;
  readonly message: string;
  /** `controller` names the logger. */
  readonly fields: Readonly<Record<string, string | number | boolean>>;
  /** `<folder>/<file>:<line>` of the code that says it. */
  readonly source?: string;
}

/** A line that has its source. */
export type SourcedLine = LogLine & { readonly source: string };

export interface Log extends Omit<LineWriter, 'push'> {
  /** A line without a source gets that of the caller. */
  readonly write: (line: LogLine) => void;
  /** The source of a line that the caller says now and that is written later; '' = it will not be written. */
  readonly sourceOf: (level: LogLine['level'], v: number) => string;
}

export interface LogConfig {
  readonly verbosity: number;
  readonly format: 'text' | 'json';
  /** File descriptor; 2 = stderr, where klog writes too. */
  readonly destination: number;
}

/** Room for some thousand lines, as many as come in the seconds for which a reader may pause. */
const BUFFER_BYTES_MAX = 1_048_576;

/** The log in klog's two formats. `write` never waits and never throws: the lines are written later. */
export function createLog(config: LogConfig): Log {
  const format = config.format === 'json' ? formatJson : formatText;
  const { push, ...writer } = createLineWriter({
    sink: fileSink(config.destination),
    bytesMax: BUFFER_BYTES_MAX,
    dropNotice: (lines) =>
      format(
        { level: 'warning', v: 0, message: 'Lines of the log were dropped', fields: { lines }, source: callSite() },
        Date.now(),
      ),
  });
  const isWritten = (level: LogLine['level'], v: number): boolean => level !== 'info' || v <= config.verbosity;
  return {
    ...writer,
    write(line) {
      if (isWritten(line.level, line.v)) push(format({ ...line, source: line.source ?? callSite() }, Date.now()));
    },
    sourceOf: (level, v) => (isWritten(level, v) ? callSite() : ''),
  };
}

/**
 * Writes run on Node's thread pool, for which a process that ends waits. So a write to a pipe that nobody reads must
 * fail with EAGAIN instead of waiting. Node sets stderr so when it makes the stream `process.stderr`, so that is made
 * here. Writes to any other output come back by themselves.
 */
function fileSink(fd: number): LineSink {
  if (fd === process.stderr.fd) process.stderr.unref?.();
  return {
    write: (bytes, done) => write(fd, bytes, done),
    writeSync: (bytes) => writeSync(fd, bytes),
  };
}

/**
 * component-base's JSON, key by key: `ts` in milliseconds, `logger` if the line is about a controller, `caller`, `msg`,
 * and `v` for info lines. Errors and warnings have `level` instead of `v`. component-base does not know `level`.
 */
export function formatJson({ level, v, message, fields, source }: SourcedLine, wallMs: number): string {
  const { logger, rest } = loggerOf(fields);
  const text = JSON.stringify({
    ts: wallMs,
    ...(logger === '' ? {} : { logger }),
    caller: source,
    msg: message,
    ...(level === 'info' ? { v } : { level }),
    ...rest,
  });
  return `${escapedJson(text)}\n`;
}

/** klog's text: `Lmmdd hh:mm:ss.uuuuuu    pid file:line] "message" key="value"`, in UTC. */
export function formatText({ level, message, fields, source }: SourcedLine, wallMs: number): string {
  const iso = new Date(wallMs).toISOString();
  const severity = level === 'error' ? 'E' : level === 'warning' ? 'W' : 'I';
  const time = `${iso.slice(5, 7)}${iso.slice(8, 10)} ${iso.slice(11, 23)}000`;
  let text = `${severity}${time} ${String(pid).padStart(7)} ${source.slice(source.indexOf('/') + 1)}] ${JSON.stringify(message)}`;
  const { logger, rest } = loggerOf(fields);
  if (logger !== '') text += ` logger=${JSON.stringify(logger)}`;
  for (const [key, value] of Object.entries(rest)) {
    text += ` ${key}=${typeof value === 'string' ? JSON.stringify(value) : value}`;
  }
  // Names and messages of strangers are not to steer the terminal of who reads the log.
  return `${escapedJson(text)}\n`;
}

/** kube-controller-manager's loggers have the names of its controllers: `endpointslice-controller`. */
function loggerOf({ controller, ...rest }: LogLine['fields']): { logger: string; rest: LogLine['fields'] } {
  return { logger: controller === undefined ? '' : `${controller}-controller`, rest };
}
