/**
 * Runs the parts of a cluster beside its API server: scheduler, kubelets, namespace controller, and a workload that
 * changes objects. Works on any API server. A failed request ends none of them.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../node/api-client.ts';
import type { KubeObject } from '../kube/types.ts';
import { TIMER_MS_MAX } from '../lib/duration.ts';
import { nextChange } from '../workload/churn.ts';
import type { Churn } from '../workload/change.ts';
import { endNamespace, type NamespaceAnswer } from '../workload/end-namespace.ts';
import {
  createKubelets,
  forgetNode,
  forgetPod,
  nextDueMs,
  observeNode,
  observePod,
  settle,
  takeDue,
  type KubeletRequest,
  type KubeletsOptions,
} from '../workload/kubelets.ts';
import { create } from '../workload/request.ts';
import { followCollection } from './follow-collection.ts';
import { sendThrough } from './send-through.ts';

export interface ClusterLife {
  /** Ends everything at once. A request under way may still be carried out. */
  readonly stop: () => Promise<void>;
  /** Rejected when the life cannot go on. Never resolves. */
  readonly failed: Promise<never>;
}

const REQUESTS_AT_ONCE = 16;
const NAMESPACE_PAUSE_MS = 200;

/** Creates nodes, on which the scheduler puts pods. */
export async function createNodes(client: Pick<ApiClient, 'send'>, count: number): Promise<void> {
  for (let i = 1; i <= count; i++) {
    const name = `node-${i}`;
    const metadata = { name, labels: { 'kubernetes.io/hostname': name } };
    const address = `192.168.${128 + (i >>> 8)}.${i & 255}`;
    const status = {
      capacity: { cpu: '16', memory: '64Gi', pods: '110' },
      conditions: [{ type: 'Ready', status: 'True' }],
      addresses: [{ type: 'InternalIP', address }],
    };
    await client.send(create({ apiVersion: 'v1', kind: 'Node', metadata, status }));
  }
}

/** Runs scheduler and kubelets until `stop`. */
export function runKubelets(client: ApiClient, options: KubeletsOptions): ClusterLife {
  const kubelets = createKubelets(options);
  const stopping = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let underWay = 0;

  const arm = (): void => {
    clearTimeout(timer);
    const dueMs = nextDueMs(kubelets);
    if (stopping.signal.aborted || underWay >= REQUESTS_AT_ONCE || dueMs === Number.POSITIVE_INFINITY) return;
    timer = setTimeout(perform, Math.min(TIMER_MS_MAX, Math.max(0, dueMs - Date.now())));
  };
  const perform = (): void => {
    while (underWay < REQUESTS_AT_ONCE) {
      const due = takeDue(kubelets, Date.now());
      if (due === null) break;
      underWay++;
      void send(due);
    }
    arm();
  };
  const send = async (due: KubeletRequest): Promise<void> => {
    const done = (await answerOf(client, due.request)) !== null;
    underWay--;
    settle(kubelets, Date.now(), due, done);
    arm();
  };
  const nodes = {
    changed: (object: KubeObject): void => {
      observeNode(kubelets, Date.now(), object);
      arm();
    },
    gone: (_: string, name: string): void => {
      forgetNode(kubelets, Date.now(), name);
      arm();
    },
  };
  const pods = {
    changed: (object: KubeObject): void => {
      observePod(kubelets, Date.now(), object);
      arm();
    },
    gone: (namespace: string, name: string): void => {
      forgetPod(kubelets, namespace, name);
      arm();
    },
  };
  const following = [
    followCollection(client, '/api/v1/nodes', nodes, stopping.signal),
    followCollection(client, '/api/v1/pods', pods, stopping.signal),
  ];
  return until(stopping, Promise.all(following), () => clearTimeout(timer));
}

/** The place of one kind of objects, such as `/api/v1` and `pods`. */
export interface NamespacedCollection {
  readonly root: string;
  readonly resource: string;
}

/** Empties and finalizes namespaces that are being deleted, until `stop`. */
export function runNamespaceController(client: ApiClient, contents: readonly NamespacedCollection[]): ClusterLife {
  const stopping = new AbortController();
  const ending = new Map<string, AbortController>();
  const end = async (name: string, signal: AbortSignal): Promise<void> => {
    const paths = contents.map(({ root, resource }) => `${root}/namespaces/${name}/${resource}`);
    const story = endNamespace(name, paths);
    let step = story.next();
    while (step.done !== true && !signal.aborted) {
      if (step.value === null) {
        await pause(NAMESPACE_PAUSE_MS, signal);
        step = story.next(null);
      } else {
        const { method, path, body } = step.value;
        step = story.next(await answerOf(client, { method, path, ...(body === null ? {} : { body }) }));
      }
    }
  };
  const following = followCollection(
    client,
    '/api/v1/namespaces',
    {
      changed: ({ metadata: { name = '', deletionTimestamp } }) => {
        if (deletionTimestamp === undefined || ending.has(name)) return;
        const abort = new AbortController();
        ending.set(name, abort);
        void end(name, AbortSignal.any([abort.signal, stopping.signal])).finally(() => ending.delete(name));
      },
      gone: (_, name) => ending.get(name)?.abort(),
    },
    stopping.signal,
  );
  return until(stopping, following);
}

/** Makes the changes of a seeded stream, one after the other and no faster than `rate` a second, until `stop`. */
export function runChurn(client: ApiClient, churn: Churn, rate: number): ClusterLife {
  const stopping = new AbortController();
  const { signal } = stopping;
  const changing = (async (): Promise<void> => {
    const fromMs = performance.now();
    let changes = 0;
    while (!signal.aborted) {
      const aheadMs = (changes / rate) * 1000 - (performance.now() - fromMs);
      if (aheadMs > 1) {
        await pause(Math.min(TIMER_MS_MAX, aheadMs), signal);
        continue;
      }
      const change = nextChange(churn, Date.now());
      if (change === null) return;
      await sendThrough(client, change.request, signal);
      changes++;
    }
  })();
  return until(stopping, changing);
}

/** A life that goes on until `running` ends. */
export function until(
  stopping: AbortController,
  running: Promise<unknown>,
  release: () => void = () => undefined,
): ClusterLife {
  const failed = running.then(() => new Promise<never>(() => undefined));
  failed.catch(() => undefined);
  return {
    failed,
    stop: async () => {
      stopping.abort();
      release();
      await running.catch(() => undefined);
    },
  };
}

type Answered = Parameters<ApiClient['send']>[0];

/** null = the request was refused or has no answer. */
async function answerOf(client: ApiClient, request: Answered): Promise<NamespaceAnswer> {
  try {
    return ((await client.send(request)) ?? {}) as NamespaceAnswer;
  } catch {
    return null;
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
