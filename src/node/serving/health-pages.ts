import { text, type Answer, type FindPage } from './page.ts';

export type HealthPath = 'healthz' | 'livez' | 'readyz';

export interface HealthCheck {
  readonly name: string;
  readonly ok: boolean;
  /** Why the check fails, or how it is. May be empty. */
  readonly message: string;
}

export interface HealthConfig {
  readonly checksOf: (path: HealthPath) => readonly HealthCheck[];
  /** Called with each check that was made for a client. */
  readonly observe: (path: HealthPath, check: HealthCheck) => void;
}

/** The path of a health page. */
export const HEALTH_PATH = /^\/(healthz|livez|readyz)(?:\/([^/]+))?$/;

/** /healthz, /livez and /readyz, with `?verbose` and `?exclude=NAME`, and each check below them, in kube-apiserver's formats. */
export function healthPages({ checksOf, observe }: HealthConfig): FindPage {
  return (path) => {
    const match = HEALTH_PATH.exec(path);
    if (match === null) return null;
    const kind = match[1] as HealthPath;
    const wanted = match[2];
    return ({ query }) => {
      const excluded = query.getAll('exclude');
      const all = checksOf(kind);
      const checks = all.filter(({ name }) => (wanted === undefined ? !excluded.includes(name) : name === wanted));
      for (const check of checks) observe(kind, check);
      if (wanted === undefined) return whole(kind, all, excluded, query.has('verbose'));
      const [check] = checks;
      if (check === undefined) return text(404, 'not found\n');
      return check.ok ? text(200, 'ok') : text(500, `${check.message}\n`);
    };
  };
}

/** `ok`, or one line for each check, as `kubectl get --raw '/readyz?verbose'` shows them. */
function whole(kind: HealthPath, all: readonly HealthCheck[], excluded: readonly string[], verbose: boolean): Answer {
  const counts = all.filter(({ name }) => !excluded.includes(name));
  const isOk = counts.every(({ ok }) => ok);
  if (isOk && !verbose) return text(200, 'ok');
  const lines = all.map(({ name, ok, message }) => {
    if (excluded.includes(name)) return `[+]${name} excluded: ok`;
    return ok ? `[+]${name} ok${message === '' ? '' : `: ${message}`}` : `[-]${name} failed: ${message}`;
  });
  const unknown = excluded.filter((name) => !all.some((check) => check.name === name));
  if (unknown.length > 0) {
    const names = unknown.map((name) => JSON.stringify(name)).join(', ');
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
  }
  lines.push(`${kind} check ${isOk ? 'passed' : 'failed'}`);
  return text(isOk ? 200 : 500, `${lines.join('\n')}\n`);
}
