/** What a program tells at /metrics. */
export interface Metrics {
  /** Sum of all series of a metric whose labels contain `labels`; 0 = there are none. */
  sum(name: string, labels?: string): number;
  /** The lines of a metric as they came, for messages. */
  lines(name: string): string;
}

/** @param text in Prometheus' text format */
export function parseMetrics(text: string): Metrics {
  const series: { name: string; labels: string; value: number }[] = [];
  for (const line of text.split('\n')) {
    const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (match !== null) series.push({ name: match[1]!, labels: match[2] ?? '', value: Number(match[3]) });
  }
  return {
    lines: (name) =>
      text
        .split('\n')
        .filter((line) => line.startsWith(name))
        .join('\n'),
    sum: (name, labels = '') =>
      series.reduce((sum, one) => (one.name === name && one.labels.includes(labels) ? sum + one.value : sum), 0),
  };
}
