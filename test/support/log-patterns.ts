/** Lines of klog as collectors of logs take them apart, and what of a line of component-base's JSON has a fixed name. */

/** The header with its source, as Vector's and Promtail's rules for klog have it. */
export const KLOG_LINE =
  /^(?<level>[IWEF])(?<timestamp>\d{4} \d\d:\d\d:\d\d\.\d{6})\s+(?<pid>\d+)\s(?<file>[^:\]]+):(?<line>\d+)\]\s(?<message>.*)$/;

/** As Fluent Bit and Fluentd do it. */
const FLUENT_LINE = /^(?<severity>\w)(?<time>\d{4} [^\s]*)\s+(?<pid>\d+)\s+(?<source>[^ \]]+)\] (?<message>.*)$/;

/** Lines that neither pattern takes apart. */
export function strangeLines(log: string): string[] {
  return log.split('\n').filter((line) => line !== '' && !(KLOG_LINE.test(line) && FLUENT_LINE.test(line)));
}
