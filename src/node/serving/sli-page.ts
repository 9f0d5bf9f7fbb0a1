/** Counts what the health checks have said, under the names of Kubernetes' components. */
import type { HealthCheck, HealthPath } from './health-pages.ts';
import type { Page } from './page.ts';

export interface Slis {
  readonly observe: (path: HealthPath, check: HealthCheck) => void;
  /** /metrics/slis. */
  readonly page: Page;
}

interface Counts {
  readonly name: string;
  readonly type: HealthPath;
  isOk: boolean;
  success: number;
  error: number;
}

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** @param startedSeconds when the process began, since 1970 */
export function createSlis(startedSeconds: number): Slis {
  /** One for each check of each path. No client chooses their names, so they are few. */
  const all = new Map<string, Counts>();
  return {
    observe(type, { name, ok }) {
      const key = `${type} ${name}`;
      let counts = all.get(key);
      if (counts === undefined) all.set(key, (counts = { name, type, isOk: ok, success: 0, error: 0 }));
      counts.isOk = ok;
      if (ok) counts.success++;
      else counts.error++;
    },
    page: () => ({ status: 200, contentType: CONTENT_TYPE, body: bodyOf([...all.values()], startedSeconds) }),
  };
}

function bodyOf(all: readonly Counts[], startedSeconds: number): string {
  const now = all.map(
    ({ name, type, isOk }) => `kubernetes_healthcheck{name="${name}",type="${type}"} ${isOk ? 1 : 0}`,
  );
  const total = all.flatMap(({ name, type, success, error }) =>
    Object.entries({ error, success })
      .filter(([, count]) => count > 0)
      .map(
        ([status, count]) => `kubernetes_healthchecks_total{name="${name}",status="${status}",type="${type}"} ${count}`,
      ),
  );
  return [
    '# HELP kubernetes_healthcheck What a health check said last: 1 = all is well.',
    '# TYPE kubernetes_healthcheck gauge',
    ...now,
    '# HELP kubernetes_healthchecks_total How often a health check has succeeded, and how often it has failed.',
    '# TYPE kubernetes_healthchecks_total counter',
    ...total,
    '# HELP process_start_time_seconds When the process began, in seconds since 1970.',
    '# TYPE process_start_time_seconds gauge',
    `process_start_time_seconds ${startedSeconds}`,
    '',
  ].join('\n');
}
