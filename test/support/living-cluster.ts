/** The embedded API server with scheduler, kubelets and namespace controller on it, in virtual time. */
import { apply, createApiServer, type ApiServer, type Watch } from '../../src/apiserver/server.ts';
import { JSON_TYPE } from '../../src/kube/media-type.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { createPrng, nextFloat } from '../../src/lib/prng.ts';
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
} from '../../src/workload/kubelets.ts';

export interface LivingCluster {
  readonly api: ApiServer;
  /** Steps as they were done: `bind default/web-1`. */
  readonly steps: string[];
  nowMs: number;
  /** False = the request never arrives. */
  arrives: (request: KubeletRequest) => boolean;
  request(method: string, path: string, body?: object, contentType?: string): KubeObject & { code?: number };
  /** Lets virtual time pass. */
  run(ms: number): void;
}

const START_MS = 1_800_000_000_000;

export function livingCluster(options: Partial<KubeletsOptions> = {}): LivingCluster {
  const prng = createPrng(1);
  const api = createApiServer({ random: () => nextFloat(prng), startWallMs: START_MS });
  const kubelets = createKubelets({ seed: 1, stepMs: 1000, leftAlone: new Set(), ...options });
  const watches = ['nodes', 'pods'].map((resource) => ({ resource, watch: open(resource) }));

  function open(resource: string): Watch {
    const path = `/api/v1/${resource}?watch=1&timeoutSeconds=100000`;
    const reply = apply(api, START_MS, { method: 'GET', path, headers: { accept: JSON_TYPE }, body: null });
    if (!('watch' in reply)) throw new Error('no watch');
    return reply.watch;
  }

  function observe(): void {
    for (const { resource, watch } of watches) {
      for (const frame of watch.take()) {
        const { type, object } = JSON.parse(Buffer.from(frame).toString()) as { type: string; object: KubeObject };
        const { name = '', namespace = '' } = object.metadata;
        if (resource === 'nodes') {
          if (type === 'DELETED') forgetNode(kubelets, cluster.nowMs, name);
          else observeNode(kubelets, cluster.nowMs, object);
        } else if (type === 'DELETED') forgetPod(kubelets, namespace, name);
        else observePod(kubelets, cluster.nowMs, object);
      }
    }
  }

  function perform(): void {
    for (let due = takeDue(kubelets, cluster.nowMs); due !== null; due = takeDue(kubelets, cluster.nowMs)) {
      const { method, path, body, contentType } = due.request;
      const arrives = cluster.arrives(due);
      const status = arrives ? send(method, path, body, contentType).status : 0;
      cluster.steps.push(`${due.step} ${due.pod}${status < 300 && status > 0 ? '' : ` failed: ${status}`}`);
      observe();
      settle(kubelets, cluster.nowMs, due, status >= 200 && status < 300);
    }
  }

  function send(method: string, path: string, body: object | undefined, contentType = JSON_TYPE) {
    const bytes = body === undefined ? null : Buffer.from(JSON.stringify(body));
    const reply = apply(api, cluster.nowMs, { method, path, headers: { accept: JSON_TYPE, contentType }, body: bytes });
    if ('watch' in reply) throw new Error('no watch expected');
    return { status: reply.status, object: JSON.parse(Buffer.from(reply.body).toString()) as KubeObject };
  }

  const cluster: LivingCluster = {
    api,
    steps: [],
    nowMs: START_MS,
    arrives: () => true,
    request: (method, path, body, contentType) => send(method, path, body, contentType).object,
    run(ms) {
      const untilMs = cluster.nowMs + ms;
      for (;;) {
        observe();
        const dueMs = nextDueMs(kubelets);
        if (dueMs > untilMs) break;
        cluster.nowMs = Math.max(cluster.nowMs, dueMs);
        perform();
      }
      cluster.nowMs = untilMs;
    },
  };
  return cluster;
}
