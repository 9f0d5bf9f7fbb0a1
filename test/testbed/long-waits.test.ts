/** Waits that are longer than a timer of Node.js can be. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatTime } from '../../src/kube/time.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { TIMER_MS_MAX } from '../../src/lib/duration.ts';
import type { ApiClient, ApiRequest } from '../../src/node/api-client.ts';
import { runChurn, runKubelets } from '../../src/testbed/cluster-life.ts';
import { CHURN_MIXES, createChurn } from '../../src/workload/churn.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
import { findProfile } from '../../src/workload/profile.ts';
import { until } from '../support/until.ts';

const DAY_SECONDS = 86_400;

/** It holds these pods, and grants whatever is asked for. */
function clientWith(pods: readonly KubeObject[], sent: ApiRequest[] = []): ApiClient {
  const never = (): Promise<never> => new Promise(() => undefined);
  return {
    send: async (request) => {
      sent.push(request);
      return { metadata: { resourceVersion: '1' }, items: request.path.startsWith('/api/v1/pods?') ? pods : [] };
    },
    text: never,
    list: never,
    watch: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      return { stop: resolve, ended: promise };
    },
    close: async () => undefined,
  };
}

it('a pod with a grace period of months keeps no timer firing', async (t) => {
  const deletionGracePeriodSeconds = 60 * DAY_SECONDS;
  const deletionTimestamp = formatTime(Math.floor(Date.now() / 1000) + deletionGracePeriodSeconds);
  const metadata = { name: 'web', namespace: 'shop', uid: '1', deletionTimestamp, deletionGracePeriodSeconds };
  const armed = t.mock.method(globalThis, 'setTimeout');
  const client = clientWith([{ apiVersion: 'v1', kind: 'Pod', metadata }]);
  const life = runKubelets(client, { seed: 1, stepMs: 1, leftAlone: new Set(['shop']) });
  t.after(() => life.stop());
  const longWaits = (): (number | undefined)[] =>
    armed.mock.calls.map(({ arguments: [, ms] }) => ms).filter((ms = 0) => ms > DAY_SECONDS * 1000);
  await until(() => longWaits().length > 0);
  assert.deepEqual(longWaits(), [TIMER_MS_MAX]);
});

it('a change in months is not made at once', async (t) => {
  const sent: ApiRequest[] = [];
  const churn = createChurn(makeCluster(findProfile('tiny'), 1), CHURN_MIXES.flips, 1);
  const life = runChurn(clientWith([], sent), churn, 1e-7);
  t.after(() => life.stop());
  await sleep(20);
  assert.equal(sent.length, 1);
});
