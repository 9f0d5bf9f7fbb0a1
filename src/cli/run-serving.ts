/** The ports of `endpointd run`, and the pages that it serves. */
import process from 'node:process';
import type { Now } from '../controller/event.ts';
import type { Loop } from '../controller/loop.ts';
import type { MetricStore } from '../metrics/store.ts';
import { createAsker, type Asker } from '../node/asker.ts';
import type { Credentials } from '../node/credentials.ts';
import type { Log } from '../node/log.ts';
import type { MetricsRegistry } from '../node/metrics-registry.ts';
import { failureMessage } from '../node/failure.ts';
import { createRestClientObserver } from '../node/rest-client-metrics.ts';
import { healthPages, type HealthCheck, type HealthPath } from '../node/serving/health-pages.ts';
import { startHttp, type HttpConfig, type HttpServer } from '../node/serving/http.ts';
import { metricsPage, type RenderedMetrics } from '../node/serving/metrics-page.ts';
import { json, type FindPage, type Page } from '../node/serving/page.ts';
import { plainGate } from '../node/serving/plain-gate.ts';
import { createProfiler, PROFILE_PATHS, profilePages } from '../node/serving/profile-pages.ts';
import { createReviews, REVIEW_MS_MAX } from '../node/serving/reviews.ts';
import { startSecureHttp } from '../node/serving/secure-http.ts';
import { createSlis } from '../node/serving/sli-page.ts';
import { opensslCiphers, opensslCurves, TLS_VERSIONS } from '../node/serving/tls-names.ts';
import { flagzPage, statuszPage } from '../node/serving/zpages.ts';
import { createTransport } from '../node/transport.ts';
import { userAgent, version } from '../node/version.ts';
import type { Clock } from '../ports/clock.ts';
import { configz } from './configz.ts';
import type { RunOptions } from './flags/flags.ts';
import { isOwnKubeconfig } from './flags/serving-flags.ts';
import { debugViews } from './live/debug-views.ts';
import { credentialsOf } from './api-connection.ts';
import { starting } from './usage.ts';

export interface ServingConfig {
  readonly options: RunOptions;
  readonly loop: Loop;
  readonly metrics: MetricStore;
  readonly log: Log;
  readonly clock: Clock;
  /**
   * The controllers' credentials. Questions to the API server are asked with them unless a kubeconfig of their own is
   * given.
   */
  readonly credentials: Credentials;
}

export interface Serving {
  /** The `host:port` of each port; null = off. */
  readonly secure: string | null;
  readonly plain: string | null;
  readonly close: () => Promise<void>;
}

/** @throws StartError if a port is in use or a file cannot be used, or CredentialsError */
export async function startServing(config: ServingConfig): Promise<Serving> {
  const { serving } = config.options;
  const pages = createPages(config);
  const closers: (() => Promise<void>)[] = [];
  let [secure, plain]: (HttpServer | null)[] = [null, null];
  if (serving.metricsBindAddress !== 'off') plain = await startPlain(config, serving.metricsBindAddress, pages);
  if (serving.securePort !== 0) secure = await startSecure(config, pages, closers);
  return {
    secure: secure?.address ?? null,
    plain: plain?.address ?? null,
    async close() {
      await Promise.all([secure?.close(), plain?.close(), ...closers.map((close) => close())]);
    },
  };
}

/** Paths that everybody may read on the port without TLS, with the paths below them. */
const OPEN = /^\/(?:metrics|healthz|livez|readyz)(?:\/|$)/;

function startPlain(
  { log }: ServingConfig,
  { host, port }: { readonly host: string; readonly port: number },
  pages: FindPage,
): Promise<HttpServer> {
  const gate = plainGate((path) => OPEN.test(path));
  const server = startHttp({ host, port, handshakes: null, gate, pages, ...portErrors(log, '--metrics-bind-address') });
  return starting(`serve --metrics-bind-address=${host}:${port}`, server);
}

async function startSecure(
  config: ServingConfig,
  pages: FindPage,
  closers: (() => Promise<void>)[],
): Promise<HttpServer> {
  const { options, log, clock, metrics } = config;
  const { serving } = options;
  const authentication = await askerOf(config, serving.authenticationKubeconfig, closers);
  const isSame = serving.authorizationKubeconfig === serving.authenticationKubeconfig;
  const authorization = isSame ? authentication : await askerOf(config, serving.authorizationKubeconfig, closers);
  const server = startSecureHttp({
    host: serving.bindAddress,
    port: serving.securePort,
    certFile: serving.tlsCertFile,
    keyFile: serving.tlsPrivateKeyFile,
    directory: serving.certDir,
    named: serving.tlsSniCertKey,
    minVersion: TLS_VERSIONS[serving.tlsMinVersion] ?? 'TLSv1.2',
    ciphers: opensslCiphers(serving.tlsCipherSuites),
    curves: opensslCurves(serving.tlsCurvePreferences),
    clientCaFile: serving.clientCaFile,
    proxies: {
      clientCaFile: serving.requestheaderClientCaFile,
      allowedNames: serving.requestheaderAllowedNames,
      usernameHeaders: serving.requestheaderUsernameHeaders,
      uidHeaders: serving.requestheaderUidHeaders,
      groupHeaders: serving.requestheaderGroupHeaders,
      extraPrefixes: serving.requestheaderExtraHeadersPrefix,
    },
    lookUp: serving.authenticationSkipLookup ? null : authentication,
    lookUpMatters: !serving.authenticationTolerateLookupFailure,
    alwaysAllowPaths: serving.authorizationAlwaysAllowPaths,
    reviews: createReviews(authentication, authorization),
    tokenTtlMs: serving.authenticationTokenWebhookCacheTtlMs,
    authorizedTtlMs: serving.authorizationWebhookCacheAuthorizedTtlMs,
    unauthorizedTtlMs: serving.authorizationWebhookCacheUnauthorizedTtlMs,
    nowMs: () => clock.nowMs(),
    log: log.write,
    metrics,
    pages,
    ...portErrors(log, '--secure-port'),
  });
  const { bindAddress: host, securePort: port } = serving;
  return await starting(`serve --secure-port=${port}${host === '' ? '' : ` --bind-address=${host}`}`, server);
}

/** Questions have connections of their own, so that they and the controllers' requests never wait for each other. */
async function askerOf(
  { options, log, clock, metrics, credentials: own }: ServingConfig,
  kubeconfig: string,
  closers: (() => Promise<void>)[],
): Promise<Asker> {
  // A second reader of a file would run its plugin once more, and would spend the refresh token of an issuer that takes
  // each once.
  const credentials = isOwnKubeconfig(kubeconfig, options) ? own : credentialsOf({ kubeconfig, master: '' });
  const access = await credentials.read('refresh');
  return createAsker((deliver) => {
    const transport = createTransport(
      {
        access,
        readAccess: credentials.read,
        refreshMs: credentials.refreshMs,
        userAgent: userAgent(),
        maxWritesInFlight: 1,
        clock,
        log: log.write,
        observe: createRestClientObserver(metrics),
      },
      deliver,
    );
    closers.push(() => transport.close());
    return transport;
  }, REVIEW_MS_MAX);
}

function portErrors(log: Log, flag: string): Pick<HttpConfig, 'onAcceptError' | 'onPageError'> {
  return {
    onAcceptError({ message: err }) {
      log.write({ level: 'warning', v: 0, message: 'The port cannot accept connections', fields: { flag, err } });
    },
    onPageError(path, error) {
      const fields = { flag, path, err: failureMessage(error) };
      log.write({ level: 'error', v: 0, message: 'A page cannot be shown', fields });
    },
  };
}

function createPages(config: ServingConfig): FindPage {
  const { options, loop, clock } = config;
  const startedMs = Date.now() - Math.round(process.uptime() * 1000);
  const slis = createSlis(startedMs / 1000);
  const health = healthPages({ checksOf: (path) => checksOf(path, loop), observe: slis.observe });
  const profiles: FindPage = options.serving.profiling ? profilePages(createProfiler()) : () => null;
  const pages: Readonly<Record<string, Page>> = {
    '/metrics': metricsPage(renderer(config)),
    '/metrics/slis': slis.page,
    '/configz': () => json(configz(options)),
    '/flagz': flagzPage(options.flagTexts),
    '/statusz': statuszPage(
      { startedMs, runtimeVersion: `Node.js ${process.version}`, version: version(), paths: pathsOf(options) },
      () => clock.wallMs(),
    ),
    '/debug/endpointd': debugPage(config),
  };
  return (path) => (Object.hasOwn(pages, path) ? pages[path]! : (health(path) ?? profiles(path)));
}

/** The first parts of all paths, as upstream lists them. */
function pathsOf({ serving }: RunOptions): string[] {
  const profiles = serving.profiling ? PROFILE_PATHS : [];
  const all = ['/configz', '/debug/endpointd', '/flagz', '/healthz', '/livez', '/metrics', '/readyz', ...profiles];
  return [...new Set([...all, '/statusz'].map((path) => `/${path.split('/')[1]}`))].toSorted();
}

function renderer({ metrics, clock }: ServingConfig): () => Promise<RenderedMetrics> {
  // The registry is loaded when somebody asks for metrics: it costs 60 ms of CPU and 19 MB, for which the first lists
  // should not wait.
  let registry: Promise<MetricsRegistry> | undefined;
  const load = async (): Promise<MetricsRegistry> =>
    (await import('../node/metrics-registry.ts')).createRegistry(metrics, () => clock.nowMs());
  return async () => {
    registry ??= load().catch((error: unknown) => {
      // A file that cannot be read just now, for want of descriptors, is read again at the next scrape.
      registry = undefined;
      throw error;
    });
    const loaded = await registry;
    return { contentType: loaded.contentType, body: await loaded.text() };
  };
}

/** A process that answers is alive. Watches only decide about readiness, because a restart would not repair them. */
function checksOf(path: HealthPath, loop: Loop): HealthCheck[] {
  const ping = { name: 'ping', ok: true, message: '' };
  return [ping, ...(path === 'readyz' ? loop.readiness() : loop.liveness())];
}

function debugPage({ loop, clock }: ServingConfig): Page {
  const now = (): Now => ({ nowMs: clock.nowMs(), wallMs: clock.wallMs() });
  const views = debugViews(() => loop.state, now);
  return async ({ query, accept }) => {
    const { debugJson, debugPage: render } = await import('./live/debug-page.ts');
    const changes = query.get('changes') ?? '';
    const changesMax = /^\d{1,6}$/.test(changes) ? Number(changes) : undefined;
    const service = query.get('service') ?? '';
    const view = await views(service, changesMax);
    const isJson = query.get('format') === 'json' || accept === 'application/json';
    return {
      status: 200,
      contentType: isJson ? 'application/json' : 'text/html; charset=utf-8',
      body: isJson ? debugJson(view, version()) : render(view, version(), service),
      headers: { 'Content-Security-Policy': "frame-ancestors 'none'" },
    };
  };
}
