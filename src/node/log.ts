import { pid } from 'node:process';
import { pino } from 'pino';

/** One line of the log, as the controller's log effects carry it. */
export interface LogLine {
  readonly level: 'error' | 'warning' | 'info';
  /** klog verbosity: written when `-v` is at least this; errors and warnings always are. */
  readonly v: number;
  readonly message: string;
  readonly fields: Readonly<Record<string, string | number | boolean>>;
}

export interface Log {
  readonly write: (line: LogLine) => void;
  /** Writes out what is buffered, now. */
  readonly flush: () => void;
}

export interface LogConfig {
  readonly verbosity: number;
  readonly format: 'text' | 'json';
  /** File descriptor; 2 = stderr, where klog writes too. */
  readonly destination: number;
}

/** A line waits at most this long for others to share a write with. */
const FLUSH_MS = 100;

/**
 * The log in klog's two formats, through pino's buffered destination, which also writes out the rest at exit. The lines
 * are formed here: one path for both formats, and klog's keys are not pino's.
 */
export function createLog(config: LogConfig): Log {
  const sink = pino.destination({ dest: config.destination, sync: false, minLength: 8192 });
  const format = config.format === 'json' ? formatJson : formatText;
  /** Only while a line waits: the sink's own periodic flush wakes two threads each time, also for nothing. */
  let flushing: NodeJS.Timeout | undefined;
  return {
    write(line) {
      if (line.level === 'info' && line.v > config.verbosity) return;
      sink.write(format(line, Date.now()));
      flushing ??= setTimeout(() => {
        flushing = undefined;
        sink.flush();
      }, FLUSH_MS).unref();
    },
    flush() {
      sink.flushSync();
    },
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
