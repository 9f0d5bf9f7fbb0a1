/** What a PromQL expression asks for, by Prometheus' own grammar. */
import { parser } from '@prometheus-io/lezer-promql';

/** Labels by the names of metrics, as /metrics has them. */
export type Exported = ReadonlyMap<string, ReadonlySet<string>>;

/** Prometheus gives these to what it scrapes; `cluster` where it sees several. */
const TARGET_LABELS: ReadonlySet<string> = new Set(['cluster', 'instance', 'job']);
/** Prometheus makes it of each scrape. */
const SCRAPE_METRICS: ReadonlySet<string> = new Set(['up']);

/** One text for each metric or label that does not exist, or what is no PromQL; empty = all is there. */
export function unknownIn(expression: string, exported: Exported): string[] {
  const problems: string[] = [];
  const textOf = ({ from, to }: { readonly from: number; readonly to: number }): string => expression.slice(from, to);
  const labelsWithin = (metrics: readonly string[]): ReadonlySet<string> =>
    new Set([...TARGET_LABELS, ...metrics.flatMap((metric) => [...(exported.get(metric) ?? [])])]);
  parser.parse(expression).iterate({
    enter(node) {
      if (node.type.isError) problems.push(`no PromQL: ${textOf(node)}`);
      if (node.name !== 'LabelName') return;
      // A matcher is about its selector; `by` and `on` are about all that they put together: three levels up, all of them.
      const about = node.node.parent!.parent!.parent!;
      const metrics = metricsIn(textOf(about));
      if (!labelsWithin(metrics).has(textOf(node))) problems.push(`label ${textOf(node)} of ${metrics.join(', ')}`);
    },
  });
  const unknown = metricsIn(expression).filter((metric) => !exported.has(metric) && !SCRAPE_METRICS.has(metric));
  return [...problems, ...unknown.map((metric) => `metric ${metric}`)];
}

/** Names of metrics, each as often as it is named. A selector without a name is an error. */
export function metricsIn(expression: string): string[] {
  const names: string[] = [];
  parser.parse(expression).iterate({
    enter(node) {
      if (node.name !== 'VectorSelector') return;
      const name = node.node.getChild('Identifier');
      if (name === null) throw new Error(`no metric is named: ${expression.slice(node.from, node.to)}`);
      names.push(expression.slice(name.from, name.to));
    },
  });
  return names;
}
