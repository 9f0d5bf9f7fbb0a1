/** How long the client certificate is valid with which the API server is asked: for metrics and for the log. */
import { X509Certificate } from 'node:crypto';
import { readSeries, type MetricStore } from '../metrics/store.ts';
import type { Access } from './access.ts';
import type { LogLine } from './log.ts';

export interface CertificateWatchConfig {
  readonly metrics: MetricStore;
  readonly log: (line: LogLine) => void;
  readonly wallMs: () => number;
}

interface Life {
  readonly pem: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** The share of its life after which a certificate should have been renewed: 18 days of a year. */
const LAST_SHARE = 1 / 20;
const DAY_MS = 86_400_000;
/** Who issues certificates of a shorter life, such as a plugin, renews them late. */
const LIFE_MS_MIN = 2 * DAY_MS;

/** Returns what is to be called with the access in effect, again and again. */
export function watchCertificate({ metrics, log, wallMs }: CertificateWatchConfig): (access: Access) => void {
  let life: Life | null = null;
  let toldAtMs = Number.NEGATIVE_INFINITY;
  const series = (valueOf: (life: Life) => number) => () =>
    life === null ? [] : [{ labels: {}, value: valueOf(life) / 1000 }];
  readSeries(
    metrics,
    'endpointd_client_certificate_expiration_timestamp_seconds',
    series(({ untilMs }) => untilMs),
  );
  readSeries(
    metrics,
    'endpointd_client_certificate_lifetime_seconds',
    series(({ fromMs, untilMs }) => untilMs - fromMs),
  );
  return ({ tls: { cert } }) => {
    if (cert !== (life?.pem ?? null)) life = cert === null ? null : lifeOf(cert);
    if (life === null) return;
    const { fromMs, untilMs } = life;
    const nowMs = wallMs();
    const isLong = untilMs - fromMs >= LIFE_MS_MIN;
    if (!isLong || untilMs - nowMs > LAST_SHARE * (untilMs - fromMs) || nowMs - toldAtMs < DAY_MS) return;
    toldAtMs = nowMs;
    const message =
      nowMs < untilMs
        ? 'The client certificate for the API server ends soon: renew it in the kubeconfig'
        : 'The client certificate for the API server has ended: renew it in the kubeconfig';
    log({ level: 'warning', v: 0, message, fields: { until: new Date(untilMs).toISOString() } });
  };
}

/** Of the first certificate, which is the client's own. */
function lifeOf(pem: string): Life {
  const { validFromDate, validToDate } = new X509Certificate(pem);
  return { pem, fromMs: validFromDate.getTime(), untilMs: validToDate.getTime() };
}
