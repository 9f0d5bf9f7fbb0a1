/** `docs/metrics.md`, made from `src/metrics/catalogue.ts`. */
import { CATALOGUE, type MetricSpec } from '../../src/metrics/catalogue.ts';

const HEAD = `# Metrics

Made from \`src/metrics/catalogue.ts\` by \`npm run docs\`; please change that file. The ones to watch, and what to do about them, are in the [manual](manual.md#metrics). The metrics of the runtime, \`process_*\` and \`nodejs_*\`, come beside these.

Metrics of queues, syncs and slices with upstream's names are those of a leader alone: of a process that stands by, or waits for a take-over, the gauges are 0 and the counters stand still. So sums over all replicas are those of the work that was done. A key that is under way when leadership comes or goes may have its add, its wait and its work counted in part. \`rest_client_*\` has the requests of each process.
`;

/** What endpointd has beside upstream's begins so. */
const OWN = 'endpointd_';

export function metricsPage(): string {
  return [
    HEAD,
    section(
      'Under the names that upstream gives them',
      CATALOGUE.filter(({ name }) => !name.startsWith(OWN)),
    ),
    section(
      "endpointd's own",
      CATALOGUE.filter(({ name }) => name.startsWith(OWN)),
    ),
  ].join('\n');
}

function section(title: string, metrics: readonly MetricSpec[]): string {
  const rows = metrics.map(({ name, type, labelNames, help }) => {
    const labels = labelNames.map((label) => `\`${label}\``).join(', ');
    return `| \`${name}\` | ${type} | ${labels} | ${help} |`;
  });
  return [`## ${title}\n`, '| metric | type | labels | what it tells |', '| --- | --- | --- | --- |', ...rows, ''].join(
    '\n',
  );
}
