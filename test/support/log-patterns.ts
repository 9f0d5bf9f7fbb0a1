/** Lines of klog as collectors of logs take them apart, and what of a line of component-base's JSON has a fixed name. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const SOURCES = join(import.meta.dirname, '../../src');

/** The header with its source, as Vector's and Promtail's rules for klog have it. */
export const KLOG_LINE =
  /^(?<level>[IWEF])(?<timestamp>\d{4} \d\d:\d\d:\d\d\.\d{6})\s+(?<pid>\d+)\s(?<file>[^:\]]+):(?<line>\d+)\]\s(?<message>.*)$/;

/** As Fluent Bit and Fluentd do it. */
const FLUENT_LINE = /^(?<severity>\w)(?<time>\d{4} [^\s]*)\s+(?<pid>\d+)\s+(?<source>[^ \]]+)\] (?<message>.*)$/;

/** Lines that neither pattern takes apart. */
export function strangeLines(log: string): string[] {
  return log.split('\n').filter((line) => line !== '' && !(KLOG_LINE.test(line) && FLUENT_LINE.test(line)));
}

/** Asserts that the line of a source that `caller` names writes to a log. */
export function assertSaidBySource(caller: string): void {
  const [, file, number] = /^(\w[\w-]*\/[\w-]+\.ts):(\d+)$/.exec(caller) ?? assert.fail(caller);
  const paths = [file!, `controller/${file}`].map((path) => join(SOURCES, path));
  const path = paths.find((one) => existsSync(one)) ?? assert.fail(`${caller}: no such file`);
  const line = readFileSync(path, 'utf8').split('\n')[Number(number) - 1] ?? '';
  assert.match(line, /\blog(\(|\.write\()/, `${caller}: ${line}`);
}
