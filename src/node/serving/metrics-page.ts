import { shared } from '../shared.ts';
import type { Answer, Page } from './page.ts';

/** For how long a rendering is the answer. */
export const METRICS_KEPT_MS = 1000;

export interface RenderedMetrics {
  readonly contentType: string;
  readonly body: string;
}

/** /metrics. Nothing else runs while metrics are rendered, so that is done once at a time and at most once a second. */
export function metricsPage(render: () => Promise<RenderedMetrics>): Page {
  return shared(METRICS_KEPT_MS, async (): Promise<Answer> => {
    const { contentType, body } = await render();
    return { status: 200, contentType, body: Buffer.from(body) };
  });
}
