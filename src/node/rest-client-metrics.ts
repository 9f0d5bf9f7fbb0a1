import { counter, histogram, type Counter, type HistogramHandle, type MetricStore } from '../metrics/store.ts';
import type { RequestObservation } from './transport.ts';

interface VerbMetrics {
  readonly seconds: HistogramHandle;
  readonly requestBytes: HistogramHandle;
  readonly responseBytes: HistogramHandle;
  readonly byCode: Map<string, Counter>;
}

/** Counts requests under upstream's `rest_client_*` names. */
export function createRestClientObserver(store: MetricStore): (observation: RequestObservation) => void {
  const verbs = new Map<string, VerbMetrics>();

  function metricsOf(verb: string, host: string): VerbMetrics {
    const labels = { verb, host };
    return {
      seconds: histogram(store, 'rest_client_request_duration_seconds', labels),
      requestBytes: histogram(store, 'rest_client_request_size_bytes', labels),
      responseBytes: histogram(store, 'rest_client_response_size_bytes', labels),
      byCode: new Map(),
    };
  }

  return ({ method, host, code, durationMs, requestBytes, responseBytes }) => {
    const key = `${method} ${host}`;
    let metrics = verbs.get(key);
    if (metrics === undefined) {
      metrics = metricsOf(method, host);
      verbs.set(key, metrics);
    }
    let requests = metrics.byCode.get(code);
    if (requests === undefined) {
      requests = counter(store, 'rest_client_requests_total', { code, method, host });
      metrics.byCode.set(code, requests);
    }
    requests.inc();
    metrics.seconds.observe(durationMs / 1000);
    metrics.requestBytes.observe(requestBytes);
    metrics.responseBytes.observe(responseBytes);
  };
}
