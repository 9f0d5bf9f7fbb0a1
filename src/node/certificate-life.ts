/** How long a certificate is valid: for metrics and for the log. */
import { X509Certificate } from 'node:crypto';
import type { MetricName } from '../metrics/catalogue.ts';
import { readSeries, type MetricStore } from '../metrics/store.ts';
import type { LogLine } from './log.ts';

export interface LifeWatchConfig {
  readonly metrics: MetricStore;
  readonly log: (line: LogLine) => void;
  readonly wallMs: () => number;
}

export interface LifeNames {
  readonly expiration: MetricName;
  readonly lifetime: MetricName;
  /** The warning that is due in this part of the life; null = none. */
  readonly warningOf: (part: LifePart) => string | null;
}

/** `soon` = the last twentieth. Who issues certificates of a short life renews them late. */
interface LifePart {
  readonly name: 'early' | 'valid' | 'soon' | 'over';
  readonly isLong: boolean;
}

interface Life {
  readonly pem: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** The share of its life in which a certificate should have been renewed: 18 days of a year. */
const LAST_SHARE = 1 / 20;
const DAY_MS = 86_400_000;
const LONG_MS_MIN = 2 * DAY_MS;

/** Returns what is to be called with the certificate in use (null = none), again and again. The same is told once a day. */
export function watchLife(
  { metrics, log, wallMs }: LifeWatchConfig,
  { expiration, lifetime, warningOf }: LifeNames,
): (cert: string | null) => void {
  let life: Life | null = null;
  let told = { warning: '', atMs: Number.NEGATIVE_INFINITY };
  const series = (valueOf: (life: Life) => number) => () =>
    life === null ? [] : [{ labels: {}, value: valueOf(life) / 1000 }];
  readSeries(
    metrics,
    expiration,
    series(({ untilMs }) => untilMs),
  );
  readSeries(
    metrics,
    lifetime,
    series(({ fromMs, untilMs }) => untilMs - fromMs),
  );
  return (cert) => {
    if (cert !== (life?.pem ?? null)) life = cert === null ? null : lifeOf(cert);
    if (life === null) return;
    const nowMs = wallMs();
    const warning = warningOf(partOf(life, nowMs));
    if (warning === null || (warning === told.warning && nowMs - told.atMs < DAY_MS)) return;
    told = { warning, atMs: nowMs };
    const fields = { from: new Date(life.fromMs).toISOString(), until: new Date(life.untilMs).toISOString() };
    log({ level: 'warning', v: 0, message: warning, fields });
  };
}

/** Whether the certificate is in the last twentieth of its life, or its life is over. */
export function isLifeEnding(pem: string, nowMs: number): boolean {
  const { name } = partOf(lifeOf(pem), nowMs);
  return name === 'soon' || name === 'over';
}

function partOf({ fromMs, untilMs }: Life, nowMs: number): LifePart {
  const isLong = untilMs - fromMs >= LONG_MS_MIN;
  if (nowMs < fromMs) return { name: 'early', isLong };
  if (nowMs >= untilMs) return { name: 'over', isLong };
  return { name: untilMs - nowMs <= LAST_SHARE * (untilMs - fromMs) ? 'soon' : 'valid', isLong };
}

/** Of the first certificate, which is its owner's. */
function lifeOf(pem: string): Life {
  const { validFromDate, validToDate } = new X509Certificate(pem);
  return { pem, fromMs: validFromDate.getTime(), untilMs: validToDate.getTime() };
}
