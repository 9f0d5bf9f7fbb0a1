/** The alerts and the dashboard of `deploy/`, as data. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';

const CHART = join(import.meta.dirname, '..', '..', 'deploy', 'helm', 'endpointd');

export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook: string };
}

interface RuleFile {
  readonly spec: { readonly groups: readonly { readonly rules: readonly Alert[] }[] };
}

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
}

/** Labels by the names of metrics that alerts ask other programs for: kube-state-metrics, where it runs. */
export const OF_OTHERS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['kube_deployment_status_replicas_unavailable', new Set(['deployment'])],
]);

/** What Prometheus takes as a file of rules. */
export function ruleGroups(): RuleFile['spec'] {
  return (load(readFileSync(join(CHART, 'alerts/prometheus-rule.yaml'), 'utf8')) as RuleFile).spec;
}

/** The job that the manual gives to a Prometheus without the operator, as text. */
export function scrapeJob(): string {
  const manual = readFileSync(join(import.meta.dirname, '..', '..', 'docs/manual.md'), 'utf8');
  return /^- job_name: [^]+?(?=^```$)/m.exec(manual)![0];
}

export function alerts(): readonly Alert[] {
  return ruleGroups().groups.flatMap(({ rules }) => rules);
}

/** Each with the title of its panel. Grafana's own variables stand for what they can be. */
export function dashboardExpressions(): { readonly title: string; readonly expr: string }[] {
  const { panels } = JSON.parse(readFileSync(join(CHART, 'dashboard/dashboard.json'), 'utf8')) as Dashboard;
  return panels.flatMap(({ title, targets }) =>
    targets.map(({ expr }) => ({ title, expr: expr.replaceAll('$__rate_interval', '5m') })),
  );
}

/** Of everything above, by what it is called. */
export function allExpressions(): { readonly title: string; readonly expr: string }[] {
  return [...alerts().map(({ alert, expr }) => ({ title: alert, expr })), ...dashboardExpressions()];
}
