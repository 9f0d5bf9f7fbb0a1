/**
 * Looks at the API server, the credentials and the rights a moment after the start. Looks again while something is
 * wrong, and after a refused request. What it finds is advice and stops nothing. The log has it, and missing rights are a
 * metric too. /readyz?verbose, which everybody may read, has the kind of it alone.
 */
import type { Loop } from '../../controller/loop.ts';
import type { HealthCheck } from '../../controller/reports/health.ts';
import { gauge, samples, type MetricStore } from '../../metrics/store.ts';
import { createAsker } from '../../node/asker.ts';
import type { Credentials } from '../../node/credentials.ts';
import { CredentialsError } from '../../node/credentials-error.ts';
import { failureMessage } from '../../node/failure.ts';
import type { Log } from '../../node/log.ts';
import { onlySelfReviews } from '../../node/read-only-transport.ts';
import { probeServer } from '../../node/server-probe.ts';
import { userAgent } from '../../node/version.ts';
import { missingRights, reviewRights, verdictOf, type MissingRights } from './access-review.ts';
import { diagnose, wordsOf, type Finding } from './diagnosis.ts';
import type { RunOptions } from '../flags/flags.ts';
import { rightsOf } from './rights.ts';
import { connectWith } from '../api-connection.ts';

export interface PreflightConfig {
  readonly options: RunOptions;
  readonly credentials: Credentials;
  readonly log: Pick<Log, 'write'>;
  readonly loop: Pick<Loop, 'readiness'>;
  /** The store that counts requests, and that gets the number of missing rights. */
  readonly metrics: MetricStore;
  /**
   * Milliseconds from the start to the first look, from one look to the next, and until the same is told again. Default
   * 1 s, 30 s, 1 h.
   */
  readonly delays?: { readonly firstMs: number; readonly nextMs: number; readonly againMs: number };
}

export interface Preflight {
  /** The readiness of the controllers, and what was found. */
  readonly readiness: () => HealthCheck[];
  readonly end: () => void;
}

/** The first look waits, so that the first lists need not wait for it. */
const DELAYS = { firstMs: 1000, nextMs: 30_000, againMs: 3_600_000 };
const ANSWER_MS_MAX = 10_000;

export function startPreflight(config: PreflightConfig): Preflight {
  const { loop, metrics, delays = DELAYS } = config;
  const missingNow = gauge(metrics, 'endpointd_missing_rights');
  const isReady = (): boolean => loop.readiness().every(({ ok }) => ok);
  const tellServer = createTeller(config.log, SERVER, delays.againMs);
  const tellRights = createTeller(config.log, RIGHTS, Infinity);
  let finding: Finding | null = null;
  let missing: string | null = null;
  let refusedBefore = 0;
  let ended = false;
  let timer = setTimeout(() => void again(), delays.firstMs).unref();

  async function again(): Promise<void> {
    refusedBefore = refusals(metrics);
    const seen = await look(config, finding);
    if (ended) return;
    ({ finding } = seen);
    tellServer(finding?.text ?? null);
    if (seen.missing !== undefined) {
      missing = seen.missing.text;
      tellRights(missing);
      missingNow.set(seen.missing.count);
    }
    wait();
  }

  function wait(): void {
    timer = setTimeout(() => {
      const isQuiet = isReady() && refusals(metrics) === refusedBefore;
      if (finding === null && missing === null && isQuiet) wait();
      else void again();
    }, delays.nextMs).unref();
  }

  return {
    readiness: () => [
      ...loop.readiness(),
      // A server that is away for a moment does not make the process unready: the readiness of the watches tells of it.
      {
        name: 'server',
        ok: finding?.isFatal !== true || isReady(),
        message: finding === null ? '' : `${finding.kind}: see the log`,
      },
      // A missing right does not make the process unready: an authorizer may allow in each namespace what it refuses
      // for all.
      { name: 'rights', ok: true, message: missing === null ? '' : 'some are missing: see the log' },
    ],
    end() {
      ended = true;
      clearTimeout(timer);
    },
  };
}

interface Seen {
  readonly finding: Finding | null;
  /** undefined = the server did not say. */
  readonly missing: MissingRights | undefined;
}

/** How many requests the API server has forbidden, by RBAC or by admission. */
function refusals(metrics: MetricStore): number {
  const requests = samples(metrics, 'rest_client_requests_total', 0);
  return requests.reduce((sum, { labels, value }) => (labels['code'] === '403' ? sum + value : sum), 0);
}

async function look({ options, credentials }: PreflightConfig, before: Finding | null): Promise<Seen> {
  try {
    const finding = await lookAtServer(options, credentials, before);
    const missing = finding?.isFatal === true ? undefined : await lookAtRights(options, credentials);
    return { finding, missing };
  } catch (error) {
    return { finding: ofFailure(error), missing: undefined };
  }
}

function ofFailure(error: unknown): Finding {
  const text = failureMessage(error);
  if (!(error instanceof CredentialsError)) return { text, kind: 'the server cannot be checked', isFatal: false };
  const kind = 'credentials cannot be read';
  return { text: `${text}. The last good credentials stay in use.`, kind, isFatal: false };
}

async function lookAtServer(
  options: RunOptions,
  credentials: Credentials,
  before: Finding | null,
): Promise<Finding | null> {
  const access = await credentials.read('refresh');
  const agent = userAgent();
  const version = await probeServer(access, '/version', agent);
  const { slices, mirror } = options.controller;
  const needsSlices = version.kind === 'answer' && (slices || mirror);
  const discovery = needsSlices ? await probeServer(access, '/apis/discovery.k8s.io/v1', agent) : null;
  return diagnose({ access, words: wordsOf(options), nowMs: Date.now(), version, discovery, before });
}

async function lookAtRights(options: RunOptions, credentials: Credentials): Promise<Seen['missing']> {
  const server = await connectWith(credentials, () => undefined, onlySelfReviews);
  try {
    const reviewed = await reviewRights(createAsker(server.transport, ANSWER_MS_MAX), rightsOf(options));
    return verdictOf(reviewed) === 'unknown' ? undefined : missingRights(reviewed);
  } finally {
    await server.close();
  }
}

const SERVER = {
  wrong: 'The API server cannot be used as needed',
  right: 'The API server can be used as needed',
};
const RIGHTS = { wrong: 'Rights are missing', right: 'No right is missing any more' };

/**
 * Tells a change of what is wrong; null = nothing is. Texts that differ in their numbers alone are the same, because a
 * text may have the present time. The same is told again after `againMs`, with what its numbers are by then.
 */
function createTeller(
  log: PreflightConfig['log'],
  said: typeof SERVER,
  againMs: number,
): (text: string | null) => void {
  let told: string | null = null;
  let toldMs = -Infinity;
  return (text) => {
    const what = text?.replaceAll(/\d+/g, '') ?? null;
    const nowMs = performance.now();
    if (what === told && (text === null || nowMs - toldMs < againMs)) return;
    told = what;
    toldMs = nowMs;
    if (text === null) log.write({ level: 'info', v: 0, message: said.right, fields: {} });
    else log.write({ level: 'warning', v: 0, message: said.wrong, fields: { why: text } });
  };
}
